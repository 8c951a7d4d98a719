//! A build graph from a text: targets in any order, each with the targets that it needs. Run it
//! with the name of a file, or without for the text below.

use std::collections::HashMap;
use std::error::Error;

use locksley_intervals::{self as intervals, Draft, Handle};

const TEXT: &str = "
test: link data
link: compile-main compile-parser
compile-main: generate
compile-parser: generate
data:
generate:
";

type Outcome = Result<(), Box<dyn Error + Send + Sync>>;

/// Declares the targets of lines like `target: need need`, connects them, and starts them.
fn start<'g>(mut draft: Draft<'_, 'g, '_>, text: &str) -> Outcome {
    let mut rules = Vec::new();
    let mut targets: HashMap<&str, Handle<'g, ()>> = HashMap::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let (name, needs) = line.split_once(':').ok_or(format!("no colon in `{line}`"))?;
        let owned = name.to_owned();
        // Here a program would run a command.
        let target = draft.declare(name.to_owned(), move |_| println!("{owned}"));
        if targets.insert(name, target).is_some() {
            return Err(format!("two rules for `{name}`").into());
        }
        rules.push((name, needs));
    }
    for (name, needs) in rules {
        for need in needs.split_whitespace() {
            let first = targets.get(need).ok_or(format!("`{name}` needs `{need}`: no rule"))?;
            draft.connect(*first, targets[name]);
        }
    }
    Ok(draft.start()?)
}

fn build() -> Outcome {
    let text = match std::env::args().nth(1) {
        Some(file) => std::fs::read_to_string(file)?,
        None => TEXT.to_owned(),
    };
    intervals::run("build", |root| start(root.draft(), &text))?
}

fn main() {
    if let Err(error) = build() {
        eprintln!("{error}");
        std::process::exit(1);
    }
}
