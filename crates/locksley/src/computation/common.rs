//! What the members of a computation have in common.

use std::ptr;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

use super::account::Able;
use super::error::Waiting;
use super::member::Record;
use crate::primitive::{AtomicPtr, Ordering};
use crate::unwind::{self, Payload};

pub(super) struct Common {
    able: Able,
    /// The members: a stack (Treiber 1986) that only grows.
    members: AtomicPtr<Noted>,
    /// Who waits for what, once nobody can go on.
    stuck: OnceLock<Vec<Waiting>>,
    was_cancelled: AtomicBool,
}

struct Noted {
    record: Arc<Record>,
    before: *mut Noted,
}

// SAFETY: members are only added, and looked at by shared reference; records may be shared and sent.
unsafe impl Send for Common {}
// SAFETY: as above.
unsafe impl Sync for Common {}

impl Common {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            able: Able::new(),
            members: AtomicPtr::new(ptr::null_mut()),
            stuck: OnceLock::new(),
            was_cancelled: AtomicBool::new(false),
        })
    }

    pub(super) fn able(&self) -> &Able {
        &self.able
    }

    /// Notes a member. The caller is counted among those that can do something.
    pub(super) fn note(&self, record: &Arc<Record>) {
        let mut before = self.members.load(Ordering::Relaxed);
        let noted = Box::into_raw(Box::new(Noted { record: Arc::clone(record), before }));
        loop {
            // Release pairs with the acquire in `members`. Those before are in its release sequence.
            let changed =
                self.members.compare_exchange(before, noted, Ordering::Release, Ordering::Relaxed);
            match changed {
                Ok(_) => return,
                Err(newer) => {
                    before = newer;
                    // SAFETY: just made, and shown to nobody.
                    unsafe { (*noted).before = newer };
                }
            }
        }
    }

    /// The members, the newest first.
    fn members(&self) -> impl Iterator<Item = &Arc<Record>> {
        let mut next = self.members.load(Ordering::Acquire);
        std::iter::from_fn(move || {
            // SAFETY: null, or a note, which is there as long as this.
            let noted = unsafe { next.as_ref() }?;
            next = noted.before;
            Some(&noted.record)
        })
    }

    pub(super) fn is_stuck(&self) -> bool {
        self.stuck.get().is_some()
    }

    pub(super) fn was_cancelled(&self) {
        self.was_cancelled.store(true, Ordering::Relaxed);
    }

    /// Neither the body nor any member can do anything any more. If some have not ended, they never will: they are given up.
    ///
    /// The caller is the body, or a member whose poll or end is not over, so that the computation is not: its members are there
    /// until this returns.
    #[cold]
    pub(super) fn nobody_can_go_on(&self) {
        if self.is_stuck() || self.was_cancelled.load(Ordering::Relaxed) {
            return;
        }
        let mut resting: Vec<_> = self.members().filter(|record| record.rests()).collect();
        if resting.is_empty() {
            return; // all have ended
        }
        resting.reverse();
        let waiting = resting.iter().map(|record| Waiting::of(record));
        let told = self.stuck.set(waiting.collect());
        debug_assert!(told.is_ok(), "nobody else can do anything");
        for record in resting {
            record.wake();
        }
    }

    /// How it ended, when all members have.
    pub(super) fn end(&self) -> End {
        let mut panic = None;
        for record in self.members() {
            // The first one's, in the order in which they were spawned.
            if let Some(payload) = record.take_panic()
                && let Some(later) = panic.replace(payload)
            {
                unwind::discard(later);
            }
        }
        match (panic, self.stuck.get()) {
            (Some(payload), _) => End::Panicked(payload),
            (None, Some(waiting)) => End::Stuck(waiting.clone()),
            (None, None) if self.was_cancelled.load(Ordering::Relaxed) => End::Cancelled,
            (None, None) => End::Complete,
        }
    }

    /// Forgets its members, which hold references to this. All have ended.
    pub(super) fn forget_members(&self) {
        let mut next = self.members.swap(ptr::null_mut(), Ordering::Acquire);
        while !next.is_null() {
            // SAFETY: made by `Box::into_raw`, and taken out here, once; nobody looks at members any more.
            let noted = unsafe { Box::from_raw(next) };
            next = noted.before;
        }
    }
}

pub(super) enum End {
    Complete,
    Panicked(Payload),
    Stuck(Vec<Waiting>),
    Cancelled,
}
