//! What is called when a token is cancelled.
//!
//! A hook is in the set of its token and in those of all ancestors, and is called once.
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
    /// The places of these.
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

    /// Adds a hook. Returns its place.
    fn add(&self, hook: &Arc<Hook>) -> usize {
        let mut set = self.lock();
        let place = set.free.pop().unwrap_or(set.hooks.len());
        if place == set.hooks.len() {
            set.hooks.push(None);
        }
        set.hooks[place] = Some(Arc::clone(hook));
        place
    }

    /// Removes the hook from its place, where another one may be since all were called.
    fn remove(&self, place: usize, hook: &Arc<Hook>) {
        let mut set = self.lock();
        let is_hook = |other: &mut Arc<Hook>| Arc::ptr_eq(other, hook);
        if set.hooks.get_mut(place).is_some_and(|other| other.take_if(is_hook).is_some()) {
            set.free.push(place);
        }
    }

    /// Calls all hooks. Raises the first panic afterwards.
    pub(super) fn call_all(&self) {
        let set = std::mem::take(&mut *self.lock());
        let mut panicked = Ok(());
        for hook in set.hooks.into_iter().flatten() {
            panicked = panicked.and(unwind::catch(|| hook.call()));
        }
        panicked.unwrap_or_else(|payload| unwind::resume(payload));
    }
}

/// Keeps a hook of a token. Made by [`Cancellation::on_cancel`].
///
/// Dropping it removes the hook. If another thread cancels the token at that moment, it may still
/// be running the hook afterwards.
#[must_use = "the hook is removed when this is dropped"]
pub struct OnCancel {
    token: Cancellation,
    hook: Arc<Hook>,
    /// In the sets of the token and of its ancestors.
    places: Vec<usize>,
}

impl Cancellation {
    /// Has `hook` called when this token is cancelled: by the thread that cancels it, or at once if
    /// that has happened already. It is called once at most.
    ///
    /// Use it to cancel what has a handle of its own. A hook should be short, since the canceller
    /// waits for it.
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
        let places = self.path().map(|node| node.hooks.add(&hook)).collect();
        let added = OnCancel { token: self.clone(), hook, places };
        if self.is_cancelled() {
            added.hook.call();
        }
        added
    }
}

impl Drop for OnCancel {
    fn drop(&mut self) {
        for (node, &place) in self.token.path().zip(&self.places) {
            node.hooks.remove(place, &self.hook);
        }
        drop(self.hook.take());
    }
}

impl fmt::Debug for OnCancel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnCancel").field("token", &self.token).finish_non_exhaustive()
    }
}
