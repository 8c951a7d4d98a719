//! The data is complete, and what it names exists.

use std::collections::BTreeSet;
use std::path::Path;

use super::figures::numbers;
use super::*;
use crate::cli;
use crate::experiment::{Record, html, plan::Plan, record, text};
use crate::experiments;

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

/// Names of the papers' schedulers in records before 2026-11-29, when they were options of a pool.
const OPTIONS: [&str; 19] = [
    "locksley-abp",
    "locksley-abp-exact",
    "locksley-abp-deque",
    "locksley-awake",
    "locksley-blocking",
    "locksley-blocking-yields",
    "locksley-bws",
    "locksley-bws-exact",
    "locksley-bws-busy",
    "locksley-delayed",
    "locksley-global",
    "locksley-naive",
    "locksley-selective",
    "locksley-spinlock",
    "nornir-last",
    "nornir-cur",
    "shared-deques",
    "mailboxes",
    "round-robin",
];

#[test]
fn an_item_says_whether_its_record_has_options_of_a_pool() {
    for item in items() {
        let figures = serde_json::to_string(&item.figures).unwrap();
        let names = |text: &str| OPTIONS.iter().any(|name| text.contains(&format!("\"{name}")));
        let is_old = item.records().into_iter().any(|path| {
            let date = path.rsplit('/').next().unwrap_or_default();
            date < "2026-11-29"
        });
        assert_eq!(item.is_of_options, is_old && names(&figures), "{}", item.id);
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

/// The record of an item, if it is one of this laboratory.
fn record_of(item: &Item) -> Option<Record> {
    figures::read(item.record.as_ref()?).ok()
}

/// The text of an item's record, if it is another file.
fn other_file_of(item: &Item) -> Option<String> {
    let path = item.record.as_ref().filter(|path| path.contains("/others/"))?;
    Some(std::fs::read_to_string(root().join(path)).unwrap())
}

/// All numbers of a text, without the commas of thousands.
fn all_numbers(text: &str) -> impl Iterator<Item = String> + '_ {
    let is_other = |c: char| !c.is_ascii_digit() && c != '.';
    let words = text.split_whitespace();
    let words = words.flat_map(move |word| {
        let parts = word.split(is_other).map(str::to_owned);
        parts.chain(word.replace(',', "").split(is_other).map(str::to_owned)).collect::<Vec<_>>()
    });
    words.map(|word| word.trim_matches('.').to_owned()).filter(|word| !word.is_empty())
}

/// A text without what stands in braces.
fn without_figures(text: &str) -> String {
    let parts = text.split('{').map(|part| part.split_once('}').map_or(part, |(_, rest)| rest));
    parts.collect::<Vec<_>>().join("x")
}

/// Every interval is one of 95 %.
const LEVEL: &str = "95 %";

/// The numbers that are typed in a text, without those of its parameters.
fn typed(text: &str, parameters: &[String]) -> Vec<String> {
    let mut text = without_figures(text);
    for parameter in parameters.iter().map(String::as_str).chain([LEVEL]) {
        text = text.replace(parameter, "x");
    }
    let words = text.split(|c: char| c.is_whitespace() || "()/;:=".contains(c));
    let words = words.map(|word| word.trim_end_matches(|c: char| !c.is_alphanumeric()));
    let begins = |word: &&str| {
        word.trim_start_matches(|c: char| !c.is_alphanumeric()).starts_with(char::is_numeric)
    };
    words.filter(begins).map(str::to_owned).collect()
}

#[test]
fn typed_numbers_are_found() {
    let parameters = ["P = 16".to_owned()];
    let of = |text: &str| typed(text, &parameters);
    assert_eq!(of("{a} at P = 16 (95 %: {b.1}), T1 of locksley-bws-64"), [""; 0]);
    assert_eq!(
        of("{a}: 0.83 at 16.5, 1/500 (95 %: -3 to 1,000) and P = 17"),
        ["0.83", "16.5", "1", "500", "-3", "1,000", "17"]
    );
}

#[test]
fn every_number_of_a_text_is_computed_or_was_chosen() {
    let mut wrong = Vec::new();
    for item in items() {
        let file = other_file_of(&item);
        let in_file: BTreeSet<String> = file.iter().flat_map(|text| all_numbers(text)).collect();
        let texts = [Some(&item.here), item.because.as_ref()];
        for number in texts.iter().flatten().flat_map(|text| typed(text, &item.parameters)) {
            if file.is_none() || !all_numbers(&number).all(|number| in_file.contains(&number)) {
                wrong.push(format!("{}: {number} is no figure", item.id));
            }
        }
        let plan = record_of(&item).map(|it| serde_json::to_string(&it.plan).unwrap());
        let is_measured = item.record.is_some();
        let code = item.code.iter().filter(|path| !is_measured && root().join(path).is_file());
        let code = code.map(|path| std::fs::read_to_string(root().join(path)).unwrap());
        let mut sources = vec![item.what.clone(), item.paper.clone()];
        sources.extend(item.command.iter().cloned().chain(plan).chain(code));
        let sources: BTreeSet<String> = sources.iter().flat_map(|text| all_numbers(text)).collect();
        for parameter in &item.parameters {
            if !texts.iter().flatten().any(|text| text.contains(parameter)) {
                wrong.push(format!("{}: '{parameter}' is not in the texts", item.id));
            }
            let parts: Vec<String> =
                numbers(parameter).map(|number| number.replace(',', "")).collect();
            let mut parts = parts.iter().flat_map(|number| all_numbers(number));
            if let Some(number) = parts.find(|number| !sources.contains(number)) {
                wrong.push(format!("{}: {number} of '{parameter}' is from nowhere", item.id));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The item that another one refers to instead of a text.
fn referred(item: &Item) -> Option<Item> {
    let id = item.here.strip_prefix("See ")?.strip_suffix('.')?;
    items().into_iter().find(|item| item.id == id)
}

#[test]
fn an_item_agrees_as_the_one_does_that_it_refers_to() {
    let mut number = 0;
    for item in items() {
        let Some(other) = referred(&item) else { continue };
        let of = |item: &Item| (item.verdict, item.record.clone(), item.command.clone());
        assert_eq!(of(&item), of(&other), "{}", item.id);
        number += 1;
    }
    assert_eq!(number, 5, "figures 1, 4 and 5 and both tables of Hood's study");
}

#[test]
fn every_figure_is_in_a_text_or_a_claim() {
    for item in items() {
        for name in item.figures.keys() {
            let texts = [Some(&item.here), item.because.as_ref()].into_iter().flatten();
            let is_named = |text: &String| {
                [format!("{{{name}}}"), format!("{{{name}.")].iter().any(|it| text.contains(it))
            };
            let is_compared = |claim: &String| {
                claim.split(' ').any(|it| it == name || it.starts_with(&format!("{name}.")))
            };
            let is_used = texts.into_iter().any(is_named) || item.claims.iter().any(is_compared);
            assert!(is_used, "{}: '{name}' is not used", item.id);
        }
    }
}

/// Whatever the verdict is: that results differ, or that they would need more processors, follows
/// from a comparison, too.
#[test]
fn what_is_measured_has_a_condition() {
    for item in items() {
        let is_measured = item.record.is_some() && other_file_of(&item).is_none();
        let claims = &referred(&item).unwrap_or(item.clone()).claims;
        assert!(!is_measured || !claims.is_empty(), "{} claims nothing", item.id);
    }
}

#[test]
fn an_item_says_when_its_record_was_too_noisy() {
    const NOISY: &str = "too noisy for a verdict";
    let mut noisy = 0;
    for item in computed().unwrap().into_iter().flat_map(|paper| paper.items) {
        let records =
            item.records().into_iter().filter_map(|path| record::read(&root().join(path)).ok());
        for record in records {
            if experiments::report(&record).headline.contains(NOISY) {
                assert!(item.here.contains(NOISY), "{}", item.id);
                noisy += 1;
            }
        }
    }
    assert!(noisy > 0);
}

#[test]
fn all_claims_hold_and_all_figures_are_computed() {
    let (mut reports, mut items) = (figures::Reports::default(), items());
    let faults = items.iter_mut().filter_map(|item| figures::fill_item(item, &mut reports).err());
    let faults: Vec<String> = faults.map(|fault| fault.to_string()).collect();
    assert!(faults.is_empty(), "{faults:#?}");
    for item in items {
        for text in [Some(item.here), item.because].iter().flatten() {
            assert!(!text.contains(['{', '}']), "{}: {text}", item.id);
        }
    }
}

#[test]
fn a_claim_that_does_not_hold_is_refused() {
    let mut papers = all();
    let is_claimed = |item: &&mut Item| !item.claims.is_empty();
    let mut items = papers.iter_mut().flat_map(|paper| &mut paper.items);
    let item = items.find(is_claimed).unwrap();
    let name = item.figures.keys().next().unwrap().clone();
    item.claims = vec![format!("{name} < {name}")];
    assert!(figures::fill(&mut papers).unwrap_err().to_string().contains("does not hold"));
}

#[test]
fn a_figure_that_is_not_in_its_record_is_refused_with_its_name_and_the_items() {
    let refused = |change: fn(&mut Figure)| {
        let mut papers = all();
        papers.iter_mut().for_each(|paper| paper.items.retain(|item| item.id == "lassi-stress"));
        let mut items = papers.iter_mut().flat_map(|paper| &mut paper.items);
        change(items.next().unwrap().figures.get_mut("worst").unwrap());
        figures::fill(&mut papers).unwrap_err().to_string()
    };
    let row = refused(|figure| {
        figure.rows.insert("runtime".to_owned(), vec!["worst".to_owned(), "good".to_owned()]);
    });
    let cell = refused(|figure| figure.columns = vec!["runtime".to_owned()]);
    let column = refused(|figure| figure.columns = vec!["mean of nothing".to_owned()]);
    for (fault, why) in [
        (row, "there is no row with '': 'stress 943713x100, P = 2', 'runtime': 'good'"),
        (cell, "there is no such number in the cell 'worst' of the column 'runtime'"),
        (column, "there is no column 'mean of nothing'"),
    ] {
        assert_eq!(fault, format!("lassi-stress, figure 'worst': {why}"));
    }
}

#[test]
fn all_items_are_on_the_page_and_in_the_text() {
    let papers = computed().unwrap();
    let items = || papers.iter().flat_map(|paper| &paper.items);
    let report = report(&papers);
    let record = Record::new("papers", Plan::default());
    let (page, text) = (html::page(&record, &report), text::tables(&record, &report));
    for Item { id, here, .. } in items() {
        assert!(page.contains(id) && text.contains(id), "{id}");
        assert!(page.contains(&html::escape(here)) && text.contains(here), "{id}");
    }
    assert!(page.contains("<code>locksley papers --run ID</code>"));
    assert!(!page.contains("seed") && !text.contains("seed 0"));
    let page = link(&papers, page, "../");
    assert!(page.contains(
        "<a href=\"../lab/classic/src/static_partition.rs\">lab/classic/src/static_partition.rs</a>"
    ));
    for path in items().flat_map(|item| item.code.iter().chain(&item.record)) {
        assert!(page.contains(&format!("<a href=\"../{path}\">")), "{path}");
    }
}
