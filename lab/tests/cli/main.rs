//! The binary `locksley`, from outside.

mod command_line;
mod corun;
mod cycler;
mod support;
mod wait;
mod wrong_input;
