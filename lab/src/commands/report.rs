//! `locksley report`: the page again, from a record.

use crate::cli;
use crate::experiments::cliff::summary::Summary;
use crate::experiments::cliff::table;
use crate::fault::Outcome;
use crate::output::say;
use crate::{record, report};

pub(super) fn execute(arguments: &cli::Report) -> Outcome<()> {
    let record = record::files::read(&arguments.json)?;
    let page = report::prepare(&arguments.out)?;
    let summary = Summary::of(&record);
    report::write(&page, &record, &summary)?;
    say(&table::text(&record, &summary))?;
    say(&format!("page    {}", page.display()))
}
