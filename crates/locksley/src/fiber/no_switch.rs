//! Where there are no stacks but those of threads: every wait works on top of the waiter's frame.

use std::convert::Infallible;

pub(super) struct Stack(Infallible);

impl Stack {
    pub(super) fn new(_bytes: usize) -> Option<Self> {
        None
    }
}

pub(super) struct Routine(Infallible);

impl Routine {
    pub(super) fn new(stack: Stack, _body: impl FnOnce(&Way) + 'static) -> Self {
        match stack.0 {}
    }

    pub(super) fn resume(&mut self) -> bool {
        match self.0 {}
    }

    pub(super) fn into_stack(self) -> Stack {
        match self.0 {}
    }
}

#[derive(Debug)]
pub(super) struct Way(Infallible);

pub(super) fn go_back(way: &Way) {
    match way.0 {}
}
