//! What can be wrong with a machine's description, and with a division into places.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::PathBuf;

use super::{Kind, ProcessorSet, Region};

/// Why a machine could not be read. There is an example at
/// [`Topology::read`](super::Topology::read).
#[derive(Debug)]
#[non_exhaustive]
pub enum TopologyError {
    /// The folder of the processors cannot be read, or is not there.
    Unreadable {
        /// Which folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// No processor is online.
    NoProcessors {
        /// The folder without processors.
        path: PathBuf,
    },
}

impl fmt::Display for TopologyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable { path, source } => {
                write!(f, "cannot read {}: {source}", path.display())
            }
            Self::NoProcessors { path } => {
                write!(f, "no processor is online in {}", path.display())
            }
        }
    }
}

impl Error for TopologyError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Unreadable { source, .. } => Some(source),
            Self::NoProcessors { .. } => None,
        }
    }
}

/// Something that the system said and that was left out. There is an example at
/// [`Topology::of`](super::Topology::of).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Doubt {
    /// Nothing could be read, and why.
    Machine(String),
    /// A file could not be read, or makes no sense.
    File {
        /// Which file, from the root.
        path: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A group of processors contradicts another one.
    Region {
        /// The one that was left out.
        region: Region,
        /// The one that it contradicts.
        against: Region,
    },
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Machine(problem) => write!(f, "{problem}"),
            Self::File { path, problem } => write!(f, "{path}: {problem}"),
            Self::Region { region, against } => {
                write!(f, "left out: {region}, which contradicts {against}")
            }
        }
    }
}

/// Why processors cannot be divided in this way. There are examples at [`Places`](super::Places).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlacesError {
    /// No place was given.
    NoPlaces,
    /// A place was given that has no processors.
    Empty {
        /// Which one, from 0.
        place: usize,
    },
    /// A place was given that has processors which may not be used.
    Forbidden {
        /// Which one, from 0.
        place: usize,
        /// Those that may not be used.
        processors: ProcessorSet,
    },
    /// Two places were given that have processors in common.
    Overlap {
        /// The first one, from 0.
        first: usize,
        /// The second one.
        second: usize,
        /// Those that are in both.
        processors: ProcessorSet,
    },
    /// The machine has no such level, as far as is known.
    NoSuchLevel(Kind),
}

impl fmt::Display for PlacesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoPlaces => write!(f, "there must be at least one place"),
            Self::Empty { place } => write!(f, "place {place} has no processors"),
            Self::Forbidden { place, processors } => {
                write!(f, "place {place} has processors that may not be used: {processors}")
            }
            Self::Overlap { first, second, processors } => {
                write!(f, "places {first} and {second} have processors in common: {processors}")
            }
            Self::NoSuchLevel(kind) => write!(f, "this machine has no {kind} that is known of"),
        }
    }
}

impl Error for PlacesError {}
