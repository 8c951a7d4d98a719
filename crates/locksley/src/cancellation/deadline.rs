//! Deadlines of tokens: one thread for the process, which sleeps until the next one.

use std::collections::BTreeMap;
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use super::{Cancellation, Node};
use crate::os;
use crate::unwind;

/// A time, and the token that is cancelled then.
type Deadline = (Instant, Weak<Node>);

/// The thread, and the generation of the process that has it: a forked child needs its own.
static TIMER: Mutex<Option<(u32, Sender<Deadline>)>> = Mutex::new(None);

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
        let mut timer = TIMER.lock().unwrap_or_else(PoisonError::into_inner);
        let sender = match &mut *timer {
            Some((generation, sender)) if *generation == os::generation() => sender,
            timer => {
                let (sender, deadlines) = channel();
                let thread = thread::Builder::new().name("locksley-timer".to_owned());
                thread.spawn(move || cancel_in_time(&deadlines))?;
                &mut timer.insert((os::generation(), sender)).1
            }
        };
        sender.send((time, Arc::downgrade(&self.0))).map_err(io::Error::other)
    }
}

fn cancel_in_time(added: &Receiver<Deadline>) {
    // Several tokens may have the same deadline.
    let mut deadlines = BTreeMap::<(Instant, usize), Weak<Node>>::new();
    let mut swept = 0;
    for number in 0.. {
        let next = deadlines.first_key_value().map(|((time, _), _)| *time);
        let received = match next {
            Some(time) => added.recv_timeout(time.saturating_duration_since(Instant::now())),
            None => added.recv().map_err(RecvTimeoutError::from),
        };
        match received {
            Ok((time, token)) => _ = deadlines.insert((time, number), token),
            Err(RecvTimeoutError::Timeout) => {
                let token = deadlines.pop_first().and_then(|(_, token)| token.upgrade());
                // A panic was reported by the panic hook, and no code waits for it.
                unwind::catch(|| token.map(|node| Cancellation(node).cancel()))
                    .map_or_else(unwind::discard, |_| ());
            }
            Err(RecvTimeoutError::Disconnected) => return,
        }
        // Deadlines of dropped tokens are at most as many as the others, or few.
        if deadlines.len() > 2 * swept + 64 {
            deadlines.retain(|_, token| token.strong_count() > 0);
            swept = deadlines.len();
        }
    }
}
