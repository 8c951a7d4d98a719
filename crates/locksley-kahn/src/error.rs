//! Why a network has not run to its end.

use std::error::Error;
use std::fmt;

use locksley::task::JoinError;
use locksley_sys::unwind::{self, Payload};

/// What ends a network.
pub(super) enum Failure {
    Error(NetworkError),
    Panicked { process: u32, payload: Payload },
}

impl Failure {
    /// Another failure came first, and is reported.
    pub(super) fn discard(self) {
        match self {
            Self::Error(error) => _ = unwind::catch(|| drop(error)).map_err(unwind::discard),
            Self::Panicked { payload, .. } => unwind::discard(payload),
        }
    }
}

/// Why a network did not run to its end.
///
/// # Examples
/// ```
/// use locksley::Pool;
/// use locksley_kahn::{Network, NetworkError};
///
/// let mut network = Network::new();
/// let (to_b, from_a) = network.channel::<u8>("a to b", 1);
/// let (to_a, from_b) = network.channel::<u8>("b to a", 1);
/// // Each of them waits for the other one to begin.
/// network.process("a", (from_b, to_b), async |(mut input, mut output)| {
///     while let Some(n) = input.recv().await {
///         output.send(n).await;
///     }
/// });
/// network.process("b", (from_a, to_a), async |(mut input, mut output)| {
///     while let Some(n) = input.recv().await {
///         output.send(n).await;
///     }
/// });
/// match network.run(&Pool::new(2)?) {
///     Err(NetworkError::Deadlock(cycle)) => assert_eq!(cycle.len(), 2),
///     other => panic!("{other:?}"),
/// }
/// # Ok::<(), locksley::BuildError>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum NetworkError {
    /// Processes wait for each other in a cycle, all of them for messages. Each waits for the next
    /// one, and the last one for the first.
    Deadlock(Vec<Waiting>),
    /// Processes wait for each other in a cycle, some of them for room, and the smallest full
    /// channel of the cycle has reached the [limit](super::Network::limit).
    Limit {
        /// The smallest of the full channels.
        channel: String,
        /// Its capacity, in messages.
        capacity: usize,
        /// The processes that wait for each other.
        cycle: Vec<Waiting>,
    },
    /// A process has [failed](super::Network::try_process). No other process has taken this for the
    /// [end of a stream](super::Sender#the-end-of-a-stream).
    Process {
        /// The process.
        process: String,
        /// What it has returned.
        error: Box<dyn Error + Send + Sync>,
    },
    /// A process has panicked, or a message when it was dropped. As with a process that fails, no
    /// other process has taken this for the end of a stream.
    Panicked {
        /// The process; `None` if it was a message that was left over at the end.
        process: Option<String>,
        /// The panic.
        ///
        /// # Examples
        /// ```
        /// use locksley::Pool;
        /// use locksley_kahn::{Network, NetworkError};
        ///
        /// let mut network = Network::new();
        /// network.process("careless", (), async |()| { panic!("no more arrows") });
        /// match network.run(&Pool::new(1)?) {
        ///     Err(NetworkError::Panicked { process: Some(process), error }) => {
        ///         assert_eq!(process, "careless");
        ///         assert!(error.into_panic().is::<&str>());
        ///     }
        ///     other => panic!("{other:?}"),
        /// }
        /// # Ok::<(), locksley::BuildError>(())
        /// ```
        error: JoinError,
    },
    /// The network was cancelled, or its pool was dropped.
    Cancelled,
    /// A process has ended, and an end of a channel that it was given was not dropped: the process
    /// returned it, moved it to another task, or leaked it. The process at the other end might wait
    /// for ever.
    ///
    /// # Examples
    /// ```
    /// use locksley::Pool;
    /// use locksley_kahn::{Network, NetworkError};
    ///
    /// let mut network = Network::new();
    /// let (numbers, all) = network.channel::<u32>("numbers", 1);
    /// let kept = network.process("returns it", numbers, async |numbers| numbers);
    /// network.process("waits", all, async |mut all| all.recv().await);
    /// match network.run(&Pool::new(2)?) {
    ///     Err(NetworkError::Kept { process, channel }) => {
    ///         assert_eq!((&*process, &*channel), ("returns it", "numbers"));
    ///     }
    ///     other => panic!("{other:?}"),
    /// }
    /// # drop(kept);
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    Kept {
        /// The process.
        process: String,
        /// The channel.
        channel: String,
    },
    /// An end of this channel was neither given to a process nor dropped.
    Unowned {
        /// The channel.
        channel: String,
    },
}

impl fmt::Display for NetworkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Deadlock(cycle) => {
                f.write_str("deadlock: ")?;
                write_cycle(f, cycle)
            }
            Self::Limit { channel, capacity, cycle } => {
                write!(f, "channel '{channel}' may not hold more than {capacity} messages: ")?;
                write_cycle(f, cycle)
            }
            Self::Process { process, error } => write!(f, "process '{process}': {error}"),
            Self::Panicked { process: Some(process), error } => {
                write!(f, "process '{process}': {error}")
            }
            Self::Panicked { process: None, error } => write!(f, "at the end: {error}"),
            Self::Cancelled => f.write_str("the network was cancelled"),
            Self::Kept { process, channel } => write!(
                f,
                "process '{process}' has ended, and its end of channel '{channel}' has not"
            ),
            Self::Unowned { channel } => {
                write!(f, "an end of channel '{channel}' belongs to no process")
            }
        }
    }
}

fn write_cycle(f: &mut fmt::Formatter<'_>, cycle: &[Waiting]) -> fmt::Result {
    for (n, Waiting { process, channel, is_full }) in cycle.iter().enumerate() {
        let separator = if n == 0 { "" } else { ", " };
        let need = if *is_full { "room in" } else { "a message on" };
        write!(f, "{separator}process '{process}' waits for {need} channel '{channel}'")?;
    }
    Ok(())
}

impl Error for NetworkError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Process { error, .. } => Some(&**error),
            Self::Panicked { error, .. } => Some(error),
            _ => None,
        }
    }
}

/// A process that waits.
///
/// # Examples
/// See [`NetworkError`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Waiting {
    /// The process.
    pub process: String,
    /// The channel at which it waits.
    pub channel: String,
    /// True if the channel is full, and the process waits for room. False if it is empty, and the
    /// process waits for a message.
    pub is_full: bool,
}
