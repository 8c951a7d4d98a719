//! The outcome of a task: a value, a panic or a cancellation.

use std::sync::Arc;

use super::error::JoinError;
use crate::shared::Shared;
use crate::unwind::{self, Payload};

/// The outcome of a task. It replaces the future in the allocation.
pub(crate) enum Outcome<T> {
    Returned(T),
    Panicked(Box<UnseenPanic>),
    Cancelled,
}

/// A panic that is not handled yet. When it is dropped, it goes to the pool's handler.
pub(crate) struct UnseenPanic {
    payload: Option<Payload>,
    /// Keeps the handler alive as long as the payload.
    pool: Option<Arc<Shared>>,
}

impl UnseenPanic {
    /// Without a `pool`, an unseen payload is dropped.
    pub(crate) fn new(payload: Payload, pool: Option<Arc<Shared>>) -> Box<Self> {
        Box::new(Self { payload: Some(payload), pool })
    }
}

impl Drop for UnseenPanic {
    fn drop(&mut self) {
        if let Some(payload) = self.payload.take() {
            match &self.pool {
                Some(pool) => pool.report_panic(payload),
                None => unwind::discard(payload),
            }
        }
    }
}

impl<T> Outcome<T> {
    pub(crate) fn into_result(self) -> Result<T, JoinError> {
        match self {
            Self::Returned(value) => Ok(value),
            Self::Panicked(mut unseen) => {
                let payload = unseen.payload.take().expect("taken here or when it is dropped");
                Err(JoinError::panicked(payload))
            }
            Self::Cancelled => Err(JoinError::cancelled()),
        }
    }
}
