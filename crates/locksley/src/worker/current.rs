//! Which worker a thread is.

use std::cell::Cell;
use std::ptr;

use super::Worker;

thread_local! {
    static CURRENT: Cell<*const Worker> = const { Cell::new(ptr::null()) };
    /// The one that the thread became last, of those whose frames it has: the current one, or, in a child of the process, maybe one that it
    /// was before.
    static INNERMOST: Cell<*const Worker> = const { Cell::new(ptr::null()) };
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
    /// assert_eq!(Pool::new(1)?.run(|_| index()), Some(0));
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    #[inline]
    pub fn with_current<R>(use_it: impl FnOnce(Option<&Worker>) -> R) -> R {
        let current = CURRENT.with(Cell::get);
        // SAFETY: null, or set on this thread by `as_current`, which resets it before the worker is gone, or by `settle`,
        // whose worker is never gone.
        use_it(unsafe { current.as_ref() })
    }

    /// The address of the worker that the calling thread is; 0 if it is none.
    #[inline]
    #[cfg_attr(all(test, loom), allow(dead_code, reason = "models have no workers"))]
    pub(crate) fn current_address() -> usize {
        CURRENT.with(Cell::get).addr()
    }

    /// Whether the calling thread is this worker now, and not for the time being one of another pool.
    pub(crate) fn is_current(&self) -> bool {
        ptr::eq(CURRENT.with(Cell::get), self)
    }

    /// Makes this the worker that the calling thread is, while `what` runs.
    pub(crate) fn as_current(&self, what: impl FnOnce()) {
        struct Restore<'w>(*const Worker, &'w Worker);
        impl Drop for Restore<'_> {
            fn drop(&mut self) {
                CURRENT.set(self.0);
                INNERMOST.set(self.1.outer.get());
            }
        }
        // A thread that is a worker already can serve another pool in between.
        let _restore = Restore(CURRENT.replace(self), self);
        self.outer.set(INNERMOST.replace(self));
        what();
    }

    /// Makes the calling thread this worker for as long as it lives. It is no worker yet.
    pub(crate) fn settle(self) {
        // Never freed: whoever is further up on this thread's stack may hold a reference at any time.
        let worker: &'static Self = Box::leak(Box::new(Self { is_guest: true, ..self }));
        CURRENT.set(worker);
        worker.outer.set(INNERMOST.replace(worker));
    }

    /// The calling thread is no worker any more: it is the only one in the child of a process. To be called there at once.
    pub(crate) fn forget_current() {
        CURRENT.set(ptr::null());
        // Also those whom it is for another pool's sake, and whom it was before an earlier fork, and pushed to since.
        let mut worker = INNERMOST.get();
        // SAFETY: null, or one whose frames this thread has: set by `as_current`, which resets it before the worker is gone, or by
        // `settle`, whose worker is never gone.
        while let Some(this) = unsafe { worker.as_ref() } {
            this.inherited.lies_in(&this.deque);
            this.shared.unbind_in_a_child(this.index);
            worker = this.outer.get();
        }
    }
}
