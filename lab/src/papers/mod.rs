//! The mechanisms, figures and tables of the papers that Locksley follows, beside its own results.
//! The data is in `lab/papers/`, one file for each paper.

pub mod figures;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::experiment::{Report, Section, Table};
use crate::fault::Outcome;
use figures::Figure;

/// `locksley papers`
#[derive(Debug, clap::Args)]
pub struct Papers {
    /// Run the command of this item, such as hood-fig2, with the options below, and with all that
    /// follow
    #[arg(long, value_name = "ID [OPTION]..", num_args = 1.., allow_hyphen_values = true)]
    pub run: Vec<String>,
    /// At most a minute
    #[arg(long, requires = "run")]
    pub quick: bool,
    /// The seed of all random input
    #[arg(long, value_name = "N", requires = "run")]
    pub seed: Option<u64>,
    /// Write all items, or the run's record, into this file
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// The folder for the page [default: out/papers]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

/// A paper.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Paper {
    /// Its short name, the prefix of its items' IDs.
    pub name: String,
    /// Authors, title and year.
    pub title: String,
    /// Its mechanisms, figures and tables, in its order.
    pub items: Vec<Item>,
}

/// A mechanism, a figure or a table.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Item {
    /// Its name on the command line.
    pub id: String,
    /// Its description and its place in the paper.
    pub what: String,
    /// Its code: paths from the root of the repository.
    pub code: Vec<String>,
    /// The arguments of `locksley` that reproduce it.
    #[serde(default)]
    pub command: Option<String>,
    /// The paper's claim or result.
    pub paper: String,
    /// Locksley's result or implementation, with the names of figures in braces.
    pub here: String,
    /// The record of that result: a path from the root of the repository.
    #[serde(default)]
    pub record: Option<String>,
    /// Whether paper and Locksley agree.
    pub verdict: Verdict,
    /// The reason why they do not, with the names of figures in braces.
    #[serde(default)]
    pub because: Option<String>,
    /// Whether the record has the paper's schedulers as options of a Locksley pool, which they were
    /// before they got a crate of their own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_of_options: bool,
    /// What the texts take from the record, by name.
    #[serde(default)]
    pub figures: BTreeMap<String, Figure>,
    /// Comparisons of figures that the verdict depends on, or that the texts claim.
    #[serde(default)]
    pub claims: Vec<String>,
    /// Phrases of the texts with numbers that were chosen, not measured: those of the command, of
    /// the record's plan, of the code or of the paper.
    #[serde(default)]
    pub parameters: Vec<String>,
}

/// Whether the paper and Locksley agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// They agree.
    Agrees,
    /// They differ.
    Differs,
    /// The machines of the records have too few processors to decide.
    NeedsMoreProcessors,
    /// It is not implemented or not measured yet.
    Open,
}

const FILES: [&str; 5] = [
    include_str!("../../papers/hood-library.json"),
    include_str!("../../papers/hood-study.json"),
    include_str!("../../papers/bws.json"),
    include_str!("../../papers/nornir.json"),
    include_str!("../../papers/lassi.json"),
];

/// All papers, with the names of figures in their texts.
///
/// # Panics
///
/// If a file does not parse. A test excludes that.
pub fn all() -> Vec<Paper> {
    FILES.map(|text| serde_json::from_str(text).expect("a paper's data")).into()
}

/// All papers, with figures that are computed from the records.
///
/// # Errors
///
/// [`Fault::Input`](crate::fault::Fault::Input) if a record cannot be read,
/// [`Fault::Run`](crate::fault::Fault::Run) if a claim does not hold.
pub fn computed() -> Outcome<Vec<Paper>> {
    let mut papers = all();
    figures::fill(&mut papers)?;
    Ok(papers)
}

impl Item {
    /// Its record, and those that its figures are from.
    fn records(&self) -> BTreeSet<&String> {
        self.record.iter().chain(self.figures.values().flat_map(|it| &it.record)).collect()
    }
}

impl Verdict {
    const ALL: [Verdict; 4] =
        [Verdict::Agrees, Verdict::Differs, Verdict::NeedsMoreProcessors, Verdict::Open];

    fn words(self) -> &'static str {
        match self {
            Verdict::Agrees => "agrees",
            Verdict::Differs => "differs",
            Verdict::NeedsMoreProcessors => "needs more processors",
            Verdict::Open => "open",
        }
    }
}

/// An overview of the verdicts, and a table for each item.
pub fn report(papers: &[Paper]) -> Report {
    let heads = ["", "items"].into_iter().chain(Verdict::ALL.map(Verdict::words));
    let mut overview = Table::new("verdicts", heads);
    let number = |items: &[Item], verdict| items.iter().filter(|it| it.verdict == verdict).count();
    for Paper { name, items, .. } in papers {
        let counts = Verdict::ALL.map(|verdict| number(items, verdict).to_string());
        overview.row([name.clone(), items.len().to_string()].into_iter().chain(counts));
    }
    let items: Vec<&Item> = papers.iter().flat_map(|paper| &paper.items).collect();
    let agree = items.iter().filter(|item| item.verdict == Verdict::Agrees).count();
    let about = "`locksley papers --run ID` does an item again.";
    let mut sections = vec![Section::new("Overview", about, [overview])];
    sections.extend(
        papers
            .iter()
            .map(|paper| Section::new(&paper.name, &paper.title, paper.items.iter().map(table))),
    );
    let headline = format!("{agree} of {} items of five papers agree", items.len());
    Report::new("the papers", headline, sections, "")
}

/// The page with links to code and records; `root` is the way from the page to the repository.
pub fn link(papers: &[Paper], mut page: String, root: &str) -> String {
    let items = papers.iter().flat_map(|paper| &paper.items);
    let paths: BTreeSet<&String> =
        items.flat_map(|item| item.code.iter().chain(item.records())).collect();
    for path in paths {
        page =
            page.replace(&format!(">{path}<"), &format!("><a href=\"{root}{path}\">{path}</a><"));
    }
    page
}

/// What is said of a record with the paper's schedulers as options.
const OPTIONS: &str = "In records before 2026-11-29, the paper's schedulers are options of a \
                       Locksley pool, and have its waits, wake-ups and inboxes.";

fn table(item: &Item) -> Table {
    let verdict = match &item.because {
        Some(because) => format!("{}: {because}", item.verdict.words()),
        None => item.verdict.words().to_owned(),
    };
    let mut table = Table::new(&item.what, [&item.id, &verdict]);
    let mut row = |name: &str, text: &str| table.row([name, text]);
    row("paper", &item.paper);
    row("here", &item.here);
    if item.is_of_options {
        row("note", OPTIONS);
    }
    // Each path in a cell of its own: see `link`.
    item.code.iter().for_each(|path| row("code", path));
    if let Some(command) = &item.command {
        row("command", &format!("locksley {command}"));
    }
    item.records().into_iter().for_each(|path| row("record", path));
    table
}

#[cfg(test)]
mod tests;
