//! What a thief finds that never sleeps, and so never sweeps the whole pool.

use std::sync::mpsc::{Sender, channel};

use crate::idle::Abp;
use crate::pool::tests::{LONGEST, divided, hold, on_worker};
use crate::scheduler::job::HeapJob;
use crate::{Pool, Spawn, Worker};

/// Where a task waits while worker 0 is held.
#[derive(Clone, Copy, Debug)]
enum Queue {
    Injector,
    DequeOfTheHeldWorker,
    InboxOfTheHeldWorker,
    InboxOfThisWorker,
    PinnedQueueOfThisWorker,
    InboxOfItsPlace,
}

/// Puts a task into the queue, which worker 1 has to find. Returns the number of steals for it.
fn find(pool: &Pool, queue: Queue) -> u64 {
    let steals = || pool.stats().workers[1].steals;
    let before = steals();
    let (here, is_found) = channel();
    let task = || {
        let here = here.clone();
        move |worker: &Worker| here.send(worker.index()).unwrap()
    };
    let _held = match queue {
        Queue::DequeOfTheHeldWorker => push_and_hold(pool, task()),
        _ => hold(pool, 0),
    };
    let send_to_inbox = |worker| {
        // SAFETY: sent once, here; the task borrows nothing and does not unwind.
        let job = unsafe { HeapJob::into_job(None, task()) };
        pool.shared_now().send_ready(None, worker, job);
    };
    match queue {
        Queue::DequeOfTheHeldWorker => {}
        Queue::Injector => pool.spawn(task()),
        Queue::PinnedQueueOfThisWorker => pool.spawn_with(Spawn::At(1), task()),
        Queue::InboxOfItsPlace => pool.spawn_with(Spawn::Near(0), task()),
        Queue::InboxOfThisWorker => send_to_inbox(1),
        Queue::InboxOfTheHeldWorker => send_to_inbox(0),
    }
    assert_eq!(is_found.recv_timeout(LONGEST), Ok(1), "{queue:?}");
    steals() - before
}

/// Has worker 0 push a task, and then wait for the drop of the returned sender.
fn push_and_hold(pool: &Pool, task: impl FnOnce(&Worker) + Send + 'static) -> Sender<()> {
    let (go_on, released) = channel();
    pool.spawn_with(Spawn::At(0), move |_| {
        crate::spawn(|| on_worker(task));
        let _ = released.recv();
    });
    go_on
}

#[test]
fn a_thief_that_never_sleeps_finds_what_waits_anywhere() {
    use Queue::*;
    let restless = Abp { attempts: u32::MAX, lower_after: None, sleep_after: None };
    for pool in [Pool::builder().workers(2), divided(&[2])] {
        let pool = pool.idle_policy(restless).build().unwrap();
        for queue in [Injector, InboxOfThisWorker, PinnedQueueOfThisWorker, InboxOfItsPlace] {
            assert_eq!(find(&pool, queue), 0, "{queue:?}");
        }
        for queue in [DequeOfTheHeldWorker, InboxOfTheHeldWorker] {
            assert_eq!(find(&pool, queue), 1, "{queue:?}");
        }
    }
}
