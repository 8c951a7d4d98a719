//! As [`std::sync::mpsc`]: channels without bounds, by a lock and a condition variable.

use std::collections::VecDeque;
use std::sync::Arc;
pub use std::sync::mpsc::{RecvError, RecvTimeoutError, SendError, TryRecvError};
use std::time::Duration;

use super::{Condvar, Mutex, MutexGuard, PoisonError};
use crate::time::Instant;

struct State<T> {
    messages: VecDeque<T>,
    senders: usize,
    has_receiver: bool,
}

struct Channel<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
}

impl<T> Channel<T> {
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// As [`std::sync::mpsc::Sender`].
pub struct Sender<T>(Arc<Channel<T>>);

/// As [`std::sync::mpsc::Receiver`].
pub struct Receiver<T>(Arc<Channel<T>>, std::marker::PhantomData<std::cell::Cell<()>>);

impl<T> std::fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sender").finish_non_exhaustive()
    }
}

impl<T> std::fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Receiver").finish_non_exhaustive()
    }
}

/// As [`std::sync::mpsc::channel`].
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let state = State { messages: VecDeque::new(), senders: 1, has_receiver: true };
    let channel = Arc::new(Channel { state: Mutex::new(state), changed: Condvar::new() });
    (Sender(Arc::clone(&channel)), Receiver(channel, std::marker::PhantomData))
}

impl<T> Sender<T> {
    /// Sends a message.
    ///
    /// # Errors
    /// The message, if the receiver is gone.
    pub fn send(&self, message: T) -> Result<(), SendError<T>> {
        let mut state = self.0.lock();
        if !state.has_receiver {
            return Err(SendError(message));
        }
        state.messages.push_back(message);
        drop(state);
        self.0.changed.notify_one();
        Ok(())
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        self.0.lock().senders += 1;
        Self(Arc::clone(&self.0))
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.senders -= 1;
        if state.senders == 0 {
            drop(state);
            self.0.changed.notify_one();
        }
    }
}

impl<T> Receiver<T> {
    /// Takes a message if there is one.
    ///
    /// # Errors
    /// If there is none, or will never be one.
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        let mut state = self.0.lock();
        match state.messages.pop_front() {
            Some(message) => Ok(message),
            None if state.senders == 0 => Err(TryRecvError::Disconnected),
            None => Err(TryRecvError::Empty),
        }
    }

    /// Waits for a message.
    ///
    /// # Errors
    /// If there will never be one.
    pub fn recv(&self) -> Result<T, RecvError> {
        let state = self.0.lock();
        let is_empty = |state: &mut State<T>| state.messages.is_empty() && state.senders > 0;
        let waited = self.0.changed.wait_while(state, is_empty);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner);
        state.messages.pop_front().ok_or(RecvError)
    }

    /// Waits for a message, and not longer than `time`.
    ///
    /// # Errors
    /// If the time is over, or there will never be a message.
    pub fn recv_timeout(&self, time: Duration) -> Result<T, RecvTimeoutError> {
        let start = Instant::now();
        loop {
            match self.try_recv() {
                Ok(message) => return Ok(message),
                Err(TryRecvError::Disconnected) => return Err(RecvTimeoutError::Disconnected),
                Err(TryRecvError::Empty) => {}
            }
            let rest = time.checked_sub(start.elapsed()).ok_or(RecvTimeoutError::Timeout)?;
            let state = self.0.lock();
            let is_empty = |state: &mut State<T>| state.messages.is_empty() && state.senders > 0;
            drop(self.0.changed.wait_timeout_while(state, rest, is_empty));
        }
    }

    /// Messages, until there will never be one.
    pub fn iter(&self) -> impl Iterator<Item = T> + '_ {
        std::iter::from_fn(|| self.recv().ok())
    }

    /// Messages that are there.
    pub fn try_iter(&self) -> impl Iterator<Item = T> + '_ {
        std::iter::from_fn(|| self.try_recv().ok())
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.has_receiver = false;
        let messages = std::mem::take(&mut state.messages);
        drop(state);
        drop(messages);
    }
}

/// Messages of a receiver that it owns.
#[derive(Debug)]
pub struct IntoIter<T>(Receiver<T>);

impl<T> Iterator for IntoIter<T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.0.recv().ok()
    }
}

impl<T> IntoIterator for Receiver<T> {
    type Item = T;
    type IntoIter = IntoIter<T>;

    fn into_iter(self) -> IntoIter<T> {
        IntoIter(self)
    }
}
