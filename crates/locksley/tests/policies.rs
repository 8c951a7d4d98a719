//! The tests that every idle policy passes. A new policy gets them by one line at the end.

mod common;
#[macro_use]
mod policy_suite;

use common::AlwaysAsleep;
use common::idle_policies::{Helping, SLEEPLESS, SLEEPY, Yielding};
use locksley::idle::Balanced;

policy_suite! {
    balanced: Balanced::default();
    balanced_that_sleeps_at_once: Balanced::with_threshold(0);
    yielding: Yielding { attempts: 64, sleep_after: Some(64) };
    yielding_that_never_sleeps: SLEEPLESS;
    yielding_at_once: Yielding { attempts: 1, sleep_after: Some(3) };
    helping: Helping { attempts: 64 };
    helping_that_sleeps_at_once: Helping { attempts: 0 };
    sleepy: SLEEPY;
    always_asleep: AlwaysAsleep;
}
