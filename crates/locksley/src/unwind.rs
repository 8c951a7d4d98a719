//! Panics as values: caught where a task ends, raised again where somebody waits for it.

use std::any::Any;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// What a task panicked with.
pub(crate) type Payload = Box<dyn Any + Send>;

/// Runs `task`, and gives back its panic instead of unwinding.
///
/// Asserting unwind safety is right here because the payload is always raised again where the task's results would
/// have arrived: nobody goes on with what a panic left half done, unless the task's own caller decides to.
pub(crate) fn halt<R>(task: impl FnOnce() -> R) -> Result<R, Payload> {
    catch_unwind(AssertUnwindSafe(task))
}

/// Raises a panic that was caught before, without calling the panic hook again.
pub(crate) fn resume(payload: Payload) -> ! {
    resume_unwind(payload)
}

/// Drops a payload that nobody will see. Its destructor may panic in turn; that one is leaked.
pub(crate) fn discard(payload: Payload) {
    if let Err(again) = halt(|| drop(payload)) {
        std::mem::forget(again);
    }
}

/// Ends the process if dropped: armed around code that must not unwind, because others hold pointers into its frame.
#[derive(Debug)]
pub(crate) struct AbortOnUnwind(pub(crate) &'static str);

impl AbortOnUnwind {
    pub(crate) fn disarm(self) {
        std::mem::forget(self);
    }
}

impl Drop for AbortOnUnwind {
    fn drop(&mut self) {
        // Not `eprintln`, which panics where standard error cannot be written to, and would take us out of here.
        let _ = writeln!(std::io::stderr(), "locksley: {}; the process is ended", self.0);
        std::process::abort();
    }
}
