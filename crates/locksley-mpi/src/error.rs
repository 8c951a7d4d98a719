//! Why a run did not come to its end.

use std::fmt;
use std::time::Duration;

/// Why a computation on several ranks has failed. Every rank gets an error: one of them the cause,
/// the others [`Remote`](Self::Remote).
///
/// # Examples
/// ```
/// use locksley_mpi::{Error, Ranks, Simulation};
///
/// let simulation = Simulation::new(2, 1);
/// let [first, second] = simulation.ranks().try_into().unwrap();
/// let other = std::thread::spawn(|| Ranks::connect_as(second, "program 1.1").err());
/// let error = Ranks::connect_as(first, "program 1.0").err();
/// assert!(matches!(error, Some(Error::Mismatch { rank: 1, .. })));
/// assert!(matches!(other.join().unwrap(), Some(Error::Remote { rank: 0, .. })));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Error {
    /// A rank has sent nothing for so long, though it should have: it has died, or it is suspended.
    /// It may be this one, if others have gone on without it.
    Silent {
        /// The rank.
        rank: usize,
        /// The time since its last message.
        time: Duration,
    },
    /// Another rank has failed.
    Remote {
        /// The rank that reports it.
        rank: usize,
        /// Its error.
        reason: String,
    },
    /// A rank runs another program, another version, or has other arguments.
    Mismatch {
        /// The rank.
        rank: usize,
        /// What it runs.
        theirs: String,
        /// What this rank runs.
        ours: String,
    },
    /// A message, usually tasks or an output, is larger than
    /// [`Ranks::set_max_message`](crate::Ranks::set_max_message).
    TooLarge {
        /// Its size.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// A bag has panicked: what the other ranks are told. On the rank itself,
    /// [`Ranks::run`](crate::Ranks::run) panics.
    Panicked(String),
    /// All processes of a network that have not ended wait for each other: their names and ranks.
    Deadlock(Vec<String>),
    /// A network has failed on one rank, for example since a process has panicked.
    Network(String),
    /// Tasks or an output cannot be serialized.
    Unserializable(String),
    /// A message cannot be read: the ranks run different bags, or `Serialize` and `Deserialize` of
    /// a type do not agree.
    Unreadable {
        /// The rank that has sent it.
        rank: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// A rank other than 0 begins a resilient run with tasks: no other rank knows them.
    Unsupervised,
    /// The transport has failed, or it cannot do what is asked of it.
    Transport(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Silent { rank, time } => {
                write!(f, "rank {rank} has died or hangs: silent for {:.1} s", time.as_secs_f64())
            }
            Self::Remote { rank, reason } => write!(f, "rank {rank} has ended the run: {reason}"),
            Self::Mismatch { rank, theirs, ours } => {
                write!(f, "rank {rank} runs {theirs}, but its parent in the tree runs {ours}")
            }
            Self::TooLarge { bytes, limit } => {
                write!(f, "a message of {bytes} bytes is larger than the limit of {limit} bytes")
            }
            Self::Panicked(message) => write!(f, "the bag has panicked: {message}"),
            Self::Deadlock(processes) => {
                write!(f, "processes wait for each other: {}", processes.join(", "))
            }
            Self::Network(reason) => write!(f, "the network has failed: {reason}"),
            Self::Unserializable(reason) => write!(f, "a message cannot be serialized: {reason}"),
            Self::Unreadable { rank, reason } => {
                write!(f, "a message of rank {rank} cannot be read: {reason}")
            }
            Self::Unsupervised => write!(f, "in a resilient run, only rank 0 begins with tasks"),
            Self::Transport(reason) => write!(f, "the transport has failed: {reason}"),
        }
    }
}

impl std::error::Error for Error {}
