//! Balancing between processors.

use super::*;

fn all(processors: u16) -> CpuSet {
    (0..processors).map(Cpu).collect()
}

#[test]
fn a_processor_that_becomes_idle_takes_a_waiting_thread() {
    for config in all_configs() {
        let mut engine = Engine::flat(2, config);
        let short = engine.start_on(&[1], &[Step::Compute(MILLISECOND), Step::Exit]);
        let [a, b] = [(); 2].map(|()| engine.start_on(&[0], LOOP));
        for thread in [a, b] {
            engine.kernel.set_affinity(thread, all(2), engine.now);
        }
        engine.run_for(MILLISECOND);
        assert_eq!(engine.kernel.state(short), ThreadState::Exited);
        // At once: the waiting thread has never run.
        let (old, new) = if engine.run_time(a) > 0 { (a, b) } else { (b, a) };
        assert_eq!(engine.kernel.current(Cpu(0)), Some(old));
        assert_eq!(engine.kernel.current(Cpu(1)), Some(new));
        assert_eq!(engine.times(new).migrations, 1);
        assert_eq!(engine.times(new).delay, MILLISECOND);
    }
}

#[test]
fn a_cache_hot_thread_stays() {
    let config = KernelConfig::round_robin(200 * MICROSECOND);
    for (hot, moves) in [(500 * MICROSECOND, false), (100 * MICROSECOND, true)] {
        let balancing = Balancing { hot, ..Balancing::default() };
        let mut engine = Engine::flat(2, KernelConfig { balancing, ..config });
        engine.start_on(&[1], &[Step::Compute(550 * MICROSECOND), Step::Exit]);
        let [a, b] = [(); 2].map(|()| engine.start_on(&[0], LOOP));
        for thread in [a, b] {
            engine.kernel.set_affinity(thread, all(2), engine.now);
        }
        // At 0.55 ms `a` runs its second turn, and `b` has waited since 0.4 ms.
        engine.run_for(560 * MICROSECOND);
        let [a, b] = [a, b].map(|thread| engine.times(thread).migrations);
        assert_eq!((a, b), (0, u64::from(moves)));
    }
}

#[test]
fn idle_processors_take_what_waits_within_ticks() {
    for config in all_configs() {
        for topology in [Topology::new(1, 1, 8, 1), Topology::new(2, 2, 1, 2)] {
            let mut engine = Engine::new(topology.unwrap(), config.without_costs());
            let threads = [(); 8].map(|()| engine.start_on(&[0], LOOP));
            engine.run_for(10 * MILLISECOND);
            assert_eq!(engine.kernel.runnable(Cpu(0)), 8);
            for thread in threads {
                engine.kernel.set_affinity(thread, all(8), engine.now);
            }
            engine.run_for(100 * MILLISECOND);
            let running = threads.map(|thread| engine.kernel.processor(thread));
            let mut running = running.map(|cpu| cpu.0);
            running.sort_unstable();
            assert_eq!(running, [0, 1, 2, 3, 4, 5, 6, 7]);
        }
    }
}

#[test]
fn a_kick_reaches_a_processor_that_is_allowed() {
    let mut engine =
        Engine::new(Topology::new(2, 1, 4, 1).unwrap(), KernelConfig::linux_6_18().without_costs());
    let [a, b] = [(); 2].map(|()| engine.start_on(&[0], LOOP));
    let far: CpuSet = [Cpu(0), Cpu(6)].into_iter().collect();
    for thread in [a, b] {
        engine.kernel.set_affinity(thread, far.clone(), engine.now);
    }
    engine.run_for(50 * MILLISECOND);
    let mut processors = [a, b].map(|thread| engine.kernel.processor(thread));
    processors.sort_unstable();
    assert_eq!(processors, [Cpu(0), Cpu(6)]);
}

#[test]
fn busy_processors_level_their_loads() {
    for config in all_configs() {
        let mut engine = Engine::flat(2, config);
        let threads = [(); 6].map(|()| engine.start_on(&[0], LOOP));
        engine.start_on(&[1], LOOP);
        engine.start_on(&[1], LOOP);
        engine.run_for(MILLISECOND);
        for thread in threads {
            engine.kernel.set_affinity(thread, all(2), engine.now);
        }
        engine.run_for(SECOND);
        assert_eq!([0, 1].map(|cpu| engine.kernel.runnable(Cpu(cpu))), [4, 4]);
    }
}

#[test]
fn without_balancing_threads_stay() {
    let balancing = Balancing { enabled: false, ..Balancing::default() };
    let mut engine = Engine::flat(4, KernelConfig { balancing, ..KernelConfig::linux_6_18() });
    let threads = [(); 3].map(|()| engine.start(&[Step::Compute(MILLISECOND), Step::Sleep(50)]));
    engine.run_for(SECOND);
    for thread in threads {
        assert_eq!(engine.kernel.processor(thread), Cpu(0));
    }
}

#[test]
fn an_affinity_moves_a_running_and_a_waiting_thread() {
    for config in all_configs() {
        let mut engine = Engine::flat(4, config);
        let [a, b] = [(); 2].map(|()| engine.start_on(&[0], LOOP));
        engine.run_for(MILLISECOND);
        assert_ne!(engine.kernel.state(a), engine.kernel.state(b));
        for (thread, cpu) in [(b, 2), (a, 3)] {
            engine.kernel.set_affinity(thread, [Cpu(cpu)].into_iter().collect(), engine.now);
            engine.carry_out();
            engine.run_for(1);
            assert_eq!(engine.kernel.current(Cpu(cpu)), Some(thread));
        }
        assert!(engine.kernel.is_idle(Cpu(0)));
    }
}

#[test]
fn a_processor_with_short_idle_periods_does_not_search() {
    for (sleep, takes) in [(10 * MICROSECOND, false), (300 * MICROSECOND, true)] {
        let costs = KernelCosts { balance: 40 * MICROSECOND, ..KernelCosts::FREE };
        let config = KernelConfig { costs, ..KernelConfig::round_robin(50 * MILLISECOND) };
        let mut engine = Engine::new(Topology::new(1, 1, 2, 1).unwrap(), config);
        engine.start_on(&[1], &[Step::Compute(20 * MICROSECOND), Step::Sleep(sleep)]);
        let [a, b] = [(); 2].map(|()| engine.start_on(&[0], LOOP));
        // Before the first tick.
        engine.run_for(3 * MILLISECOND);
        for thread in [a, b] {
            engine.kernel.set_affinity(thread, all(2), engine.now);
        }
        engine.run_for(900 * MICROSECOND);
        let migrations = engine.times(a).migrations + engine.times(b).migrations;
        assert_eq!(migrations > 0, takes);
    }
}
