//! Panics as values: caught where a task ends, raised again where it is waited for.

use std::any::Any;
use std::io::Write;
#[cfg(unix)]
use std::os::fd::AsFd;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// What a task panicked with.
pub type Payload = Box<dyn Any + Send>;

/// The message of a panic, if it is text.
#[must_use]
pub fn message(payload: &Payload) -> Option<&str> {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str))
}

/// Runs `task`, and gives back its panic instead of unwinding.
///
/// Asserting unwind safety is right here because the payload is always raised again where the
/// task's results would have arrived: no code goes on with what a panic left half done, unless the
/// task's own caller decides to.
pub fn catch<R>(task: impl FnOnce() -> R) -> Result<R, Payload> {
    catch_unwind(AssertUnwindSafe(task))
}

/// Raises a panic that was caught before, without calling the panic hook again.
pub fn resume(payload: Payload) -> ! {
    resume_unwind(payload)
}

/// Raises a panic that was caught before, or discards it during another panic: two would end the
/// process if this is called by a destructor.
pub fn resume_unless_panicking(payload: Payload) {
    if crate::primitive::thread::panicking() { discard(payload) } else { resume(payload) }
}

/// Drops a payload that will not be seen. Its destructor may panic in turn; that one is leaked.
pub fn discard(payload: Payload) {
    if let Err(again) = catch(|| drop(payload)) {
        std::mem::forget(again);
    }
}

/// Drops a value after a panic. A panic of its destructor is discarded.
pub fn drop_quietly<T>(value: T) {
    if let Err(payload) = catch(|| drop(value)) {
        discard(payload);
    }
}

/// Drops a value, and raises a panic that was caught before. A panic of the value's destructor is
/// discarded: during an unwinding, it would end the process.
pub fn resume_without<T>(value: T, payload: Payload) -> ! {
    drop_quietly(value);
    resume(payload)
}

/// Ends the process if dropped: armed around code that must not unwind, because others hold
/// pointers into its frame.
#[derive(Debug)]
pub struct AbortOnUnwind(
    /// What has failed, for the message.
    pub &'static str,
);

impl AbortOnUnwind {
    /// The code did not unwind.
    #[inline]
    pub fn disarm(self) {
        std::mem::forget(self);
    }
}

impl Drop for AbortOnUnwind {
    fn drop(&mut self) {
        say(&format!("locksley: {}; the process is ended\n", self.0));
        std::process::abort();
    }
}

/// Writes to standard error. A failure is not a panic, which would end this call.
fn say(line: &str) {
    // Past the lock of std's handle: in a forked child the thread that holds it may be missing.
    #[cfg(unix)]
    let written = std::io::stderr()
        .as_fd()
        .try_clone_to_owned()
        .and_then(|stderr| std::fs::File::from(stderr).write_all(line.as_bytes()));
    #[cfg(not(unix))]
    let written = std::io::stderr().write_all(line.as_bytes());
    let _ = written;
}
