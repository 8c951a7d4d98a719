//! `locksley report`: the page again, from a record.

use std::path::Path;

use crate::cli;
use crate::experiments::{
    alternatives, channels, cliff, corun, forkjoin, intervals, locality, meter, model,
    multiprogram, neighbour, rayon, scatter, turnkey, wait,
};
use crate::fault::Outcome;
use crate::output::say;
use crate::record::{Document, Record, files};
use crate::report;

pub(super) fn execute(arguments: &cli::Report) -> Outcome<()> {
    let page = match files::format_of(&arguments.json).as_deref() {
        Some(forkjoin::record::Record::FORMAT) => page(
            arguments,
            forkjoin::summary::Summary::of,
            report::forkjoin::write,
            forkjoin::table::text,
        ),
        Some(alternatives::record::Record::FORMAT) => of_alternatives(arguments),
        Some(model::record::Record::FORMAT) => {
            page(arguments, model::summary::Summary::of, report::model::write, model::table::text)
        }
        Some(multiprogram::record::Record::FORMAT) => page(
            arguments,
            multiprogram::summary::Summary::of,
            report::multiprogram::write,
            multiprogram::table::text,
        ),
        Some(neighbour::record::Record::FORMAT) => page(
            arguments,
            neighbour::summary::Summary::of,
            report::neighbour::write,
            neighbour::table::text,
        ),
        Some(corun::record::Record::FORMAT) => {
            page(arguments, corun::summary::Summary::of, report::corun::write, corun::table::text)
        }
        Some(rayon::record::Record::FORMAT) => {
            page(arguments, rayon::summary::Summary::of, report::rayon::write, rayon::table::text)
        }
        Some(wait::record::Record::FORMAT) => {
            page(arguments, wait::summary::Summary::of, report::wait::write, wait::table::text)
        }
        Some(intervals::record::Record::FORMAT) => page(
            arguments,
            intervals::summary::Summary::of,
            report::intervals::write,
            intervals::table::text,
        ),
        Some(channels::record::Record::FORMAT) => page(
            arguments,
            channels::summary::Summary::of,
            report::channels::write,
            channels::table::text,
        ),
        Some(scatter::record::Record::FORMAT) => page(
            arguments,
            scatter::summary::Summary::of,
            report::scatter::write,
            scatter::table::text,
        ),
        Some(locality::record::Record::FORMAT) => page(
            arguments,
            locality::summary::Summary::of,
            report::locality::write,
            locality::table::text,
        ),
        Some(turnkey::record::Record::FORMAT) => page(
            arguments,
            turnkey::summary::Summary::of,
            report::turnkey::write,
            turnkey::table::text,
        ),
        Some(turnkey::earlier::Earlier::FORMAT) => page(
            arguments,
            |earlier: &turnkey::earlier::Earlier| turnkey::summary::Summary::of(&earlier.0),
            |page, earlier, summary| report::turnkey::write(page, &earlier.0, summary),
            |earlier, summary| turnkey::table::text(&earlier.0, summary),
        ),
        Some(meter::record::Record::FORMAT) => {
            page(arguments, meter::summary::Summary::of, report::meter::write, meter::table::text)
        }
        _ => page(arguments, cliff::summary::Summary::of, report::write, cliff::table::text),
    }?;
    if let Some(picture) = &arguments.picture {
        let record: Record = files::read(&arguments.json)?;
        let summary = cliff::summary::Summary::of(&record);
        files::replace(picture, &report::picture::svg(&summary, &record.plan.workers))?;
    }
    say(&page)
}

/// Makes the page of a record, and says what is in it.
fn page<R: Document, S>(
    arguments: &cli::Report,
    summary: impl FnOnce(&R) -> S,
    write: impl FnOnce(&Path, &R, &S) -> Outcome<()>,
    text: impl FnOnce(&R, &S) -> String,
) -> Outcome<String> {
    let record: R = files::read(&arguments.json)?;
    let page = report::prepare(&arguments.out)?;
    let summary = summary(&record);
    write(&page, &record, &summary)?;
    Ok(format!("{}\npage    {}", text(&record, &summary), page.display()))
}

fn of_alternatives(arguments: &cli::Report) -> Outcome<String> {
    let record: alternatives::record::Record = files::read(&arguments.json)?;
    let page = report::prepare(&arguments.out)?;
    let summary = cliff::summary::Summary::of(&record.as_cliff());
    report::alternatives::write(&page, &record)?;
    Ok(format!("{}\npage    {}", alternatives::table::text(&record, &summary), page.display()))
}
