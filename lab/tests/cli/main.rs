//! The binary `locksley`, from outside.

mod command_line;
mod support;
mod wrong_input;
