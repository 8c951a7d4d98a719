//! `locksley report`: the page again, from a record.

use crate::cli;
use crate::fault::Outcome;
use crate::{experiment, experiments};

pub(super) fn execute(arguments: &cli::Report) -> Outcome<()> {
    let cli::Report { json, out, picture } = arguments;
    experiment::report_again(json, out, picture.as_deref(), experiments::report)
}
