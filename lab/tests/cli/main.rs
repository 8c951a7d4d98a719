//! The binary `locksley`, from outside.

mod command_line;
mod corun;
mod cycler;
mod intervals;
mod locality;
mod meter;
mod multiprogram;
mod networks;
mod rayon;
mod records;
mod support;
mod turnkey;
mod wait;
mod wrong_input;
