//! What a thread records: its ring, and which worker it is.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use locksley_sys::os::{self, Switch, SwitchLog};

use crate::file::Mapping;
use crate::format::{EVENT_BYTES, NO_SLOT, RING_HEADER_BYTES, WORD, ring};
use crate::record::{Kind, pack, pack_sync};
use crate::recorder::{ACTIVE, Session, write_text};

/// A ring has the moment on both clocks after so many events, so that times are exact, and known
/// where the oldest events are overwritten.
const SYNC_EVERY: u64 = 1024;

std::thread_local! {
    static THREAD: Thread = const { Thread::new() };
}

/// Which worker a thread is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Identity {
    pub(crate) pool: u8,
    pub(crate) slot: u64,
    pub(crate) place: u8,
}

struct Thread {
    /// The recording that the ring belongs to.
    active: Cell<u64>,
    ring: RefCell<Option<Ring>>,
    identity: Cell<Identity>,
}

/// Records an event of the calling thread, if a recording goes on.
#[inline]
pub(crate) fn record(kind: Kind, detail: u8, arg: u32) {
    record_with(|_| (kind, detail, arg));
}

/// Records that the calling thread is a worker from now on.
pub(crate) fn attach(identity: Identity) {
    let _ = THREAD.try_with(|thread| {
        thread.identity.set(identity);
        if let Ok(ring) = thread.ring.try_borrow()
            && let Some(ring) = &*ring
        {
            ring.name(identity);
        }
    });
    record(Kind::Attached, identity.place, identity.slot as u32);
}

/// Records that a span begins. Returns false if no recording goes on.
pub(crate) fn begin_span(name: &'static str) -> bool {
    record_with(|ring| (Kind::SpanBegins, 0, ring.label(name)))
}

#[inline]
fn record_with(event: impl FnOnce(&mut Ring) -> (Kind, u8, u32)) -> bool {
    // Relaxed: `Thread::renew` acquires what it needs.
    let active = ACTIVE.load(Ordering::Relaxed);
    // A forked child has the rings of its parent.
    if active == 0 || active as u32 != os::generation() {
        return false;
    }
    // This fails where the thread's own data is gone: the thread ends.
    THREAD.try_with(|thread| thread.record(active, event)).unwrap_or(false)
}

impl Thread {
    const fn new() -> Self {
        let identity = Identity { pool: 0, slot: NO_SLOT, place: 0 };
        Self { active: Cell::new(0), ring: RefCell::new(None), identity: Cell::new(identity) }
    }

    #[inline]
    fn record(&self, active: u64, event: impl FnOnce(&mut Ring) -> (Kind, u8, u32)) -> bool {
        let Ok(mut ring) = self.ring.try_borrow_mut() else { return false };
        if self.active.get() != active {
            *ring = self.renew(active);
        }
        let Some(ring) = &mut *ring else { return false };
        let (kind, detail, arg) = event(ring);
        ring.record(kind, detail, arg);
        true
    }

    /// Takes a ring of the recording that goes on. `None` if there is none, and the thread then
    /// tries no more.
    #[cold]
    fn renew(&self, active: u64) -> Option<Ring> {
        let session = Session::current()?;
        // Acquire pairs with the release in `Recorder::record`: this is the session of `active`, or
        // a later one.
        if ACTIVE.load(Ordering::Acquire) != active {
            return None;
        }
        self.active.set(active);
        Ring::new(session, self.identity.get())
    }
}

/// The ring of one thread, which alone writes it.
struct Ring {
    mapping: Mapping,
    number: usize,
    /// The number of events written.
    head: u64,
    mask: usize,
    switches: Option<SwitchLog>,
    /// Labels by the addresses of names.
    labels: Vec<(&'static str, u32)>,
    session: Arc<Session>,
}

impl Ring {
    fn new(session: Arc<Session>, identity: Identity) -> Option<Self> {
        let (mapping, number) = session.take_ring()?;
        let words = mapping.words().len();
        let capacity = (words * WORD - RING_HEADER_BYTES) / EVENT_BYTES;
        let thread = rustix::thread::gettid().as_raw_nonzero().get();
        mapping.words()[ring::THREAD].store(thread as u64, Ordering::Relaxed);
        let name = std::thread::current();
        let name = name.name().unwrap_or("thread");
        write_text(&mapping, ring::NAME, ring::NAME_BYTES, name);
        let switches = SwitchLog::of_this_thread().ok();
        let mask = capacity - 1;
        let mut this =
            Self { mapping, number, head: 0, mask, switches, labels: Vec::new(), session };
        this.name(identity);
        this.sync();
        Some(this)
    }

    /// Writes which worker the thread is.
    fn name(&self, identity: Identity) {
        let set = |word: usize, value| self.mapping.words()[word].store(value, Ordering::Relaxed);
        set(ring::POOL, identity.pool.into());
        set(ring::SLOT, identity.slot);
        set(ring::PLACE, identity.place.into());
    }

    fn label(&mut self, name: &'static str) -> u32 {
        let known = self.labels.iter().find(|(known, _)| std::ptr::eq(*known, name));
        if let Some(&(_, label)) = known {
            return label;
        }
        let label = self.session.intern(name);
        self.labels.push((name, label));
        label
    }

    #[inline]
    fn record(&mut self, kind: Kind, detail: u8, arg: u32) {
        if self.switches.as_ref().is_some_and(SwitchLog::has_new) {
            self.record_switches();
        }
        let word = pack(kind, detail, os::current_processor(), arg);
        self.push(self.session.clock.now(), word);
        if self.head.is_multiple_of(SYNC_EVERY) {
            self.sync();
        }
    }

    #[inline]
    fn push(&mut self, time: u64, word: u64) {
        let first = RING_HEADER_BYTES / WORD + 2 * (self.head as usize & self.mask);
        let words = self.mapping.words();
        words[first].store(time, Ordering::Relaxed);
        words[first + 1].store(word, Ordering::Relaxed);
        self.head += 1;
        // Release: a reader that sees the head sees the event.
        words[ring::HEAD].store(self.head, Ordering::Release);
    }

    #[cold]
    fn sync(&mut self) {
        let (ticks, nanos) = self.session.clock.sync();
        self.push(ticks, pack_sync(nanos));
    }

    /// Copies the kernel's records, which are not in the file.
    #[cold]
    fn record_switches(&mut self) {
        let Some(mut switches) = self.switches.take() else { return };
        for switch in switches.new_switches() {
            let kind = match switch.switch {
                Switch::In => Kind::SwitchedIn,
                Switch::Preempted => Kind::Preempted,
                Switch::Blocked => Kind::Blocked,
            };
            self.push(switch.at, pack(kind, 0, Some(switch.processor as usize), 0));
        }
        self.switches = Some(switches);
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        self.session.leave_ring(self.number);
    }
}
