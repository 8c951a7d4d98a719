//! What plans that measure the bound have in common.

use crate::apps;
use crate::fault::Outcome;
use crate::runtimes;

/// Applications, each with sizes of different parallelism.
pub(in crate::experiments) type Choice = (&'static str, &'static [&'static str]);

/// An application and its parameters.
pub type Input = (String, String);

/// The inputs of these choices, if there are such.
pub(in crate::experiments) fn inputs(
    choices: impl IntoIterator<Item = Choice>,
) -> Outcome<Vec<Input>> {
    let mut inputs = Vec::new();
    for (name, sizes) in choices {
        for size in sizes {
            apps::problem(apps::find(name)?, size)?;
            inputs.push((name.to_owned(), (*size).to_owned()));
        }
    }
    Ok(inputs)
}

/// Numbers of workers in order, each once, and none that nobody can have.
pub(in crate::experiments) fn numbers(mut workers: Vec<usize>) -> Vec<usize> {
    workers.retain(|&workers| workers <= runtimes::MOST_WORKERS);
    workers.sort_unstable();
    workers.dedup();
    workers
}

/// In words, what a quick run with these parts leaves out.
pub(in crate::experiments) fn subset(
    workers: &[usize],
    inputs: &[Input],
    others: &str,
    repeats: usize,
    budget_seconds: f64,
) -> String {
    let sizes: Vec<String> = inputs.iter().map(|(app, size)| format!("{app} {size}")).collect();
    let workers: Vec<String> = workers.iter().map(usize::to_string).collect();
    format!(
        "Quick subset: P = {}; {}{others}; as many of {repeats} repetitions as fit in {budget_seconds} s",
        workers.join(" "),
        sizes.join(", ")
    )
}
