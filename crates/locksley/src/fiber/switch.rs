//! Stacks, and going from one to another: corosensei's.

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};

/// A stack that nothing runs on. Below its end lies a page that cannot be touched.
pub(super) struct Stack(DefaultStack);

impl Stack {
    /// One of so many bytes; `None` if the system has none.
    pub(super) fn new(bytes: usize) -> Option<Self> {
        DefaultStack::new(bytes).ok().map(Self)
    }
}

/// What runs on a stack of its own.
pub(super) struct Routine(Coroutine<(), (), ()>);

impl Routine {
    /// Something to be run on `stack`. It does not unwind.
    pub(super) fn new(stack: Stack, body: impl FnOnce(&Way) + 'static) -> Self {
        Self(Coroutine::with_stack(stack.0, |way, ()| body(way)))
    }

    /// Goes there, and comes back when it waits, or has ended. Says which: whether it has ended.
    pub(super) fn resume(&mut self) -> bool {
        matches!(self.0.resume(()), CoroutineResult::Return(()))
    }

    /// The stack of one that has ended.
    pub(super) fn into_stack(self) -> Stack {
        Stack(self.0.into_stack())
    }
}

/// The way from a stack back to whoever resumed it.
pub(super) type Way = Yielder<(), ()>;

/// Goes back, and returns when the stack is resumed.
pub(super) fn go_back(way: &Way) {
    way.suspend(());
}
