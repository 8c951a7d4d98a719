//! `locksley papers`: the papers, item by item, and one of them again.

use std::ffi::OsString;
use std::path::Path;

use crate::experiment::{self, Plan, Record};
use crate::fault::{Fault, Outcome};
use crate::{cli, files, papers};

pub(super) fn execute(arguments: &papers::Papers) -> Outcome<()> {
    let papers = papers::all();
    if let Some(id) = &arguments.run {
        return run(&papers, id, arguments.options());
    }
    let out = arguments.out.as_deref().unwrap_or(Path::new("out/papers"));
    let page = experiment::prepare_page(out)?;
    if let Some(json) = &arguments.json {
        let data = serde_json::to_string_pretty(&papers);
        let data = data.map_err(|error| Fault::run(error.to_string()))?;
        files::check_writable(json)?;
        files::replace(json, &data)?;
    }
    let mut record = Record::new("papers", Plan::default());
    record.finished = Some(record.started.clone());
    experiment::publish(&record, &papers::report(&papers), &page)
}

/// Does an item again, with these options.
fn run(papers: &[papers::Paper], id: &str, options: Vec<OsString>) -> Outcome<()> {
    let mut items = papers.iter().flat_map(|paper| &paper.items);
    let item = items
        .find(|item| item.id == id)
        .ok_or_else(|| Fault::input(format!("there is no item '{id}'; see locksley papers")))?;
    let command = item
        .command
        .as_ref()
        .ok_or_else(|| Fault::input(format!("'{id}' has no command: {}", item.here)))?;
    let arguments = ["locksley"].into_iter().chain(command.split(' ')).map(OsString::from);
    super::execute(cli::parse(arguments.chain(options))?)
}
