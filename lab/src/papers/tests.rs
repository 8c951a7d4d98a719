//! The data is complete, and what it names exists.

use std::collections::BTreeSet;
use std::path::Path;

use super::*;
use crate::cli;
use crate::experiment::{Record, html, plan::Plan, record, text};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the laboratory lies in the root")
}

fn items() -> Vec<Item> {
    all().into_iter().flat_map(|paper| paper.items).collect()
}

#[test]
fn every_figure_and_table_has_an_item() {
    let ids: BTreeSet<String> = items().into_iter().map(|item| item.id).collect();
    assert_eq!(ids.len(), items().len(), "an id is there twice");
    let figures = [("hood-library", 3), ("hood", 5), ("bws", 6), ("nornir", 6)];
    let tables = [("hood-library", 2), ("hood", 2), ("bws", 1)];
    let figures = figures
        .into_iter()
        .flat_map(|(paper, last)| (1..=last).map(move |number| format!("{paper}-fig{number}")));
    let tables = tables
        .into_iter()
        .flat_map(|(paper, last)| (1..=last).map(move |number| format!("{paper}-table{number}")));
    for id in figures.chain(tables) {
        assert!(ids.contains(&id), "{id}");
    }
    for Paper { name, items, .. } in all() {
        assert!(items.iter().all(|item| item.id.starts_with(&format!("{name}-"))), "{name}");
    }
}

#[test]
fn the_code_of_every_item_exists() {
    for item in items() {
        let is_built = !item.code.is_empty();
        assert!(is_built || item.verdict == Verdict::Open, "{} has no code", item.id);
        for path in &item.code {
            assert!(root().join(path).exists(), "{}: {path}", item.id);
        }
    }
}

#[test]
fn every_record_exists_and_is_of_its_command() {
    for item in items() {
        let Some(path) = &item.record else { continue };
        let file = root().join(path);
        assert!(file.is_file(), "{}: {path}", item.id);
        let Ok(record) = record::read(&file) else {
            assert!(path.contains("/others/"), "{path} is no record");
            continue;
        };
        let command = item.command.unwrap_or_default();
        assert_eq!(command.split(' ').next(), Some(&*record.experiment), "{}", item.id);
    }
}

#[test]
fn every_command_can_be_given() {
    for item in items() {
        let Some(command) = item.command else { continue };
        let arguments = ["locksley"].into_iter().chain(command.split(' ')).map(Into::into);
        assert!(cli::parse(arguments).is_ok(), "{}: {command}", item.id);
    }
}

#[test]
fn what_does_not_agree_has_a_reason() {
    for Item { id, verdict, because, .. } in items() {
        assert_eq!(because.is_none(), verdict == Verdict::Agrees, "{id}");
    }
}

#[test]
fn all_items_are_on_the_page_and_in_the_text() {
    let report = report(&all());
    let record = Record::new("papers", Plan::default());
    let (page, text) = (html::page(&record, &report), text::tables(&record, &report));
    for Item { id, here, .. } in items() {
        assert!(page.contains(&id) && text.contains(&id), "{id}");
        assert!(page.contains(&html::escape(&here)) && text.contains(&here), "{id}");
    }
    assert!(page.contains("<code>locksley papers --run ID</code>"));
    assert!(!page.contains("seed") && !text.contains("seed 0"));
    let page = link(&all(), page, "../");
    assert!(page.contains(
        "<a href=\"../lab/classic/src/static_partition.rs\">lab/classic/src/static_partition.rs</a>"
    ));
    for path in items().into_iter().flat_map(|item| item.code.into_iter().chain(item.record)) {
        assert!(page.contains(&format!("<a href=\"../{path}\">")), "{path}");
    }
}
