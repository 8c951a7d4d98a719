//! `locksley apps`: what can be run, and on what.

use itertools::Itertools;

use crate::apps;
use crate::experiment::Table;
use crate::experiment::text::table_as_text;
use crate::fault::Outcome;
use crate::output::say;
use crate::runtimes;

pub(super) fn execute() -> Outcome<()> {
    let columns = ["app", "--size", "paper", "quick", "what it computes"];
    let mut sizes = Table::new("Applications", columns);
    for app in apps::ALL {
        let of_bws = app.bws_size.map_or(String::new(), |size| format!(", in BWS {size}"));
        let paper = format!("{}{of_bws}", app.paper_size);
        sizes.row([app.name, app.syntax, &paper, app.quick_size, app.about]);
    }
    let mut able = Table::new("Runtimes", ["runtime", "applications", "what it is"]);
    for runtime in runtimes::ALL.iter() {
        let names = match apps::ALL.iter().all(|app| runtime.can_run(app)) {
            true => "all".to_owned(),
            false => apps::ALL.iter().filter(|it| runtime.can_run(it)).map(|it| it.name).join(" "),
        };
        able.row([runtime.name, &names, runtime.about]);
    }
    say(format!("{}{}", table_as_text(&sizes), table_as_text(&able)).trim())
}
