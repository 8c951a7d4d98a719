//! How a worker without work searches for some: it asks the pool's idle policy, and does what that
//! says.
//!
//! | file | what |
//! |---|---|
//! | `searcher.rs` | the loop: the policy decides; attempt, yield or sleep |
//! | `attempt.rs` | one attempt to find work, and a sweep over the whole pool |
//! | `yielding.rs` | yields, hand-overs, counts of context switches, polls of the allowance |
//! | `park.rs` | sleeping, and what a worker looks at after it |
//! | `victims.rs` | random victims |
//! | `locality.rs` | several places: near victims before far ones |
//! | `grace_period.rs` | a task that its owner is about to run is left alone for a moment |
//! | `rescue.rs` | which tasks no worker touches: what a sentinel looks for |
//! | `cpu_placement.rs` | on which processors thieves and their peers run |

mod attempt;
mod cpu_placement;
mod grace_period;
mod locality;
mod park;
mod rescue;
mod searcher;
#[cfg(all(test, not(loom)))]
mod tests;
mod victims;
mod yielding;

#[cfg(all(test, not(loom)))]
pub(crate) use rescue::RESCUE_FROM_IDLE;
pub(crate) use searcher::{Found, Searcher};
