//! What every policy must leave intact, for those that are only compared with.

#[macro_use]
#[path = "../../crates/locksley/tests/policy_suite/mod.rs"]
mod policy_suite;

use locksley_lab::policies::{
    DELAYED_YIELD, EXACT_ABP, ExactBws, GlobalInformation, NO_YIELD, SELECTIVE_YIELD,
};

policy_suite! {
    no_yield: NO_YIELD;
    delayed_yield: DELAYED_YIELD;
    exact_abp: EXACT_ABP;
    exact_bws: ExactBws::default();
    selective_yield: SELECTIVE_YIELD;
    global_information: GlobalInformation::default();
}
