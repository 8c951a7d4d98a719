//! What is measured: applications on each number of workers that somebody might choose, and on the number that nobody chose; phases;
//! and, where control groups can be made, quotas and a move.

use super::contestant::Contestant;
use super::once::{Ground, Setting, Subject};
use super::record::Plan;
use crate::fault::{Fault, Outcome};
use crate::record::Cell;

/// The target: a pool to which nobody says a number takes at most so many times as long as with the best number.
pub const TARGET: f64 = 1.03;

/// The numbers of workers that somebody might choose.
const WORKERS: [usize; 4] = [1, 2, 4, 8];
const QUICK_WORKERS: [usize; 3] = [1, 2, 4];

/// Runtimes whose workers all run, whatever the quota, with the numbers with which that makes a difference. A pool of ours keeps as many awake as
/// the quota takes.
const RIVALS: [(&str, &[usize]); 2] = [("locksley-awake", &[2, 4, 8]), ("rayon", &[1, 2, 4, 8])];
const QUICK_RIVALS: [(&str, &[usize]); 2] = [("locksley-awake", &[4]), ("rayon", &[4])];

/// Some milliseconds each: two that are next to each other in time have a machine of the same speed, and a period of the kernel's has several.
const APPS: [(&str, &str); 7] = [
    ("heat", "1024x512x30"),
    ("msort", "300K"),
    ("mm", "256"),
    ("lu", "512"),
    ("barnes", "1024x1"),
    ("ray", "4,64x64"),
    ("knary", "8,4,1"),
];
const QUICK_APPS: [(&str, &str); 3] =
    [("heat", "1024x512x20"), ("msort", "300K"), ("knary", "8,4,1")];

/// Of a processor, in hundredths.
const QUOTAS: [u64; 3] = [50, 100, 150];
const QUICK_QUOTAS: [u64; 1] = [150];

/// Those under which applications run. In a quick run only if that is asked for, so that what else there is can be measured more than once.
const APPS_UNDER: [u64; 2] = [100, 150];

/// What may be left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Apps,
    Under,
    Phases,
    Quota,
    Moved,
}

impl Kind {
    const ALL: [(&str, Kind); 5] = [
        ("apps", Kind::Apps),
        ("under", Kind::Under),
        ("phases", Kind::Phases),
        ("quota", Kind::Quota),
        ("moved", Kind::Moved),
    ];

    /// Those that are named, or all.
    fn chosen(names: &[String]) -> Outcome<Vec<Kind>> {
        let find = |name: &String| {
            let found = Kind::ALL.iter().find(|(its, _)| its == name).map(|(_, kind)| *kind);
            found.ok_or_else(|| {
                let known = Kind::ALL.map(|(its, _)| its).join(", ");
                Fault::input(format!("unknown kind '{name}'; there are {known}"))
            })
        };
        let all = || Kind::ALL.iter().map(|(_, kind)| Ok(*kind)).collect();
        if names.is_empty() { all() } else { names.iter().map(find).collect() }
    }
}

/// What the command line may choose.
#[derive(Debug, Clone, Default)]
pub struct Choice {
    /// At most a minute.
    pub quick: bool,
    /// What all random input follows from.
    pub seed: u64,
    /// Instead of the usual number of repetitions.
    pub repeats: Option<usize>,
    /// Only these kinds; all where none is named.
    pub kinds: Vec<String>,
}

/// The plan for a machine where control groups can be made on `ground`, or else cannot, for that reason.
pub fn plan(choice: &Choice, ground: Result<Ground, String>) -> Outcome<Plan> {
    if choice.repeats == Some(0) {
        return Err(Fault::input("there must be a repetition"));
    }
    let quick = choice.quick;
    let apps: &[(&str, &str)] = if quick { &QUICK_APPS } else { &APPS };
    let quotas: &[u64] = if quick { &QUICK_QUOTAS } else { &QUOTAS };
    let rivals = if quick { QUICK_RIVALS } else { RIVALS };
    let each = |&(runtime, numbers): &(&str, &'static [usize])| {
        let runtime = runtime.to_owned();
        numbers.iter().map(move |&workers| Contestant::on(&runtime, workers))
    };
    let kinds = Kind::chosen(&choice.kinds)?;
    let has = |kind| kinds.contains(&kind);
    let has_under = has(Kind::Under) && !(quick && choice.kinds.is_empty());
    let of_app = |&(app, size): &(&str, &str), setting| {
        let (app, size) = (app.to_owned(), size.to_owned());
        Subject::App { app, size, setting }
    };
    let mut subjects = Vec::new();
    if has(Kind::Apps) {
        let both = |app| [Setting::Alone, Setting::Beside].map(|setting| of_app(app, setting));
        subjects.extend(apps.iter().flat_map(both));
    }
    if has(Kind::Phases) {
        subjects.push(Subject::Phases);
    }
    if ground.is_ok() {
        if has_under {
            let all =
                |hundredths| apps.iter().map(move |app| of_app(app, Setting::Under(hundredths)));
            subjects.extend(APPS_UNDER.into_iter().flat_map(all));
        }
        if has(Kind::Quota) {
            subjects.extend(quotas.iter().map(|&hundredths| Subject::Quota { hundredths }));
        }
        if has(Kind::Moved) {
            subjects.push(Subject::Moved);
        }
    }
    if subjects.is_empty() {
        return Err(Fault::input("nothing of that can be measured without control groups"));
    }
    let plan = Plan {
        experiment: "turnkey".to_owned(),
        quick,
        seed: choice.seed,
        repeats: choice.repeats.unwrap_or(if quick { 8 } else { 40 }),
        fewer: if quick { 1 } else { 5 },
        budget_seconds: if quick { 50.0 } else { 3300.0 },
        limit_seconds: 120.0,
        seconds: if quick { [0.35, 0.7, 0.2] } else { [0.8, 1.6, 1.0] }.to_vec(),
        workers: if quick { QUICK_WORKERS.to_vec() } else { WORKERS.to_vec() },
        rivals: rivals.iter().flat_map(each).collect(),
        inputs: subjects.iter().map(Subject::names).collect(),
        groups: ground.map(|ground| ground.version),
    };
    plan.subjects()?;
    Ok(plan)
}

impl Plan {
    /// What is measured in each rotation, in order. Who has a turn in the process of another is in its cell.
    pub fn cells(&self) -> Outcome<Vec<Cell>> {
        let mut cells = Vec::new();
        for subject in self.subjects()? {
            let (app, size) = subject.names();
            let mut contestants = self.contestants(&subject);
            if subject.is_measured_in_turn() {
                contestants.truncate(1);
            }
            cells.extend(contestants.into_iter().map(|Contestant { runtime, workers }| {
                let (app, size) = (app.clone(), size.clone());
                Cell { app, size, runtime, workers }
            }));
        }
        Ok(cells)
    }

    /// How often a cell is measured, if the time suffices.
    pub(super) fn repeats_of(&self, cell: &Cell) -> usize {
        let is_enough = |subject| matches!(subject, Subject::Phases | Subject::Moved);
        let is_seldom = Subject::find(&cell.app, &cell.size).is_ok_and(is_enough);
        if is_seldom { self.repeats.min(self.fewer) } else { self.repeats }
    }

    /// For how long a measurement of `subject` goes on, or each turn in it.
    pub(super) fn seconds_of(&self, subject: &Subject) -> f64 {
        let place = match subject {
            Subject::App { setting: Setting::Alone, .. } => 0,
            Subject::App { setting: Setting::Beside, .. } => 1,
            _ => 2,
        };
        self.seconds[place.min(self.seconds.len() - 1)]
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
