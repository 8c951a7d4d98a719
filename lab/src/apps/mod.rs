//! The applications. One folder each; [`ALL`] lists them.
//!
//! An [`App`] reads a size and gives a [`Problem`]; a problem prepared with a seed is an
//! [`Instance`], which holds its input and its answer and computes one from the other on any
//! runtime, as often as asked.

/// The methods of an [`Instance`] for the serial program and all libraries, from what is to be
/// done on a [`Fork`](crate::fork::Fork); and its copy, which is a clone.
macro_rules! fork_join {
    ($self:ident, $fork:ident => $computed:expr) => {
        fn serial(&mut $self) {
            let $fork = &$crate::fork::Serial;
            $computed;
        }

        fn locksley(&mut $self, pool: &::locksley::Pool) {
            pool.install(|$fork| $computed);
        }

        fn classic(&mut $self, machine: &::locksley_classic::Machine) {
            machine.run(|$fork| $computed);
        }

        fn rayon(&mut $self, pool: &::rayon::ThreadPool) {
            let $fork = &$crate::fork::Rayon;
            pool.install(|| $computed);
        }

        fn copy(&$self) -> Box<dyn Instance> {
            Box::new($self.clone())
        }
    };
}

pub mod barnes;
pub mod bfs;
mod blocks;
pub mod busy_loop;
pub mod cg;
mod check;
pub mod clip;
pub mod ep;
pub mod heat;
pub mod knary;
pub mod lu;
pub mod mi;
pub mod mm;
pub mod msort;
mod nas;
pub mod ray;
pub mod raytracer;
mod rendering;
pub mod size;
pub mod sorters;

use std::time::Duration;

use itertools::Itertools;
use locksley_classic::static_partition::Team;

use crate::fault::{Fault, Outcome};

/// What applications are written with.
mod prelude {
    pub(super) use std::sync::Arc;
    pub(super) use std::time::Duration;

    pub(super) use locksley_classic::static_partition::Team;

    pub(super) use super::{App, Instance, Problem, size};
    pub(super) use crate::fork::{Fork, Rows, Serial, reduce};
    pub(super) use crate::random::Random;
}

/// Every application, Hood's first. A new one is a folder and a line here; no experiment runs it
/// until its own list names it.
pub static ALL: &[&App] = &[
    &knary::APP,
    &heat::APP,
    &msort::APP,
    &mm::APP,
    &lu::APP,
    &barnes::APP,
    &ray::APP,
    &bfs::APP,
    &ep::APP,
    &cg::APP,
    &raytracer::APP,
    &clip::APP,
    &mi::APP,
    &busy_loop::APP,
    &sorters::APP,
];

/// An application of the laboratory.
pub struct App {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it computes, in a line.
    pub about: &'static str,
    /// How its parameters are written, for example `ROWSxCOLUMNSxSTEPS`.
    pub syntax: &'static str,
    /// The parameters that `--size paper` stands for.
    pub paper_size: &'static str,
    /// What `corun --size paper` has, where BWS's paper has another size than Hood's.
    pub bws_size: Option<&'static str>,
    /// The parameters that `--size quick` stands for.
    pub quick_size: &'static str,
    /// Whether a statically partitioned version exists.
    pub has_static: bool,
    /// Whether a version exists that is a graph of intervals.
    pub has_intervals: bool,
    problem: fn(&str) -> Result<Problem, String>,
}

impl App {
    /// What an application has that says nothing else.
    const BLANK: App = App {
        name: "",
        about: "",
        syntax: "",
        paper_size: "",
        bws_size: None,
        quick_size: "",
        has_static: false,
        has_intervals: false,
        problem: |_| Err(String::new()),
    };
}

/// An application with a size.
pub struct Problem {
    /// The parameters, as they would be given on the command line.
    pub parameters: String,
    /// The memory that an instance needs, in bytes.
    pub bytes: u128,
    prepare: Box<dyn Fn(u64) -> Box<dyn Instance> + Send + Sync>,
}

impl Problem {
    /// A problem with instances that need so many bytes. `prepare` fills in the input of one; only
    /// what is random about it depends on the seed.
    fn new<I: Instance + 'static>(
        bytes: u128,
        prepare: impl Fn(u64) -> I + Send + Sync + 'static,
    ) -> Problem {
        let prepare = Box::new(move |seed| Box::new(prepare(seed)) as Box<dyn Instance>);
        Problem { parameters: String::new(), bytes, prepare }
    }

    /// An instance with its input filled in.
    pub fn prepare(&self, seed: u64) -> Box<dyn Instance> {
        (self.prepare)(seed)
    }
}

/// An input and its answer. Each computation is preceded by [`reset`](Instance::reset), which is
/// not part of it.
pub trait Instance: Send {
    /// Restores the input and forgets the answer.
    fn reset(&mut self);
    /// Computes the answer as a good serial program does.
    fn serial(&mut self);
    /// Computes the answer on the workers of a Locksley pool.
    fn locksley(&mut self, pool: &locksley::Pool);
    /// Computes the answer by a scheduler of the papers.
    fn classic(&mut self, machine: &locksley_classic::Machine);
    /// Computes the answer on the threads of a rayon pool.
    fn rayon(&mut self, pool: &rayon::ThreadPool);
    /// Computes the answer on a team of threads, each of which does its share of the work; says how
    /// long it took. `None` where the application has no such version ([`App::has_static`]).
    fn static_partition(&mut self, team: &Team) -> Option<Duration> {
        let _ = team;
        None
    }
    /// Computes the answer as a graph of intervals on the workers of a Locksley pool. `None` where
    /// the application has no such version ([`App::has_intervals`]).
    fn intervals(&mut self, pool: &locksley::Pool) -> Option<()> {
        let _ = pool;
        None
    }
    /// Another instance with the same input, to be computed side by side with this one.
    fn copy(&self) -> Box<dyn Instance>;
    /// Whether the answer is right; if not, what is wrong with it.
    fn check(&self) -> Result<(), String>;
}

/// The application called `name`.
pub fn find(name: &str) -> Outcome<&'static App> {
    ALL.iter().copied().find(|app| app.name == name).ok_or_else(|| {
        let known = ALL.iter().map(|app| app.name).join(", ");
        Fault::input(format!("unknown application '{name}'; there are {known}"))
    })
}

/// The problem that `--size SIZE` means to `app`: `paper`, `quick`, or the application's own
/// parameters.
pub fn problem(app: &App, size: &str) -> Outcome<Problem> {
    let parameters = match size {
        "paper" => app.paper_size,
        "quick" => app.quick_size,
        other => other,
    };
    let mut problem = (app.problem)(parameters).map_err(|reason| {
        Fault::input(format!(
            "{} cannot have the size '{size}': {reason}; write paper, quick or {}",
            app.name, app.syntax
        ))
    })?;
    problem.parameters = parameters.to_owned();
    let available = crate::machine::available_memory();
    if problem.bytes > available {
        return Err(Fault::input(format!(
            "{} of size '{size}' needs {} of memory, and {} are available",
            app.name,
            size::in_bytes(problem.bytes),
            size::in_bytes(available)
        )));
    }
    Ok(problem)
}

#[cfg(test)]
mod tests;
