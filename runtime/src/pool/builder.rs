//! How a pool is to be.

use std::any::Any;
use std::fmt;

use super::error::BuildError;
use super::shared::PanicHandler;
use super::start::{self, Hooks};
use super::{Pool, global};
#[cfg(feature = "alternatives")]
use crate::deque::alternatives::DequeKind;
use crate::hunt::{Balanced, Governor};
use crate::os::{Assists, Processors};
use crate::sleep::MAX_WORKERS;

/// How many workers a pool has if nobody says: this environment variable, or else the processors that are allowed.
const WORKERS_VARIABLE: &str = "LOCKSLEY_WORKERS";

/// How a pool is to be. Made by [`Pool::builder`].
///
/// # Examples
/// ```
/// let pool = locksley::Pool::builder()
///     .workers(4)
///     .thread_name(|index| format!("painter {index}"))
///     .stack_size(8 << 20)
///     .on_start(|index| eprintln!("worker {index} starts"))
///     .panic_handler(|payload| eprintln!("a detached task panicked: {payload:?}"))
///     .build()?;
/// assert_eq!(pool.workers(), 4);
/// # Ok::<(), locksley::BuildError>(())
/// ```
#[must_use]
pub struct PoolBuilder {
    workers: Option<usize>,
    stack_size: Option<usize>,
    thread_name: Box<dyn Fn(usize) -> String>,
    affinity: Affinity,
    governor: Box<dyn Governor>,
    assists: Assists,
    panic_handler: Option<Box<PanicHandler>>,
    hooks: Hooks,
    #[cfg(feature = "alternatives")]
    deque: Option<DequeKind>,
}

/// Which processors the workers of a pool may run on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Affinity {
    /// Those of the process, that is, of its main thread, even if the thread that builds the pool is pinned.
    #[default]
    Process,
    /// Those of the thread that builds the pool.
    Builder,
}

impl Default for PoolBuilder {
    fn default() -> Self {
        Self {
            workers: None,
            stack_size: None,
            thread_name: Box::new(|index| format!("locksley-{index}")),
            affinity: Affinity::default(),
            governor: Box::new(Balanced::default()),
            assists: Assists::ALL,
            panic_handler: None,
            hooks: Hooks::default(),
            #[cfg(feature = "alternatives")]
            deque: None,
        }
    }
}

impl PoolBuilder {
    /// How many workers, from 1 to 65534. If not set: the environment variable `LOCKSLEY_WORKERS`, or else
    /// [`Processors::count`].
    pub fn workers(self, workers: usize) -> Self {
        Self { workers: Some(workers), ..self }
    }

    /// The names of the threads, by [`Worker::index`](crate::Worker::index). If not set: `locksley-0` and so on.
    pub fn thread_name(self, name: impl Fn(usize) -> String + 'static) -> Self {
        Self { thread_name: Box::new(name), ..self }
    }

    /// The size of each worker's stack in bytes. If not set: what the standard library gives a thread.
    pub fn stack_size(self, bytes: usize) -> Self {
        Self { stack_size: Some(bytes), ..self }
    }

    /// Where the workers may run. If not set: [`Affinity::Process`].
    pub fn affinity(self, affinity: Affinity) -> Self {
        Self { affinity, ..self }
    }

    /// What workers without work do. If not set: [`Balanced`].
    pub fn governor(self, governor: impl Governor) -> Self {
        Self { governor: Box::new(governor), ..self }
    }

    /// Which of the kernel's assists the pool makes use of, where they work. If not set: all.
    pub fn assists(self, assists: Assists) -> Self {
        Self { assists, ..self }
    }

    /// Called on each worker's thread before its first task, with the worker's index. Its panic is
    /// [`BuildError::Hook`].
    ///
    /// The thread that builds the pool waits for this hook, so the hook must not wait for that thread; nor can it use
    /// the global pool if that is the one being built (it panics).
    pub fn on_start(mut self, hook: impl Fn(usize) + Send + Sync + 'static) -> Self {
        self.hooks.on_start = Some(Box::new(hook));
        self
    }

    /// Called on each worker's thread after its last task, with the worker's index. Its panic goes to the
    /// [`panic_handler`](Self::panic_handler).
    pub fn on_exit(mut self, hook: impl Fn(usize) + Send + Sync + 'static) -> Self {
        self.hooks.on_exit = Some(Box::new(hook));
        self
    }

    /// Called with the payload of a detached task ([`Pool::spawn`]) that panicked, on the worker that ran it.
    ///
    /// If not set, or if the handler panics too, the process ends, since nobody would learn of the loss otherwise.
    pub fn panic_handler(
        self,
        handler: impl Fn(Box<dyn Any + Send>) + Send + Sync + 'static,
    ) -> Self {
        Self { panic_handler: Some(Box::new(handler)), ..self }
    }

    /// Data of your own for each worker, made on its thread before its first task and dropped there after its last:
    /// see [`Worker::data`](crate::Worker::data). It needs to be neither `Send` nor `Sync`.
    pub fn worker_data<T: 'static>(
        mut self,
        make: impl Fn(usize) -> T + Send + Sync + 'static,
    ) -> Self {
        self.hooks.worker_data = Some(Box::new(move |index| Box::new(make(index))));
        self
    }

    /// Which deque each worker has instead of the built-in one. Sleep, wake-ups and all else stay as they are, so pushes make
    /// the fence of an open deque. [`DequeKind::AbpArray`] is bounded: where it is full, the worker runs the task at once.
    #[cfg(feature = "alternatives")]
    pub fn deque(self, kind: DequeKind) -> Self {
        Self { deque: Some(kind), ..self }
    }

    /// Starts the workers.
    ///
    /// # Errors
    /// Each of [`BuildError`]'s kinds but the last.
    pub fn build(self) -> Result<Pool, BuildError> {
        let workers = self.workers.map_or_else(default_workers, Ok)?;
        match workers {
            0 => return Err(BuildError::NoWorkers),
            1..=MAX_WORKERS => {}
            _ => return Err(BuildError::TooManyWorkers { asked: workers, most: MAX_WORKERS }),
        }
        let threads = start::Threads {
            name: self.thread_name,
            stack_size: self.stack_size,
            affinity: self.affinity,
        };
        let makeup = start::Makeup {
            governor: self.governor,
            assists: self.assists,
            panic_handler: self.panic_handler,
            #[cfg(feature = "alternatives")]
            deque: self.deque,
        };
        start::start(workers, threads, self.hooks, makeup)
    }

    /// Makes this the pool that [`Pool::global`] returns, and that [`join`](crate::join), [`scope`](crate::scope) and
    /// [`spawn`](crate::spawn) use outside of any pool.
    ///
    /// # Errors
    /// Those of [`build`](Self::build); and [`BuildError::GlobalPoolExists`] if it was built or used before.
    pub fn build_global(self) -> Result<(), BuildError> {
        global::set(self)
    }
}

fn default_workers() -> Result<usize, BuildError> {
    match std::env::var_os(WORKERS_VARIABLE) {
        None => Ok(Processors::allowed().count()),
        Some(value) => parse_workers(&value.to_string_lossy()),
    }
}

fn parse_workers(value: &str) -> Result<usize, BuildError> {
    let number = value.trim().parse().ok().filter(|&n| n > 0);
    number.ok_or_else(|| BuildError::Environment { value: value.to_owned() })
}

impl fmt::Debug for PoolBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PoolBuilder")
            .field("workers", &self.workers)
            .field("stack_size", &self.stack_size)
            .field("affinity", &self.affinity)
            .field("governor", &self.governor)
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_variable_must_be_a_number_of_workers() {
        assert_eq!(parse_workers(" 12 ").unwrap(), 12);
        for wrong in ["", "0", "-1", "two", "1.5", "99999999999999999999999"] {
            let error = parse_workers(wrong).unwrap_err();
            assert!(matches!(&error, BuildError::Environment { value } if value == wrong));
            assert!(error.to_string().contains("LOCKSLEY_WORKERS"), "{error}");
        }
    }
}
