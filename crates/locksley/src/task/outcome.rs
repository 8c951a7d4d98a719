//! What becomes of a task.

use std::sync::Arc;

use super::error::TaskError;
use crate::pool::Shared;
use crate::unwind::{self, Payload};

/// Left where the future was.
pub(super) enum Outcome<T> {
    Returned(T),
    Panicked(Box<Unseen>),
    Cancelled,
}

/// A panic that nobody has seen yet. If nobody ever does, it goes to the pool's handler.
pub(super) struct Unseen {
    payload: Option<Payload>,
    /// A share in the pool, so that its handler is there as long as this is.
    home: Option<Arc<Shared>>,
}

impl Unseen {
    /// `home` is the pool whose handler is told; without one, nobody is.
    pub(super) fn new(payload: Payload, home: Option<Arc<Shared>>) -> Box<Self> {
        Box::new(Self { payload: Some(payload), home })
    }
}

impl Drop for Unseen {
    fn drop(&mut self) {
        if let Some(payload) = self.payload.take() {
            match &self.home {
                Some(home) => home.report_panic(payload),
                None => unwind::discard(payload),
            }
        }
    }
}

impl<T> Outcome<T> {
    pub(super) fn into_result(self) -> Result<T, TaskError> {
        match self {
            Self::Returned(value) => Ok(value),
            Self::Panicked(mut unseen) => {
                let payload = unseen.payload.take().expect("taken here or when it is dropped");
                Err(TaskError::panicked(payload))
            }
            Self::Cancelled => Err(TaskError::cancelled()),
        }
    }
}
