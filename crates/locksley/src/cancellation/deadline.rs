//! Deadlines of tokens: one thread for the process, which sleeps until the next one.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use super::{Cancellation, Node};
use crate::os;
use crate::unwind;

/// What the thread waits for.
struct Timer {
    /// The generation of the process that has the thread. A forked child needs its own.
    generation: Option<u32>,
    /// Times, and the tokens that are cancelled then. The next one is in front.
    deadlines: VecDeque<(Instant, Weak<Node>)>,
    /// The number of deadlines after the last sweep.
    swept: usize,
}

static TIMER: Mutex<Timer> =
    Mutex::new(Timer { generation: None, deadlines: VecDeque::new(), swept: 0 });
/// Another deadline has become the next one.
static CHANGED: Condvar = Condvar::new();

fn timer() -> MutexGuard<'static, Timer> {
    TIMER.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Cancellation {
    /// Cancels the token when the delay is over, unless it was dropped before, with its clones,
    /// children and hooks.
    ///
    /// The first call in a process starts a thread, which sleeps until the next deadline, and then
    /// calls the [hooks](Self::on_cancel). A panic of a hook ends the hook only.
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
        let mut timer = timer();
        if timer.generation != Some(os::generation()) {
            thread::Builder::new().name("locksley-timer".to_owned()).spawn(cancel_in_time)?;
            timer.generation = Some(os::generation());
        }
        timer.add(time, Arc::downgrade(&self.0));
        CHANGED.notify_one();
        Ok(())
    }
}

impl Timer {
    fn add(&mut self, time: Instant, token: Weak<Node>) {
        let place = self.deadlines.partition_point(|(other, _)| *other <= time);
        self.deadlines.insert(place, (time, token));
        // Deadlines of dropped tokens are at most as many as the others, or few.
        if self.deadlines.len() > 2 * self.swept + 64 {
            self.deadlines.retain(|(_, token)| token.strong_count() > 0);
            self.swept = self.deadlines.len();
        }
    }
}

fn cancel_in_time() {
    let mut timer = timer();
    loop {
        let left = timer.deadlines.front().map(|(time, _)| {
            // Zero if the time is over.
            time.saturating_duration_since(Instant::now())
        });
        timer = match left {
            Some(Duration::ZERO) => {
                let token = timer.deadlines.pop_front().and_then(|(_, token)| token.upgrade());
                drop(timer);
                // A panic was reported by the panic hook, and no code waits for it.
                let cancelled = unwind::catch(|| token.map(|node| Cancellation(node).cancel()));
                cancelled.map_or_else(unwind::discard, drop);
                self::timer()
            }
            Some(left) => {
                let waited = CHANGED.wait_timeout(timer, left);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
            None => CHANGED.wait(timer).unwrap_or_else(PoisonError::into_inner),
        };
    }
}
