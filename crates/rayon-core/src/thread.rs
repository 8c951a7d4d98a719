//! How the threads of a pool are made: by the standard library, or by a handler of the user's.

use std::fmt;
use std::io;
use std::thread;

use locksley::WorkerThread;

/// A thread of a pool, for a [`spawn_handler`](crate::ThreadPoolBuilder::spawn_handler) to start.
///
/// # Examples
/// ```
/// let pool = rayon_core::ThreadPoolBuilder::new()
///     .num_threads(2)
///     .thread_name(|index| format!("painter {index}"))
///     .stack_size(1 << 20)
///     .spawn_handler(|thread| {
///         assert_eq!(thread.name(), Some(format!("painter {}", thread.index()).as_str()));
///         assert_eq!(thread.stack_size(), Some(1 << 20));
///         std::thread::spawn(|| thread.run());
///         Ok(())
///     })
///     .build()?;
/// assert_eq!(pool.broadcast(|context| context.index()), [0, 1]);
/// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
/// ```
pub struct ThreadBuilder {
    pub(crate) name: Option<String>,
    pub(crate) stack_size: Option<usize>,
    pub(crate) worker: WorkerThread,
}

impl ThreadBuilder {
    /// The thread's number in its pool, from 0.
    pub fn index(&self) -> usize {
        self.worker.index()
    }

    /// What [`thread_name`](crate::ThreadPoolBuilder::thread_name) called it.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// What [`stack_size`](crate::ThreadPoolBuilder::stack_size) asked for.
    pub fn stack_size(&self) -> Option<usize> {
        self.stack_size
    }

    /// Works for the pool, on the calling thread, until the pool has been dropped and its tasks
    /// have ended.
    pub fn run(self) {
        self.worker.run();
    }

    /// What the standard library needs to know.
    pub(crate) fn as_std(&self) -> thread::Builder {
        let mut builder = thread::Builder::new();
        if let Some(name) = self.name() {
            builder = builder.name(name.to_owned());
        }
        if let Some(bytes) = self.stack_size {
            builder = builder.stack_size(bytes);
        }
        builder
    }
}

impl fmt::Debug for ThreadBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadBuilder")
            .field("index", &self.index())
            .field("name", &self.name)
            .field("stack_size", &self.stack_size)
            .finish_non_exhaustive()
    }
}

/// Either way of making threads. Not to be named outside: it is a bound of
/// [`ThreadPoolBuilder::build`](crate::ThreadPoolBuilder::build).
pub trait ThreadSpawn {
    #[doc(hidden)]
    const IS_DEFAULT: bool;

    #[doc(hidden)]
    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<()>;
}

/// The standard library makes them.
#[derive(Debug, Default)]
pub struct DefaultSpawn;

impl ThreadSpawn for DefaultSpawn {
    const IS_DEFAULT: bool = true;

    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<()> {
        thread.as_std().spawn(|| thread.run()).map(drop)
    }
}

/// A handler makes them.
#[derive(Debug)]
pub struct CustomSpawn<F>(pub(crate) F);

impl<F> ThreadSpawn for CustomSpawn<F>
where
    F: FnMut(ThreadBuilder) -> io::Result<()>,
{
    const IS_DEFAULT: bool = false;

    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<()> {
        self.0(thread)
    }
}
