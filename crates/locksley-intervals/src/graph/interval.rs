//! An interval in memory: one piece of its root's arena, where it lies until the root has ended.

use std::borrow::Cow;
use std::mem;
use std::ptr::{self, NonNull};
use std::sync::MutexGuard;

use locksley::Worker;
use locksley::extend::{Head, Job, Kind};
use locksley_sys::primitive::{AtomicPtr, AtomicU32, Ordering, UnsafeCell};
use locksley_sys::unwind;

use crate::graph::arena::Lane;
use crate::graph::context::Context;
use crate::graph::lock::Holding;
use crate::graph::notes::{Notes, Record};
use crate::graph::occurrence::Occurrence;
use crate::graph::point::{BODY, Edge, Outcome, PointState};
use crate::graph::root::Core;
use crate::graph::special::Special;

/// Which of an interval's two points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// Before its body.
    Start,
    /// After its body, and after the ends of its children.
    End,
}

/// A point of an interval that is alive: the interval's address, plus 1 for its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct At(NonNull<()>);

// SAFETY: it is an address. Code that follows it says why the interval is alive, and all that other
// threads touch there is atomic.
unsafe impl Send for At {}
// SAFETY: as above.
unsafe impl Sync for At {}

/// The bit of an end. The next bit belongs to [`Edge`].
const END: usize = Side::End as usize;
/// The bit of an edge whose target is to run where its source occurs.
const FOLLOWS: usize = 4;
const _: () = assert!(align_of::<Header>() >= 8, "three bits are free in an address");

impl At {
    #[inline]
    pub(crate) fn new(interval: NonNull<Header>, side: Side) -> Self {
        Self(interval.cast().map_addr(|address| address | side as usize))
    }

    pub(crate) fn start(interval: NonNull<Header>) -> Self {
        Self::new(interval, Side::Start)
    }

    pub(crate) fn end(interval: NonNull<Header>) -> Self {
        Self::new(interval, Side::End)
    }

    #[inline]
    pub(crate) fn side(self) -> Side {
        if self.0.addr().get() & END == 0 { Side::Start } else { Side::End }
    }

    #[inline]
    pub(crate) fn interval(self) -> NonNull<Header> {
        // SAFETY: `new` has added it.
        unsafe { self.0.byte_sub(self.side() as usize) }.cast()
    }

    /// A word for an edge to this point.
    #[inline]
    pub(crate) fn into_word(self, follows: bool) -> NonNull<()> {
        let tag = if follows { FOLLOWS } else { 0 };
        self.0.map_addr(|address| address | tag)
    }

    /// Whether the target of an edge with that word follows its source.
    #[inline]
    pub(crate) fn follows(word: NonNull<()>) -> bool {
        word.addr().get() & FOLLOWS != 0
    }

    /// The target of an edge with that word.
    #[inline]
    pub(crate) fn from_word(word: NonNull<()>) -> Self {
        // SAFETY: `into_word` has added it.
        Self(unsafe { word.byte_sub(word.addr().get() & FOLLOWS) })
    }

    /// # Safety
    /// The interval is alive while the result is used.
    pub(crate) unsafe fn header<'a>(self) -> &'a Header {
        // SAFETY: as the caller promises; it is shared only.
        unsafe { self.interval().as_ref() }
    }

    /// # Safety
    /// The interval is alive while the result is used.
    pub(crate) unsafe fn state<'a>(self) -> &'a PointState {
        // SAFETY: as the caller promises.
        let header = unsafe { self.header() };
        header.point(self.side())
    }
}

/// What the body's type decides.
#[derive(Debug)]
pub(crate) struct Methods {
    /// Drops the body, which will not run, or its result.
    abandon: unsafe fn(NonNull<Header>),
    /// Where the result is, if there is one.
    result: unsafe fn(NonNull<Header>) -> Option<NonNull<()>>,
    /// Drops what the interval owns, whose result was dropped.
    drop: unsafe fn(NonNull<Header>),
}

/// What all intervals have. So aligned that three bits of an address are free everywhere.
#[derive(Debug)]
#[repr(C, align(8))]
pub(crate) struct Header {
    /// The job. Its group is the root's [`Core`].
    head: Head,
    start: PointState,
    pub(crate) end: PointState,
    pub(crate) parent: Option<NonNull<Header>>,
    pub(crate) special: Special,
    /// The worker where the interval that this one follows has ended, plus 1; 0 if none.
    home: AtomicU32,
    // What follows is not touched where the interval is run, if nothing about it is special.
    methods: &'static Methods,
    /// The next older interval of the root that has something to be dropped.
    next_owner: *mut Header,
    /// The locks under which it runs: its own, or those of an ancestor.
    pub(crate) holding: Option<NonNull<Holding>>,
    notes: Option<Box<Notes>>,
    name: Cow<'static, str>,
    edges: [Edge; ROOM],
}

/// The number of edges for which an interval has room in itself.
const ROOM: usize = 2;

/// The interval, with its body and then its result.
#[repr(C)]
pub(crate) struct Interval<F, T> {
    header: Header,
    body: UnsafeCell<Body<F, T>>,
}

enum Body<F, T> {
    Closure(F),
    Result(T),
    Nothing,
}

/// What an interval is made of.
pub(crate) struct Parts {
    pub(crate) name: Cow<'static, str>,
    pub(crate) parent: Option<NonNull<Header>>,
    pub(crate) core: NonNull<Core<'static>>,
    pub(crate) special: Special,
    /// Its own locks, if it is special by that; or an ancestor's.
    pub(crate) holding: Option<NonNull<Holding>>,
    pub(crate) notes: Option<Box<Notes>>,
    pub(crate) points: [PointState; 2],
    /// Where it is to lie.
    pub(crate) lane: Lane,
}

impl Header {
    pub(crate) fn point(&self, side: Side) -> &PointState {
        match side {
            Side::Start => &self.start,
            Side::End => &self.end,
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn core(&self) -> &Core<'static> {
        // SAFETY: it outlives all intervals of the root.
        unsafe { self.core_address().as_ref() }
    }

    pub(crate) fn core_address(&self) -> NonNull<Core<'static>> {
        self.head.group().cast()
    }

    /// What is noted of it, if its root is recorded or observed.
    #[inline]
    pub(crate) fn notes(&self) -> Option<&Notes> {
        self.notes.as_deref()
    }

    #[inline]
    pub(crate) fn record(&self) -> Option<MutexGuard<'_, Record>> {
        self.notes()?.record()
    }

    /// The locks under which it runs: its own, or those of an ancestor.
    pub(crate) fn holding(&self) -> Option<&Holding> {
        // SAFETY: it lives as long as the root, and is shared only.
        self.holding.map(|holding| unsafe { holding.as_ref() })
    }

    pub(crate) fn own_holding(&self) -> Option<&Holding> {
        if self.special.has(Special::LOCKS) { self.holding() } else { None }
    }

    /// Notes that what the interval follows has occurred on that worker.
    pub(crate) fn set_home(&self, worker: usize) {
        // Relaxed: a hint, and part of no protocol.
        self.home.store(worker as u32 + 1, Ordering::Relaxed);
    }

    /// The worker where what it follows has occurred.
    pub(crate) fn home(&self) -> Option<usize> {
        self.home.load(Ordering::Relaxed).checked_sub(1).map(|worker| worker as usize)
    }

    /// Room for the edge of that number into this interval.
    pub(crate) fn edge(&self, number: usize) -> &Edge {
        self.edges.get(number).unwrap_or_else(|| self.new_edge())
    }

    /// Room for one more edge into this interval.
    pub(crate) fn new_edge(&self) -> &Edge {
        let core = self.core();
        let room = core.arena.room::<Edge>(Lane::here(&core.home));
        // SAFETY: it is room for this.
        unsafe { room.write(Edge::new()) };
        // SAFETY: just written. It needs no destructor, and lies there as long as the root lives.
        unsafe { room.as_ref() }
    }
}

/// Drops the body of an interval, which will not run, or its result. The root keeps a panic of the
/// destructor.
///
/// # Safety
/// It is alive. The caller has the right to run the body, which ends herewith; or to drop the
/// result.
pub(crate) unsafe fn abandon(interval: NonNull<Header>) {
    // SAFETY: as the caller promises.
    let methods = unsafe { interval.as_ref() }.methods;
    // SAFETY: these are the methods of this interval; as the caller promises.
    unsafe { (methods.abandon)(interval) };
}

impl Drop for Header {
    fn drop(&mut self) {
        if let Some(holding) = self.holding.filter(|_| self.special.has(Special::LOCKS)) {
            // SAFETY: a box that was made for this interval. The root has ended, and no thread
            // looks at it.
            drop(unsafe { Box::from_raw(holding.as_ptr()) });
        }
    }
}

impl<F, T> Interval<F, T> {
    const METHODS: &'static Methods =
        &Methods { abandon: Self::abandon, result: Self::result, drop: Self::drop };

    /// # Safety
    /// As for [`abandon`]; it is the header of a `Self`.
    unsafe fn abandon(header: NonNull<Header>) {
        // SAFETY: as the caller promises.
        let interval = unsafe { header.cast::<Self>().as_ref() };
        let body = interval.take_body();
        if let Err(payload) = unwind::halt(|| drop(body)) {
            interval.header.core().keep_panic(payload);
        }
    }

    /// The caller has the right to the body alone.
    fn take_body(&self) -> Body<F, T> {
        // SAFETY: the right to the body is the caller's alone.
        self.body.with_mut(|body| unsafe { mem::replace(&mut *body, Body::Nothing) })
    }

    /// # Safety
    /// It is the header of a `Self`, whose end has occurred.
    unsafe fn result(header: NonNull<Header>) -> Option<NonNull<()>> {
        // SAFETY: as the caller promises.
        let interval = unsafe { header.cast::<Self>().as_ref() };
        // SAFETY: it is not changed after the end has occurred.
        interval.body.with(|body| match unsafe { &*body } {
            Body::Result(result) => Some(NonNull::from(result).cast()),
            Body::Closure(_) | Body::Nothing => None,
        })
    }

    /// # Safety
    /// It is the header of a `Self`, whose root has ended; it is not used again.
    unsafe fn drop(header: NonNull<Header>) {
        // SAFETY: as the caller promises.
        unsafe { header.cast::<Self>().drop_in_place() };
    }

    /// Puts it where it lies as long as its root lives.
    #[inline]
    fn placed(kind: &'static Kind, parts: Parts, body: Body<F, T>) -> NonNull<Header> {
        // SAFETY: the core outlives all intervals of the root.
        let core = unsafe { parts.core.as_ref() };
        // The place first: then all is written where it is to lie, and not moved there.
        let place = core.arena.room::<Self>(parts.lane);
        let is_owner = mem::needs_drop::<T>()
            || parts.notes.is_some()
            || parts.special.has(Special::LOCKS)
            || matches!(parts.name, Cow::Owned(_));
        let [start, end] = parts.points;
        let header = Header {
            head: Head::new(kind, parts.core.cast()),
            start,
            end,
            parent: parts.parent,
            special: parts.special,
            home: AtomicU32::new(0),
            methods: Self::METHODS,
            next_owner: ptr::null_mut(),
            holding: parts.holding,
            notes: parts.notes,
            name: parts.name,
            edges: std::array::from_fn(|_| Edge::new()),
        };
        // SAFETY: it is room for this.
        unsafe { place.write(Self { header, body: UnsafeCell::new(body) }) };
        let interval: NonNull<Header> = place.cast();
        if is_owner {
            // SAFETY: just made, and seen by no other thread.
            unsafe { add_owner(core.owners(parts.lane), interval) };
        }
        interval
    }
}

/// Adds an interval to a list of those that have something to be dropped.
///
/// # Safety
/// It is alive as long as the list, and seen by no other thread yet.
unsafe fn add_owner(list: &AtomicPtr<Header>, interval: NonNull<Header>) {
    let mut newest = list.load(Ordering::Relaxed);
    loop {
        // SAFETY: as the caller promises.
        unsafe { (*interval.as_ptr()).next_owner = newest };
        // Release pairs with the acquire of the thread that goes through the list.
        let added =
            list.compare_exchange(newest, interval.as_ptr(), Ordering::Release, Ordering::Relaxed);
        match added {
            Ok(_) => return,
            Err(newer) => newest = newer,
        }
    }
}

impl Interval<(), ()> {
    /// The root's own, whose body runs elsewhere.
    pub(crate) fn make_root(parts: Parts) -> NonNull<Header> {
        Self::placed(const { &Kind::of_a_group(never) }, parts, Body::Nothing)
    }
}

unsafe fn never(_: NonNull<Job>, _: &Worker, _: usize) {
    unreachable!("the root's body runs in the frame that waits for it");
}

impl<F, T> Interval<F, T> {
    #[inline]
    pub(crate) fn make<'g, 'env: 'g>(parts: Parts, body: F) -> NonNull<Header>
    where
        F: FnOnce(&Context<'g, 'env>) -> T + Send + 'g,
        T: Send + 'g,
    {
        let kind = const { &Kind::of_a_group(Self::execute) };
        Self::placed(kind, parts, Body::Closure(body))
    }

    /// # Safety
    /// As for every job: it was taken by this worker alone, and its start has occurred.
    unsafe fn execute<'g, 'env: 'g>(job: NonNull<Job>, worker: &Worker, _from: usize)
    where
        F: FnOnce(&Context<'g, 'env>) -> T + Send + 'g,
        T: Send + 'g,
    {
        let at: NonNull<Header> = job.cast();
        // SAFETY: the job is the first field of the head, that of the header, and that of a `Self`.
        // It lives until the root has ended, which waits for this interval's end, and that for the
        // body.
        let interval = unsafe { job.cast::<Self>().as_ref() };
        let header = &interval.header;
        let (things, outcome) = if header.start.outcome() == Some(Outcome::Failed) {
            // SAFETY: the body belongs to the worker that has the job.
            unsafe { abandon(at) };
            (BODY, Outcome::Failed)
        } else {
            // SAFETY: the job is this worker's.
            if !header.special.is_nothing() && !unsafe { begin_specially(header, worker) } {
                return; // the thread that gives the lock back sends the job again
            }
            let Body::Closure(closure) = interval.take_body() else {
                unreachable!("a body runs once")
            };
            // SAFETY: alive, as above, while the body runs.
            let context = unsafe { Context::new(at, worker) };
            let outcome = match unwind::halt(|| closure(&context)) {
                Ok(result) => {
                    let result = Body::Result(result);
                    // SAFETY: still this worker's alone; it is read after the end has occurred.
                    interval.body.with_mut(|body| unsafe { *body = result });
                    Outcome::Well
                }
                Err(payload) => {
                    header.core().keep_panic(payload);
                    Outcome::Failed
                }
            };
            (context.things_at_end(), outcome)
        };
        // SAFETY: the body has ended, and nothing here is touched any more.
        unsafe { Occurrence::end_body(at, things, outcome, worker) };
    }
}

/// What is to be done before the body of an interval with something special. Returns whether the
/// body is to run now; else the interval waits for a lock.
///
/// # Safety
/// The caller has its job.
#[cold]
unsafe fn begin_specially(header: &Header, worker: &Worker) -> bool {
    let own = header.own_holding().map(NonNull::from);
    // SAFETY: the right to the locks belongs to the worker that has the job.
    if !own.is_none_or(|holding| unsafe { Holding::take(holding) }) {
        return false;
    }
    if let Some(notes) = header.notes() {
        notes.begin(header.core(), worker);
    }
    true
}

/// The result of an interval, if there is one.
///
/// # Safety
/// The interval was made with results of that type. Its end has occurred, and it is alive while the
/// reference is used.
pub(crate) unsafe fn result_of<'a, T>(interval: NonNull<Header>) -> Option<&'a T> {
    // SAFETY: as the caller promises.
    let methods = unsafe { interval.as_ref() }.methods;
    // SAFETY: the methods of this interval; as the caller promises.
    let result = unsafe { (methods.result)(interval) }?;
    // SAFETY: it is a `T`, as the caller promises, and not changed any more.
    Some(unsafe { result.cast::<T>().as_ref() })
}

/// Drops what the intervals of a root have left: first all results, since their destructors may
/// still ask for points and names, and then the rest.
///
/// # Safety
/// The root has ended, and nothing of it is used any more but by the destructors.
pub(crate) unsafe fn drop_all(core: &Core<'_>) {
    for first in core.newest_owners() {
        // SAFETY: alive, as the root is.
        for interval in unsafe { owners_from(first) } {
            // SAFETY: alive, and nothing else has a right to what the body has left.
            unsafe { abandon(interval) };
        }
    }
    for first in core.newest_owners() {
        // SAFETY: as above; the next one is read before this one is dropped.
        for interval in unsafe { owners_from(first) } {
            // SAFETY: not dropped yet.
            let drop = unsafe { interval.as_ref() }.methods.drop;
            // SAFETY: the methods of this interval, which is not looked at again.
            unsafe { drop(interval) };
        }
    }
}

/// The intervals of a list from that one on.
///
/// # Safety
/// Each is alive until it is returned.
unsafe fn owners_from(first: NonNull<Header>) -> impl Iterator<Item = NonNull<Header>> {
    let mut next = first.as_ptr();
    std::iter::from_fn(move || {
        let interval = NonNull::new(next)?;
        // SAFETY: alive, as the caller promises.
        next = unsafe { interval.as_ref() }.next_owner;
        Some(interval)
    })
}
