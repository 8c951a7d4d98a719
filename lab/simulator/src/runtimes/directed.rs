//! BWS with the call of its kernel that yields to a peer (section 4 of the paper).

use std::sync::OnceLock;

use locksley_classic::stealing::Bws;
use locksley_classic::{Stealing, Thief};
use manycore::{ThreadId, os, thread};

/// BWS, and the thread of each worker that has searched.
#[derive(Default)]
pub struct Directed {
    bws: Bws,
    threads: Vec<OnceLock<ThreadId>>,
}

impl Stealing for Directed {
    fn start(&mut self, workers: usize) {
        self.bws.start(workers);
        self.threads.resize_with(workers, OnceLock::new);
    }

    fn steal(&self, w: &dyn Thief) {
        self.threads[w.index()].get_or_init(|| thread::current().id());
        self.bws.steal(&Peer { of: w, threads: &self.threads });
    }
}

/// A worker whose kernel has the call.
struct Peer<'a> {
    of: &'a dyn Thief,
    threads: &'a [OnceLock<ThreadId>],
}

impl Thief for Peer<'_> {
    /// A worker that never searched has never yielded either: then this yields to any thread.
    fn yield_to(&self, worker: usize) {
        match self.threads[worker].get() {
            Some(&thread) => _ = os::yield_to(thread),
            None => self.of.yield_core(),
        }
    }

    fn index(&self) -> usize {
        self.of.index()
    }

    fn workers(&self) -> usize {
        self.of.workers()
    }

    fn work_is_done(&self) -> bool {
        self.of.work_is_done()
    }

    fn random_victim(&self) -> usize {
        self.of.random_victim()
    }

    fn steal_from(&self, victim: usize) -> bool {
        self.of.steal_from(victim)
    }

    fn has_task(&self, worker: usize) -> bool {
        self.of.has_task(worker)
    }

    fn is_preempted(&self, worker: usize) -> bool {
        self.of.is_preempted(worker)
    }

    fn yield_core(&self) {
        self.of.yield_core();
    }

    fn is_asleep(&self, worker: usize) -> bool {
        self.of.is_asleep(worker)
    }

    fn sleep(&self) {
        self.of.sleep();
    }

    fn wake(&self, worker: usize) -> bool {
        self.of.wake(worker)
    }

    fn sleeper(&self) -> Option<usize> {
        self.of.sleeper()
    }
}
