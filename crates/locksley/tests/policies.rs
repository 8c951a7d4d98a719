//! The tests that every idle policy passes. A new policy gets them by one line at the end.

mod common;
#[macro_use]
mod policy_suite;

use common::{AlwaysAsleep, Sleepy};
use locksley::idle::{Abp, Balanced, Bws};

policy_suite! {
    abp: Abp::default();
    abp_that_never_sleeps: Abp { sleep_after: None, ..Abp::default() };
    abp_that_lowers_at_once: Abp { attempts: 1, lower_after: Some(0), sleep_after: Some(3) };
    sleepy: Sleepy;
    always_asleep: AlwaysAsleep;
    balanced: Balanced::default();
    bws: Bws::default();
    bws_that_sleeps_at_once: Bws::with_threshold(0);
}
