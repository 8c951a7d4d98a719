//! `scope`: any number of tasks that borrow from the frame which waits for them.

use std::fmt;
use std::marker::PhantomData;
use std::ptr::{self, NonNull};
use std::sync::Arc;

use crate::job::HeapJob;
use crate::latch::{CountLatch, Latch};
use crate::pool::{Pool, Shared, push_or_send};
use crate::primitive::{AtomicPtr, Ordering};
use crate::unwind::{self, Payload};
use crate::worker::Worker;

/// Tasks may be spawned in it, and all of them end before it does. See [`scope`].
pub struct Scope<'scope> {
    /// Alive until the scope ends; the lifetimes that it borrows are erased here and kept by `Worker::scope`.
    tally: NonNull<Tally<'static>>,
    home: Arc<Shared>,
    /// Invariant: a scope must be neither shortened nor lengthened.
    lifetime: PhantomData<fn(&'scope ()) -> &'scope ()>,
}

/// What the tasks of a scope have in common.
struct Tally<'w> {
    running: CountLatch<'w>,
    /// The first task to panic leaves its payload here.
    panic: AtomicPtr<Payload>,
}

// SAFETY: the tally is shared by reference only, and consists of atomics and of a latch made to be set by any thread.
unsafe impl Send for Scope<'_> {}
// SAFETY: as above; spawning takes `&self` from any thread.
unsafe impl Sync for Scope<'_> {}

/// Runs `body`, which may spawn tasks that borrow what outlives the scope, and returns when all of them have ended.
///
/// On a thread that is no worker, it all happens in the [global pool](Pool::global).
///
/// # Panics
/// If the body or a task panics, with its payload, after all tasks have ended; if several do, with the body's or else
/// the first one's.
///
/// # Examples
/// ```
/// let mut squares = vec![0; 100];
/// locksley::scope(|scope| {
///     for (n, square) in squares.iter_mut().enumerate() {
///         scope.spawn(move |_| *square = n * n);
///     }
/// });
/// assert_eq!(squares[99], 9801);
/// ```
///
/// What a task borrows must outlive the scope:
/// ```compile_fail,E0373
/// locksley::scope(|scope| {
///     let inside = 1;
///     scope.spawn(|_| println!("{inside}"));
/// });
/// ```
pub fn scope<'scope, F, R>(body: F) -> R
where
    F: FnOnce(&Scope<'scope>) -> R + Send,
    R: Send,
{
    Worker::with_current(|current| match current {
        Some(worker) => worker.scope(|_, scope| body(scope)),
        None => Pool::global().run(|worker| worker.scope(|_, scope| body(scope))),
    })
}

impl Worker {
    /// Runs `body`, which may spawn tasks that borrow what outlives the scope, and returns when all of them have
    /// ended: [`scope`] on a known worker. The body runs on this very worker.
    ///
    /// # Panics
    /// If the body or a task panics, with its payload, after all tasks have ended.
    ///
    /// # Examples
    /// ```
    /// let pool = locksley::Pool::new(2)?;
    /// let mut words = ["robin", "marian"].map(String::from);
    /// pool.run(|worker| {
    ///     worker.scope(|worker, scope| {
    ///         for word in &mut words {
    ///             scope.spawn_on(worker, |_, _| word.push('!'));
    ///         }
    ///     })
    /// });
    /// assert_eq!(words, ["robin!", "marian!"]);
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    pub fn scope<'scope, F, R>(&self, body: F) -> R
    where
        F: FnOnce(&Worker, &Scope<'scope>) -> R,
    {
        let tally =
            Tally { running: CountLatch::new(self), panic: AtomicPtr::new(ptr::null_mut()) };
        let scope = Scope {
            tally: NonNull::from(&tally).cast(),
            home: Arc::clone(self.shared()),
            lifetime: PhantomData,
        };
        let result = unwind::halt(|| body(self, &scope));
        // The body has ended: it counted as the first task.
        // SAFETY: alive, in this frame.
        unsafe { CountLatch::set(NonNull::from(&tally.running)) };
        self.work_until(tally.running.flag());
        let panic = tally.take_panic();
        match (result, panic) {
            (Ok(result), None) => result,
            (Ok(_), Some(payload)) => unwind::resume(payload),
            (Err(payload), other) => {
                if let Some(other) = other {
                    unwind::discard(other);
                }
                unwind::resume(payload)
            }
        }
    }
}

impl<'scope> Scope<'scope> {
    /// Adds a task to the scope. It may run at once on another worker, and may spawn more.
    ///
    /// # Examples
    /// ```
    /// use std::sync::atomic::{AtomicU32, Ordering};
    ///
    /// let count = AtomicU32::new(0);
    /// locksley::scope(|scope| {
    ///     scope.spawn(|scope| {
    ///         count.fetch_add(1, Ordering::Relaxed);
    ///         scope.spawn(|_| {
    ///             count.fetch_add(1, Ordering::Relaxed);
    ///         });
    ///     });
    /// });
    /// assert_eq!(count.into_inner(), 2);
    /// ```
    pub fn spawn<F>(&self, task: F)
    where
        F: FnOnce(&Scope<'scope>) + Send + 'scope,
    {
        let job = self.job(|_, scope| task(scope));
        push_or_send(&self.home, job);
    }

    /// Adds a task to the scope from a known worker: [`spawn`](Self::spawn) without looking up who calls.
    ///
    /// # Examples
    /// See [`Worker::scope`].
    pub fn spawn_on<F>(&self, worker: &Worker, task: F)
    where
        F: FnOnce(&Worker, &Scope<'scope>) + Send + 'scope,
    {
        let job = self.job(task);
        if worker.belongs_to(&self.home) {
            worker.push(job);
        } else {
            self.home.send(job);
        }
    }

    /// A job that counts as one task of this scope, from now on.
    fn job<F>(&self, task: F) -> NonNull<crate::job::Job>
    where
        F: FnOnce(&Worker, &Scope<'scope>) + Send + 'scope,
    {
        self.tally().running.begin();
        let scope =
            Scope { tally: self.tally, home: Arc::clone(&self.home), lifetime: PhantomData };
        let run = move |worker: &Worker| {
            let scope = scope;
            if let Err(payload) = unwind::halt(|| task(worker, &scope)) {
                scope.tally().keep_panic(payload);
            }
            let tally = scope.tally;
            drop(scope);
            // SAFETY: alive until all tasks have ended, of which this is one.
            let running = NonNull::from(&unsafe { tally.as_ref() }.running);
            // SAFETY: as above.
            unsafe { CountLatch::set(running) };
        };
        // SAFETY: run once, since the pool stays open while a task of it waits here; and before `'scope` ends, because
        // the scope waits for its tally. Its panic is caught.
        unsafe { HeapJob::into_job(run) }
    }

    fn tally(&self) -> &Tally<'_> {
        // SAFETY: alive until all tasks have ended; who has a `&Scope` is the body or a task that has not.
        unsafe { self.tally.cast().as_ref() }
    }
}

impl Tally<'_> {
    fn keep_panic(&self, payload: Payload) {
        let payload = Box::into_raw(Box::new(payload));
        // Release pairs with the acquire in `take_panic`, though the counter would do as well.
        let first = self.panic.compare_exchange(
            ptr::null_mut(),
            payload,
            Ordering::Release,
            Ordering::Relaxed,
        );
        if first.is_err() {
            // SAFETY: made above, and not shown to anybody.
            unwind::discard(*unsafe { Box::from_raw(payload) });
        }
    }

    fn take_panic(&self) -> Option<Payload> {
        let payload = self.panic.swap(ptr::null_mut(), Ordering::Acquire);
        // SAFETY: null, or made by `keep_panic` and taken only here.
        (!payload.is_null()).then(|| *unsafe { Box::from_raw(payload) })
    }
}

impl fmt::Debug for Scope<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").field("pool", &self.home).finish_non_exhaustive()
    }
}
