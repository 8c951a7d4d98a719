//! The binary `locksley`, from outside.

mod command_line;
mod corun;
mod cycler;
mod intervals;
mod locality;
mod meter;
mod model;
mod networks;
mod rayon;
mod records;
mod support;
mod turnkey;
mod wrong_input;
