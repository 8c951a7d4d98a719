//! What keeps those back who send, until all that warmed up has been received.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Semaphore;

/// Opens when as many as it waits for have arrived, and stays open.
pub(super) struct Gate {
    /// How many have yet to arrive.
    awaited: AtomicUsize,
    /// Nobody ever gets a permit: it is open when it has been closed. It knows nobody's runtime.
    closed_when_open: Semaphore,
}

impl Gate {
    pub(super) fn after(arrivals: usize) -> Arc<Gate> {
        Arc::new(Gate {
            awaited: AtomicUsize::new(arrivals),
            closed_when_open: Semaphore::const_new(0),
        })
    }

    /// One of those it waits for has arrived.
    pub(super) fn arrive(&self) {
        if self.awaited.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.closed_when_open.close();
        }
    }

    /// Returns when it is open.
    pub(super) async fn pass(&self) {
        let none = self.closed_when_open.acquire().await;
        debug_assert!(none.is_err(), "there are no permits");
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::Gate;

    #[test]
    fn it_opens_with_the_last_arrival_for_all_who_wait_and_all_who_come() {
        let gate = Gate::after(2);
        let mut nobody = Context::from_waker(Waker::noop());
        let mut early = pin!(gate.pass());
        gate.arrive();
        assert_eq!(early.as_mut().poll(&mut nobody), Poll::Pending);
        gate.arrive();
        assert_eq!(early.as_mut().poll(&mut nobody), Poll::Ready(()));
        assert_eq!(pin!(gate.pass()).poll(&mut nobody), Poll::Ready(()));
    }
}
