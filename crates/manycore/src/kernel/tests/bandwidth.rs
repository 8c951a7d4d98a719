//! Quotas of control groups.

use super::*;

#[test]
fn a_quota_of_one_and_a_half_gives_one_and_a_half_processors() {
    for config in all_configs() {
        let mut engine = Engine::flat(4, config);
        let group = engine.kernel.add_group(Bandwidth::of_processors(1500));
        let threads = [(); 4].map(|()| engine.add_to(Some(group), LOOP));
        threads.iter().for_each(|&thread| engine.wake(thread));
        engine.run_for(2 * SECOND);
        let ran: Nanos = threads.iter().map(|&thread| engine.run_time(thread)).sum();
        assert_near(ran, 3 * SECOND, 2);
        assert_eq!(ran + engine.idle_time(), 8 * SECOND);
        let GroupTimes { periods, throttled_periods } = engine.kernel.group_times(group);
        assert!((19..=20).contains(&periods), "{periods}");
        assert!(throttled_periods + 1 >= periods, "{throttled_periods}");
        for thread in threads {
            let times = engine.times(thread);
            assert_eq!(times.run + times.delay, 2 * SECOND);
            assert!(times.throttled > SECOND / 2);
        }
    }
}

#[test]
fn a_quota_that_is_enough_throttles_nothing() {
    let mut engine = Engine::flat(4, KernelConfig::linux_6_18());
    let group = engine.kernel.add_group(Bandwidth::of_processors(2500));
    let threads = [(); 2].map(|()| engine.add_to(Some(group), LOOP));
    threads.iter().for_each(|&thread| engine.wake(thread));
    engine.run_for(SECOND);
    for thread in threads {
        assert_eq!(engine.run_time(thread), SECOND);
    }
    assert_eq!(engine.kernel.group_times(group).throttled_periods, 0);
}

#[test]
fn other_threads_have_what_a_throttled_group_leaves() {
    let mut engine = Engine::flat(1, KernelConfig::linux_6_18());
    let group = engine.kernel.add_group(Bandwidth::of_processors(200));
    let limited = engine.add_to(Some(group), LOOP);
    engine.wake(limited);
    let other = engine.start(LOOP);
    engine.run_for(5 * SECOND);
    assert_near(engine.run_time(limited), SECOND, 3);
    assert_eq!(engine.run_time(limited) + engine.run_time(other), 5 * SECOND);
}

#[test]
fn a_thread_that_wakes_up_in_a_throttled_group_waits() {
    let mut engine = Engine::flat(1, KernelConfig::linux_6_18());
    let group = engine.kernel.add_group(Bandwidth::of_processors(100));
    let [a, b] = [(); 2].map(|()| engine.add_to(Some(group), LOOP));
    engine.wake(a);
    engine.run_for(50 * MILLISECOND);
    assert_eq!(engine.kernel.state(a), ThreadState::Throttled);
    assert!(engine.kernel.is_idle(Cpu(0)));
    engine.wake(b);
    assert_eq!(engine.kernel.state(b), ThreadState::Throttled);
    engine.run_for(52 * MILLISECOND);
    let states = [a, b].map(|thread| engine.kernel.state(thread));
    assert_eq!(states, [ThreadState::Running, ThreadState::Ready]);
    assert!(engine.times(b).throttled > 40 * MILLISECOND);
}

#[test]
fn an_idle_group_has_no_timer() {
    let mut engine = Engine::flat(1, KernelConfig::linux_6_18());
    let group = engine.kernel.add_group(Bandwidth::of_processors(500));
    let steps = [Step::Compute(10 * MILLISECOND), Step::Wait];
    let thread = engine.add_to(Some(group), &steps);
    engine.wake(thread);
    engine.run_for(SECOND);
    assert_eq!(engine.kernel.group_times(group).periods, 2);
    assert!(engine.events.is_empty());
    engine.wake(thread);
    engine.run_for(SECOND);
    assert_eq!(engine.run_time(thread), 20 * MILLISECOND);
    assert_eq!(engine.kernel.group_times(group).periods, 4);
}

#[test]
fn processors_return_what_they_do_not_use() {
    // Each round uses 0.1 ms on one of eight processors in turn. Without returns, they would keep
    // 5 ms each, which is the whole quota of 40 ms.
    let mut engine = Engine::flat(9, KernelConfig::linux_6_18());
    let group = engine.kernel.add_group(Bandwidth::of_processors(400));
    for cpu in 0..8 {
        let thread = engine.add_to(Some(group), &[Step::Compute(100 * MICROSECOND), Step::Wait]);
        engine.kernel.set_affinity(thread, [Cpu(cpu)].into_iter().collect(), 0);
        engine.wake(thread);
    }
    engine.run_for(MILLISECOND);
    let looping = engine.add_to(Some(group), LOOP);
    engine.kernel.set_affinity(looping, [Cpu(8)].into_iter().collect(), engine.now);
    engine.wake(looping);
    engine.run_for(90 * MILLISECOND);
    // The eight keep 1 ms each.
    let ran = engine.run_time(looping);
    assert!((30 * MILLISECOND..=36 * MILLISECOND).contains(&ran), "{ran}");
}

#[test]
fn what_is_returned_is_not_used_twice() {
    let mut engine = Engine::flat(9, KernelConfig::linux_6_18());
    let group = engine.kernel.add_group(Bandwidth::of_processors(400));
    let short = [Step::Compute(100 * MICROSECOND), Step::Sleep(MILLISECOND)];
    let threads = [(0, &short[..]), (1, &short), (2, LOOP)].map(|(cpu, steps)| {
        let thread = engine.add_to(Some(group), steps);
        engine.kernel.set_affinity(thread, [Cpu(cpu)].into_iter().collect(), 0);
        engine.wake(thread);
        thread
    });
    engine.run_for(4 * SECOND);
    let ran: Nanos = threads.iter().map(|&thread| engine.run_time(thread)).sum();
    assert_near(ran, 4 * SECOND * 400 / 1000, 4);
}

#[test]
fn unused_quota_does_not_add_up() {
    let mut engine = Engine::flat(1, KernelConfig::linux_6_18());
    let group = engine.kernel.add_group(Bandwidth::of_processors(500));
    let light = [Step::Compute(5 * MILLISECOND), Step::Sleep(90 * MILLISECOND)];
    let light = engine.add_to(Some(group), &light);
    engine.wake(light);
    engine.run_for(SECOND);
    let heavy = engine.add_to(Some(group), LOOP);
    engine.wake(heavy);
    engine.run_for(4 * SECOND);
    let ran = engine.run_time(heavy) + engine.run_time(light);
    // Some of the first period, and 50 ms of each other one.
    assert!(ran <= 50 * MILLISECOND + 41 * 50 * MILLISECOND + 10 * MILLISECOND, "{ran}");
}

#[test]
fn all_processors_go_on_in_a_new_period() {
    let mut engine = Engine::flat(4, KernelConfig::linux_6_18());
    let group = engine.kernel.add_group(Bandwidth::of_processors(100));
    let threads = [(); 4].map(|()| engine.add_to(Some(group), LOOP));
    threads.iter().for_each(|&thread| engine.wake(thread));
    // The pool has two slices. The other processors have none, and no debt.
    engine.run_for(50 * MILLISECOND);
    assert!(threads.iter().all(|&it| engine.kernel.state(it) == ThreadState::Throttled));
    engine.run_for(51 * MILLISECOND);
    assert!(
        threads.iter().filter(|&&it| engine.kernel.state(it) == ThreadState::Running).count() > 2
    );
}
