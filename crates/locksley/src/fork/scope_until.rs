//! `scope_until`: a scope that begins nothing more once a token is cancelled.
//!
//! It is made of a [`Scope`], whose tasks look before they begin. So a scope without a token knows nothing of all this.

use std::fmt;
use std::sync::Arc;

use super::scope::{Scope, scope_in};
use crate::cancellation::{Cancellation, Cancelled};
use crate::pool::Pool;
use crate::primitive::{AtomicBool, Ordering};
use crate::scheduler::Worker;

/// A scope whose tasks do not begin once it is cancelled. See [`scope_until`].
pub struct CancellableScope<'s, 'scope> {
    scope: &'s Scope<'scope>,
    state: &'s Arc<State>,
}

/// What the tasks of a scope that can be cancelled have in common.
struct State {
    token: Cancellation,
    /// Whether a task was left out.
    is_incomplete: AtomicBool,
}

impl State {
    /// Whether a task may begin; if not, it is left out.
    fn admits(&self) -> bool {
        let admits = !self.token.is_cancelled();
        if !admits {
            // Relaxed: who reads it has waited for all tasks, of which the caller's is one.
            self.is_incomplete.store(true, Ordering::Relaxed);
        }
        admits
    }
}

/// As [`scope`](crate::scope), but its tasks do not begin once `token`, or the scope itself, is cancelled.
///
/// The scope has a token of its own, a [child](Cancellation::child) of `token`: what is inside can be given that one
/// ([`CancellableScope::token`]), and is then cancelled with the scope. Tasks that have begun are waited for, as ever; they may
/// [`check`](CancellableScope::check). Tasks that have not begun are dropped, with what they hold, on a worker, and before this
/// returns.
///
/// # Errors
/// [`Cancelled`] if the body did not begin, or some task did not. If all did, the result is there, cancelled or not.
///
/// # Panics
/// As [`scope`](crate::scope); a panic comes before the error.
///
/// # Examples
/// ```
/// use locksley::{Cancellation, Cancelled, scope_until};
/// use std::sync::atomic::{AtomicU32, Ordering};
///
/// let (token, begun) = (Cancellation::new(), AtomicU32::new(0));
/// let result = scope_until(&token, |scope| {
///     for n in 0..1000 {
///         let begun = &begun;
///         scope.spawn(move |scope| {
///             begun.fetch_add(1, Ordering::Relaxed);
///             if n == 3 {
///                 scope.cancel(); // this scope, and not `token`
///             }
///         });
///     }
///     scope.cancel();
///     scope.spawn(|_| unreachable!("it is too late"));
/// });
/// assert_eq!(result, Err(Cancelled));
/// assert!(!token.is_cancelled());
/// ```
pub fn scope_until<'scope, F, R>(token: &Cancellation, body: F) -> Result<R, Cancelled>
where
    F: FnOnce(&CancellableScope<'_, 'scope>) -> R + Send,
    R: Send,
{
    Worker::with_current(|current| match current {
        Some(worker) => worker.scope_until(token, |_, scope| body(scope)),
        None => Pool::global().run(|worker| worker.scope_until(token, |_, scope| body(scope))),
    })
}

impl Worker {
    /// [`scope_until`] on a known worker. The body runs on this very worker.
    ///
    /// # Errors
    /// [`Cancelled`] if the body did not begin, or some task did not.
    ///
    /// # Panics
    /// As [`Worker::scope`].
    ///
    /// # Examples
    /// ```
    /// use locksley::{Cancellation, Pool};
    ///
    /// let mut words = ["robin", "marian"].map(String::from);
    /// let result = Pool::new(2)?.run(|worker| {
    ///     worker.scope_until(&Cancellation::new(), |worker, scope| {
    ///         for word in &mut words {
    ///             scope.spawn_on(worker, |_, _| word.push('!'));
    ///         }
    ///     })
    /// });
    /// assert_eq!(result, Ok(()));
    /// assert_eq!(words, ["robin!", "marian!"]);
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    pub fn scope_until<'scope, F, R>(&self, token: &Cancellation, body: F) -> Result<R, Cancelled>
    where
        F: FnOnce(&Worker, &CancellableScope<'_, 'scope>) -> R,
    {
        token.check()?;
        let is_incomplete = AtomicBool::new(false);
        let state = Arc::new(State { token: token.child(), is_incomplete });
        let body = |scope: &Scope<'scope>| body(self, &CancellableScope { scope, state: &state });
        let result = scope_in(self.shared(), Some(self), body);
        // Relaxed: as where it is set.
        if state.is_incomplete.load(Ordering::Relaxed) { Err(Cancelled) } else { Ok(result) }
    }
}

impl<'scope> CancellableScope<'_, 'scope> {
    /// Adds a task to the scope, as [`Scope::spawn`] does; or drops it, if the scope is cancelled.
    ///
    /// # Examples
    /// See [`scope_until`].
    pub fn spawn<F>(&self, task: F)
    where
        F: FnOnce(&CancellableScope<'_, 'scope>) + Send + 'scope,
    {
        if self.state.admits() {
            let state = Arc::clone(self.state);
            self.scope.spawn(move |scope| {
                if state.admits() {
                    task(&CancellableScope { scope, state: &state });
                }
            });
        }
    }

    /// Adds a task to the scope from a known worker, as [`Scope::spawn_on`] does; or drops it, if the scope is cancelled.
    ///
    /// # Examples
    /// See [`Worker::scope_until`].
    pub fn spawn_on<F>(&self, worker: &Worker, task: F)
    where
        F: FnOnce(&Worker, &CancellableScope<'_, 'scope>) + Send + 'scope,
    {
        if self.state.admits() {
            let state = Arc::clone(self.state);
            self.scope.spawn_on(worker, move |worker, scope| {
                if state.admits() {
                    task(worker, &CancellableScope { scope, state: &state });
                }
            });
        }
    }

    /// Adds a task that begins after those that the calling worker has added like this before, as [`Scope::spawn_fifo`] does;
    /// or drops it, if the scope is cancelled.
    ///
    /// # Examples
    /// ```
    /// use std::sync::Mutex;
    ///
    /// use locksley::{Cancellation, Pool};
    ///
    /// let (token, order) = (Cancellation::new(), Mutex::new(Vec::new()));
    /// let result = Pool::new(1)?.run(|worker| {
    ///     worker.scope_until(&token, |_, scope| {
    ///         for n in 0..10 {
    ///             let order = &order;
    ///             scope.spawn_fifo(move |scope| {
    ///                 order.lock().unwrap().push(n);
    ///                 if n == 2 {
    ///                     scope.cancel();
    ///                 }
    ///             });
    ///         }
    ///     })
    /// });
    /// assert!(result.is_err());
    /// assert_eq!(order.into_inner().unwrap(), [0, 1, 2]);
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    pub fn spawn_fifo<F>(&self, task: F)
    where
        F: FnOnce(&CancellableScope<'_, 'scope>) + Send + 'scope,
    {
        if self.state.admits() {
            let state = Arc::clone(self.state);
            self.scope.spawn_fifo(move |scope| {
                if state.admits() {
                    task(&CancellableScope { scope, state: &state });
                }
            });
        }
    }

    /// Adds a task for a place to the scope, as [`Scope::spawn_near`] does; or drops it, if the scope is cancelled.
    ///
    /// # Panics
    /// If the pool has no such place.
    ///
    /// # Examples
    /// ```
    /// use locksley::{Cancellation, scope_until};
    ///
    /// let mut answer = 0;
    /// let done = scope_until(&Cancellation::new(), |scope| scope.spawn_near(0, |_| answer = 42));
    /// assert_eq!((done, answer), (Ok(()), 42));
    /// ```
    #[track_caller]
    pub fn spawn_near<F>(&self, place: usize, task: F)
    where
        F: FnOnce(&CancellableScope<'_, 'scope>) + Send + 'scope,
    {
        self.scope.home().must_have_place(place);
        if self.state.admits() {
            let state = Arc::clone(self.state);
            self.scope.spawn_near(place, move |scope| {
                if state.admits() {
                    task(&CancellableScope { scope, state: &state });
                }
            });
        }
    }

    /// The same from a known worker, as [`Scope::spawn_near_on`] does.
    ///
    /// # Panics
    /// If the pool has no such place.
    ///
    /// # Examples
    /// ```
    /// use locksley::{Cancellation, Pool};
    ///
    /// let pool = Pool::new(2)?;
    /// let places = pool.places().count();
    /// let mut squares = [0; 100];
    /// let result = pool.run(|worker| {
    ///     worker.scope_until(&Cancellation::new(), |worker, scope| {
    ///         for (n, square) in squares.iter_mut().enumerate() {
    ///             scope.spawn_near_on(worker, n % places, move |_, _| *square = n * n);
    ///         }
    ///     })
    /// });
    /// assert_eq!((result, squares[99]), (Ok(()), 9801));
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    #[track_caller]
    pub fn spawn_near_on<F>(&self, worker: &Worker, place: usize, task: F)
    where
        F: FnOnce(&Worker, &CancellableScope<'_, 'scope>) + Send + 'scope,
    {
        self.scope.home().must_have_place(place);
        if self.state.admits() {
            let state = Arc::clone(self.state);
            self.scope.spawn_near_on(worker, place, move |worker, scope| {
                if state.admits() {
                    task(worker, &CancellableScope { scope, state: &state });
                }
            });
        }
    }

    /// The scope's own token: a child of the one that the scope was given. For what is inside to be cancelled with it.
    ///
    /// # Examples
    /// ```
    /// use locksley::loops::par;
    /// use locksley::{Cancellation, scope_until};
    ///
    /// let result = scope_until(&Cancellation::new(), |scope| {
    ///     scope.cancel();
    ///     par(0..10).cancel(scope.token()).for_each(|_| unreachable!())
    /// });
    /// assert_eq!(result, Ok(Err(locksley::Cancelled)));
    /// ```
    #[must_use]
    pub fn token(&self) -> &Cancellation {
        &self.state.token
    }

    /// Cancels the scope, and what was given its [`token`](Self::token); not the token that the scope was given.
    pub fn cancel(&self) {
        self.state.token.cancel();
    }

    /// Whether the scope is cancelled, or the token that it was given.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.state.token.is_cancelled()
    }

    /// For a long task to call at times.
    ///
    /// # Errors
    /// [`Cancelled`] if the scope [is](Self::is_cancelled).
    ///
    /// # Examples
    /// See [`Cancelled`].
    pub fn check(&self) -> Result<(), Cancelled> {
        self.state.token.check()
    }
}

impl fmt::Debug for CancellableScope<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CancellableScope")
            .field("scope", &self.scope)
            .field("token", &self.state.token)
            .finish_non_exhaustive()
    }
}
