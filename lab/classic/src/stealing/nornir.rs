//! Nornir: the busy-waiting loop that yields after failures.
//!
//! Source: "A simple improvement of the work-stealing scheduling algorithm", 2010, section 2: "the
//! thread enters a busy-waiting loop in which it chooses a random thread ('victim') and tries to
//! steal a task from the back of its run-queue. The loop can finish in two ways: 1) [...] the steal
//! attempt succeeds, 2) there are no more ready tasks, so the program is finished [...]. If neither
//! is the case, the thread calls the `sched_yield` function [...] before starting the next loop
//! iteration."
//!
//! Here the scheduling loop looks at the worker's own queue before each iteration: WS-LAST puts
//! tasks there.
//!
//! With [`Placement`](crate::Placement), [`channel`](crate::channel), run queues in blocking locks,
//! and workers bound to one processor each, this is Nornir's scheduler.

use crate::thief::{Stealing, Thief};

/// Nornir's loop, of both WS-CUR and WS-LAST.
pub struct Nornir;

impl Stealing for Nornir {
    fn is_one_attempt(&self) -> bool {
        true
    }

    fn steal(&self, w: &dyn Thief) {
        if !w.steal_from(w.random_victim()) && !w.work_is_done() {
            w.yield_core();
        }
    }
}
