//! Blocking processes: how they wait.

use std::error::Error;
use std::fmt;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use super::deferred::Current;
use super::graph::Graph;
use locksley::Worker;
use locksley_sys::primitive::Instant;

/// The network has failed or was cancelled: a blocking process waits in vain.
///
/// It is never the end of a stream, which is `None`. Return it, so that the process ends.
///
/// # Examples
/// ```
/// use locksley::Pool;
/// use locksley_kahn::{Network, NetworkError, Over};
///
/// let mut network = Network::new();
/// let (never, input) = network.channel::<u8>("never", 1);
/// network.process_blocking("waits", (never, input), |(never, mut input)| {
///     // It waits for itself.
///     assert_eq!(input.recv_blocking(), Err(Over));
///     drop(never);
///     Err::<(), _>(Over)
/// });
/// let ended = network.run(&Pool::new(1)?);
/// assert!(matches!(ended, Err(NetworkError::Deadlock(_))));
/// # Ok::<(), locksley::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Over;

impl fmt::Display for Over {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the process network has failed or was cancelled")
    }
}

impl Error for Over {}

/// Waits for an operation at an end of a channel that belongs to that process.
#[track_caller]
pub(super) fn wait<F: Future>(graph: &Graph, owner: u32, operation: F) -> Result<F::Output, Over> {
    let process = graph.process(owner);
    let Some(signal) = Current::signal_of(graph, owner) else {
        panic!(
            "an end of a channel blocks only in the process that it belongs to, which is '{}', \
             and only in a blocking one",
            process.name
        )
    };
    let waker = Waker::from(signal.clone());
    let (mut operation, mut context) = (pin!(operation), Context::from_waker(&waker));
    loop {
        if let Poll::Ready(output) = operation.as_mut().poll(&mut context) {
            return Ok(output);
        }
        graph.wake_deferred(owner);
        // Whatever ends the network wakes all processes afterwards.
        if graph.has_failed() {
            return Err(Over);
        }
        let since = graph.is_measured.then(Instant::now);
        Worker::with_current(|current| signal.wait(current.expect("a process runs on a worker")));
        if let Some(since) = since {
            process.subtract_busy(since.elapsed());
        }
    }
}
