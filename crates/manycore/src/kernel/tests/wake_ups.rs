//! Wake-ups: preemption, latency, placement.

use super::*;

/// The longest delay of the wake-ups of a short thread beside a loop.
fn longest_delay(config: KernelConfig) -> Nanos {
    let mut engine = Engine::flat(1, config);
    engine.start(LOOP);
    let thread = engine.start(&[Step::Compute(90 * MICROSECOND), Step::Sleep(9_700 * MICROSECOND)]);
    engine.run_for(100 * MILLISECOND);
    let mut longest = 0;
    let mut before = engine.times(thread);
    engine.run_until(3 * SECOND, |engine| {
        let times = engine.times(thread);
        if times.voluntary_switches > before.voluntary_switches {
            longest = longest.max(times.delay - before.delay);
            before = times;
        }
    });
    assert!(before.voluntary_switches > 100);
    longest
}

#[test]
fn an_interactive_thread_preempts_a_loop_within_its_latency() {
    let tick = 4 * MILLISECOND;
    let slice = 700 * MICROSECOND;
    let delay = longest_delay(KernelConfig::linux_6_18());
    assert!(delay > 0 && delay <= slice + tick, "{delay}");
    // CFS credits sleepers with half the latency, which is more than the granularity.
    assert_eq!(longest_delay(KernelConfig::linux_5()), 0);
    let delay = longest_delay(KernelConfig::round_robin(tick));
    assert!(delay > 0 && delay <= tick, "{delay}");
}

#[test]
fn a_short_slice_ends_the_protection_of_a_long_one() {
    let topology = Topology::new(1, 1, 1, 1).unwrap();
    for preempt_short in [true, false] {
        let options = Eevdf { preempt_short, ..Eevdf::default() };
        let scheduler = Scheduler::Eevdf(options);
        let config = KernelConfig { scheduler, ..KernelConfig::linux_6_18().without_costs() };
        let mut kernel = Kernel::new(topology, config);
        let [a, b, c] = [(); 3].map(|()| kernel.add_thread(None, Cpu(0)));
        kernel.set_slice(c, 100 * MICROSECOND);
        for thread in [a, b] {
            kernel.wake(thread, None, 0);
        }
        kernel.pick(Cpu(0), 0);
        assert_eq!(kernel.current(Cpu(0)), Some(a));
        // All three are level and eligible. `a` is protected until the end of its slice.
        kernel.wake(c, None, 0);
        let requested = kernel
            .take_requests()
            .filter(|request| matches!(request, Request::Reschedule { .. }))
            .count();
        assert_eq!(requested, 1 + usize::from(preempt_short));
        let expected = if preempt_short { c } else { a };
        assert_eq!(kernel.pick(Cpu(0), 0).thread, Some(expected));
    }
}

/// True if a thread of this policy that wakes up beside a loop makes it reschedule.
fn preempts(config: KernelConfig, current: Policy, woken: Policy) -> bool {
    let mut engine = Engine::flat(1, config);
    let runs = engine.add(LOOP);
    engine.kernel.set_policy(runs, current, 0);
    let wakes = engine.add(&[Step::Compute(10), Step::Wait]);
    engine.kernel.set_policy(wakes, woken, 0);
    if let Scheduler::Eevdf(_) = config.scheduler {
        engine.kernel.set_slice(wakes, 100 * MICROSECOND);
    }
    engine.wake(runs);
    engine.wake(wakes);
    engine.run_for(30 * MILLISECOND + 1);
    assert_eq!(engine.kernel.state(wakes), ThreadState::Blocked);
    // Just after a tick.
    engine.run_for(20 * MILLISECOND);
    engine.wake(wakes);
    engine.run_for(10);
    engine.run_time(wakes) > 10 || engine.times(wakes).delay == 0
}

#[test]
fn policies_decide_who_preempts() {
    for config in [KernelConfig::linux_6_18(), KernelConfig::linux_5()] {
        use Policy::{Batch, Idle, Other};
        assert!(preempts(config, Other, Other));
        assert!(preempts(config, Batch, Other));
        assert!(!preempts(config, Other, Batch));
        assert!(!preempts(config, Batch, Batch));
        assert!(!preempts(config, Other, Idle));
        assert!(preempts(config, Idle, Other));
        assert!(preempts(config, Idle, Batch));
    }
}

#[test]
fn a_thread_that_is_ahead_sleeps_in_the_queue() {
    for delay_dequeue in [true, false] {
        let options = Eevdf { delay_dequeue, ..Eevdf::default() };
        let scheduler = Scheduler::Eevdf(options);
        let config = KernelConfig { scheduler, ..KernelConfig::linux_6_18().without_costs() };
        let mut kernel = Kernel::new(Topology::new(1, 1, 1, 1).unwrap(), config);
        let [a, b] = [(); 2].map(|()| kernel.add_thread(None, Cpu(0)));
        kernel.wake(a, None, 0);
        kernel.wake(b, None, 0);
        kernel.pick(Cpu(0), 0);
        // `a` runs for 0.2 ms and is ahead of the average by 0.1 ms.
        kernel.block(Cpu(0), 200 * MICROSECOND);
        assert_eq!(kernel.entities[a].is_delayed, delay_dequeue);
        assert_eq!(kernel.state(a), ThreadState::Blocked);
        assert_eq!(kernel.runnable(Cpu(0)), 1);
        assert_eq!(kernel.pick(Cpu(0), 200 * MICROSECOND).thread, Some(b));
        let expected = if delay_dequeue { 0 } else { -100_000 };
        assert_eq!(kernel.entities[a].lag, expected);
        // When `b` has caught up, `a` wakes up: it owes nothing if it has waited in the queue.
        kernel.wake(a, None, 450 * MICROSECOND);
        assert!(!kernel.entities[a].is_delayed);
        let [a, b] = [a, b].map(|thread| kernel.entities[thread].vruntime);
        assert_eq!(b, 250_000);
        // It is owed nothing; otherwise its debt, 0.1 ms behind the average of both, remains.
        assert_eq!(a, if delay_dequeue { 250_000 } else { 450_000 });
    }
}

#[test]
fn a_thread_that_slept_in_the_queue_leaves_it_when_it_is_eligible() {
    let mut engine = Engine::flat(1, KernelConfig::linux_6_18());
    let a = engine.start(&[Step::Compute(200 * MICROSECOND), Step::Wait]);
    engine.start(LOOP);
    engine.run_for(MILLISECOND);
    assert!(engine.kernel.entities[a].is_delayed);
    engine.run_for(10 * MILLISECOND);
    assert!(!engine.kernel.entities[a].is_delayed);
    assert_eq!(engine.kernel.entities[a].lag, 0);
    engine.run_for(10 * MILLISECOND);
    assert_eq!(engine.run_time(a), 200 * MICROSECOND);
}

#[test]
fn a_sleeper_of_cfs_gets_half_the_latency() {
    for (gentle_sleepers, credit) in [(true, 3), (false, 6)] {
        let scheduler = Scheduler::Cfs(Cfs { gentle_sleepers, ..Cfs::default() });
        let config = KernelConfig { scheduler, ..KernelConfig::linux_5() };
        let mut engine = Engine::flat(1, config);
        let sleeper = engine.start(&[Step::Compute(MILLISECOND), Step::Wait]);
        let runs = engine.start(LOOP);
        engine.run_for(100 * MILLISECOND);
        assert_eq!(engine.kernel.state(sleeper), ThreadState::Blocked);
        engine.kernel.wake(sleeper, None, engine.now);
        let [sleeper, runs] = [sleeper, runs].map(|it| engine.kernel.entities[it].vruntime);
        assert_eq!(runs - sleeper, credit * 1_000_000);
    }
}

#[test]
fn a_wake_up_prefers_the_previous_processor_then_an_idle_core() {
    let topology = Topology::new(2, 1, 4, 2).unwrap();
    let mut kernel = Kernel::new(topology, KernelConfig::linux_6_18().without_costs());
    let place = |kernel: &mut Kernel, thread, waker| {
        kernel.wake(thread, waker, 0);
        kernel.pick(kernel.processor(thread), 0);
        kernel.processor(thread).0
    };
    let threads: Vec<_> = (0..17).map(|_| kernel.add_thread(None, Cpu(0))).collect();
    // First wake-ups: an idle core each, in the parent's socket; then its second threads; then the
    // other socket.
    let placed: Vec<_> =
        threads[..9].iter().map(|&thread| place(&mut kernel, thread, Some(Cpu(0)))).collect();
    assert_eq!(placed, [0, 2, 4, 6, 1, 3, 5, 7, 8]);
    let sleep = |kernel: &mut Kernel, cpu| {
        kernel.block(Cpu(cpu), 0);
        kernel.pick(Cpu(cpu), 0);
    };
    // The previous processor, although its core is busy and another core is idle.
    for cpu in [2, 3, 5] {
        sleep(&mut kernel, cpu);
    }
    assert_eq!(place(&mut kernel, threads[6], Some(Cpu(0))), 5);
    // The previous one (5) is taken, as `threads[6]` runs there: the idle core 2, 3.
    let more = threads[9];
    kernel.threads[more].is_new = false;
    kernel.threads[more].cpu = Cpu(5);
    assert_eq!(place(&mut kernel, more, Some(Cpu(0))), 2);
    // No core is idle: another thread of the same core, then a scan from there on.
    sleep(&mut kernel, 7);
    let more = threads[10];
    kernel.threads[more].is_new = false;
    kernel.threads[more].cpu = Cpu(2);
    assert_eq!(place(&mut kernel, more, Some(Cpu(0))), 3);
}

#[test]
fn the_scan_for_an_idle_processor_has_a_budget() {
    let placed = |idle_scan, idle: &[u16], time| {
        let config = KernelConfig {
            balancing: Balancing { idle_scan, ..Balancing::default() },
            ..KernelConfig::linux_6_18()
        };
        let mut engine = Engine::flat(8, config);
        let idle = |cpu: &u16| idle.contains(cpu);
        for cpu in (0..8).filter(|cpu| !idle(cpu)) {
            engine.start_on(&[cpu], LOOP);
        }
        engine.run_for(time);
        let thread = engine.add(LOOP);
        engine.kernel.threads[thread].is_new = false;
        engine.wake(thread);
        engine.kernel.processor(thread).0
    };
    assert_eq!(placed(IdleScan::All, &[3], MICROSECOND), 3);
    assert_eq!(placed(IdleScan::AtMost(3), &[3], MICROSECOND), 3);
    assert_eq!(placed(IdleScan::AtMost(2), &[3], MICROSECOND), 0);
    // Half of them are busy: y = 1 - (1.17 / 2)² = 0.66, which is five of eight.
    assert_eq!(placed(IdleScan::Utilization, &[4, 5, 6, 7], SECOND), 4);
    assert_eq!(placed(IdleScan::Utilization, &[5, 6, 7], SECOND), 0);
    // The average does not know yet that they are busy.
    assert_eq!(placed(IdleScan::Utilization, &[5, 6, 7], MICROSECOND), 5);
}

#[test]
fn an_overloaded_previous_processor_loses_to_the_waker() {
    let mut engine = Engine::flat(2, KernelConfig::linux_6_18());
    for cpu in [0, 0, 0, 1] {
        engine.start_on(&[cpu], LOOP);
    }
    let thread = engine.add(LOOP);
    engine.kernel.threads[thread].is_new = false;
    assert_eq!(engine.kernel.place(thread, Some(Cpu(1)), 0).0, Cpu(1));
    // 3 + 1 threads are more than 3 and 8 percent.
    engine.start_on(&[1], LOOP);
    engine.start_on(&[1], LOOP);
    assert_eq!(engine.kernel.place(thread, Some(Cpu(1)), 0).0, Cpu(0));
    assert_eq!(engine.kernel.place(thread, None, 0).0, Cpu(0));
}

#[test]
fn a_deep_idle_state_takes_longer_to_leave() {
    let costs = KernelCosts { deep_idle_exit: 50_000, ..KernelCosts::default() };
    let topology = Topology::new(1, 1, 1, 1).unwrap();
    for (idle, latency) in [(costs.deep_idle_after, 3_000), (costs.deep_idle_after + 1, 50_000)] {
        let mut kernel =
            Kernel::new(topology, KernelConfig { costs, ..KernelConfig::linux_6_18() });
        let thread = kernel.add_thread(None, Cpu(0));
        let cost = kernel.wake(thread, None, idle);
        let at = idle + cost + latency;
        let requests: Vec<_> = kernel.take_requests().collect();
        assert_eq!(requests, [Request::Reschedule { cpu: Cpu(0), at }]);
        // A pick before that finds the processor halted.
        assert_eq!(kernel.pick(Cpu(0), at - 1).thread, None);
        assert_eq!(kernel.pick(Cpu(0), at).thread, Some(thread));
        assert_eq!(kernel.idle_time(Cpu(0), at + 5), at);
    }
}

#[test]
fn a_new_thread_inherits_all_but_the_slice() {
    let mut kernel = Kernel::new(Topology::new(1, 1, 4, 1).unwrap(), KernelConfig::linux_6_18());
    let [parent, child] = [(); 2].map(|()| kernel.add_thread(None, Cpu(0)));
    let set: CpuSet = [Cpu(1), Cpu(2)].into_iter().collect();
    kernel.set_affinity(parent, set.clone(), 0);
    kernel.set_policy(parent, Policy::Batch, 0);
    kernel.set_nice(parent, 5, 0);
    kernel.set_slice(parent, MILLISECOND);
    assert_eq!(kernel.affinity(child).len(), 4);
    kernel.inherit(child, parent);
    assert_eq!(kernel.affinity(child), set);
    let Entity { weight, policy, slice, .. } = kernel.entities[child];
    assert_eq!((weight, policy, slice), (335, Policy::Batch, None));
    assert_eq!(kernel.entities[parent].slice, Some(MILLISECOND));
    kernel.set_slice(parent, 1);
    assert_eq!(kernel.entities[parent].slice, Some(100 * MICROSECOND));
    assert!(!kernel.has_any(&[Cpu(4)].into_iter().collect()));
}

#[test]
fn a_migration_costs_between_cores() {
    let topology = Topology::new(1, 1, 2, 2).unwrap();
    let config = KernelConfig::linux_6_18();
    let mut kernel = Kernel::new(topology, config);
    let thread = kernel.add_thread(None, Cpu(0));
    let mut run_on = |cpu: u16, now| {
        kernel.set_affinity(thread, [Cpu(cpu)].into_iter().collect(), now);
        kernel.wake(thread, None, now);
        let later = now + MILLISECOND;
        let picked = kernel.pick(Cpu(cpu), later);
        assert!(picked.switched);
        kernel.block(Cpu(cpu), later);
        let idle = Picked { thread: None, switched: false, cost: 0 };
        assert_eq!(kernel.pick(Cpu(cpu), later), idle);
        picked.cost - config.costs.context_switch
    };
    let costs = [(0, 0), (1, 2), (2, 4), (2, 6)].map(|(cpu, at)| run_on(cpu, at * MILLISECOND));
    assert_eq!(costs, [0, 0, config.costs.migration, 0]);
    assert_eq!(kernel.times(thread, 7 * MILLISECOND).migrations, 2);
}

#[test]
fn lag_is_limited_to_a_tick_or_two_slices() {
    for (slice, limit) in [(None, -4_000_000), (Some(3 * MILLISECOND), -6_000_000)] {
        let options = Eevdf { delay_dequeue: false, ..Eevdf::default() };
        let scheduler = Scheduler::Eevdf(options);
        let config = KernelConfig { scheduler, ..KernelConfig::linux_6_18().without_costs() };
        let mut kernel = Kernel::new(Topology::new(1, 1, 1, 1).unwrap(), config);
        let [a, b] = [(); 2].map(|()| kernel.add_thread(None, Cpu(0)));
        if let Some(slice) = slice {
            kernel.set_slice(a, slice);
        }
        kernel.wake(a, None, 0);
        kernel.pick(Cpu(0), 0);
        kernel.wake(b, None, 0);
        kernel.block(Cpu(0), 50 * MILLISECOND);
        assert_eq!(kernel.entities[a].lag, limit);
    }
}

#[test]
fn cfs_runs_the_thread_that_preempts_although_another_one_is_further_behind() {
    let topology = Topology::new(1, 1, 1, 1).unwrap();
    for (behind, expected) in [(1_000_000, 2), (400_000, 1)] {
        let mut kernel = Kernel::new(topology, KernelConfig::linux_5().without_costs());
        let threads = [0, behind, 1_500_000].map(|vruntime| {
            let thread = kernel.add_thread(None, Cpu(0));
            kernel.threads[thread].is_new = false;
            kernel.entities[thread].vruntime = vruntime;
            thread
        });
        kernel.wake(threads[0], None, 0);
        kernel.wake(threads[1], None, 0);
        assert_eq!(kernel.pick(Cpu(0), 0).thread, Some(threads[0]));
        let now = 4 * MILLISECOND;
        kernel.wake(threads[2], None, now);
        // Unless the other one is further behind it by more than the granularity.
        assert_eq!(kernel.pick(Cpu(0), now).thread, Some(threads[expected]));
    }
}

#[test]
fn first_wake_ups_spread_over_clusters() {
    let topology = Topology::new(1, 4, 2, 1).unwrap();
    let mut kernel = Kernel::new(topology, KernelConfig::linux_6_18().without_costs());
    let placed = [(); 6].map(|()| {
        let thread = kernel.add_thread(None, Cpu(3));
        kernel.wake(thread, Some(Cpu(3)), 0);
        kernel.processor(thread).0
    });
    assert_eq!(placed, [2, 4, 6, 0, 3, 5]);
}
