//! Loom models of limits, sizes and the sentinel. A timed park ends at once in a model.

use super::*;

/// A pool of `workers` workers, of which `awake` may be awake.
fn limited(workers: usize, awake: usize) -> Sleep {
    Sleep::new(workers, Limit { awake, timed_park: Duration::from_millis(1) })
}

/// As [`work_once`], but a worker over the limit takes only a task that was ready during a whole
/// timed park. With `in_reserve`, the worker may be the reserve sentinel.
fn work_once_within(worker: usize, in_reserve: bool, sleep: &Sleep, tasks: &Tasks) {
    let mut untouched = false;
    sleep.begin_search();
    while !((untouched || !sleep.is_over_push_limit()) && tasks.take_one()) {
        let slept = sleep.sleep(worker, in_reserve, |role| {
            untouched = tasks.are_left();
            matches!(role, SleepRole::Ordinary | SleepRole::ReserveSentinel) && tasks.are_left()
        });
        untouched &= slept.is_sentinel();
    }
    sleep.end_search(&WakeToken::default(), || tasks.are_left());
}

fn work_once_within_the_limit(worker: usize, sleep: &Sleep, tasks: &Tasks) {
    work_once_within(worker, false, sleep, tasks);
}

/// An awake worker pushes tasks, and then blocks.
fn push_tasks(number: usize, sleep: &Sleep, tasks: &Tasks) {
    let wake_token = WakeToken::default();
    for _ in 0..number {
        tasks.add_one();
        sleep.notify_pushed(&wake_token);
    }
}

#[test]
fn loom_sleep_the_sentinel_finds_the_task_of_a_blocked_worker() {
    check(3, || {
        let shared = Arc::new((limited(2, 1), Tasks::new(0)));
        let sentinel = shared.clone();
        let sentinel =
            thread::spawn(move || work_once_within_the_limit(1, &sentinel.0, &sentinel.1));
        push_tasks(1, &shared.0, &shared.1);
        sentinel.join().unwrap();
    });
}

/// Of three workers, `awake` may be awake. One pushes two tasks and blocks; each of the others
/// takes one. `in_reserve` says which of these may be the reserve sentinel.
fn two_others_take_two_tasks(awake: usize, in_reserve: [bool; 2]) {
    check(2, move || {
        let shared = Arc::new((limited(3, awake), Tasks::new(0)));
        let others = [1, 2].map(|worker| {
            let shared = shared.clone();
            thread::spawn(move || {
                work_once_within(worker, in_reserve[worker - 1], &shared.0, &shared.1);
            })
        });
        push_tasks(2, &shared.0, &shared.1);
        others.into_iter().for_each(|worker| worker.join().unwrap());
    });
}

#[test]
fn loom_sleep_a_sentinel_that_takes_a_task_is_replaced() {
    two_others_take_two_tasks(1, [false; 2]);
}

#[test]
fn loom_sleep_workers_below_the_limit_look_for_themselves() {
    two_others_take_two_tasks(2, [false; 2]);
}

#[test]
fn loom_sleep_a_reserve_sentinel_prevents_no_wake_up() {
    two_others_take_two_tasks(2, [false, true]);
}

#[test]
fn loom_sleep_either_worker_may_be_the_reserve_sentinel() {
    two_others_take_two_tasks(2, [true; 2]);
}

/// Of three workers in one place, `awake` may be awake. One sends two tasks to the place and
/// blocks. (In a pool, a worker that falls asleep also looks at the inbox of its place.)
fn two_others_take_two_tasks_of_their_place(awake: usize) {
    check(2, move || {
        let shared = Arc::new((limited(3, awake), Tasks::new(0)));
        let others = [1, 2].map(|worker| {
            let shared = shared.clone();
            thread::spawn(move || work_once_within_the_limit(worker, &shared.0, &shared.1))
        });
        let (sleep, tasks) = &*shared;
        let wake_token = WakeToken::with_neighbours(0..3);
        for _ in 0..2 {
            tasks.add_one();
            sleep.notify_addressed(0..3, false, Some(&wake_token));
        }
        others.into_iter().for_each(|worker| worker.join().unwrap());
    });
}

#[test]
fn loom_sleep_the_sentinel_finds_a_task_for_its_place() {
    two_others_take_two_tasks_of_their_place(1);
}

#[test]
fn loom_sleep_workers_below_the_limit_find_a_task_for_their_place() {
    two_others_take_two_tasks_of_their_place(2);
}

/// Of three workers one may be awake, and blocks after a push. One is the sentinel, and is
/// suspended while it wakes up. So the third leaves pushed tasks to those two. Then all may be
/// awake. With `has_thief`, a fourth worker searches and stops.
fn limit_is_raised_for_a_spare_worker(has_thief: bool, bound: usize, set: fn(&Sleep, usize)) {
    check(bound, move || {
        let workers = 3 + usize::from(has_thief);
        let shared = Arc::new((limited(workers, workers), Tasks::new(0)));
        set(&shared.0, 1);
        shared.0.begin_search();
        assert!(shared.0.counters.begin_sleep_as_sentinel(2));
        if has_thief {
            shared.0.begin_search();
        }
        let spare = shared.clone();
        let spare = thread::spawn(move || {
            let (sleep, tasks) = &*spare;
            sleep.begin_search();
            while sleep.is_over_push_limit() || !tasks.take_one() {
                sleep.sleep(2, false, |role| role == SleepRole::Ordinary && tasks.are_left());
            }
            sleep.end_search(&WakeToken::default(), || tasks.are_left());
        });
        let leaver = has_thief.then(|| {
            let shared = shared.clone();
            thread::spawn(move || {
                shared.0.end_search(&WakeToken::default(), || shared.1.are_left());
            })
        });
        let resizer = shared.clone();
        let resizer = thread::spawn(move || set(&resizer.0, workers));
        push_tasks(1, &shared.0, &shared.1);
        resizer.join().unwrap();
        leaver.into_iter().for_each(|leaver| leaver.join().unwrap());
        spare.join().unwrap();
    });
}

#[test]
fn loom_sleep_the_size_is_raised_during_a_push() {
    limit_is_raised_for_a_spare_worker(false, 3, Sleep::resize);
}

#[test]
fn loom_sleep_the_send_limit_is_raised_during_a_push() {
    limit_is_raised_for_a_spare_worker(false, 2, allow);
}

/// The limit is raised, and the number of allowed workers stays.
#[test]
fn loom_sleep_the_limit_is_raised_during_a_push() {
    limit_is_raised_for_a_spare_worker(false, 2, |sleep, awake| {
        sleep.set_limit(Limit { awake, timed_park: Duration::from_millis(1) }, 3);
    });
}

/// Of four workers one may be awake, and blocks after a push. One is the sentinel, and is suspended
/// while it wakes up. Then two may be awake, so one stays over the limit. The two others have left
/// pushed tasks to the sentinel. With `has_thief`, one of them searches and stops instead: either
/// it counts as awake when the missing workers are counted, or it is one of them.
fn limit_is_raised_for_one(has_thief: bool) {
    check(2, move || {
        let shared = Arc::new((limited(4, 4), Tasks::new(0), Event::new()));
        let awake = |sleep: &Sleep, awake| {
            sleep.set_limit(Limit { awake, timed_park: Duration::from_millis(1) }, 4);
        };
        awake(&shared.0, 1);
        shared.0.begin_search();
        assert!(shared.0.counters.begin_sleep_as_sentinel(3));
        if has_thief {
            shared.0.begin_search();
        }
        let others = [2, 3].map(|worker| {
            let shared = shared.clone();
            thread::spawn(move || {
                let (sleep, tasks, done) = &*shared;
                if has_thief && worker == 3 {
                    sleep.end_search(&WakeToken::default(), || tasks.are_left());
                }
                sleep.begin_search();
                while !done.is_set() {
                    if !sleep.is_over_push_limit() && tasks.take_one() {
                        done.set();
                        sleep.wake_all();
                        break;
                    }
                    sleep.sleep(worker, false, |role| {
                        done.is_set() || (role == SleepRole::Ordinary && tasks.are_left())
                    });
                    thread::yield_now();
                }
                sleep.end_search(&WakeToken::default(), || tasks.are_left());
            })
        });
        let waker = shared.clone();
        let waker = thread::spawn(move || awake(&waker.0, 2));
        push_tasks(1, &shared.0, &shared.1);
        waker.join().unwrap();
        others.into_iter().for_each(|worker| worker.join().unwrap());
    });
}

#[test]
fn loom_sleep_the_limit_is_raised_for_one_of_two_sleepers() {
    limit_is_raised_for_one(false);
}

#[test]
fn loom_sleep_the_limit_is_raised_while_the_last_thief_leaves() {
    limit_is_raised_for_one(true);
}

/// The push counts on a thief, which then leaves by the old size.
#[test]
fn loom_sleep_the_size_is_raised_while_the_last_thief_leaves() {
    limit_is_raised_for_a_spare_worker(true, 2, Sleep::resize);
}

/// Sets the limit and the number of allowed workers.
fn allow(sleep: &Sleep, allowed: usize) {
    sleep.set_limit(Limit { awake: allowed, timed_park: Duration::from_millis(1) }, allowed);
}

/// Of two workers one may be awake. A task is sent, to all or to a sleeper, and one worker runs it.
fn sent_over_the_limit(
    narrow: impl Fn(&Sleep) + Copy + Send + Sync + 'static,
    send: impl Fn(&Sleep) + Copy + Send + Sync + 'static,
) {
    check(2, move || {
        let shared = Arc::new((limited(2, 2), Tasks::new(0), Event::new()));
        narrow(&shared.0);
        let workers = [0, 1].map(|worker| {
            let shared = shared.clone();
            thread::spawn(move || {
                let (sleep, tasks, done) = &*shared;
                let mut untouched = false;
                sleep.begin_search();
                while !done.is_set() {
                    if (untouched || !sleep.is_over_send_limit()) && tasks.take_one() {
                        done.set();
                        sleep.wake_all();
                        break;
                    }
                    let slept = sleep.sleep(worker, false, |role| {
                        untouched = tasks.are_left();
                        let leaves_tasks =
                            role != SleepRole::Ordinary && sleep.is_send_limit_reached();
                        done.is_set() || (!leaves_tasks && tasks.are_left())
                    });
                    untouched &= slept.is_sentinel();
                    thread::yield_now();
                }
                sleep.end_search(&WakeToken::default(), || tasks.are_left());
            })
        });
        let (sleep, tasks, _) = &*shared;
        tasks.add_one();
        send(sleep);
        workers.into_iter().for_each(|worker| worker.join().unwrap());
    });
}

/// Of three workers one may be awake, and is blocked. Two tasks are sent, and the worker that runs
/// the first blocks in it. If that was the sentinel, the other worker, which left all tasks to it,
/// is woken for the second.
#[test]
fn loom_sleep_a_task_sent_while_the_sentinel_is_blocked_is_run() {
    check(2, || {
        let shared = Arc::new((limited(3, 3), Tasks::new(0)));
        shared.0.resize(1);
        let workers = [1, 2].map(|worker| {
            let shared = shared.clone();
            thread::spawn(move || {
                let (sleep, tasks) = &*shared;
                let mut untouched = false;
                sleep.begin_search();
                while !((untouched || !sleep.is_over_size()) && tasks.take_one()) {
                    let slept = sleep.sleep(worker, false, |role| {
                        untouched = tasks.are_left();
                        let leaves_tasks =
                            role != SleepRole::Ordinary && sleep.is_send_limit_reached();
                        !leaves_tasks && tasks.are_left()
                    });
                    untouched &= slept.is_sentinel();
                    thread::yield_now();
                }
                sleep.end_search(&WakeToken::default(), || tasks.are_left());
            })
        });
        let (sleep, tasks) = &*shared;
        for _ in 0..2 {
            tasks.add_one();
            sleep.notify_injected();
        }
        workers.into_iter().for_each(|worker| worker.join().unwrap());
    });
}

#[test]
fn loom_sleep_a_task_sent_over_the_size_is_run() {
    sent_over_the_limit(|sleep| sleep.resize(1), Sleep::notify_injected);
}

#[test]
fn loom_sleep_a_task_sent_over_the_send_limit_is_run() {
    sent_over_the_limit(|sleep| allow(sleep, 1), Sleep::notify_injected);
}

#[test]
fn loom_sleep_a_task_addressed_over_the_size_is_run() {
    sent_over_the_limit(|sleep| sleep.resize(1), |sleep| sleep.notify_addressed(1..2, false, None));
}

#[test]
fn loom_sleep_a_task_addressed_over_the_send_limit_is_run() {
    sent_over_the_limit(|sleep| allow(sleep, 1), |sleep| sleep.notify_addressed(1..2, false, None));
}

#[test]
fn loom_sleep_a_task_sent_while_one_more_is_allowed_or_no_longer_is_run() {
    for first in [true, false] {
        sent_over_the_limit(
            move |sleep| {
                allow(sleep, 1);
                sleep.set_one_more_allowed(first);
            },
            move |sleep| {
                sleep.set_one_more_allowed(!first);
                sleep.notify_injected();
            },
        );
    }
}
