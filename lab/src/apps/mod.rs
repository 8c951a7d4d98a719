//! The applications. One folder each; [`ALL`] lists them.
//!
//! An [`App`] reads a size and gives a [`Problem`]; a problem prepared with a seed is an
//! [`Instance`], which holds its input and its answer and computes one from the other on any
//! runtime, as often as asked.

pub mod barnes;
pub mod bfs;
mod blocks;
pub mod busy_loop;
pub mod cg;
mod check;
pub mod clip;
pub mod ep;
mod fork;
pub mod heat;
pub mod knary;
pub mod lu;
pub mod mi;
pub mod mm;
pub mod msort;
mod nas;
pub mod ray;
pub mod raytracer;
pub mod size;
pub mod sorters;

use std::time::Duration;

use crate::fault::{Fault, Outcome};
use crate::picture::Picture;
use crate::runtimes::Team;

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
    name: &'static str,
    about: &'static str,
    syntax: &'static str,
    paper_size: &'static str,
    quick_size: &'static str,
    has_static: bool,
    has_intervals: bool,
    has_picture: bool,
    problem: fn(&str) -> Result<Box<dyn Problem>, String>,
}

impl App {
    /// What an application has that says nothing else.
    const BLANK: App = App {
        name: "",
        about: "",
        syntax: "",
        paper_size: "",
        quick_size: "",
        has_static: false,
        has_intervals: false,
        has_picture: false,
        problem: |_| Err(String::new()),
    };

    /// Its name on the command line.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// What it computes, in a line.
    pub fn about(&self) -> &'static str {
        self.about
    }

    /// How its parameters are written, for example `ROWSxCOLUMNSxSTEPS`.
    pub fn syntax(&self) -> &'static str {
        self.syntax
    }

    /// The parameters that `--size paper` stands for.
    pub fn paper_size(&self) -> &'static str {
        self.paper_size
    }

    /// The parameters that `--size quick` stands for.
    pub fn quick_size(&self) -> &'static str {
        self.quick_size
    }

    /// Whether a statically partitioned version exists.
    pub fn has_static(&self) -> bool {
        self.has_static
    }

    /// Whether a version exists that is a graph of intervals.
    pub fn has_intervals(&self) -> bool {
        self.has_intervals
    }

    /// Whether its answer is a picture ([`Instance::picture`]).
    pub fn has_picture(&self) -> bool {
        self.has_picture
    }
}

/// An application with a size.
pub trait Problem: Send + Sync {
    /// The parameters, as they would be given on the command line.
    fn parameters(&self) -> String;
    /// The memory that an instance needs, in bytes.
    fn bytes(&self) -> u128;
    /// An instance with its input filled in. Only what is random about it depends on `seed`.
    fn prepare(&self, seed: u64) -> Box<dyn Instance>;
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
    /// The answer as a picture, where it is one ([`App::has_picture`]).
    fn picture(&self) -> Option<Picture> {
        None
    }
    /// Whether the answer is right; if not, what is wrong with it.
    fn check(&self) -> Result<(), String>;
}

/// The application called `name`.
pub fn find(name: &str) -> Outcome<&'static App> {
    ALL.iter().copied().find(|app| app.name() == name).ok_or_else(|| {
        let known: Vec<_> = ALL.iter().map(|app| app.name()).collect();
        Fault::input(format!("unknown application '{name}'; there are {}", known.join(", ")))
    })
}

/// The problem that `--size SIZE` means to `app`: `paper`, `quick`, or the application's own
/// parameters.
pub fn problem(app: &App, size: &str) -> Outcome<Box<dyn Problem>> {
    let parameters = match size {
        "paper" => app.paper_size(),
        "quick" => app.quick_size(),
        other => other,
    };
    let problem = (app.problem)(parameters).map_err(|reason| {
        Fault::input(format!(
            "{} cannot have the size '{size}': {reason}; write paper, quick or {}",
            app.name(),
            app.syntax()
        ))
    })?;
    let available = crate::machine::available_memory();
    if problem.bytes() > available {
        return Err(Fault::input(format!(
            "{} of size '{size}' needs {} of memory, and {} are available",
            app.name(),
            size::in_bytes(problem.bytes()),
            size::in_bytes(available)
        )));
    }
    Ok(problem)
}

#[cfg(test)]
mod tests;
