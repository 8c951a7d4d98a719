//! What every policy must leave intact, for those that are only compared with.

#[macro_use]
#[path = "../../crates/locksley/tests/policy_suite/mod.rs"]
mod policy_suite;

use locksley_lab::policies::{DelayedYield, GlobalInformation, NoYield, SelectiveYield};

policy_suite! {
    no_yield: NoYield;
    delayed_yield: DelayedYield;
    selective_yield: SelectiveYield;
    global_information: GlobalInformation::default();
}
