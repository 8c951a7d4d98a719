//! Which worker a thread is.

use std::cell::Cell;
use std::ptr;

use super::Worker;

thread_local! {
    static CURRENT: Cell<*const Worker> = const { Cell::new(ptr::null()) };
}

impl Worker {
    /// Calls `use_it` with the worker that the calling thread is, in whatever pool; with `None` if it is not one.
    ///
    /// # Examples
    /// ```
    /// use locksley::{Pool, Worker};
    ///
    /// let index = || Worker::with_current(|current| current.map(Worker::index));
    /// assert_eq!(index(), None);
    /// assert_eq!(Pool::new(1)?.install(|_| index()), Some(0));
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    #[inline]
    pub fn with_current<R>(use_it: impl FnOnce(Option<&Worker>) -> R) -> R {
        let current = CURRENT.with(Cell::get);
        // SAFETY: null, or set on this thread by `as_current`, which resets it before the worker is gone, or by `settle`,
        // whose worker is never gone.
        use_it(unsafe { current.as_ref() })
    }

    /// Makes this the worker that the calling thread is, while `what` runs.
    pub(crate) fn as_current(&self, what: impl FnOnce()) {
        struct Restore(*const Worker);
        impl Drop for Restore {
            fn drop(&mut self) {
                CURRENT.set(self.0);
            }
        }
        // A thread that is a worker already can serve another pool in between.
        let _restore = Restore(CURRENT.replace(self));
        what();
    }

    /// Makes the calling thread this worker for as long as it lives. It is no worker yet.
    pub(crate) fn settle(self) {
        // Never freed: frames further up on this thread's stack may hold a reference at any time.
        let worker: &'static Self = Box::leak(Box::new(Self { is_borrowed: true, ..self }));
        CURRENT.set(worker);
    }

    /// The calling thread is no worker any more: it is the only one in the child of a process. To be
    /// called there at once.
    pub(crate) fn forget_current() {
        let worker = CURRENT.replace(ptr::null());
        // SAFETY: as in `with_current`.
        if let Some(worker) = unsafe { worker.as_ref() } {
            worker.shared.unbind_in_a_child(worker.index);
        }
    }
}
