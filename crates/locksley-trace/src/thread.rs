//! What a thread records: its ring, and which worker it is.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

#[cfg(not(any(loom, shuttle)))]
use locksley_sys::os::current_processor;
use locksley_sys::os::{self, Switch, SwitchLog};

use crate::file::Mapping;
use crate::format::{NO_SLOT, RING_HEADER_BYTES, WORD, ring as header};
use crate::record::{Kind, MOST_DETAIL, pack, pack_sync};
use crate::ring;
use crate::session::{ACTIVE, Session, write_text};

/// A ring has the moment on both clocks after so many events, so that times are exact, and known
/// where the oldest events are overwritten.
const SYNC_EVERY: u64 = 1024;

std::thread_local! {
    static THREAD: Thread = const { Thread::new() };
}

/// No model records.
#[cfg(any(loom, shuttle))]
fn current_processor() -> Option<usize> {
    None
}

/// Which worker a thread is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Identity {
    pub(crate) pool: u32,
    pub(crate) slot: u64,
    pub(crate) place: u8,
}

struct Thread {
    /// The recording that the ring belongs to.
    active: Cell<u64>,
    ring: RefCell<Option<Ring>>,
    /// The worker that it is, after those that it is again when its calls end.
    identities: RefCell<Vec<Identity>>,
}

/// Records an event of the calling thread, if a recording goes on.
#[inline]
pub(crate) fn record(kind: Kind, detail: u32, arg: u32) {
    record_with(|_| (kind, detail, arg));
}

/// Records that the calling thread is a worker from now on.
pub(crate) fn attach(identity: Identity) {
    let _ = THREAD.try_with(|thread| thread.identities.borrow_mut().push(identity));
    record_identity(Some(identity));
}

/// Records that the calling thread is what it was before it became a worker the last time.
pub(crate) fn detach() {
    let outer = THREAD.try_with(|thread| {
        let mut identities = thread.identities.borrow_mut();
        identities.pop();
        identities.last().copied()
    });
    record_identity(outer.unwrap_or_default());
}

fn record_identity(identity: Option<Identity>) {
    record_with(|ring| match identity {
        Some(identity) => {
            ring.name(identity);
            (Kind::Attached, identity.pool, identity.slot as u32)
        }
        None => (Kind::Detached, 0, 0),
    });
}

/// Records that a span begins. Returns false if no recording goes on.
pub(crate) fn begin_span(name: &'static str) -> bool {
    record_with(|ring| (Kind::SpanBegins, 0, ring.label(name)))
}

/// Records an event with a name that may end before the recording.
pub(crate) fn record_named(kind: Kind, name: &str) {
    record_with(|ring| (kind, 0, ring.label_of_copy(name)));
}

/// Records the length of a queue, or the largest one that an event can tell.
pub(crate) fn record_length(name: &str, length: usize) {
    let length = u32::try_from(length).unwrap_or(MOST_DETAIL).min(MOST_DETAIL);
    record_with(|ring| (Kind::Length, length, ring.label_of_copy(name)));
}

#[inline]
fn record_with(event: impl FnOnce(&mut Ring) -> (Kind, u32, u32)) -> bool {
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
        Self {
            active: Cell::new(0),
            ring: RefCell::new(None),
            identities: RefCell::new(Vec::new()),
        }
    }

    #[inline]
    fn record(&self, active: u64, event: impl FnOnce(&mut Ring) -> (Kind, u32, u32)) -> bool {
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
        let session = Session::try_current()?;
        // Acquire pairs with the release in `session::replace`: this is the session of `active`,
        // or a later one.
        if ACTIVE.load(Ordering::Acquire) != active {
            return None;
        }
        self.active.set(active);
        session.stop_if_closed(active);
        let identity = self.identities.borrow().last().copied();
        Ring::new(session, identity.unwrap_or(Identity { pool: 0, slot: NO_SLOT, place: 0 }))
    }
}

/// The ring of one thread, which alone writes it.
struct Ring {
    mapping: Mapping,
    number: usize,
    /// The number of the next event. A reused ring has those of other threads before.
    head: u64,
    switches: Option<SwitchLog>,
    /// Labels by the addresses of names.
    labels: Vec<(&'static str, u32)>,
    /// Labels of other names.
    copies: HashMap<Box<str>, u32>,
    session: Arc<Session>,
}

impl Ring {
    fn new(session: Arc<Session>, identity: Identity) -> Option<Self> {
        let (mapping, number, head) = session.take_ring()?;
        let thread = rustix::thread::gettid().as_raw_nonzero().get();
        mapping.words()[header::THREAD].store(thread as u64, Ordering::Relaxed);
        let name =
            std::thread::current().name().map_or_else(|| format!("thread {thread}"), Into::into);
        write_text(&mapping, header::NAME, header::NAME_BYTES, &name);
        let switches = SwitchLog::of_this_thread().ok();
        let (labels, copies) = (Vec::new(), HashMap::new());
        let mut this = Self { mapping, number, head, switches, labels, copies, session };
        this.name(identity);
        this.sync();
        Some(this)
    }

    /// Writes which worker the thread is.
    fn name(&self, identity: Identity) {
        let set = |word: usize, value| self.mapping.words()[word].store(value, Ordering::Relaxed);
        set(header::POOL, identity.pool.into());
        set(header::SLOT, identity.slot);
        set(header::PLACE, identity.place.into());
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

    fn label_of_copy(&mut self, name: &str) -> u32 {
        if let Some(&label) = self.copies.get(name) {
            return label;
        }
        let label = self.session.intern(name);
        self.copies.insert(name.into(), label);
        label
    }

    #[inline]
    fn record(&mut self, kind: Kind, detail: u32, arg: u32) {
        if self.switches.as_ref().is_some_and(SwitchLog::has_new) {
            self.record_switches();
        }
        let word = pack(kind, detail, current_processor(), arg);
        self.push(self.session.clock.now(), word);
        if self.head % SYNC_EVERY == 0 {
            self.sync();
        }
    }

    #[inline]
    fn push(&mut self, time: u64, word: u64) {
        let (head, events) = self.mapping.words().split_at(RING_HEADER_BYTES / WORD);
        ring::write(&head[header::HEAD], events, self.head, [time, word]);
        self.head += 1;
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
        self.session.leave_ring(self.number, self.head);
    }
}
