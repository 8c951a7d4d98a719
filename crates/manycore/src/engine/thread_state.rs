//! A virtual thread as the engine sees it: a coroutine, its heap, and what it waits for.

use std::mem;

use corosensei::{Coroutine, Yielder};

use super::locals::Locals;
use crate::arena::{Heap, Stack};
use crate::ids::{LineIndex, Nanos, ProgramId};

/// How many lines a loop may read and still count as a pure spin.
const SPIN_LINES: usize = 4;
/// After this many equal iterations, a spinning thread sleeps until one of its lines changes.
const SPIN_STREAK: u32 = 2;

/// What a thread has read since its last `spin_loop`.
#[derive(Clone, Copy, Default)]
pub(crate) struct Spin {
    lines: [u32; SPIN_LINES],
    reads: u32,
    /// Something other than a read of a line that the processor has.
    is_impure: bool,
    previous: u64,
    /// How many lines the last iteration read.
    count: usize,
    streak: u32,
    /// Time of iterations that the thread has slept through and is to execute at once.
    pub(crate) owed: Nanos,
}

impl Spin {
    #[inline(always)]
    pub(crate) fn note_read(&mut self, line: LineIndex) {
        self.lines[self.reads as usize % SPIN_LINES] = line.0;
        self.reads += 1;
    }

    #[inline(always)]
    pub(crate) fn note_other(&mut self) {
        self.is_impure = true;
    }

    /// An iteration ends. Returns whether it and those before have read the same few lines, which
    /// have not changed, and done nothing else: then the next one would do the same.
    pub(crate) fn end_iteration(&mut self) -> bool {
        self.count = (self.reads as usize).min(SPIN_LINES);
        let lines = &self.lines[..self.count];
        let signature = lines.iter().fold(u64::from(self.reads), |sum, &line| {
            (sum.rotate_left(7) ^ u64::from(line)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        });
        let is_pure = !self.is_impure
            && (1..=SPIN_LINES as u32).contains(&self.reads)
            && signature == self.previous;
        self.streak = if is_pure { self.streak + 1 } else { 0 };
        if !is_pure {
            self.owed = 0;
        }
        (self.previous, self.is_impure, self.reads) = (signature, false, 0);
        self.streak >= SPIN_STREAK
    }

    /// The lines of the last iteration, and how many there are.
    pub(crate) fn last_lines(&self) -> ([u32; SPIN_LINES], usize) {
        (self.lines, self.count)
    }
}

/// What a blocked thread waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Wait {
    /// It is not blocked.
    #[default]
    Nothing,
    /// A wake-up of the futex at this address, or its timeout.
    Futex(usize),
    /// Its timeout alone.
    Sleep,
}

/// A virtual thread.
#[derive(Default)]
pub(crate) struct ThreadState {
    /// `None` while its code runs, and when it is over.
    pub(crate) coroutine: Option<Coroutine<(), (), (), Stack>>,
    /// Null before the thread begins.
    pub(crate) yielder: *const Yielder<(), ()>,
    pub(crate) heap: Heap,
    pub(crate) locals: Locals,
    pub(crate) program: ProgramId,
    pub(crate) name: Option<Box<str>>,
    pub(crate) spin: Spin,
    /// What is left of its `work`, on a processor of full speed.
    pub(crate) remaining: Nanos,
    pub(crate) wait: Wait,
    /// Counts waits, so that the timeout of an earlier wait is known as stale.
    pub(crate) wait_number: u32,
    pub(crate) has_timed_out: bool,
    /// The clock of its processor when it ran last.
    pub(crate) clock: Nanos,
    /// It was unwinding when it was suspended last.
    pub(crate) unwinds: bool,
}

impl ThreadState {
    /// Forgets what the thread has on its stack and in its locals, as the end of a process does.
    /// The stack is not used again: threads of the host, and values that were pinned on it and
    /// leave the machine, may refer to it.
    pub(crate) fn forget(&mut self) {
        mem::forget(self.coroutine.take());
        mem::forget(mem::take(&mut self.locals));
    }
}
