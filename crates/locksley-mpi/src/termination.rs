//! How the ranks find that no tasks are left anywhere.
//!
//! Mattern's four counters ("Algorithms for distributed termination detection", 1987), by waves
//! along a tree. In a wave, each rank reports how often it has sent and received tasks, at a moment
//! when it has none. The root adds these up: S₁, R₁ in one wave, S₂, R₂ in the next one. Nothing is
//! left if R₁ = S₂.
//!
//! **Proof.** Let *t* be the end of the first wave, and let S, R be the sums of the true counts at
//! *t*. Counts never fall. The first wave has read them before *t*, and the second one after it: R₁
//! ≤ R and S ≤ S₂. Tasks are sent before they are received: R ≤ S. With R₁ = S₂, all of these are
//! equal.
//! - R = S: no tasks are on their way at *t*.
//! - R₁ = R: no rank has received tasks between its report in the first wave and *t*. It had none
//!   at the report, and gets some by receiving only. So it has none at *t*.
//!
//! **Liveness.** A rank with tasks reports when it has none any more. When no tasks are left
//! anywhere, the next two waves read the same counts, with R = S.
//!
//! Messages may overtake each other: the proof does not use their order. A wave that begins follows
//! one that has ended, so each rank takes part in one wave at a time. The tests in `protocol.rs`
//! visit all states of small runs of this code.

use crate::message::{Message, Outgoing};
use crate::tree::Tree;

/// One rank's part in finding the end.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Termination {
    tree: Tree,
    /// Whether a wave has come by, and was not answered.
    in_wave: bool,
    /// The children that have not answered it.
    missing: usize,
    /// The sums over the subtrees that have.
    sent: u64,
    received: u64,
    /// The root's: R₁.
    last_received: Option<u64>,
}

impl Termination {
    pub(crate) fn new(tree: Tree) -> Self {
        Self { tree, in_wave: false, missing: 0, sent: 0, received: 0, last_received: None }
    }

    /// A wave begins at this rank.
    pub(crate) fn on_wave<T, R>(&mut self, out: &mut Outgoing<T, R>) {
        self.in_wave = true;
        (self.sent, self.received) = (0, 0);
        self.missing = self.tree.children().len();
        out.extend(self.tree.children().map(|child| (child, Message::Wave)));
    }

    /// A child answers.
    pub(crate) fn on_counts(&mut self, sent: u64, received: u64) {
        self.missing = self.missing.saturating_sub(1);
        self.sent += sent;
        self.received += received;
    }

    /// Continues a wave with the counts of this rank, which has no tasks. Returns true if the root
    /// finds that none are left.
    pub(crate) fn poll_idle<T, R>(
        &mut self,
        sent: u64,
        received: u64,
        out: &mut Outgoing<T, R>,
    ) -> bool {
        let parent = self.tree.parent();
        if parent.is_none() && !self.in_wave {
            self.on_wave(out);
        }
        if !self.in_wave || self.missing > 0 {
            return false;
        }
        self.in_wave = false;
        let (sent, received) = (self.sent + sent, self.received + received);
        match parent {
            Some(parent) => {
                out.push((parent, Message::Counts { sent, received }));
                false
            }
            None => self.last_received.replace(received) == Some(sent),
        }
    }
}
