//! What the model checker runs of limits: fewer may be awake than there are, and then more.

use super::*;

/// Of `workers`, so many may be awake.
fn limited(workers: usize, awake: usize) -> Sleep {
    Sleep::new(workers, Limit { awake, timed_park: Duration::from_millis(1) })
}

/// As [`work_once`], but a worker that is over the limit takes only a task that lay there during a
/// whole timed park. A worker that is `ready` stays the sentinel when others sleep.
fn work_once_within(worker: usize, ready: bool, sleep: &Sleep, tasks: &Tasks) {
    let mut untouched = false;
    sleep.begin_search();
    while !((untouched || !sleep.is_over_limit()) && tasks.take_one()) {
        let look_again = |rest| {
            untouched = tasks.are_left();
            matches!(rest, Rest::Full | Rest::InReserve) && tasks.are_left()
        };
        let slept = if ready {
            sleep.sleep_in_reserve(worker, look_again)
        } else {
            sleep.sleep(worker, look_again)
        };
        untouched &= slept.is_as_sentinel();
    }
    sleep.end_search(&WakeToken::default(), || tasks.are_left());
}

fn work_once_within_the_limit(worker: usize, sleep: &Sleep, tasks: &Tasks) {
    work_once_within(worker, false, sleep, tasks);
}

/// A worker that counts as awake pushes tasks, and is stuck then.
fn push_tasks(number: usize, sleep: &Sleep, tasks: &Tasks) {
    let wake_token = WakeToken::default();
    for _ in 0..number {
        tasks.add_one();
        sleep.notify_pushed(&wake_token);
    }
}

#[test]
fn loom_sleep_a_sentinel_finds_what_a_stuck_worker_pushed() {
    check(3, || {
        let shared = Arc::new((limited(2, 1), Tasks::new(0)));
        let sentinel = shared.clone();
        let sentinel =
            thread::spawn(move || work_once_within_the_limit(1, &sentinel.0, &sentinel.1));
        push_tasks(1, &shared.0, &shared.1);
        sentinel.join().unwrap();
    });
}

/// Of three workers, `awake` may be awake. One of them is stuck when it has pushed two tasks, which
/// the others take. A worker that is `ready` may be the sentinel, whichever sleep, and timed parks on as
/// that.
fn two_others_take_two_tasks(awake: usize, ready: [bool; 2]) {
    check(2, move || {
        let shared = Arc::new((limited(3, awake), Tasks::new(0)));
        let others = [1, 2].map(|worker| {
            let shared = shared.clone();
            thread::spawn(move || {
                work_once_within(worker, ready[worker - 1], &shared.0, &shared.1);
            })
        });
        push_tasks(2, &shared.0, &shared.1);
        others.into_iter().for_each(|worker| worker.join().unwrap());
    });
}

#[test]
fn loom_sleep_a_sentinel_that_leaves_is_replaced() {
    two_others_take_two_tasks(1, [false; 2]);
}

#[test]
fn loom_sleep_fewer_than_the_limit_look_for_themselves() {
    two_others_take_two_tasks(2, [false; 2]);
}

#[test]
fn loom_sleep_a_sentinel_in_reserve_takes_nothing_from_who_is_to_be_woken() {
    two_others_take_two_tasks(2, [false, true]);
}

#[test]
fn loom_sleep_any_of_them_may_be_the_sentinel_in_reserve() {
    two_others_take_two_tasks(2, [true; 2]);
}

/// Of three workers in one place, `awake` may be awake. One of them is stuck when it has sent two
/// tasks to the place. (More than in the model, a worker that falls asleep looks at the inbox of
/// its place.)
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
            sleep.notify_addressed_to_some(0..3, Some(&wake_token));
        }
        others.into_iter().for_each(|worker| worker.join().unwrap());
    });
}

#[test]
fn loom_sleep_a_sentinel_finds_what_was_sent_to_a_place() {
    two_others_take_two_tasks_of_their_place(1);
}

#[test]
fn loom_sleep_fewer_than_the_limit_look_for_what_was_sent_to_their_place() {
    two_others_take_two_tasks_of_their_place(2);
}

/// Of three workers one may be awake, and is stuck; one is the sentinel, and suspended on its way
/// up. So the third has left what is pushed to those two. Then all may be awake. `searches`: there is
/// a fourth, which searches, and leaves.
fn relieved(searches: bool, bound: usize, set: fn(&Sleep, usize)) {
    check(bound, move || {
        let workers = 3 + usize::from(searches);
        let shared = Arc::new((limited(workers, workers), Tasks::new(0)));
        set(&shared.0, 1);
        shared.0.begin_search();
        assert!(shared.0.counters.park_as_sentinel(2));
        if searches {
            shared.0.begin_search();
        }
        let relieved = shared.clone();
        let relieved = thread::spawn(move || {
            let (sleep, tasks) = &*relieved;
            sleep.begin_search();
            while sleep.is_over_limit() || !tasks.take_one() {
                sleep.sleep(2, |rest| rest == Rest::Full && tasks.are_left());
            }
            sleep.end_search(&WakeToken::default(), || tasks.are_left());
        });
        let leaver = searches.then(|| {
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
        relieved.join().unwrap();
    });
}

#[test]
fn loom_sleep_more_may_be_awake_while_something_is_pushed() {
    relieved(false, 3, Sleep::resize);
}

#[test]
fn loom_sleep_more_are_allowed_while_something_is_pushed() {
    relieved(false, 2, allow);
}

/// No more are allowed, but one rested.
#[test]
fn loom_sleep_a_rest_ends_while_something_is_pushed() {
    relieved(false, 2, |sleep, awake| {
        sleep.limit_to(Limit { awake, timed_park: Duration::from_millis(1) }, 3);
    });
}

/// Of four workers one may be awake, and pushes, and is stuck; one is the sentinel, and suspended on
/// its way up. Then two may be awake, so one stays beyond the limit. Of the two others both have
/// left what is pushed to the sentinel; or, if `leaves`, one searches, and stops: it makes up the new
/// limit when the missing are counted, or is one of them, and looks when it has nothing to do.
fn a_rest_ends_for_one(leaves: bool) {
    check(2, move || {
        let shared = Arc::new((limited(4, 4), Tasks::new(0), Event::new()));
        let awake = |sleep: &Sleep, awake| {
            sleep.limit_to(Limit { awake, timed_park: Duration::from_millis(1) }, 4);
        };
        awake(&shared.0, 1);
        shared.0.begin_search();
        assert!(shared.0.counters.park_as_sentinel(3));
        if leaves {
            shared.0.begin_search();
        }
        let others = [2, 3].map(|worker| {
            let shared = shared.clone();
            thread::spawn(move || {
                let (sleep, tasks, done) = &*shared;
                if leaves && worker == 3 {
                    sleep.end_search(&WakeToken::default(), || tasks.are_left());
                }
                sleep.begin_search();
                while !done.is_set() {
                    if !sleep.is_over_limit() && tasks.take_one() {
                        done.set();
                        sleep.wake_all();
                        break;
                    }
                    sleep.sleep(worker, |rest| {
                        done.is_set() || (rest == Rest::Full && tasks.are_left())
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
fn loom_sleep_a_rest_ends_for_one_of_those_who_sleep() {
    a_rest_ends_for_one(false);
}

#[test]
fn loom_sleep_a_rest_ends_while_the_last_thief_leaves() {
    a_rest_ends_for_one(true);
}

/// The push counts on a thief that then leaves, by the limit that was.
#[test]
fn loom_sleep_more_may_be_awake_while_the_last_thief_leaves() {
    relieved(true, 2, Sleep::resize);
}

/// So many workers are allowed.
fn allow(sleep: &Sleep, allowed: usize) {
    sleep.limit_to(Limit { awake: allowed, timed_park: Duration::from_millis(1) }, allowed);
}

/// Two workers, of which one may be awake. Something is sent, from outside or to the one that
/// sleeps; one of them does it.
fn sent_to_fewer(
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
                    if (untouched || !sleep.leaves_the_inbox()) && tasks.take_one() {
                        done.set();
                        sleep.wake_all();
                        break;
                    }
                    let slept = sleep.sleep(worker, |rest| {
                        untouched = tasks.are_left();
                        let leaves = rest != Rest::Full && sleep.leaves_what_is_sent();
                        done.is_set() || (!leaves && tasks.are_left())
                    });
                    untouched &= slept.is_as_sentinel();
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

/// Of three workers one may be awake, and is stuck. Two things are sent; the worker that does the
/// first is stuck in it. If that was the sentinel, the other one, which has left all to it, is woken
/// for the second.
#[test]
fn loom_sleep_what_is_sent_when_the_sentinel_is_stuck_is_done() {
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
                    let slept = sleep.sleep(worker, |rest| {
                        untouched = tasks.are_left();
                        let leaves = rest != Rest::Full && sleep.leaves_what_is_sent();
                        !leaves && tasks.are_left()
                    });
                    untouched &= slept.is_as_sentinel();
                    thread::yield_now();
                }
                sleep.end_search(&WakeToken::default(), || tasks.are_left());
            })
        });
        let (sleep, tasks) = &*shared;
        for _ in 0..2 {
            tasks.add_one();
            sleep.notify_sent();
        }
        workers.into_iter().for_each(|worker| worker.join().unwrap());
    });
}

#[test]
fn loom_sleep_what_is_sent_to_fewer_is_done() {
    sent_to_fewer(|sleep| sleep.resize(1), Sleep::notify_sent);
}

#[test]
fn loom_sleep_what_is_sent_where_fewer_are_allowed_is_done() {
    sent_to_fewer(|sleep| allow(sleep, 1), Sleep::notify_sent);
}

#[test]
fn loom_sleep_what_is_addressed_to_fewer_is_done() {
    sent_to_fewer(|sleep| sleep.resize(1), |sleep| sleep.notify_addressed(1, None));
}

#[test]
fn loom_sleep_what_is_addressed_where_fewer_are_allowed_is_done() {
    sent_to_fewer(|sleep| allow(sleep, 1), |sleep| sleep.notify_addressed(1, None));
}

#[test]
fn loom_sleep_what_is_sent_while_one_more_becomes_welcome_or_is_no_longer_is_done() {
    for first in [true, false] {
        sent_to_fewer(
            move |sleep| {
                allow(sleep, 1);
                sleep.welcomes_one_more(first);
            },
            move |sleep| {
                sleep.welcomes_one_more(!first);
                sleep.notify_sent();
            },
        );
    }
}
