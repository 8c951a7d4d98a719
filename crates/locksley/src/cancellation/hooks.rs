//! Hooks, which `cancel` calls.
//!
//! A hook is in the set of its token and in those of all ancestors, and is called at most once.
//!
//! *No cancellation is missed.* `cancel` sets the flag and then takes the hooks, under the lock of
//! the set. `on_cancel` inserts the hook under the same lock, and then looks at the flag. So either
//! `cancel` finds the hook, or `on_cancel` finds the flag.

use std::fmt;
use std::ops::DerefMut;
use std::sync::{Arc, PoisonError};

use super::Cancellation;
use crate::primitive::Mutex;
use crate::unwind;

/// `None` after it was called, or dropped.
struct Hook(Mutex<Option<Box<dyn FnOnce() + Send>>>);

impl Hook {
    fn take(&self) -> Option<Box<dyn FnOnce() + Send>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn call(&self) {
        if let Some(hook) = self.take() {
            hook();
        }
    }
}

/// The hooks of a token and of its descendants.
pub(super) struct Hooks(Mutex<Set>);

#[derive(Default)]
struct Set {
    /// `None` where a hook was removed.
    hooks: Vec<Option<Arc<Hook>>>,
    /// The indexes of these.
    free: Vec<usize>,
}

impl Default for Hooks {
    fn default() -> Self {
        Self(Mutex::new(Set::default()))
    }
}

impl Hooks {
    fn lock(&self) -> impl DerefMut<Target = Set> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a hook. Returns its index.
    fn add(&self, hook: &Arc<Hook>) -> usize {
        let mut set = self.lock();
        let index = set.free.pop().unwrap_or(set.hooks.len());
        if index == set.hooks.len() {
            set.hooks.push(None);
        }
        set.hooks[index] = Some(Arc::clone(hook));
        index
    }

    /// Removes the hook, unless another one is at its index since all were called.
    fn remove(&self, index: usize, hook: &Arc<Hook>) {
        let mut set = self.lock();
        let is_hook = |other: &mut Arc<Hook>| Arc::ptr_eq(other, hook);
        if set.hooks.get_mut(index).is_some_and(|other| other.take_if(is_hook).is_some()) {
            set.free.push(index);
        }
    }

    /// Calls all hooks. Raises the first panic afterwards.
    pub(super) fn call_all(&self) {
        let set = std::mem::take(&mut *self.lock());
        let mut first = None;
        for hook in set.hooks.into_iter().flatten() {
            match (unwind::catch(|| hook.call()), &first) {
                (Ok(()), _) => {}
                (Err(payload), None) => first = Some(payload),
                (Err(payload), Some(_)) => unwind::discard(payload),
            }
        }
        if let Some(payload) = first {
            unwind::resume(payload);
        }
    }
}

/// Keeps a hook of a token. Made by [`Cancellation::on_cancel`].
///
/// Dropping it removes the hook. If another thread cancels the token at that moment, that thread
/// may still run the hook after the drop has returned.
#[must_use = "the hook is removed when this is dropped"]
pub struct OnCancel {
    token: Cancellation,
    hook: Arc<Hook>,
    /// Where it is in the sets of the token and of its ancestors.
    indexes: Vec<usize>,
}

impl Cancellation {
    /// Has `hook` called when this token is cancelled: by the thread that cancels it, or at once if
    /// that has happened already. It is called once at most.
    ///
    /// Use it to cancel what has a handle of its own. A hook should be short, since the canceller
    /// waits for it.
    ///
    /// # Panics
    /// If the token is cancelled already and the hook panics.
    ///
    /// # Examples
    /// ```
    /// use locksley::Cancellation;
    /// use std::sync::mpsc::channel;
    ///
    /// let token = Cancellation::new();
    /// let (sender, receiver) = channel();
    /// let _hook = token.on_cancel(move || sender.send("stop").unwrap());
    /// token.cancel();
    /// assert_eq!(receiver.recv(), Ok("stop"));
    /// ```
    pub fn on_cancel(&self, hook: impl FnOnce() + Send + 'static) -> OnCancel {
        let hook = Arc::new(Hook(Mutex::new(Some(Box::new(hook)))));
        let indexes = self.path().map(|node| node.hooks.add(&hook)).collect();
        let added = OnCancel { token: self.clone(), hook, indexes };
        if self.is_cancelled() {
            added.hook.call();
        }
        added
    }
}

impl Drop for OnCancel {
    fn drop(&mut self) {
        for (node, &index) in self.token.path().zip(&self.indexes) {
            node.hooks.remove(index, &self.hook);
        }
        drop(self.hook.take());
    }
}

impl fmt::Debug for OnCancel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnCancel").field("token", &self.token).finish_non_exhaustive()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::future::pending;
    use std::pin::pin;
    use std::task::{Context, Wake, Waker};
    use std::time::Duration;

    use super::*;
    use crate::block_on;

    fn hooks_of(token: &Cancellation) -> usize {
        token.0.hooks.lock().hooks.iter().flatten().count()
    }

    #[test]
    fn what_waits_no_more_has_no_hook() {
        let outer = Cancellation::new();
        let token = outer.child();
        assert_eq!(block_on(token.run_until_cancelled(async { 7 })), Ok(7));
        let panics = || block_on(token.run_until_cancelled(async { panic!("of the future") }));
        assert!(unwind::catch(panics).is_err());
        assert_eq!((hooks_of(&token), hooks_of(&outer)), (0, 0));
        let [first, second] = [(); 2].map(|()| token.on_cancel(|| ()));
        drop(first);
        let third = token.on_cancel(|| ());
        assert_eq!((hooks_of(&token), hooks_of(&outer)), (2, 2));
        assert_eq!(token.0.hooks.lock().hooks.len(), 2, "indexes are used again");
        outer.cancel();
        assert_eq!((hooks_of(&token), hooks_of(&outer)), (2, 0));
        drop((second, third));
        assert_eq!(hooks_of(&token), 0);
    }

    #[test]
    fn a_future_keeps_its_hook_until_its_waker_changes() {
        struct Ignored;
        impl Wake for Ignored {
            fn wake(self: Arc<Self>) {}
        }
        let token = Cancellation::new();
        let mut waits = pin!(token.run_until_cancelled(pending::<()>()));
        let wakers = [(); 2].map(|()| Waker::from(Arc::new(Ignored)));
        let mut poll = |waker| waits.as_mut().poll(&mut Context::from_waker(waker)).is_pending();
        let hook = || Arc::as_ptr(token.0.hooks.lock().hooks.iter().flatten().next().unwrap());
        assert!(poll(&wakers[0]));
        let first = hook();
        assert!(poll(&wakers[0]) && hook() == first);
        assert!(poll(&wakers[1]) && hook() != first);
        assert_eq!(hooks_of(&token), 1);
    }

    #[test]
    fn a_hook_that_was_called_removes_no_later_one() {
        let token = Cancellation::new();
        let called = token.on_cancel(|| ());
        token.cancel();
        let later = token.on_cancel(|| ());
        drop(called);
        assert_eq!(hooks_of(&token), 1);
        drop(later);
        assert_eq!(hooks_of(&token), 0);
    }

    #[test]
    fn a_deadline_keeps_no_token() {
        let token = Cancellation::new();
        token.cancel_after(Duration::from_secs(3600)).unwrap();
        assert_eq!(Arc::strong_count(&token.0), 1);
        drop(Box::pin(token.run_until_cancelled(pending::<()>())));
        assert_eq!(hooks_of(&token), 0, "a future that was never polled has none");
    }
}
