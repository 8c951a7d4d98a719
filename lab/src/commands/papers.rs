//! `locksley papers`: the papers, item by item, and one of them again.

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use crate::experiment::{self, Plan, Record};
use crate::fault::{Fault, Outcome};
use crate::{cli, files, papers};

pub(super) fn execute(arguments: &papers::Papers) -> Outcome<()> {
    if let Some(id) = arguments.run.first() {
        return run(&papers::all(), id, arguments);
    }
    let papers = papers::computed()?;
    let out = arguments.out.as_deref().unwrap_or(Path::new("out/papers"));
    let page = experiment::prepare_page(out)?;
    if let Some(json) = &arguments.json {
        let data = serde_json::to_string_pretty(&papers);
        let data = data.map_err(|error| Fault::run(error.to_string()))?;
        if files::are_one(json, &page) {
            return Err(Fault::input(format!("{} would be written twice", json.display())));
        }
        files::check_writable(json)?;
        files::replace(json, data)?;
    }
    let record = Record::new("papers", Plan::default());
    experiment::publish(&record, &papers::report(&papers), &page)?;
    let text = std::fs::read_to_string(&page).map_err(|error| Fault::run(error.to_string()))?;
    // The current folder is the root of the repository.
    let is_below = out.components().all(|part| matches!(part, Component::Normal(_)));
    let root = match std::env::current_dir() {
        Ok(here) if !is_below => format!("{}/", here.display()),
        _ => "../".repeat(out.components().count()),
    };
    files::replace(&page, papers::link(&papers, text, &root))
}

/// Does an item again, with these options.
fn run(papers: &[papers::Paper], id: &str, given: &papers::Papers) -> Outcome<()> {
    let mut items = papers.iter().flat_map(|paper| &paper.items);
    let item = items
        .find(|item| item.id == id)
        .ok_or_else(|| Fault::input(format!("there is no item '{id}'; see locksley papers")))?;
    let command =
        item.command.as_ref().ok_or_else(|| Fault::input(format!("'{id}' has no command")))?;
    let words = ["locksley"].into_iter().chain(command.split(' ')).map(OsString::from);
    let path = |path: &Option<PathBuf>| path.clone().map(OsString::from);
    let seed = given.seed.map(|seed| seed.to_string().into());
    let named = [("--json", path(&given.json)), ("--out", path(&given.out)), ("--seed", seed)];
    let named = named.into_iter().filter_map(|(name, value)| Some([name.into(), value?]));
    let later = given.run.iter().skip(1).map(OsString::from);
    let options = named.flatten().chain(given.quick.then(|| "--quick".into())).chain(later);
    let is_new = |option: &OsString| option != "--quick" || !command.contains("--quick");
    super::execute(cli::parse(words.chain(options.filter(is_new)))?)
}
