//! Shares of processors.

use super::*;

#[test]
fn two_loops_share_a_processor_evenly() {
    for config in all_configs() {
        let mut engine = Engine::flat(1, config);
        let threads = [(); 2].map(|()| engine.start(LOOP));
        engine.run_for(SECOND);
        for thread in threads {
            assert_near(engine.run_time(thread), SECOND / 2, 2);
            assert_eq!(engine.times(thread).run + engine.times(thread).delay, SECOND);
        }
        assert_eq!(engine.idle_time(), 0);
    }
}

#[test]
fn three_loops_share_two_processors() {
    for config in all_configs() {
        let mut engine = Engine::flat(2, config);
        let threads = [(); 3].map(|()| engine.start(LOOP));
        engine.run_for(20 * SECOND);
        // Without weights nothing evens out which thread is moved, and balancing keeps step with the turns.
        let is_fair = !matches!(config.scheduler, Scheduler::RoundRobin { .. });
        for thread in threads {
            assert_near(engine.run_time(thread), 40 * SECOND / 3, if is_fair { 3 } else { 26 });
        }
        let migrations: u64 = threads.iter().map(|&it| engine.times(it).migrations).sum();
        assert!(migrations > 20);
    }
}

#[test]
fn nice_levels_share_by_weight() {
    for config in [KernelConfig::linux_6_18(), KernelConfig::linux_5()] {
        let mut engine = Engine::flat(1, config);
        let [zero, five, minus_five] = [(); 3].map(|()| engine.add(LOOP));
        engine.kernel.set_nice(five, 5, 0);
        engine.wake(zero);
        engine.wake(five);
        engine.wake(minus_five);
        engine.run_for(100 * MILLISECOND);
        // While it waits or runs.
        engine.kernel.set_nice(minus_five, -5, engine.now);
        let before = [zero, five, minus_five].map(|thread| engine.run_time(thread));
        engine.run_for(10 * SECOND);
        let ran = [zero, five, minus_five].map(|thread| engine.run_time(thread));
        let total = 1024 + 335 + 3121;
        for ((ran, before), weight) in ran.into_iter().zip(before).zip([1024, 335, 3121]) {
            assert_near(ran - before, 10 * SECOND * weight / total, 4);
        }
    }
}

#[test]
fn round_robin_ignores_nice_levels() {
    let mut engine = Engine::flat(1, KernelConfig::round_robin(MILLISECOND));
    let [a, b] = [(); 2].map(|()| engine.start(LOOP));
    engine.kernel.set_nice(b, 19, 0);
    engine.run_for(SECOND);
    assert_eq!(engine.run_time(a), engine.run_time(b));
}

#[test]
fn an_idle_thread_has_the_weight_three() {
    for config in [KernelConfig::linux_6_18(), KernelConfig::linux_5()] {
        let mut engine = Engine::flat(1, config);
        let [other, idle] = [(); 2].map(|()| engine.start(LOOP));
        engine.kernel.set_policy(idle, Policy::Idle, 0);
        engine.run_for(100 * SECOND);
        assert_near(engine.run_time(idle), 100 * SECOND * 3 / 1027, 15);
        assert_near(engine.run_time(other), 100 * SECOND * 1024 / 1027, 1);
    }
}

#[test]
fn an_idle_thread_has_a_free_processor() {
    let mut engine = Engine::flat(1, KernelConfig::linux_6_18());
    let idle = engine.add(LOOP);
    engine.kernel.set_policy(idle, Policy::Idle, 0);
    engine.wake(idle);
    engine.run_for(SECOND);
    assert_eq!(engine.run_time(idle), SECOND);
}

#[test]
fn round_robin_keeps_the_order_of_arrival() {
    let mut engine = Engine::flat(1, KernelConfig::round_robin(MILLISECOND));
    let threads = [(); 3].map(|()| engine.start(LOOP));
    let mut order = Vec::new();
    engine.run_until(9 * MILLISECOND - 1, |engine| {
        let current = engine.kernel.current(Cpu(0)).unwrap();
        if order.last() != Some(&current) {
            order.push(current);
        }
    });
    let [a, b, c] = threads;
    assert_eq!(order, [a, b, c, a, b, c, a, b, c]);
}

#[test]
fn a_slice_ends_at_a_tick_unless_slices_are_precise() {
    // 0.7 ms on one processor.
    for (is_precise, expected) in [(false, 4 * MILLISECOND), (true, 700 * MICROSECOND)] {
        let config = KernelConfig { precise_slices: is_precise, ..KernelConfig::linux_6_18() };
        let mut engine = Engine::flat(1, config);
        let [a, _b] = [(); 2].map(|()| engine.start(LOOP));
        // The first slice is half a slice, as the thread is new.
        let first = if is_precise { expected / 2 } else { expected };
        engine.run_for(first - 1);
        assert_eq!(engine.run_time(a), first - 1);
        engine.run_for(2);
        assert_eq!(engine.run_time(a), first);
    }
}

#[test]
fn slices_grow_with_the_number_of_processors() {
    let config = KernelConfig::linux_6_18();
    let scales = [1, 2, 3, 4, 7, 8, 64].map(|processors| config.scale(processors));
    assert_eq!(scales, [1, 2, 2, 3, 3, 4, 4]);
}

#[test]
fn run_time_is_without_stolen_time() {
    for config in all_configs() {
        let mut engine = Engine::flat(1, config);
        let [a, b] = [(); 2].map(|()| engine.start(LOOP));
        engine.run_for(100 * MILLISECOND);
        engine.steal(Cpu(0), 300 * MILLISECOND);
        engine.run_for(900 * MILLISECOND);
        assert_eq!(engine.run_time(a) + engine.run_time(b), 700 * MILLISECOND);
        assert_near(engine.run_time(a), 350 * MILLISECOND, 4);
    }
}

#[test]
fn costs_are_charged() {
    let topology = Topology::new(1, 1, 1, 1).unwrap();
    let config = KernelConfig::round_robin(MILLISECOND);
    let mut engine = Engine::new(topology, config);
    let thread = engine.start(&[Step::Compute(10 * MICROSECOND), Step::Sleep(MILLISECOND)]);
    engine.run_for(9 * MILLISECOND);
    let costs = config.costs;
    // A wake-up from outside costs no thread time, but the exit from idleness delays it.
    let times = engine.times(thread);
    let rounds = times.voluntary_switches;
    assert_eq!(rounds, 9);
    let delay = (rounds - 1) * (costs.wake_up + costs.idle_exit);
    assert_near(times.delay, delay + costs.wake_up + costs.idle_exit, 1);
    let ticks = 2 * costs.tick;
    let run = rounds * (10 * MICROSECOND + costs.context_switch);
    assert!((run..=run + ticks).contains(&times.run), "{times:?}");
}

#[test]
fn slices_of_cfs_have_a_least_length() {
    // Four threads have a quarter of the latency, sixteen the least length, 0.75 ms.
    for (threads, slice) in [(4, 1500), (16, 750)] {
        let config = KernelConfig { precise_slices: true, ..KernelConfig::linux_5() };
        let mut engine = Engine::flat(1, config);
        let threads: Vec<_> = (0..threads).map(|_| engine.start(LOOP)).collect();
        engine.run_for(SECOND);
        let switches = |&thread| engine.times(thread).involuntary_switches;
        let switches: u64 = threads.iter().map(switches).sum();
        assert_near(switches, SECOND / MICROSECOND / slice, 3);
    }
}

#[test]
fn cfs_moves_a_thread_by_its_distance_from_the_floor() {
    let mut engine = Engine::flat(2, KernelConfig::linux_5());
    let [a, b] = [(); 2].map(|()| engine.start_on(&[0], LOOP));
    engine.run_for(100 * MILLISECOND);
    let alone = engine.start_on(&[1], LOOP);
    engine.run_for(9 * MILLISECOND);
    let [moves, stays] = if engine.kernel.current(Cpu(0)) == Some(a) { [b, a] } else { [a, b] };
    engine.kernel.set_nice(stays, 0, engine.now);
    engine.kernel.set_nice(alone, 0, engine.now);
    let vruntime = |engine: &Engine, thread| engine.kernel.entities[thread].vruntime;
    let floor = vruntime(&engine, stays).min(vruntime(&engine, moves));
    let distance = vruntime(&engine, moves) - floor;
    engine.kernel.set_affinity(moves, [Cpu(1)].into_iter().collect(), engine.now);
    assert_eq!(vruntime(&engine, moves) - vruntime(&engine, alone), distance);
    assert!(vruntime(&engine, stays) > 2 * vruntime(&engine, alone));
}
