//! The worker that a thread is.

use std::cell::Cell;
use std::ptr;

use super::Worker;

crate::primitive::thread_local! {
    static CURRENT: Cell<*const Worker> = const { Cell::new(ptr::null()) };
}

impl Worker {
    /// Calls `use_it` with the worker that the calling thread is, in any pool, or with `None` if it
    /// is not a worker.
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
        // SAFETY: null, or set on this thread by `as_current`, which resets it before the worker is
        // freed, or by `set_current_forever`, which never frees it.
        use_it(unsafe { current.as_ref() })
    }

    /// Makes the calling thread this worker while `body` runs.
    pub(crate) fn as_current<R>(&self, body: impl FnOnce() -> R) -> R {
        struct Restore(*const Worker);
        impl Drop for Restore {
            fn drop(&mut self) {
                CURRENT.with(|current| current.set(self.0));
            }
        }
        // A thread that is a worker of one pool may also serve another pool.
        let _restore = Restore(CURRENT.with(|current| current.replace(self)));
        body()
    }

    /// Makes the calling thread this worker for the rest of its life. The thread is not a worker
    /// yet.
    pub(crate) fn set_current_forever(self) {
        // Never freed: any frame of this thread may hold a reference.
        let worker: &'static Self = Box::leak(Box::new(Self { is_borrowed: true, ..self }));
        CURRENT.with(|current| current.set(worker));
    }

    /// Makes the calling thread, the only one of a forked child, a thread that is not a worker.
    /// Called there at once.
    pub(crate) fn forget_current() {
        let worker = CURRENT.with(|current| current.replace(ptr::null()));
        // SAFETY: as in `with_current`.
        if let Some(worker) = unsafe { worker.as_ref() } {
            worker.shared.unbind_in_forked_child(worker.slot_index);
        }
    }
}
