//! Hood: a thief yields after every 64 failed attempts, and lowers its priority after 160.
//!
//! Source: "The Performance of Work Stealing in Multiprogrammed Environments", 1998, section 3.2,
//! the paragraph on yields: "Whenever a process becomes a thief, it calls `priocntl` to lower its
//! priority. Once the thief has stolen a thread and reformed, it calls `priocntl` to restore its
//! former priority. In addition, when a thief makes an unsuccessful steal attempt, it calls
//! `yield`. [...] a thief delays its call to `priocntl` until after it has made enough unsuccessful
//! steal attempts to amortize the cost of the `priocntl` call. Likewise, a thief calls `yield` only
//! after it has made enough unsuccessful steal attempts".
//!
//! The papers do not give these numbers. On an EPYC of two processors, an attempt takes about 15
//! ns, a yield about 1 µs, and a change of priority and back about 2.5 µs.

use crate::thief::{Stealing, Thief};

/// Hood's scheduler.
pub struct Hood;

/// Failed attempts before each yield.
const ATTEMPTS: u64 = 64;
/// Failed attempts before the priority is lowered.
const ATTEMPTS_BEFORE_LOWERING: u64 = 160;

impl Stealing for Hood {
    fn steal(&self, w: &dyn Thief) {
        let (mut failures, mut lowered) = (0, None);
        while !w.work_is_done() && !w.steal_from(w.random_victim()) {
            failures += 1;
            if failures == ATTEMPTS_BEFORE_LOWERING {
                lowered = w.lower_priority();
            }
            if failures % ATTEMPTS == 0 {
                w.yield_core();
            }
        }
        drop(lowered);
    }
}
