//! What is measured: the subjects, the placements, how often, and for how long at most.

use locksley::places::Kind as Shared;

use super::once::{Ground, Kind, Level, Placement, Subject};
use super::record::{Division, Input, Plan, Uncounted};
use crate::apps::{self, App};
use crate::fault::{Fault, Outcome};
use crate::record::Cell;
use crate::simulation;

/// The paper's sizes ("Merge Sort", "Block Matrix Multiplication"), and smaller ones.
const INTEGERS: (u64, u64) = (4_194_304, 1_048_576);
const ROWS: (u64, u64) = (2048, 768);
/// The paper's arrays, each as large as one of the third caches of its machine ("Cache Stress Test").
const ARRAY: u64 = 8 << 20;

/// The multiplication takes as long as all else together, and is measured no more often than this.
const REPEATS_OF_LONG_ONES: usize = 5;
/// What is measured with fewer workers, too.
const WITH_FEWER: [Placement; 2] = [Placement::Best, Placement::Ignorant];

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
    /// The caches that divide the machine, as they were named; those that a pool goes by if they were not.
    pub level: Option<Level>,
}

/// The kind of that name, for who may also name the applications.
fn find(name: &str) -> Outcome<Kind> {
    let kind = Kind::ALL.into_iter().find(|kind| kind.name() == name);
    kind.ok_or_else(|| {
        let known = Kind::ALL.map(Kind::name).join(", ");
        Fault::input(format!("unknown kind '{name}'; there are {known}, {APPS}"))
    })
}

/// The plan, for a machine with these places, which are those of the choice.
pub fn plan(choice: &Choice, ground: &Ground) -> Outcome<Plan> {
    if choice.repeats == Some(0) {
        return Err(Fault::input("there must be a repetition"));
    }
    let quick = choice.quick;
    let (apps, kinds): (Vec<_>, Vec<_>) =
        choice.kinds.iter().cloned().partition(|kind| kind == APPS);
    if !apps.is_empty() && choice.level.is_some() {
        return Err(Fault::input("the applications have the places that a pool finds"));
    }
    let has_apps = !apps.is_empty() || kinds.is_empty() && !quick && choice.level.is_none();
    let is_apps_alone = !apps.is_empty() && kinds.is_empty();
    let kinds = if is_apps_alone { Vec::new() } else { chosen(&kinds, find, &Kind::ALL)? };
    let placements = chosen(&choice.placements, Placement::find, &Placement::ALL)?;
    let places = ground.places();
    Ok(Plan {
        experiment: "locality".to_owned(),
        quick,
        seed: choice.seed,
        repeats: choice.repeats.unwrap_or(if quick { 7 } else { 21 }),
        budget_seconds: if quick { 48.0 } else { 450.0 },
        limit_seconds: 120.0,
        division: Division {
            places: places.sets().iter().map(ToString::to_string).collect(),
            reason: places.reason().to_string(),
            kind: ground.kind().to_string(),
            cache: ground.cache(),
        },
        level: choice.level.map(|level| level.name().to_owned()),
        uncounted: Uncounted(ground.uncounted()),
        simulated: simulation::here().map(str::to_owned),
        workers: ground.processors(),
        fewer: fewer(ground.processors()),
        apps: if has_apps {
            apps::ALL.iter().map(|app| of_app(*app)).collect()
        } else {
            Vec::new()
        },
        inputs: kinds.into_iter().flat_map(|kind| inputs(kind, ground, quick)).collect(),
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

/// A small pool, as most are, on a machine that has more processors.
fn fewer(processors: usize) -> Option<usize> {
    match processors {
        0 | 1 => None,
        2 => Some(1),
        _ => Some(2),
    }
}

fn inputs(kind: Kind, ground: &Ground, quick: bool) -> Vec<Input> {
    let of = |(full, less)| if quick { less } else { full };
    let sizes = match kind {
        // One array of a place fits into its cache, and two do not.
        Kind::Stress => {
            let fits = ground.cache() / 10 * 9;
            let of_paper = (ground.kind() == Shared::L3).then_some(ARRAY);
            match of_paper.filter(|size| size.abs_diff(fits) > fits / 10) {
                Some(size) if quick => vec![size],
                Some(size) => vec![size, fits],
                None => vec![fits],
            }
        }
        Kind::Sort => vec![of(INTEGERS)],
        Kind::Multiply => vec![of(ROWS)],
    };
    let input = |size: u64| Input { kind: kind.name().to_owned(), size: size.to_string() };
    sizes.into_iter().map(input).collect()
}

impl Plan {
    /// What is measured in each rotation, in order.
    pub fn cells(&self) -> Vec<Cell> {
        let with = |workers| {
            let on = move |input: &Input| -> Vec<Cell> {
                let is_chosen = |it: &&String| suits(it, input) && self.has(input, it, workers);
                let chosen = self.placements.iter().filter(is_chosen);
                chosen.map(|it| input.cell(it, workers)).collect()
            };
            let both = move |app: &Input| RUNTIMES.map(|runtime| app.cell(runtime, workers));
            self.inputs.iter().flat_map(on).chain(self.apps.iter().flat_map(both))
        };
        self.numbers().flat_map(with).collect()
    }

    /// The numbers of workers.
    pub fn numbers(&self) -> impl Iterator<Item = usize> + use<> {
        [Some(self.workers), self.fewer].into_iter().flatten()
    }

    /// Whether an input is measured under that placement with so many workers.
    fn has(&self, input: &Input, placement: &str, workers: usize) -> bool {
        let is_with_fewer =
            || Placement::find(placement).is_ok_and(|placement| WITH_FEWER.contains(&placement));
        workers == self.workers || input.kind == Kind::Stress.name() && is_with_fewer()
    }

    /// How often that is measured, if the time suffices.
    pub fn repeats_of(&self, cell: &Cell) -> usize {
        let is_long = cell.app == Kind::Multiply.name() && !self.quick;
        if is_long { self.repeats.min(REPEATS_OF_LONG_ONES) } else { self.repeats }
    }
}

impl Input {
    /// What it names.
    pub fn subject(&self) -> Outcome<Subject> {
        Subject::find(&self.kind, &self.size)
    }

    /// The input under a placement, or the application on a runtime, with so many workers.
    pub fn cell(&self, placement: &str, workers: usize) -> Cell {
        Cell {
            app: self.kind.clone(),
            size: self.size.clone(),
            runtime: placement.to_owned(),
            workers,
        }
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
