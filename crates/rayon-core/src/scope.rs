//! Scopes: any number of tasks that borrow from the frame which waits for them.
//!
//! Locksley has one kind, in which a task is spawned in either order; rayon has a type for each.

use locksley::Spawn;

use crate::broadcast::{self, BroadcastContext};
use crate::global::{in_worker, with_default_pool};

macro_rules! scope_type {
    (
        $(#[$about:meta])*
        $name:ident,
        $spawn:ident $(with $option:expr)?,
        $(#[$about_spawn:meta])*
    ) => {
        $(#[$about])*
        #[derive(Debug)]
        #[repr(transparent)]
        pub struct $name<'scope>(locksley::Scope<'scope>);

        impl<'scope> $name<'scope> {
            /// The same scope under rayon's name.
            pub(crate) fn of<'a>(scope: &'a locksley::Scope<'scope>) -> &'a Self {
                let scope: *const locksley::Scope<'scope> = scope;
                // SAFETY: the type is transparent, so a reference to the one is a reference to the
                // other.
                unsafe { &*scope.cast() }
            }

            $(#[$about_spawn])*
            pub fn $spawn<BODY>(&self, body: BODY)
            where
                BODY: FnOnce(&Self) + Send + 'scope,
            {
                let task = move |scope: &locksley::Scope<'scope>| body(Self::of(scope));
                scope_type!(@ self.0, task $(, $option)?);
            }

            /// Adds a task for each thread of the pool, to be run by that thread when it has
            /// nothing else of its own to do.
            ///
            /// # Examples
            /// See [`broadcast`](crate::broadcast), which waits for it.
            pub fn spawn_broadcast<BODY>(&self, body: BODY)
            where
                BODY: Fn(&Self, BroadcastContext<'_>) + Send + Sync + 'scope,
            {
                broadcast::in_order(body, |body| {
                    self.0.spawn_broadcast(move |worker, scope| {
                        body(Self::of(scope), BroadcastContext::new(worker));
                    });
                });
            }
        }
    };
    (@ $scope:expr, $task:expr) => {
        $scope.spawn($task)
    };
    (@ $scope:expr, $task:expr, $option:expr) => {
        $scope.spawn_with($option, move |_, scope| $task(scope))
    };
}

scope_type! {
    /// Tasks may be spawned in it, and all of them end before it does. See [`scope`].
    Scope,
    spawn,
    /// Adds a task, which may run at once on another thread, and may spawn more.
    ///
    /// # Examples
    /// See [`scope`].
}

scope_type! {
    /// A [`Scope`] in which tasks begin in order. See [`scope_fifo`].
    ScopeFifo,
    spawn_fifo with Spawn::Fifo,
    /// Adds a task that begins after those which the calling thread has added before.
    ///
    /// # Examples
    /// See [`scope_fifo`].
}

/// Runs `op`, which may spawn tasks that borrow what outlives the scope, and returns when all of
/// them have ended.
///
/// # Panics
/// If `op` or a task panics, with its payload, after all have ended.
///
/// # Examples
/// ```
/// let mut squares = [0; 10];
/// rayon_core::scope(|scope| {
///     for (n, square) in squares.iter_mut().enumerate() {
///         scope.spawn(move |_| *square = n * n);
///     }
/// });
/// assert_eq!(squares[9], 81);
/// ```
///
/// What a task borrows must outlive the scope:
/// ```compile_fail,E0373
/// rayon_core::scope(|scope| {
///     let inside = 1;
///     scope.spawn(|_| println!("{inside}"));
/// });
/// ```
pub fn scope<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&Scope<'scope>) -> R + Send,
    R: Send,
{
    in_worker(|_| locksley::scope(|scope| op(Scope::of(scope))))
}

/// [`scope`], in which what one thread spawns begins in the order in which it was spawned.
///
/// # Panics
/// As [`scope`].
///
/// # Examples
/// ```
/// use std::sync::Mutex;
///
/// let order = Mutex::new(Vec::new());
/// rayon_core::ThreadPoolBuilder::new().num_threads(1).build()?.scope_fifo(|scope| {
///     for n in 0..3 {
///         let order = &order;
///         scope.spawn_fifo(move |_| order.lock().unwrap().push(n));
///     }
/// });
/// assert_eq!(order.into_inner().unwrap(), [0, 1, 2]);
/// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
/// ```
pub fn scope_fifo<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&ScopeFifo<'scope>) -> R + Send,
    R: Send,
{
    in_worker(|_| locksley::scope(|scope| op(ScopeFifo::of(scope))))
}

/// [`scope`], but `op` runs on the calling thread, whether that belongs to a pool or not.
///
/// # Panics
/// As [`scope`].
///
/// # Examples
/// ```
/// let mut number = 1;
/// rayon_core::in_place_scope(|scope| scope.spawn(|_| number += 1));
/// assert_eq!(number, 2);
/// ```
pub fn in_place_scope<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&Scope<'scope>) -> R,
{
    in_place(|scope| op(Scope::of(scope)))
}

/// [`scope_fifo`], but `op` runs on the calling thread, whether that belongs to a pool or not.
///
/// # Panics
/// As [`scope`].
///
/// # Examples
/// ```
/// let mut number = 1;
/// rayon_core::in_place_scope_fifo(|scope| scope.spawn_fifo(|_| number += 1));
/// assert_eq!(number, 2);
/// ```
pub fn in_place_scope_fifo<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&ScopeFifo<'scope>) -> R,
{
    in_place(|scope| op(ScopeFifo::of(scope)))
}

fn in_place<'scope, R>(op: impl FnOnce(&locksley::Scope<'scope>) -> R) -> R {
    with_default_pool(|pool| match pool {
        Some(pool) => pool.in_place_scope(op),
        None => locksley::in_place_scope(op),
    })
}
