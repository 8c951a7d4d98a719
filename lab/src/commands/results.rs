//! What the commands of experiments have in common: who measures, where results go, and what is said of them.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::cli::Course;
use crate::fault::{Fault, Outcome};
use crate::output::say;

impl Course {
    /// Where the record and the page of `experiment` go.
    pub(super) fn places(&self, experiment: &str) -> (PathBuf, PathBuf) {
        let default = format!("{experiment}{}", if self.quick { "-quick" } else { "" });
        let out = self.out.clone().unwrap_or_else(|| Path::new("out").join(default));
        let json = self.json.clone();
        (json.unwrap_or_else(|| out.join(format!("{experiment}.json"))), out)
    }
}

/// The executable that is running.
pub(super) fn this_program() -> Outcome<PathBuf> {
    std::env::current_exe()
        .map_err(|error| Fault::run(format!("this program does not find itself: {error}")))
}

/// Says what was measured, when if that was earlier, and where it is.
pub(super) fn say_results(
    earlier: Option<&str>,
    table: &str,
    json: &Path,
    page: &Path,
) -> Outcome<()> {
    if let Some(date) = earlier {
        say(&format!("measured already, on {date} by this build; --fresh measures again\n"))?;
    }
    say(table)?;
    say(&format!("record  {}\npage    {}", json.display(), page.display()))
}

/// Says what one measurement has found, in a line of JSON.
pub(super) fn say_finding(runtime: &str, finding: impl Serialize) -> Outcome<()> {
    #[derive(Serialize)]
    struct Line<'a, F> {
        runtime: &'a str,
        #[serde(flatten)]
        finding: F,
    }
    say_line(&Line { runtime, finding })
}

/// Says something in a line of JSON.
pub(super) fn say_line(line: &impl Serialize) -> Outcome<()> {
    say(&serde_json::to_string(line).map_err(|error| Fault::run(error.to_string()))?)
}
