//! Stacks that wait: for code that blocks without `async`, and for joins and scopes whose tasks run elsewhere.
//!
//! See the README beside this file.

mod block_on;
#[cfg(all(test, loom))]
mod models;
mod node;
mod stacks;
mod supply;
#[cfg(all(test, feature = "stacks", not(any(loom, locksley_portable))))]
mod tests;

// Where corosensei knows how, as in the manifest.
#[cfg_attr(
    not(all(
        feature = "stacks",
        any(
            all(
                unix,
                any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")
            ),
            all(windows, target_arch = "x86_64"),
        ),
        not(any(loom, locksley_portable)),
    )),
    path = "no_switch.rs"
)]
mod switch;

pub(crate) use block_on::Signal;
pub use block_on::block_on;
#[cfg(all(test, loom))]
pub(crate) use node::Ready;
pub(crate) use node::{Node, Returns};
pub(crate) use stacks::{Mark, Stacks};
pub(crate) use supply::{StackOptions, Supply};
