//! What is measured: applications on each number of workers that somebody might choose, and on the number that nobody chose; phases;
//! and, where control groups can be made, quotas and a move.

use super::once::{Ground, Subject, TURNKEY};
use super::record::Plan;
use crate::fault::{Fault, Outcome};
use crate::record::Cell;

/// The runtime of all that is measured.
pub const LOCKSLEY: &str = "locksley";

/// The numbers of workers that somebody might choose.
const WORKERS: [usize; 4] = [1, 2, 4, 8];

const APPS: [(&str, &str); 7] = [
    ("heat", "1024x512x60"),
    ("msort", "1M"),
    ("mm", "512"),
    ("lu", "512"),
    ("barnes", "4096x1"),
    ("ray", "4,128x128"),
    ("knary", "9,4,1"),
];
const QUICK_APPS: [(&str, &str); 4] =
    [("heat", "1024x512x20"), ("msort", "300K"), ("mm", "256"), ("knary", "8,4,1")];

/// Of a processor, in hundredths.
const QUOTAS: [u64; 3] = [50, 100, 150];
const QUICK_QUOTAS: [u64; 2] = [100, 150];

/// What the command line may choose.
#[derive(Debug, Clone, Default)]
pub struct Choice {
    /// At most a minute.
    pub quick: bool,
    /// What all random input follows from.
    pub seed: u64,
    /// Instead of the usual number of repetitions.
    pub repeats: Option<usize>,
}

/// The plan for a machine where control groups can be made on `ground`, or else cannot, for that reason.
pub fn plan(choice: &Choice, ground: Result<Ground, String>) -> Outcome<Plan> {
    if choice.repeats == Some(0) {
        return Err(Fault::input("there must be a repetition"));
    }
    let quick = choice.quick;
    let apps: &[(&str, &str)] = if quick { &QUICK_APPS } else { &APPS };
    let quotas: &[u64] = if quick { &QUICK_QUOTAS } else { &QUOTAS };
    let app = |&(app, size): &(&str, &str)| {
        [false, true].map(|beside| {
            let (app, size) = (app.to_owned(), size.to_owned());
            Subject::App { app, size, beside }
        })
    };
    let mut subjects: Vec<Subject> = apps.iter().flat_map(app).collect();
    subjects.push(Subject::Phases);
    if ground.is_ok() {
        subjects.extend(quotas.iter().map(|&hundredths| Subject::Quota { hundredths }));
        subjects.push(Subject::Moved);
    }
    let plan = Plan {
        experiment: "turnkey".to_owned(),
        quick,
        seed: choice.seed,
        repeats: choice.repeats.unwrap_or(if quick { 5 } else { 9 }),
        budget_seconds: if quick { 50.0 } else { 420.0 },
        limit_seconds: 60.0,
        seconds: if quick { [0.15, 0.5] } else { [0.5, 2.0] },
        workers: WORKERS.to_vec(),
        inputs: subjects.iter().map(Subject::names).collect(),
        groups: ground.map(|ground| ground.version),
    };
    plan.subjects()?;
    Ok(plan)
}

impl Plan {
    /// What is measured in each rotation, in order: what is compared lies side by side.
    pub fn cells(&self) -> Outcome<Vec<Cell>> {
        let mut cells = Vec::new();
        for subject in self.subjects()? {
            let (app, size) = subject.names();
            let cell = |workers| Cell {
                app: app.clone(),
                size: size.clone(),
                runtime: LOCKSLEY.to_owned(),
                workers,
            };
            cells.push(cell(TURNKEY));
            if subject != Subject::Moved {
                cells.extend(self.workers.iter().map(|&workers| cell(workers)));
            }
        }
        Ok(cells)
    }

    /// For how long a measurement of `subject` goes on.
    pub(super) fn seconds_of(&self, subject: &Subject) -> f64 {
        self.seconds[usize::from(!matches!(subject, Subject::App { .. }))]
    }
}

/// In words, what a quick run leaves out.
pub fn subset(plan: &Plan) -> String {
    let inputs: Vec<String> =
        plan.inputs.iter().map(|(kind, size)| format!("{kind} {size}")).collect();
    format!(
        "Quick subset: {}; as many of {} repetitions as fit in {} s",
        inputs.join(", "),
        plan.repeats,
        plan.budget_seconds
    )
}
