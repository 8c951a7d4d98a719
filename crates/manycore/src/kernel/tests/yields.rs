//! What each version of `sched_yield` does, exactly, and the directed yield.

use super::*;

/// A kernel with one processor and two threads that began level. The first one has run for 0.1 ms.
fn two_threads(config: KernelConfig) -> (Kernel, ThreadId, ThreadId) {
    let topology = Topology::new(1, 1, 1, 1).unwrap();
    let mut kernel = Kernel::new(topology, config.without_costs());
    let [a, b] = [(); 2].map(|()| kernel.add_thread(None, Cpu(0)));
    for thread in [a, b] {
        kernel.threads[thread].is_new = false;
        kernel.wake(thread, None, 0);
    }
    assert_eq!(kernel.pick(Cpu(0), 0).thread, Some(a));
    assert_eq!(kernel.pick(Cpu(0), T).thread, Some(a));
    (kernel, a, b)
}

const T: Nanos = 100 * MICROSECOND;
const SLICE: i64 = 700_000;

fn vruntime(kernel: &Kernel, thread: ThreadId) -> (i64, i64) {
    (kernel.entities[thread].vruntime, kernel.entities[thread].deadline)
}

/// Yields and returns the thread that runs next.
fn yield_at(kernel: &mut Kernel, now: Nanos) -> ThreadId {
    kernel.yield_now(Cpu(0), now);
    kernel.pick(Cpu(0), now).thread.unwrap()
}

#[test]
fn eevdf_moves_the_deadline() {
    let config = KernelConfig {
        scheduler: Scheduler::Eevdf(Eevdf { yielding: EevdfYield::Deadline, ..Eevdf::default() }),
        ..KernelConfig::linux_6_18()
    };
    let (mut kernel, a, b) = two_threads(config);
    assert_eq!(vruntime(&kernel, a), (0, SLICE));
    assert_eq!(yield_at(&mut kernel, T), b);
    assert_eq!(vruntime(&kernel, a), (100_000, SLICE * 2));
    // `a` is ahead of the average, so that `b` goes on although it yields.
    assert_eq!(yield_at(&mut kernel, T), b);
    assert_eq!(vruntime(&kernel, b), (0, SLICE * 2));
    assert_eq!(yield_at(&mut kernel, T + 1), b);
    assert_eq!(vruntime(&kernel, b), (1, SLICE * 3));
    // Both are level: the earlier deadline wins.
    assert_eq!(yield_at(&mut kernel, 2 * T), a);
    assert_eq!(kernel.times(b, 2 * T).involuntary_switches, 1);
}

#[test]
fn eevdf_forfeits_the_slice() {
    let (mut kernel, a, b) = two_threads(KernelConfig::linux_6_18());
    // `a` is not eligible: nothing changes, and `b` runs.
    assert_eq!(yield_at(&mut kernel, T), b);
    assert_eq!(vruntime(&kernel, a), (100_000, SLICE));
    // `b` is eligible: its slice is used up.
    assert_eq!(yield_at(&mut kernel, T + 10), a);
    assert_eq!(vruntime(&kernel, b), (SLICE, SLICE * 2));
    assert_eq!(kernel.times(b, T + 10).run, 10);
}

#[test]
fn eevdf_protects_nothing_after_a_yield() {
    // Both are level at T, and protected.
    for yielding in [EevdfYield::Deadline, EevdfYield::Forfeit] {
        let (mut kernel, a, b) = two_threads(KernelConfig::linux_6_12(yielding));
        assert_eq!(yield_at(&mut kernel, T), b);
        assert_eq!(yield_at(&mut kernel, 2 * T), a);
    }
}

#[test]
fn cfs_stays_where_it_is() {
    let (mut kernel, a, b) = two_threads(KernelConfig::linux_2_6(CfsYield::Stay));
    assert_eq!(yield_at(&mut kernel, T), b);
    // `b` is behind and stays the first.
    assert_eq!(yield_at(&mut kernel, T + 10), b);
    assert_eq!(yield_at(&mut kernel, 2 * T + 1), a);
}

#[test]
fn cfs_goes_to_the_end_in_compatible_mode() {
    let (mut kernel, a, b) = two_threads(KernelConfig::linux_2_6(CfsYield::Compat));
    let base = vruntime(&kernel, b).0;
    assert_eq!(yield_at(&mut kernel, T), b);
    assert_eq!(vruntime(&kernel, a).0, base + 100_000);
    assert_eq!(yield_at(&mut kernel, T + 10), a);
    assert_eq!(vruntime(&kernel, b).0, base + 100_001);
    assert_eq!(yield_at(&mut kernel, T + 10), b);
    assert_eq!(vruntime(&kernel, a).0, base + 100_002);
}

#[test]
fn cfs_skips_the_thread_that_yields() {
    let (mut kernel, a, b) = two_threads(KernelConfig::linux_5());
    assert_eq!(yield_at(&mut kernel, T), b);
    let before = vruntime(&kernel, b).0;
    // `b` is behind by 0.1 ms, which is less than the granularity.
    assert_eq!(yield_at(&mut kernel, T), a);
    assert_eq!(vruntime(&kernel, b).0, before);
    // `a` is ahead by 1 ms, which is not more than the granularity; then by more.
    assert_eq!(kernel.pick(Cpu(0), T + 900 * MICROSECOND).thread, Some(a));
    assert_eq!(yield_at(&mut kernel, T + 900 * MICROSECOND), b);
    assert_eq!(yield_at(&mut kernel, T + 900 * MICROSECOND), a);
    assert_eq!(yield_at(&mut kernel, T + 901 * MICROSECOND), b);
    assert_eq!(yield_at(&mut kernel, T + 901 * MICROSECOND), b);
}

#[test]
fn round_robin_goes_to_the_end() {
    let (mut kernel, a, b) = two_threads(KernelConfig::round_robin(MILLISECOND));
    let c = kernel.add_thread(None, Cpu(0));
    kernel.wake(c, None, T);
    let order = [(); 4].map(|()| yield_at(&mut kernel, T));
    assert_eq!(order, [b, c, a, b]);
}

#[test]
fn a_yield_alone_changes_nothing() {
    for config in all_configs() {
        let topology = Topology::new(1, 1, 1, 1).unwrap();
        let mut kernel = Kernel::new(topology, config.without_costs());
        let a = kernel.add_thread(None, Cpu(0));
        kernel.wake(a, None, 0);
        kernel.pick(Cpu(0), 0);
        let before = vruntime(&kernel, a);
        kernel.yield_now(Cpu(0), 0);
        let picked = kernel.pick(Cpu(0), 0);
        assert_eq!(picked, Picked { thread: Some(a), switched: false, cost: 0 });
        assert_eq!(vruntime(&kernel, a), before);
    }
}

#[test]
fn a_directed_yield_runs_the_target() {
    for config in all_configs() {
        let mut engine = Engine::flat(2, config);
        let others = [(); 3].map(|()| engine.start_on(&[1], LOOP));
        engine.start_on(&[0], LOOP);
        let waits = engine.start_on(&[0], LOOP);
        engine.run_for(T);
        let target = others.into_iter().find(|&it| engine.kernel.state(it) == ThreadState::Ready);
        let target = target.unwrap();
        let yielder = engine.kernel.current(Cpu(0)).unwrap();
        // It may not run here.
        assert!(!engine.kernel.yield_to(Cpu(0), target, engine.now));
        assert_eq!(engine.kernel.pick(Cpu(0), engine.now).thread, Some(yielder));
        // It comes from another processor.
        engine.kernel.set_affinity(target, [Cpu(0), Cpu(1)].into_iter().collect(), engine.now);
        assert!(engine.kernel.yield_to(Cpu(0), target, engine.now));
        let picked = engine.kernel.pick(Cpu(0), engine.now);
        assert_eq!((picked.thread, picked.switched), (Some(target), true));
        assert_eq!(engine.kernel.state(yielder), ThreadState::Ready);
        assert_eq!(engine.kernel.runnable(Cpu(0)), 3);
        assert_eq!(engine.kernel.runnable(Cpu(1)), 2);
        // A thread that waits on the same processor; then one that runs, which is refused.
        let local = if yielder == waits { ThreadId(3) } else { waits };
        assert!(engine.kernel.yield_to(Cpu(0), local, engine.now));
        assert_eq!(engine.kernel.pick(Cpu(0), engine.now).thread, Some(local));
        assert!(!engine.kernel.yield_to(Cpu(0), local, engine.now));
    }
}

#[test]
fn a_directed_yield_passes_the_rest_of_the_slice() {
    let mut engine = Engine::flat(1, KernelConfig::round_robin(10 * MILLISECOND));
    let steps = |target| [Step::Compute(4 * MILLISECOND), Step::YieldTo(target), LOOP[0]];
    engine.start(&steps(ThreadId(2)));
    let [b, c] = [(); 2].map(|()| engine.start(LOOP));
    engine.run_for(10 * MILLISECOND - 1);
    assert_eq!(engine.run_time(c), 6 * MILLISECOND - 1);
    engine.run_for(2);
    assert_eq!(engine.kernel.current(Cpu(0)), Some(b));
}

#[test]
fn directed_yields_do_not_starve_a_third_thread() {
    let config = KernelConfig { precise_slices: true, ..KernelConfig::linux_6_18() };
    let mut engine = Engine::flat(1, config);
    let steps = |target| [Step::Compute(50 * MICROSECOND), Step::YieldTo(target)];
    let a = engine.start(&steps(ThreadId(1)));
    let b = engine.start(&steps(ThreadId(0)));
    let c = engine.start(LOOP);
    engine.run_for(SECOND);
    assert!(engine.times(a).involuntary_switches > 1000);
    for thread in [a, b, c] {
        assert_near(engine.run_time(thread), SECOND / 3, 10);
    }
}

#[test]
fn a_target_that_moves_before_the_pick_is_not_run() {
    let mut engine = Engine::flat(2, KernelConfig::linux_6_18());
    let threads = [(); 2].map(|()| engine.start_on(&[0], LOOP));
    engine.run_for(T);
    let yielder = engine.kernel.current(Cpu(0)).unwrap();
    let target = threads.into_iter().find(|&it| it != yielder).unwrap();
    for (moves, runs) in [(target, yielder), (yielder, target)] {
        let mut engine = Engine::flat(2, KernelConfig::linux_6_18());
        for _ in threads {
            engine.start_on(&[0], LOOP);
        }
        engine.run_for(T);
        assert!(engine.kernel.yield_to(Cpu(0), target, engine.now));
        engine.kernel.set_affinity(moves, [Cpu(1)].into_iter().collect(), engine.now);
        assert_eq!(engine.kernel.pick(Cpu(0), engine.now).thread, Some(runs));
        assert_eq!(engine.kernel.processor(moves), Cpu(1));
        assert_eq!(engine.kernel.pick(Cpu(1), engine.now + T).thread, Some(moves));
    }
}
