//! The binary `locksley`, from outside.

mod command_line;
mod corun;
mod cycler;
mod records;
mod support;
mod wrong_input;
