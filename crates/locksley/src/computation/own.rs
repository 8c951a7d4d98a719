//! What belongs to a computation: nobody outside can reach it.

use std::fmt;
use std::future::{Future, poll_fn};
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::pin::pin;
use std::sync::Arc;
use std::task::Context;

use super::common::Common;
use super::member::Note;
use super::waker;
use crate::held::Place;
use crate::sync::{
    Barrier, BarrierWaitResult, Closed, Condvar, JoinCounter, Mutex, MutexGuard, Permit, Semaphore,
};
use crate::thread::Received;

/// Something to wait for that belongs to one computation: made by [`Computation::own`](super::Computation::own).
///
/// It is shared by cloning, and does otherwise what it is made of does, which it dereferences to. Only the waits named here are
/// known to the computation as its own. Of a wait by way of that, or of one that is polled with a waker of somebody in between
/// (as by `FuturesUnordered`), it knows nothing, and so it says nothing while a task is in one.
pub struct Own<'c, P> {
    primitive: Arc<P>,
    name: Arc<str>,
    /// To be compared. Whose it is lives longer.
    common: *const Common,
    /// One computation, and no other.
    brand: Brand<'c>,
}

// SAFETY: as the primitive may be; the address of whose it is is only compared.
unsafe impl<P: Send + Sync> Send for Own<'_, P> {}
// SAFETY: as above.
unsafe impl<P: Send + Sync> Sync for Own<'_, P> {}

type Brand<'c> = PhantomData<fn(&'c ()) -> &'c ()>;

impl<'c, P> Own<'c, P> {
    pub(super) fn new(name: &str, common: &Arc<Common>, primitive: P) -> Self {
        let (primitive, name) = (Arc::new(primitive), Arc::from(name));
        Self { primitive, name, common: Arc::as_ptr(common), brand: PhantomData }
    }

    /// Awaits something that leaves its waker nowhere but in this, or in what else belongs to the same computation.
    async fn noted<F: Future>(&self, future: F) -> F::Output {
        let mut future = pin!(future);
        let mut note = Note::new(&self.name);
        poll_fn(|context| {
            note.take_back();
            // Some other waker, of whoever polls several futures inside of the member, is nothing that we know; nor does this
            // belong to the computation of one that is a member of another.
            let member = waker::member_of(context.waker());
            let Some(member) = member.filter(|member| member.is_of(self.common)) else {
                return future.as_mut().poll(context);
            };
            let inside = waker::lent_inside(&member);
            let polled = future.as_mut().poll(&mut Context::from_waker(&inside));
            if polled.is_pending() {
                note.make(member);
            }
            polled
        })
        .await
    }
}

impl<P> Clone for Own<'_, P> {
    fn clone(&self) -> Self {
        let (primitive, name) = (Arc::clone(&self.primitive), Arc::clone(&self.name));
        Self { primitive, name, common: self.common, brand: PhantomData }
    }
}

impl<P> Deref for Own<'_, P> {
    type Target = P;

    fn deref(&self) -> &P {
        &self.primitive
    }
}

impl<P: fmt::Debug> fmt::Debug for Own<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Own").field("name", &self.name).field("is", &self.primitive).finish()
    }
}

impl Own<'_, Semaphore> {
    /// See [`Semaphore::acquire`].
    ///
    /// # Errors
    /// [`Closed`], if the semaphore is closed before this had its turn.
    pub async fn acquire(&self) -> Result<Permit<'_>, Closed> {
        self.noted(self.primitive.acquire()).await
    }

    /// See [`Semaphore::acquire_many`].
    ///
    /// # Errors
    /// [`Closed`], if the semaphore is closed before this had its turn.
    ///
    /// # Panics
    /// If these are more than [`MAX_PERMITS`](Semaphore::MAX_PERMITS).
    pub async fn acquire_many(&self, permits: usize) -> Result<Permit<'_>, Closed> {
        self.noted(self.primitive.acquire_many(permits)).await
    }
}

impl Own<'_, Received> {
    /// Waits for so many signals more.
    pub(super) async fn wait(&self, signals: usize) {
        self.noted(self.primitive.wait(signals)).await;
    }
}

impl<'c, T> Own<'c, Mutex<T>> {
    /// See [`Mutex::lock`].
    #[cfg_attr(feature = "held-locks", track_caller)]
    pub fn lock(&self) -> impl Future<Output = Guard<'_, 'c, T>> {
        let place = Place::here();
        async move {
            let guard = self.noted(self.primitive.lock_at(place)).await;
            Guard { guard, brand: PhantomData }
        }
    }
}

/// The value of a locked [`Mutex`] that belongs to a computation; dropped, it unlocks.
#[must_use = "the mutex is unlocked when this is dropped"]
pub struct Guard<'m, 'c, T> {
    guard: MutexGuard<'m, T>,
    brand: Brand<'c>,
}

impl<T> Deref for Guard<'_, '_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.guard
    }
}

impl<T> DerefMut for Guard<'_, '_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.guard
    }
}

impl<T: fmt::Debug> fmt::Debug for Guard<'_, '_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl<'c> Own<'c, Condvar> {
    /// See [`Condvar::wait`]. The mutex belongs to the same computation.
    pub async fn wait<'m, T>(&self, guard: Guard<'m, 'c, T>) -> Guard<'m, 'c, T> {
        let guard = self.noted(self.primitive.wait(guard.guard)).await;
        Guard { guard, brand: PhantomData }
    }

    /// See [`Condvar::wait_while`]. The mutex belongs to the same computation.
    pub async fn wait_while<'m, T>(
        &self,
        mut guard: Guard<'m, 'c, T>,
        mut condition: impl FnMut(&mut T) -> bool,
    ) -> Guard<'m, 'c, T> {
        while condition(&mut guard) {
            guard = self.wait(guard).await;
        }
        guard
    }
}

impl Own<'_, Barrier> {
    /// See [`Barrier::wait`].
    pub async fn wait(&self) -> BarrierWaitResult {
        self.noted(self.primitive.wait()).await
    }
}

impl Own<'_, JoinCounter> {
    /// See [`JoinCounter::wait`].
    pub async fn wait(&self) {
        self.noted(self.primitive.wait()).await;
    }
}
