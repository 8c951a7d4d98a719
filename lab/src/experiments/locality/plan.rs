//! What is measured: the subjects, the placements, how often, and for how long at most.

use super::once::{Ground, Kind, Placement, Subject};
use super::record::{Division, Input, Plan};
use crate::apps::{self, App};
use crate::fault::{Fault, Outcome};
use crate::record::Cell;

/// The paper's sizes ("Merge Sort", "Block Matrix Multiplication"), and smaller ones.
const INTEGERS: (u64, u64) = (4_194_304, 1_048_576);
const ROWS: (u64, u64) = (2048, 768);

/// What stands for all applications on the command line.
const APPS: &str = "apps";
/// The runtimes on which they are measured: without places, and with them.
pub const RUNTIMES: [&str; 2] = ["locksley-undivided", "locksley-places"];

/// What the command line may choose.
#[derive(Debug, Clone, Default)]
pub struct Choice {
    /// At most a minute.
    pub quick: bool,
    /// What all random input follows from.
    pub seed: u64,
    /// Only these kinds, of which `apps` are all applications; all where none is named, but for the applications in a quick run.
    pub kinds: Vec<String>,
    /// Only these placements; all where none is named.
    pub placements: Vec<String>,
    /// Instead of the usual number of repetitions.
    pub repeats: Option<usize>,
}

/// The plan, for a machine with these places.
pub fn plan(choice: &Choice, ground: &Ground) -> Outcome<Plan> {
    if choice.repeats == Some(0) {
        return Err(Fault::input("there must be a repetition"));
    }
    let quick = choice.quick;
    let (apps, kinds): (Vec<_>, Vec<_>) =
        choice.kinds.iter().cloned().partition(|kind| kind == APPS);
    let has_apps = !apps.is_empty() || kinds.is_empty() && !quick;
    let is_apps_alone = !apps.is_empty() && kinds.is_empty();
    let kinds = if is_apps_alone { Vec::new() } else { chosen(&kinds, Kind::find, &Kind::ALL)? };
    let placements = chosen(&choice.placements, Placement::find, &Placement::ALL)?;
    let places = ground.places();
    Ok(Plan {
        experiment: "locality".to_owned(),
        quick,
        seed: choice.seed,
        repeats: choice.repeats.unwrap_or(if quick { 7 } else { 21 }),
        budget_seconds: if quick { 48.0 } else { 1800.0 },
        limit_seconds: 120.0,
        division: Division {
            places: places.sets().iter().map(ToString::to_string).collect(),
            reason: places.reason().to_string(),
            cache: ground.cache(),
        },
        workers: ground.processors(),
        apps: if has_apps {
            apps::ALL.iter().map(|app| of_app(*app)).collect()
        } else {
            Vec::new()
        },
        inputs: kinds.into_iter().map(|kind| input(kind, ground, quick)).collect(),
        placements: placements.into_iter().map(|it| it.name().to_owned()).collect(),
    })
}

/// All, or those that are named, in the order of all.
fn chosen<T: Copy + PartialEq>(
    names: &[String],
    find: impl Fn(&str) -> Outcome<T>,
    all: &[T],
) -> Outcome<Vec<T>> {
    let named: Vec<T> = names.iter().map(|name| find(name)).collect::<Outcome<_>>()?;
    let is_wanted = |it: &&T| named.is_empty() || named.contains(it);
    Ok(all.iter().filter(is_wanted).copied().collect())
}

fn of_app(app: &dyn App) -> Input {
    Input { kind: app.name().to_owned(), size: app.quick_size().to_owned() }
}

fn input(kind: Kind, ground: &Ground, quick: bool) -> Input {
    let of = |(full, less)| if quick { less } else { full };
    let size = match kind {
        // Both arrays of a place would not fit into its cache.
        Kind::Stress => ground.cache() / 10 * 9,
        Kind::Sort => of(INTEGERS),
        Kind::Multiply => of(ROWS),
    };
    Input { kind: kind.name().to_owned(), size: size.to_string() }
}

impl Plan {
    /// What is measured in each rotation, in order.
    pub fn cells(&self) -> Vec<Cell> {
        let on = |input: &Input| -> Vec<Cell> {
            let suits = |placement: &&String| suits(placement, input);
            self.placements.iter().filter(suits).map(|it| self.cell(input, it)).collect()
        };
        let both = |app| RUNTIMES.map(|runtime| self.cell(app, runtime));
        self.inputs.iter().flat_map(on).chain(self.apps.iter().flat_map(both)).collect()
    }

    /// An input under a placement, or an application on a runtime.
    pub fn cell(&self, input: &Input, placement: &str) -> Cell {
        Cell {
            app: input.kind.clone(),
            size: input.size.clone(),
            runtime: placement.to_owned(),
            workers: self.workers,
        }
    }
}

impl Input {
    /// What it names.
    pub fn subject(&self) -> Outcome<Subject> {
        Subject::find(&self.kind, &self.size)
    }
}

fn suits(placement: &str, input: &Input) -> bool {
    let kind = Kind::find(&input.kind);
    Placement::find(placement).is_ok_and(|it| kind.is_ok_and(|kind| it.suits(kind)))
}

/// In words, what a quick run leaves out.
pub fn subset(plan: &Plan) -> String {
    let size = |input: &Input| format!("{} {}", input.kind, input.size);
    let sizes: Vec<String> = plan.inputs.iter().map(size).collect();
    format!(
        "Quick subset: smaller inputs ({}){}; as many of {} repetitions as fit in {} s",
        sizes.join(", "),
        if plan.apps.is_empty() { ", no applications" } else { "" },
        plan.repeats,
        plan.budget_seconds
    )
}
