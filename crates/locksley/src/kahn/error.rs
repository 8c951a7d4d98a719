//! Why a network has not run to its end.

use std::any::Any;
use std::error::Error;
use std::fmt;

use super::cycle::Stuck;
use super::graph::{Graph, NOBODY};
use super::wait::Need;
use crate::task::TaskError;
use crate::unwind::{self, Payload};

/// Why a network ended, as the network itself knows it.
pub(super) enum Failure {
    Deadlock { cycle: Vec<Stuck> },
    Limit { smallest: Stuck, cycle: Vec<Stuck> },
    Panicked { process: u32, payload: Payload },
    Kept { process: u32, channel: u32 },
    NoStack { process: u32 },
    Unwinding { process: u32 },
    Cancelled,
}

impl Failure {
    /// It comes after another one, which is told instead.
    pub(super) fn discard(self) {
        if let Self::Panicked { payload, .. } = self {
            unwind::discard(payload);
        }
    }

    pub(super) fn told(self, graph: &Graph) -> NetworkError {
        let told = |stuck: &Stuck| Waiting {
            process: graph.process(stuck.process).name().to_owned(),
            channel: graph.core(stuck.channel).name().to_owned(),
            need: match stuck.need {
                Need::Message => Awaited::Message,
                Need::Room => Awaited::Room,
            },
        };
        let all = |cycle: &[Stuck]| Cycle { waits: cycle.iter().map(told).collect() };
        match self {
            Self::Deadlock { cycle } => NetworkError::Deadlock(all(&cycle)),
            Self::Limit { smallest, cycle } => NetworkError::Limit {
                channel: graph.core(smallest.channel).name().to_owned(),
                capacity: smallest.capacity as usize,
                cycle: all(&cycle),
            },
            Self::Panicked { process: NOBODY, payload } => {
                NetworkError::Panicked { process: None, error: TaskError::panicked(payload) }
            }
            Self::Panicked { process, payload } => NetworkError::Panicked {
                process: Some(graph.process(process).name().to_owned()),
                error: TaskError::panicked(payload),
            },
            Self::Kept { process, channel } => NetworkError::Kept {
                process: graph.process(process).name().to_owned(),
                channel: graph.core(channel).name().to_owned(),
            },
            Self::NoStack { process } => {
                NetworkError::NoStack { process: graph.process(process).name().to_owned() }
            }
            Self::Unwinding { process } => {
                NetworkError::Unwinding { process: graph.process(process).name().to_owned() }
            }
            Self::Cancelled => NetworkError::Cancelled,
        }
    }

    /// Whether this is told instead of `first`, which came before: the panic that made a process unwind, instead of what came of that.
    pub(super) fn is_why(&self, first: &Self) -> bool {
        match (self, first) {
            (Self::Panicked { process, .. }, Self::Unwinding { process: of }) => process == of,
            _ => false,
        }
    }
}

/// Why a network did not run to its end.
///
/// # Examples
/// ```
/// use locksley::{Pool, kahn::{Network, NetworkError}};
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
///     Err(NetworkError::Deadlock(cycle)) => assert_eq!(cycle.waits().len(), 2),
///     other => panic!("{other:?}"),
/// }
/// # Ok::<(), locksley::BuildError>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum NetworkError {
    /// Processes wait for each other's messages, and there are none.
    Deadlock(Cycle),
    /// Processes wait for each other, some of them for room, and the smallest of the full channels has reached the
    /// [limit](super::Network::limit).
    Limit {
        /// The smallest of the full channels.
        channel: String,
        /// Its capacity, in messages.
        capacity: usize,
        /// Who waits for whom.
        cycle: Cycle,
    },
    /// A process has panicked, or a message when it was dropped. Others may have taken the end of that process for the end of
    /// their streams before they were dropped.
    Panicked {
        /// The process; `None` if it was a message that was left over at the end, or the network itself.
        process: Option<String>,
        /// With what.
        error: TaskError,
    },
    /// It was cancelled, or its pool was dropped.
    Cancelled,
    /// A process has ended, and an end of a channel that it was given has not: it is in what the process has returned, or was moved to
    /// another task, or leaked. Who is at the other end might wait for ever.
    ///
    /// # Examples
    /// ```
    /// use locksley::{Pool, kahn::{Network, NetworkError}};
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
    /// There was no stack for a process that needs one of its own: see [`Network::process_on_stack`](super::Network::process_on_stack).
    NoStack {
        /// The process.
        process: String,
    },
    /// A process on a stack of its own would have had to wait for a channel while it unwound, in a destructor. Its worker cannot leave the
    /// stack then, so nothing that the worker has could go on. If the process ends by that panic, the error is [`Panicked`](Self::Panicked)
    /// instead; it is this one if the process has caught it. Whether it would have had to wait depends on the schedule: on how far the process
    /// at the other end has come. So a process that sends or receives while it unwinds, and catches the panic, may end well in one run and not in another.
    ///
    /// # Examples
    /// ```
    /// use locksley::{Pool, kahn::{Network, NetworkError, Over, Sender}};
    ///
    /// /// Says goodbye.
    /// struct Polite(Sender<&'static str>);
    /// impl Drop for Polite {
    ///     fn drop(&mut self) {
    ///         for word in ["good", "bye"] {
    ///             let _ = self.0.send_blocking(word); // there is room for one
    ///         }
    ///     }
    /// }
    ///
    /// let mut network = Network::new();
    /// let (words, all) = network.channel("words", 1);
    /// network.process_on_stack("catches", words, |words| {
    ///     let polite = Polite(words);
    ///     let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
    ///         let _polite = polite;
    ///         panic!("no more arrows")
    ///     }));
    /// });
    /// network.process("waits", all, async |mut all| while all.recv().await.is_some() {});
    /// let ended = network.run(&Pool::new(1)?);
    /// assert!(matches!(ended, Err(NetworkError::Unwinding { .. } | NetworkError::NoStack { .. })));
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    Unwinding {
        /// The process.
        process: String,
    },
    /// An end of this channel belongs to no process, and was not dropped: who is at the other end would wait for ever.
    Unowned {
        /// The channel.
        channel: String,
    },
}

impl NetworkError {
    /// What the process panicked with.
    ///
    /// # Errors
    /// This error itself, if it is another one.
    ///
    /// # Examples
    /// ```
    /// use locksley::{Pool, kahn::Network};
    ///
    /// let mut network = Network::new();
    /// network.process("careless", (), async |()| { panic!("no more arrows") });
    /// let error = network.run(&Pool::new(1)?).unwrap_err();
    /// assert_eq!(error.to_string(), "process 'careless': the task panicked: no more arrows");
    /// assert!(error.try_into_panic().unwrap().is::<&str>());
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    pub fn try_into_panic(self) -> Result<Box<dyn Any + Send>, Self> {
        match self {
            Self::Panicked { process, error } => {
                error.try_into_panic().map_err(|error| Self::Panicked { process, error })
            }
            other => Err(other),
        }
    }
}

impl fmt::Display for NetworkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Deadlock(cycle) => write!(f, "deadlock: {cycle}"),
            Self::Limit { channel, capacity, cycle } => {
                write!(f, "channel '{channel}' may not hold more than {capacity} messages: {cycle}")
            }
            Self::Panicked { process: Some(process), error } => {
                write!(f, "process '{process}': {error}")
            }
            Self::Panicked { process: None, error } => {
                write!(f, "at the end, and in no process: {error}")
            }
            Self::Cancelled => f.write_str("the network was cancelled"),
            Self::Kept { process, channel } => {
                write!(
                    f,
                    "process '{process}' has ended, and its end of channel '{channel}' has not"
                )
            }
            Self::NoStack { process } => {
                write!(f, "there is no stack for process '{process}'")
            }
            Self::Unwinding { process } => {
                write!(f, "process '{process}' would have had to wait while it unwound")
            }
            Self::Unowned { channel } => {
                write!(f, "an end of channel '{channel}' belongs to no process")
            }
        }
    }
}

impl Error for NetworkError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Panicked { error, .. } => Some(error),
            _ => None,
        }
    }
}

/// Processes that wait for each other: each for the next one, and the last one for the first.
///
/// # Examples
/// See [`NetworkError`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cycle {
    waits: Vec<Waiting>,
}

impl Cycle {
    /// Who waits, and for what.
    #[must_use]
    pub fn waits(&self) -> &[Waiting] {
        &self.waits
    }
}

impl fmt::Display for Cycle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, waiting) in self.waits.iter().enumerate() {
            let Waiting { process, channel, need } = waiting;
            let and = if n == 0 { "" } else { ", " };
            write!(f, "{and}process '{process}' waits for {need} channel '{channel}'")?;
        }
        Ok(())
    }
}

/// A process that waits.
///
/// # Examples
/// See [`NetworkError`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Waiting {
    /// The process's name.
    pub process: String,
    /// The channel at which it waits.
    pub channel: String,
    /// For what.
    pub need: Awaited,
}

/// What a process waits for at a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Awaited {
    /// A message: the channel is empty.
    Message,
    /// Room for a message: the channel is full.
    Room,
}

impl fmt::Display for Awaited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Message => "a message on",
            Self::Room => "room in",
        })
    }
}
