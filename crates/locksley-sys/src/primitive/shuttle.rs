//! What shuttle schedules: atomics, threads, thread-locals, channels and the clock.
//!
//! Shuttle runs all threads of an execution on one thread of the system, and switches between them
//! at each operation of these. So whole pools run under it. Its memory is sequentially consistent.

use std::ops::{Add, Sub};
use std::time::Duration;

pub use ::shuttle::hint::spin_loop;
pub use ::shuttle::sync::atomic::{
    AtomicBool, AtomicI64, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, fence,
};
pub use ::shuttle::sync::{Mutex, mpsc};
pub use ::shuttle::thread_local;

pub use super::cell::UnsafeCell;

pub mod thread {
    use std::io;
    use std::num::NonZeroUsize;
    use std::sync::{Arc, PoisonError};
    use std::time::Duration;

    use ::shuttle::sync::{Condvar, Mutex};
    pub use ::shuttle::thread::{
        JoinHandle, Scope, ScopedJoinHandle, panicking, scope, spawn, yield_now,
    };

    /// The handle of a thread. Shuttle's own parks return spuriously, which would hide that a
    /// wake-up was lost.
    #[derive(Clone, Debug, Default)]
    pub struct Thread(Arc<(Mutex<bool>, Condvar)>);

    super::thread_local! {
        static CURRENT: Thread = Thread::default();
    }

    impl Thread {
        pub fn unpark(&self) {
            *self.0.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
            self.0.1.notify_one();
        }
    }

    pub fn current() -> Thread {
        CURRENT.with(Thread::clone)
    }

    pub fn park() {
        let Thread(thread) = current();
        // A thread that unwinds poisons the locks that other threads hold: all are one to std.
        let mut token = thread.0.lock().unwrap_or_else(PoisonError::into_inner);
        while !*token {
            token = thread.1.wait(token).unwrap_or_else(PoisonError::into_inner);
        }
        *token = false;
    }

    /// The time is over as soon as the thread runs again.
    pub fn sleep(_: Duration) {
        yield_now();
    }

    /// The same on each machine, so that a schedule can be repeated.
    pub fn available_parallelism() -> io::Result<NonZeroUsize> {
        Ok(NonZeroUsize::MIN.saturating_add(1))
    }

    /// Stacks have the size that the runner's configuration gives.
    #[derive(Debug, Default)]
    pub struct Builder(::shuttle::thread::Builder);

    impl Builder {
        pub fn new() -> Self {
            Self::default()
        }

        pub fn name(self, name: String) -> Self {
            Self(self.0.name(name))
        }

        pub fn stack_size(self, _bytes: usize) -> Self {
            self
        }

        pub fn spawn<T: Send + 'static>(
            self,
            body: impl FnOnce() -> T + Send + 'static,
        ) -> io::Result<JoinHandle<T>> {
            self.0.spawn(body)
        }

        /// Refused: the end of shuttle's last scoped thread unblocks the thread that has the scope,
        /// whatever that one waits for.
        pub fn spawn_scoped<'scope, T>(
            self,
            _scope: &'scope Scope<'scope, '_>,
            _body: impl FnOnce() -> T + Send + 'scope,
        ) -> io::Result<ScopedJoinHandle<'scope, T>> {
            Err(io::ErrorKind::Unsupported.into())
        }
    }
}

/// The time since the execution began: a microsecond for each step of any thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Instant(Duration);

impl Instant {
    pub fn now() -> Self {
        Self(Duration::from_micros(::shuttle::current::context_switches() as u64))
    }

    pub fn elapsed(&self) -> Duration {
        Self::now() - *self
    }

    pub fn checked_add(&self, time: Duration) -> Option<Self> {
        self.0.checked_add(time).map(Self)
    }

    pub fn saturating_duration_since(&self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}

impl Add<Duration> for Instant {
    type Output = Self;

    fn add(self, time: Duration) -> Self {
        Self(self.0 + time)
    }
}

impl Sub for Instant {
    type Output = Duration;

    fn sub(self, earlier: Self) -> Duration {
        self.saturating_duration_since(earlier)
    }
}
