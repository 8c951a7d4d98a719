//! What other threads can learn about a thread without its help: where it runs, and whether it was
//! preempted.

use std::cell::UnsafeCell;
use std::ptr::NonNull;
use std::sync::atomic::Ordering;

use super::door::{Door, Visit};
use super::fork::generation;
use super::rseq::ProcessorNumber;
use super::switches::SwitchRing;
use super::{rseq, switches, this_thread};
use crate::os::{Assists, RunState, Switch};

/// A thread as others may see it, until it [`retires`](Self::retire).
#[derive(Debug)]
pub struct ThreadWatch {
    thread: libc::pid_t,
    processor: Option<NonNull<ProcessorNumber>>,
    /// Changed only by the thread itself, when there are no visitors any more: others may keep the
    /// watch long after that.
    switches: UnsafeCell<Option<SwitchRing>>,
    door: Door,
    /// In a child of this process the thread is not there, nor is its ring.
    generation: u32,
}

// SAFETY: the pointer is followed only by a visitor, which the thread waits for before it ends.
unsafe impl Send for ThreadWatch {}
// SAFETY: as above; what it points to is only read, by an atomic load. The ring is read by
// visitors, and changed when there are none.
unsafe impl Sync for ThreadWatch {}

impl ThreadWatch {
    /// That of the calling thread, by the `assists` that it may use.
    pub fn with_assists(assists: Assists) -> Self {
        let ring = || switches::probe().and_then(|()| SwitchRing::of_this_thread()).ok();
        let processor = || rseq::number_of_this_thread().ok();
        Self {
            thread: this_thread(),
            processor: assists.has(Assists::RUN_STATE).then(processor).flatten(),
            switches: UnsafeCell::new(assists.has(Assists::SWITCH_RECORDS).then(ring).flatten()),
            door: Door::new(),
            generation: generation(),
        }
    }

    fn enter(&self) -> Option<Visit<'_>> {
        if self.generation == generation() { self.door.enter() } else { None }
    }

    /// The processor that the thread last ran on.
    pub fn processor(&self) -> Option<usize> {
        self.processor_seen_by(&self.enter()?)
    }

    fn processor_seen_by(&self, _visit: &Visit<'_>) -> Option<usize> {
        let word = self.processor?;
        // SAFETY: the word lies in the thread's own memory, which is there, since the thread waits
        // for visitors.
        let number = unsafe { word.as_ref() }.load(Ordering::Relaxed);
        usize::try_from(number as i32).ok()
    }

    fn ring_seen_by<'a>(&'a self, _visit: &'a Visit<'_>) -> Option<&'a SwitchRing> {
        // SAFETY: the ring is changed by the thread alone, which waits for visitors before.
        unsafe { &*self.switches.get() }.as_ref()
    }

    /// Where the thread is, as seen by one that runs on processor `here`.
    pub fn run_state(&self, here: Option<usize>) -> RunState {
        let Some(visit) = self.enter() else { return RunState::Unknown };
        let processor = self.processor_seen_by(&visit);
        let is_here = processor.is_some() && processor == here;
        match self.ring_seen_by(&visit).and_then(SwitchRing::latest) {
            Some(Switch::Blocked) => RunState::Blocked,
            // The caller runs here, so the other one does not.
            _ if is_here => RunState::WaitsHere,
            Some(Switch::Preempted) => RunState::WaitsElsewhere,
            Some(Switch::In) => RunState::Runs,
            None => RunState::Unknown,
        }
    }

    /// How often the thread has left its processor and come back; `None` where there are no
    /// records, or no longer.
    pub fn switches(&self) -> Option<u64> {
        let visit = self.enter()?;
        self.ring_seen_by(&visit).map(SwitchRing::completed)
    }

    /// The thread is about to end: no other thread may look any more.
    ///
    /// # Panics
    /// If another thread calls this.
    pub fn retire(&self) {
        if self.generation != generation() {
            // The visitors that there were will never leave; and the ring is not mapped, so it must
            // not be unmapped.
            return;
        }
        assert_eq!(this_thread(), self.thread, "a thread can only retire itself");
        self.door.close();
        // SAFETY: there are no visitors, there will be none, and no other thread gets here.
        let ring = unsafe { &mut *self.switches.get() };
        *ring = None;
    }
}

impl Drop for ThreadWatch {
    fn drop(&mut self) {
        if self.generation != generation() {
            // The ring is not mapped here, so it must not be unmapped.
            std::mem::forget(self.switches.get_mut().take());
        }
    }
}

pub(super) fn probe() -> Result<(), String> {
    rseq::number_of_this_thread().and_then(|word| {
        // SAFETY: the word belongs to the calling thread, which lives.
        let number = unsafe { word.as_ref() }.load(Ordering::Relaxed) as i32;
        (number >= 0).then_some(()).ok_or_else(|| "this thread is not registered".to_owned())
    })
}
