//! The binary `locksley`, from outside.

mod command_line;
mod corun;
mod cycler;
mod intervals;
mod locality;
mod model;
mod networks;
#[cfg(target_os = "linux")]
mod papers;
mod rayon;
mod records;
mod simulate;
#[cfg(target_os = "linux")]
mod soak;
mod support;
#[cfg(target_os = "linux")]
mod top;
#[cfg(target_os = "linux")]
mod trace;
mod turnkey;
mod wrong_input;
