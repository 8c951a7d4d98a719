//! `locksley report`: the page again, from a record.

use crate::cli;
use crate::experiments::{
    alternatives, channels, cliff, corun, forkjoin, intervals, locality, model, neighbour, rayon,
    scatter, turnkey, wait,
};
use crate::fault::Outcome;
use crate::output::say;
use crate::record::{Document, Record, files};
use crate::report;

pub(super) fn execute(arguments: &cli::Report) -> Outcome<()> {
    let page = match files::format_of(&arguments.json).as_deref() {
        Some(forkjoin::record::Record::FORMAT) => of_forkjoin(arguments),
        Some(alternatives::record::Record::FORMAT) => of_alternatives(arguments),
        Some(model::record::Record::FORMAT) => of_model(arguments),
        Some(neighbour::record::Record::FORMAT) => of_neighbour(arguments),
        Some(corun::record::Record::FORMAT) => of_corun(arguments),
        Some(rayon::record::Record::FORMAT) => of_rayon(arguments),
        Some(wait::record::Record::FORMAT) => of_wait(arguments),
        Some(intervals::record::Record::FORMAT) => of_intervals(arguments),
        Some(channels::record::Record::FORMAT) => of_channels(arguments),
        Some(scatter::record::Record::FORMAT) => of_scatter(arguments),
        Some(locality::record::Record::FORMAT) => of_locality(arguments),
        Some(turnkey::record::Record::FORMAT) => of_turnkey(arguments),
        _ => of_cliff(arguments),
    }?;
    say(&page)
}

fn of_cliff(arguments: &cli::Report) -> Outcome<String> {
    let record: Record = files::read(&arguments.json)?;
    let page = report::prepare(&arguments.out)?;
    let summary = cliff::summary::Summary::of(&record);
    report::write(&page, &record, &summary)?;
    Ok(format!("{}\npage    {}", cliff::table::text(&record, &summary), page.display()))
}

fn of_turnkey(arguments: &cli::Report) -> Outcome<String> {
    let record: turnkey::record::Record = files::read(&arguments.json)?;
    let page = report::prepare(&arguments.out)?;
    let summary = turnkey::summary::Summary::of(&record);
    report::turnkey::write(&page, &record, &summary)?;
    Ok(format!("{}\npage    {}", turnkey::table::text(&record, &summary), page.display()))
}

fn of_forkjoin(arguments: &cli::Report) -> Outcome<String> {
    let record: forkjoin::record::Record = files::read(&arguments.json)?;
    let page = report::prepare(&arguments.out)?;
    let summary = forkjoin::summary::Summary::of(&record);
    report::forkjoin::write(&page, &record, &summary)?;
    Ok(format!("{}\npage    {}", forkjoin::table::text(&record, &summary), page.display()))
}

fn of_alternatives(arguments: &cli::Report) -> Outcome<String> {
    let record: alternatives::record::Record = files::read(&arguments.json)?;
    let page = report::prepare(&arguments.out)?;
    let summary = cliff::summary::Summary::of(&record.as_cliff());
    report::alternatives::write(&page, &record)?;
    Ok(format!("{}\npage    {}", alternatives::table::text(&record, &summary), page.display()))
}

fn of_model(arguments: &cli::Report) -> Outcome<String> {
    let record: model::record::Record = files::read(&arguments.json)?;
    let page = report::prepare(&arguments.out)?;
    let summary = model::summary::Summary::of(&record);
    report::model::write(&page, &record, &summary)?;
    Ok(format!("{}\npage    {}", model::table::text(&record, &summary), page.display()))
}

fn of_neighbour(arguments: &cli::Report) -> Outcome<String> {
    let record: neighbour::record::Record = files::read(&arguments.json)?;
    let page = report::prepare(&arguments.out)?;
    let summary = neighbour::summary::Summary::of(&record);
    report::neighbour::write(&page, &record, &summary)?;
    Ok(format!("{}\npage    {}", neighbour::table::text(&record, &summary), page.display()))
}

fn of_corun(arguments: &cli::Report) -> Outcome<String> {
    let record: corun::record::Record = files::read(&arguments.json)?;
    let page = report::prepare(&arguments.out)?;
    let summary = corun::summary::Summary::of(&record);
    report::corun::write(&page, &record, &summary)?;
    Ok(format!("{}\npage    {}", corun::table::text(&record, &summary), page.display()))
}

fn of_rayon(arguments: &cli::Report) -> Outcome<String> {
    let record: rayon::record::Record = files::read(&arguments.json)?;
    let page = report::prepare(&arguments.out)?;
    let summary = rayon::summary::Summary::of(&record);
    report::rayon::write(&page, &record, &summary)?;
    Ok(format!("{}\npage    {}", rayon::table::text(&record, &summary), page.display()))
}

fn of_wait(arguments: &cli::Report) -> Outcome<String> {
    let record: wait::record::Record = files::read(&arguments.json)?;
    let page = report::prepare(&arguments.out)?;
    let summary = wait::summary::Summary::of(&record);
    report::wait::write(&page, &record, &summary)?;
    Ok(format!("{}\npage    {}", wait::table::text(&record, &summary), page.display()))
}

fn of_intervals(arguments: &cli::Report) -> Outcome<String> {
    let record: intervals::record::Record = files::read(&arguments.json)?;
    let page = report::prepare(&arguments.out)?;
    let summary = intervals::summary::Summary::of(&record);
    report::intervals::write(&page, &record, &summary)?;
    Ok(format!("{}\npage    {}", intervals::table::text(&record, &summary), page.display()))
}

fn of_channels(arguments: &cli::Report) -> Outcome<String> {
    let record: channels::record::Record = files::read(&arguments.json)?;
    let page = report::prepare(&arguments.out)?;
    let summary = channels::summary::Summary::of(&record);
    report::channels::write(&page, &record, &summary)?;
    Ok(format!("{}\npage    {}", channels::table::text(&record, &summary), page.display()))
}

fn of_scatter(arguments: &cli::Report) -> Outcome<String> {
    let record: scatter::record::Record = files::read(&arguments.json)?;
    let page = report::prepare(&arguments.out)?;
    let summary = scatter::summary::Summary::of(&record);
    report::scatter::write(&page, &record, &summary)?;
    Ok(format!("{}\npage    {}", scatter::table::text(&record, &summary), page.display()))
}

fn of_locality(arguments: &cli::Report) -> Outcome<String> {
    let record: locality::record::Record = files::read(&arguments.json)?;
    let page = report::prepare(&arguments.out)?;
    let summary = locality::summary::Summary::of(&record);
    report::locality::write(&page, &record, &summary)?;
    Ok(format!("{}\npage    {}", locality::table::text(&record, &summary), page.display()))
}
