//! Deadlines of tokens: one thread for the process, which sleeps until the next deadline.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, PoisonError, Weak};
use std::time::Duration;

use super::{Cancellation, Node};
use crate::os;
use crate::primitive::plain::{Condvar, Mutex, MutexGuard, OnceLock};
use crate::primitive::{Instant, thread};
use crate::unwind;
use crate::worker::Worker;

/// What the thread of a process waits for.
struct Timer {
    /// The number of forks that lead to the process.
    generation: u32,
    state: Mutex<State>,
    /// There is another deadline.
    changed: Condvar,
    /// The timer of a forked child. There, a thread that only the parent has may hold the lock.
    child: OnceLock<Box<Self>>,
}

#[derive(Default)]
struct State {
    has_thread: bool,
    /// Times, and the tokens that are cancelled then. The next one is in front.
    deadlines: VecDeque<(Instant, Weak<Node>)>,
    /// The number of deadlines after the last sweep.
    swept: usize,
}

impl Timer {
    fn new() -> Self {
        let (state, changed, child) = (Mutex::default(), Condvar::new(), OnceLock::new());
        Self { generation: os::generation(), state, changed, child }
    }

    /// The timer of this process.
    fn get() -> &'static Self {
        static FIRST: OnceLock<Timer> = OnceLock::new();
        // As pools do, since the first call counts.
        os::watch_for_forks(Worker::forget_current);
        let mut timer = FIRST.get_or_init(Self::new);
        while timer.generation != os::generation() {
            timer = timer.child.get_or_init(|| Box::new(Self::new()));
        }
        timer
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn cancel_in_time(&self) {
        let mut state = self.lock();
        loop {
            let next = state.deadlines.front().map(|(time, _)| *time);
            let left = next.map(|time| time.saturating_duration_since(Instant::now()));
            state = match left {
                Some(Duration::ZERO) => {
                    let token = state.deadlines.pop_front().and_then(|(_, token)| token.upgrade());
                    drop(state);
                    // A panic was reported by the panic hook, and no code waits for it.
                    unwind::catch(|| token.map(|node| Cancellation(node).cancel()))
                        .map_or_else(unwind::discard, drop);
                    self.lock()
                }
                Some(left) => {
                    let waited = self.changed.wait_timeout(state, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
                None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }
}

impl State {
    fn add(&mut self, time: Instant, token: Weak<Node>) {
        let place = self.deadlines.partition_point(|(other, _)| *other <= time);
        self.deadlines.insert(place, (time, token));
        // So there are at most twice as many as after the last sweep, and a few.
        if self.deadlines.len() > 2 * self.swept + 64 {
            self.deadlines.retain(|(_, token)| token.strong_count() > 0);
            self.swept = self.deadlines.len();
        }
    }
}

impl Cancellation {
    /// Cancels the token when the delay is over. This keeps no token alive: it has no effect once
    /// the token, its clones, children and hooks were dropped.
    ///
    /// The first call in a process starts a thread, with the signal mask and the affinity of the
    /// calling one, as std does. The thread sleeps until the next deadline, and then calls the
    /// [hooks](Self::on_cancel). A hook that takes long delays all deadlines, and a panic of a hook
    /// ends the hook only. In a forked child, deadlines that were set before have no effect. Where
    /// forks are not noticed (elsewhere than on Linux), no deadline has any there.
    ///
    /// # Errors
    /// The error of the system if the thread cannot be started.
    ///
    /// # Examples
    /// ```
    /// use locksley::Cancellation;
    /// use locksley::loops::par;
    /// use std::time::Duration;
    ///
    /// let token = Cancellation::new();
    /// token.cancel_after(Duration::from_millis(10))?;
    /// let visited = par(0..1_000_000_000_000_u64).cancel(&token).for_each(|n| {
    ///     std::hint::black_box(n);
    /// });
    /// assert!(visited.is_err());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn cancel_after(&self, delay: Duration) -> io::Result<()> {
        // A time that the clock cannot tell never comes.
        let Some(time) = Instant::now().checked_add(delay) else { return Ok(()) };
        let timer = Timer::get();
        let mut state = timer.lock();
        if !state.has_thread {
            let thread = thread::Builder::new().name("locksley-timer".to_owned());
            // Boxed, as other threads' bodies are, so that the start of a thread is compiled once.
            let body: Box<dyn FnOnce() + Send> = Box::new(|| timer.cancel_in_time());
            thread.spawn(body)?;
            state.has_thread = true;
        }
        state.add(time, Arc::downgrade(&self.0));
        timer.changed.notify_one();
        Ok(())
    }
}
