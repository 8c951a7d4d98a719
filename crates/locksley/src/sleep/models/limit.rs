//! Loom models of the limit and the monitor. The monitor's timed park ends at once in a model.

use super::*;

/// The protocol of a pool of `workers` workers, of which `limit` may be active.
fn limited(workers: usize, limit: usize) -> Sleep {
    Sleep::new(workers, workers, limit)
}

/// What the monitor does if tasks wait: it wakes up if fewer workers are active than may be, and
/// raises the limit otherwise.
fn watch(sleep: &Sleep, tasks: &Tasks) -> Watch {
    if sleep.active() == 0 {
        return Watch::Retire;
    }
    if tasks.are_left() {
        if sleep.active() < sleep.limit() {
            return Watch::Wake;
        }
        sleep.set_limit(sleep.workers.min(2 * sleep.limit()));
    }
    thread::yield_now();
    Watch::Continue
}

/// Searches and sleeps, as a worker of a pool with a limit does, until `is_over`, which runs a task
/// if it finds one. A worker over the limit calls that only after it has slept.
fn search_until(
    worker: usize,
    sleep: &Sleep,
    tasks: &Tasks,
    is_over: impl Fn() -> bool,
    is_called: impl Fn() -> bool,
    mut watch: impl FnMut() -> Watch,
) {
    let mut has_slept = false;
    sleep.begin_search();
    while !((has_slept || !sleep.is_over_limit()) && is_over()) {
        let look_again = |role| is_called() || role == SleepRole::Ordinary && tasks.are_left();
        sleep.sleep(Slot::new(worker), look_again, &mut watch);
        has_slept = true;
    }
    sleep.end_search(&token(), || tasks.are_left());
}

/// As [`work_once`], within a limit.
fn work_once_within(worker: usize, sleep: &Sleep, tasks: &Tasks) {
    search_until(worker, sleep, tasks, || tasks.take_one(), || false, || watch(sleep, tasks));
}

/// The same, with a monitor that raises nothing.
fn work_once_unwatched(worker: usize, sleep: &Sleep, tasks: &Tasks) {
    let watch = || {
        thread::yield_now();
        Watch::Continue
    };
    search_until(worker, sleep, tasks, || tasks.take_one(), || false, watch);
}

/// An active worker pushes tasks, and then blocks.
fn push_tasks(number: usize, sleep: &Sleep, tasks: &Tasks) {
    let wake_token = token();
    for _ in 0..number {
        tasks.add_one();
        sleep.notify_pushed(&wake_token);
    }
}

#[test]
fn loom_sleep_the_monitor_raises_the_limit_for_the_task_of_a_blocked_worker() {
    check(3, || {
        let shared = Arc::new((limited(2, 1), Tasks::new(0)));
        let monitor = shared.clone();
        let monitor = thread::spawn(move || work_once_within(1, &monitor.0, &monitor.1));
        push_tasks(1, &shared.0, &shared.1);
        monitor.join().unwrap();
    });
}

/// Of three workers, `limit` may be active. One makes two tasks ready and blocks; each of the
/// others takes one.
fn two_others_take_two_tasks(limit: usize, notify: fn(&Sleep, &WakeToken)) {
    check(2, move || {
        let shared = Arc::new((limited(3, limit), Tasks::new(0)));
        let others = [1, 2].map(|worker| {
            let shared = shared.clone();
            thread::spawn(move || work_once_within(worker, &shared.0, &shared.1))
        });
        let wake_token = token();
        for _ in 0..2 {
            shared.1.add_one();
            notify(&shared.0, &wake_token);
        }
        others.into_iter().for_each(|worker| worker.join().unwrap());
    });
}

#[test]
fn loom_sleep_a_monitor_that_takes_a_task_is_replaced() {
    two_others_take_two_tasks(1, Sleep::notify_pushed);
}

#[test]
fn loom_sleep_workers_below_the_limit_look_for_themselves() {
    two_others_take_two_tasks(2, Sleep::notify_pushed);
}

#[test]
fn loom_sleep_tasks_sent_over_the_limit_are_run() {
    two_others_take_two_tasks(1, |sleep, _| sleep.notify_sent());
}

#[test]
fn loom_sleep_tasks_addressed_over_the_limit_are_run() {
    two_others_take_two_tasks(1, |sleep, token| sleep.notify_addressed(&(0..3), Some(token)));
}

/// Of three workers one may be active, and blocks after it has made a task ready. One is the
/// monitor, and is suspended. So the third leaves tasks to those two. Then all may be active. With
/// `has_thief`, a fourth worker searches and stops.
fn limit_is_raised_for_a_sleeper(has_thief: bool, bound: usize, notify: fn(&Sleep)) {
    check(bound, move || {
        let workers = 3 + usize::from(has_thief);
        let shared = Arc::new((limited(workers, 1), Tasks::new(0)));
        shared.0.begin_search();
        assert!(shared.0.counters.begin_sleep_as_monitor(workers - 1).is_some());
        if has_thief {
            shared.0.begin_search();
        }
        let sleeper = shared.clone();
        let sleeper = thread::spawn(move || work_once_unwatched(2, &sleeper.0, &sleeper.1));
        let leaver = has_thief.then(|| {
            let shared = shared.clone();
            thread::spawn(move || {
                shared.0.end_search(&token(), || shared.1.are_left());
            })
        });
        let resizer = shared.clone();
        let resizer = thread::spawn(move || resizer.0.set_limit(workers));
        shared.1.add_one();
        notify(&shared.0);
        resizer.join().unwrap();
        leaver.into_iter().for_each(|leaver| leaver.join().unwrap());
        sleeper.join().unwrap();
    });
}

#[test]
fn loom_sleep_the_limit_is_raised_during_a_push() {
    limit_is_raised_for_a_sleeper(false, 2, |sleep| sleep.notify_pushed(&token()));
}

#[test]
fn loom_sleep_the_limit_is_raised_during_a_send() {
    limit_is_raised_for_a_sleeper(false, 2, Sleep::notify_sent);
}

/// The push counts on a thief, which then leaves by the old limit.
#[test]
fn loom_sleep_the_limit_is_raised_while_the_last_thief_leaves() {
    limit_is_raised_for_a_sleeper(true, 2, |sleep| sleep.notify_pushed(&token()));
}

/// Of two workers one may be active, and blocks after a push. The other falls asleep by the old
/// limit. It is the monitor, and leaves the task to the active worker, but not if the limit is
/// higher then.
#[test]
fn loom_sleep_the_limit_is_raised_while_a_worker_becomes_the_monitor() {
    check(3, || {
        let shared = Arc::new((limited(2, 1), Tasks::new(0)));
        let sleeper = shared.clone();
        let sleeper = thread::spawn(move || work_once_unwatched(1, &sleeper.0, &sleeper.1));
        let resizer = shared.clone();
        let resizer = thread::spawn(move || resizer.0.set_limit(2));
        push_tasks(1, &shared.0, &shared.1);
        resizer.join().unwrap();
        sleeper.join().unwrap();
    });
}

/// Of four workers one may be active, and blocks after a push. One is the monitor, and is
/// suspended. Then two may be active, so one stays over the limit. The two others have left tasks
/// to the active worker. With `has_thief`, one of them searches and stops instead: either it counts
/// as active when the missing workers are counted, or it is one of them.
fn limit_is_raised_for_one(has_thief: bool) {
    check(2, move || {
        let shared = Arc::new((limited(4, 1), Tasks::new(0), Event::new()));
        shared.0.begin_search();
        assert!(shared.0.counters.begin_sleep_as_monitor(3).is_some());
        if has_thief {
            shared.0.begin_search();
        }
        let others = [2, 3].map(|worker| {
            let shared = shared.clone();
            thread::spawn(move || {
                let (sleep, tasks, done) = &*shared;
                if has_thief && worker == 3 {
                    sleep.end_search(&token(), || tasks.are_left());
                }
                let is_over = || {
                    if tasks.take_one() {
                        done.set();
                        (2..4).for_each(|worker| wake(sleep, worker));
                    }
                    done.is_set()
                };
                let watch = || {
                    thread::yield_now();
                    Watch::Continue
                };
                search_until(worker, sleep, tasks, is_over, || done.is_set(), watch);
            })
        });
        let resizer = shared.clone();
        let resizer = thread::spawn(move || resizer.0.set_limit(2));
        push_tasks(1, &shared.0, &shared.1);
        resizer.join().unwrap();
        others.into_iter().for_each(|worker| worker.join().unwrap());
    });
}

#[test]
fn loom_sleep_the_limit_is_raised_for_one_of_two_sleepers() {
    limit_is_raised_for_one(false);
}

#[test]
fn loom_sleep_the_limit_is_raised_for_one_while_the_last_thief_leaves() {
    limit_is_raised_for_one(true);
}

/// Of two workers one may be active. It sleeps, is woken by an event of its own, pushes a task and
/// blocks. The monitor may have seen meanwhile that no worker is active, and retire.
#[test]
fn loom_sleep_a_monitor_that_retires_sees_the_last_push() {
    check(3, || {
        let shared = Arc::new((limited(2, 1), Tasks::new(0), Event::new()));
        let active = shared.clone();
        let active = thread::spawn(move || {
            let (sleep, tasks, event) = &*active;
            let is_set = || event.is_set();
            search_until(0, sleep, tasks, is_set, is_set, || Watch::Continue);
            push_tasks(1, sleep, tasks);
        });
        let monitor = shared.clone();
        let monitor = thread::spawn(move || work_once_within(1, &monitor.0, &monitor.1));
        let (sleep, _, event) = &*shared;
        event.set();
        wake(sleep, 0);
        active.join().unwrap();
        monitor.join().unwrap();
    });
}
