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

/// How long [`Ranks::connect`] waits for the others.
const CONNECT: Duration = Duration::from_secs(30);

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
    /// [`Error::Transport`].
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
        let mut nap = Nap::new();
        while let Some(&first) = missing.first() {
            match self.receive_greeting(&mut nap, first)? {
                (rank, Greeting::Program(theirs)) if theirs != program => {
                    return Err(Error::Mismatch { rank, theirs, ours: program.to_owned() });
                }
                (from, _) => missing.retain(|&rank| rank != from),
            }
        }
        if let Some(parent) = tree.parent() {
            self.send(parent, &Greeting::Program(program.to_owned()))?;
            self.receive_greeting(&mut nap, parent)?;
        }
        tree.children().try_for_each(|child| self.send(child, &Greeting::Welcome))
    }

    fn receive_greeting(
        &mut self,
        nap: &mut Nap,
        expected: usize,
    ) -> Result<(usize, Greeting), Error> {
        let start = self.transport.now();
        loop {
            if let Some(greeting) = self.receive()? {
                return Ok(greeting);
            }
            let time = self.transport.now().saturating_sub(start);
            if time > CONNECT {
                return Err(Error::Silent { rank: expected, time });
            }
            nap.rest(false);
        }
    }
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
