//! How ranks connect, and find whether they run the same program.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;
use std::{env, fs};

use serde::{Deserialize, Serialize};

use super::Ranks;
use crate::error::Error;
use crate::nap::Nap;
use crate::transport::Transport;
use crate::tree::Tree;

/// How long [`Ranks::connect`] waits for the others at least.
const CONNECT: Duration = Duration::from_secs(30);
/// How much longer one rank waits than another one, which is to report the rank that is missing.
const LONGER: Duration = Duration::from_secs(1);

/// What ranks tell each other while they connect.
#[derive(Serialize, Deserialize)]
enum Greeting {
    /// Up the tree: what a subtree runs.
    Program(String),
    /// Down the tree: all run the same.
    Welcome,
}

impl<T: Transport> Ranks<T> {
    /// Connects all ranks, and compares what they run: the version of this crate, the executable
    /// file, and the arguments.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if ranks differ, [`Error::Silent`] if one does not connect for 30 s, and
    /// a few more where there are many, and [`Error::Transport`].
    pub fn connect(transport: T) -> Result<Self, Error> {
        let program = env::current_exe().and_then(fs::read).map_or(0, |bytes| hash(&bytes));
        let arguments = hash(&env::args_os().skip(1).collect::<Vec<_>>());
        let version = env!("CARGO_PKG_VERSION");
        Self::connect_as(
            transport,
            &format!("program {program:016x}, arguments {arguments:016x}, version {version}"),
        )
    }

    /// [`connect`](Self::connect) with another description of what must be the same. Use it if
    /// ranks have different executable files or arguments on purpose.
    ///
    /// # Errors
    /// As [`connect`](Self::connect).
    pub fn connect_as(transport: T, program: &str) -> Result<Self, Error> {
        let mut ranks = Self::unconnected(transport);
        ranks.greet(program).map_err(|error| ranks.fail(error))?;
        Ok(ranks)
    }

    /// Compares what the ranks run, up the tree, and waits until the root has done so.
    fn greet(&mut self, program: &str) -> Result<(), Error> {
        let tree = Tree { rank: self.rank(), size: self.size() };
        let mut missing: Vec<_> = tree.children().collect();
        let (mut nap, start) = (Nap::new(), self.now());
        let deadline = start + for_children(&tree);
        while let Some(&first) = missing.first() {
            match self.receive_greeting(&mut nap, first, start, deadline)? {
                (rank, Greeting::Program(theirs)) if theirs != program => {
                    return Err(Error::Mismatch { rank, theirs, ours: program.to_owned() });
                }
                (from, _) => missing.retain(|&rank| rank != from),
            }
        }
        if let Some(parent) = tree.parent() {
            self.send(parent, &Greeting::Program(program.to_owned()))?;
            let deadline = start + for_parent(&tree);
            self.receive_greeting(&mut nap, parent, start, deadline)?;
        }
        tree.children().try_for_each(|child| self.send(child, &Greeting::Welcome))
    }

    fn receive_greeting(
        &mut self,
        nap: &mut Nap,
        expected: usize,
        start: Duration,
        deadline: Duration,
    ) -> Result<(usize, Greeting), Error> {
        loop {
            if let Some(greeting) = self.receive()? {
                return Ok(greeting);
            }
            let now = self.now();
            if now > deadline {
                return Err(Error::Silent { rank: expected, time: now.saturating_sub(start) });
            }
            nap.rest(false);
        }
    }
}

/// How long a rank waits for its children: they wait for theirs less long.
fn for_children(tree: &Tree) -> Duration {
    CONNECT + LONGER * tree.height()
}

/// How long a rank waits for its parent: longer than any rank for its children, and than that one
/// for its own parent.
fn for_parent(tree: &Tree) -> Duration {
    let root = Tree { rank: 0, size: tree.size };
    CONNECT + LONGER * (root.height() + tree.depth())
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If a rank is missing, then each rank that waits for another one waits longer than one that
    /// waits for the missing one.
    #[test]
    fn the_missing_rank_is_reported() {
        for size in 2..40 {
            for missing in 0..size {
                let waits = |rank| {
                    let tree = Tree { rank, size };
                    let below = |rank: usize| {
                        let parent = |it: &usize| Tree { rank: *it, size }.parent();
                        std::iter::successors(Some(missing), parent).any(|above| above == rank)
                    };
                    let child = tree.children().find(|&child| below(child));
                    match (child, tree.parent()) {
                        (Some(child), _) => Some((for_children(&tree), child)),
                        (None, parent) => parent.map(|parent| (for_parent(&tree), parent)),
                    }
                };
                let first = (0..size).filter(|&rank| rank != missing).filter_map(waits).min();
                assert_eq!(first.map(|(_, named)| named), Some(missing), "of {size}");
                let others = (0..size).filter(|&rank| rank != missing).filter_map(waits);
                let others = others.filter(|&(_, named)| named != missing);
                let first = first.unwrap().0;
                assert!(others.into_iter().all(|(time, _)| time >= first + LONGER), "of {size}");
            }
        }
    }
}
