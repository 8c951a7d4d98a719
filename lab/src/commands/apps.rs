//! `locksley apps`: what can be run, and on what.

use crate::apps;
use crate::fault::Outcome;
use crate::output::say;
use crate::runtimes;

pub(super) fn execute() -> Outcome<()> {
    let mut lines = vec![format!(
        "{:<11}{:<31}{:<15}{:<13}{}",
        "app", "--size", "paper", "quick", "what it computes"
    )];
    for app in apps::ALL {
        lines.push(format!(
            "{:<11}{:<31}{:<15}{:<13}{}",
            app.name, app.syntax, app.paper_size, app.quick_size, app.about
        ));
    }
    lines.push(String::new());
    lines.push(format!("{:<19}{:<25}what it is", "runtime", "applications"));
    for runtime in runtimes::ALL {
        let able: Vec<&str> =
            apps::ALL.iter().filter(|app| runtime.can_run(app)).map(|app| app.name).collect();
        let able = if able.len() == apps::ALL.len() { "all".to_owned() } else { able.join(" ") };
        lines.push(format!("{:<19}{able:<25}{}", runtime.name, runtime.about));
    }
    say(&lines.join("\n"))
}
