//! An interval in memory: one piece of its root's arena, where it lies until the root has ended.

use std::borrow::Cow;
use std::mem;
use std::ptr::{self, NonNull};

use super::arena::Lane;
use super::context::Context;
use super::lock::Holding;
use super::notes::Notes;
use super::occurrence::Occurrence;
use super::paths::Paths;
use super::point::{BODY, Edge, Outcome, PointState};
use super::record::Record;
use super::root::Core;
use super::special::Special;
use crate::job::{Head, Job, Kind};
use crate::primitive::{AtomicPtr, AtomicU32, Ordering, UnsafeCell};
use crate::unwind::{self, Payload};
use crate::worker::Worker;

/// Which of an interval's two points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// Before its body.
    Start,
    /// After its body, and after the ends of its children.
    End,
}

/// A point of an interval that is alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct At {
    pub(super) interval: NonNull<Header>,
    pub(super) side: Side,
}

// SAFETY: it is an address; whoever follows it says why the interval is alive, and all that others touch is atomic.
unsafe impl Send for At {}
// SAFETY: as above.
unsafe impl Sync for At {}

/// The bit of a word that says which side it stands for. The bit above belongs to [`Edge`].
const END: usize = 1;
/// The bit of a word that says that an edge's target is to run where its source has ended.
const FOLLOWS: usize = 4;
const _: () = assert!(align_of::<Header>() >= 8, "three bits are free in an address");

impl At {
    pub(super) fn start(interval: NonNull<Header>) -> Self {
        Self { interval, side: Side::Start }
    }

    pub(super) fn end(interval: NonNull<Header>) -> Self {
        Self { interval, side: Side::End }
    }

    pub(super) fn into_word(self) -> NonNull<()> {
        let tag = if self.side == Side::End { END } else { 0 };
        self.interval.cast().map_addr(|address| address | tag)
    }

    /// The same of a target that follows its source.
    pub(super) fn into_following_word(self) -> NonNull<()> {
        self.into_word().map_addr(|address| address | FOLLOWS)
    }

    /// Whether the target follows its source.
    #[inline]
    pub(super) fn follows(word: NonNull<()>) -> bool {
        word.addr().get() & FOLLOWS != 0
    }

    pub(super) fn from_word(word: NonNull<()>) -> Self {
        let side = if word.addr().get() & END == 0 { Side::Start } else { Side::End };
        let address = word.as_ptr().map_addr(|address| address & !(END | FOLLOWS));
        Self { interval: NonNull::new(address).expect("an address and a bit").cast(), side }
    }

    /// # Safety
    /// The interval is alive while the result is used.
    pub(super) unsafe fn header<'a>(self) -> &'a Header {
        // SAFETY: as the caller promises; it is shared only.
        unsafe { self.interval.as_ref() }
    }

    /// # Safety
    /// The interval is alive while the result is used.
    pub(super) unsafe fn state<'a>(self) -> &'a PointState {
        // SAFETY: as the caller promises.
        let header = unsafe { self.header() };
        header.point(self.side)
    }
}

/// What the body's type decides.
#[derive(Debug)]
pub(super) struct Methods {
    /// Drops the body, which will not run, or its result.
    abandon: unsafe fn(NonNull<Header>) -> Result<(), Payload>,
    /// Where the result is, if there is one.
    result: unsafe fn(NonNull<Header>) -> Option<NonNull<()>>,
    /// Drops what the interval owns, whose result was dropped.
    drop: unsafe fn(NonNull<Header>),
}

/// What all intervals have. So aligned that three bits of an address are free everywhere.
#[derive(Debug)]
#[repr(C, align(8))]
pub(super) struct Header {
    /// The job, and the core of its root.
    head: Head,
    start: PointState,
    end: PointState,
    parent: Option<NonNull<Header>>,
    special: Special,
    /// The worker where that one has ended which it follows, and 1; 0 if none.
    followed: AtomicU32,
    // What follows is not touched where it is run, if nothing is special.
    methods: &'static Methods,
    /// The next older child of the parent; in other roots, the next older one that has something to be dropped.
    sibling: AtomicPtr<Header>,
    /// The locks under which it is: those of an ancestor, or its own.
    holding: Option<NonNull<Holding>>,
    /// Edges into this interval that have no room in `edges`.
    extras: AtomicPtr<Extra>,
    /// Its own, in the root's arena.
    notes: Option<NonNull<Notes>>,
    name: Cow<'static, str>,
    edges: [Edge; ROOM],
}

/// Edges for which an interval has room in itself.
pub(super) const ROOM: usize = 2;

/// An edge into an interval that has no room for it, or that was added late.
#[derive(Debug)]
pub(super) struct Extra {
    pub(super) edge: Edge,
    /// For records: where it comes from and goes to, if it was added late.
    pub(super) late: Option<(At, Side)>,
    next: AtomicPtr<Extra>,
}

/// The interval, with its body and then its result.
#[repr(C)]
pub(super) struct Interval<F, T> {
    header: Header,
    body: UnsafeCell<Body<F, T>>,
}

enum Body<F, T> {
    Closure(F),
    Result(T),
    Nothing,
}

/// What an interval is made of.
pub(super) struct Parts {
    pub(super) name: Cow<'static, str>,
    pub(super) parent: Option<NonNull<Header>>,
    pub(super) core: NonNull<Core<'static>>,
    /// Whether it has locks of its own: then it frees them.
    pub(super) special: Special,
    pub(super) holding: Option<NonNull<Holding>>,
    /// What is noted of it: its own from now on.
    pub(super) notes: Option<NonNull<Notes>>,
    /// Where it is to lie.
    pub(super) lane: Lane,
}

impl Header {
    #[inline]
    fn new(
        kind: &'static Kind,
        methods: &'static Methods,
        parts: Parts,
        points: [PointState; 2],
    ) -> Self {
        let [start, end] = points;
        Self {
            head: Head::new(kind, parts.core.cast()),
            start,
            end,
            parent: parts.parent,
            special: parts.special,
            followed: AtomicU32::new(0),
            methods,
            sibling: AtomicPtr::new(ptr::null_mut()),
            holding: parts.holding,
            extras: AtomicPtr::new(ptr::null_mut()),
            notes: parts.notes,
            name: parts.name,
            edges: std::array::from_fn(|_| Edge::new()),
        }
    }

    pub(super) fn point(&self, side: Side) -> &PointState {
        match side {
            Side::Start => &self.start,
            Side::End => &self.end,
        }
    }

    pub(super) fn start(&self) -> &PointState {
        &self.start
    }

    pub(super) fn end(&self) -> &PointState {
        &self.end
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn parent(&self) -> Option<NonNull<Header>> {
        self.parent
    }

    pub(super) fn core(&self) -> &Core<'static> {
        // SAFETY: it outlives all intervals of the root.
        unsafe { self.core_address().as_ref() }
    }

    pub(super) fn core_address(&self) -> NonNull<Core<'static>> {
        self.head.scope().cast()
    }

    /// What is noted of it, if its root is recorded or metered.
    #[inline]
    pub(super) fn notes(&self) -> Option<&Notes> {
        // SAFETY: it lies there as long as the root, and is shared only.
        self.notes.map(|notes| unsafe { notes.as_ref() })
    }

    pub(super) fn record(&self) -> Option<&Record> {
        self.notes()?.record.as_ref()
    }

    /// The paths to its points, if its root is metered.
    pub(super) fn paths(&self) -> Option<&Paths> {
        self.notes()?.paths.as_ref()
    }

    /// The locks under which it is, its own or an ancestor's.
    pub(super) fn holding(&self) -> Option<&Holding> {
        // SAFETY: it lives as long as the root, and is shared only.
        self.holding.map(|holding| unsafe { holding.as_ref() })
    }

    pub(super) fn holding_address(&self) -> Option<NonNull<Holding>> {
        self.holding
    }

    /// Its own locks.
    pub(super) fn own_holding(&self) -> Option<&Holding> {
        if self.special.has_locks() { self.holding() } else { None }
    }

    #[inline]
    /// What it follows has ended, on that worker.
    pub(super) fn is_to_follow_to(&self, worker: usize) {
        // Relaxed: seen by who is last to arrive, if at all; it is a wish, and no part of any protocol.
        self.followed.store(worker as u32 + 1, Ordering::Relaxed);
    }

    /// The worker where that one has ended which it follows.
    pub(super) fn followed(&self) -> Option<usize> {
        self.followed.load(Ordering::Relaxed).checked_sub(1).map(|worker| worker as usize)
    }

    pub(super) fn special(&self) -> Special {
        self.special
    }

    /// Room for the first edges into this interval.
    pub(super) fn edges(&self) -> &[Edge; ROOM] {
        &self.edges
    }

    /// Room for the edge of that number into this interval.
    pub(super) fn edge(&self, number: usize) -> &Edge {
        match self.edges.get(number) {
            Some(edge) => edge,
            None => self.extra(None),
        }
    }

    /// Room for one more edge into this interval.
    pub(super) fn extra(&self, late: Option<(At, Side)>) -> &Edge {
        let place = self.core().arena().room(Lane::here(self.core().home()));
        let extra = Extra { edge: Edge::new(), late, next: AtomicPtr::new(ptr::null_mut()) };
        // SAFETY: it is room for this.
        unsafe { place.write(extra) };
        // SAFETY: just made; it needs no destructor, and lies there as long as the root lives.
        let extra = unsafe { place.as_ref() };
        push(&self.extras, place.as_ptr(), &extra.next);
        &extra.edge
    }

    pub(super) fn extras(&self) -> impl Iterator<Item = &Extra> {
        // Acquire pairs with the release in `push`.
        let mut next = self.extras.load(Ordering::Acquire);
        std::iter::from_fn(move || {
            // SAFETY: null, or made by `extra`; it lies there as long as the root lives.
            let extra = unsafe { next.as_ref() }?;
            next = extra.next.load(Ordering::Relaxed);
            Some(extra)
        })
    }

    /// Notes an interval where it will be looked for: in a recorded root with its parent, else only if something in it is to be
    /// dropped at the end.
    ///
    /// # Safety
    /// It was just made, and its root is alive.
    #[inline]
    unsafe fn note(this: NonNull<Header>, has_destructor: bool, lane: Lane) {
        // SAFETY: as the caller promises.
        let header = unsafe { this.as_ref() };
        if header.record().is_some() {
            // SAFETY: the parent lives as long as the root.
            let parent = header.parent.map(|parent| unsafe { parent.as_ref() });
            if let Some(record) = parent.and_then(Header::record) {
                push(record.youngest(), this.as_ptr(), &header.sibling);
            }
        } else if has_destructor
            || header.special.has_belongings()
            || matches!(header.name, Cow::Owned(_))
        {
            push(header.core().owners(lane), this.as_ptr(), &header.sibling);
        }
    }

    /// The children, the youngest first; of a recorded root.
    pub(super) fn children(&self) -> impl Iterator<Item = NonNull<Header>> {
        // Acquire pairs with the release in `push`.
        let youngest = self.record().map(|record| record.youngest().load(Ordering::Acquire));
        let mut next = youngest.unwrap_or(ptr::null_mut());
        std::iter::from_fn(move || {
            let child = NonNull::new(next)?;
            // SAFETY: children live as long as the root.
            next = unsafe { child.as_ref() }.sibling.load(Ordering::Relaxed);
            Some(child)
        })
    }
}

/// Drops the body of an interval, which will not run, or its result. What the destructor panicked with.
///
/// # Safety
/// It is alive. The caller has the right to run the body, which ends herewith; or to drop the result.
pub(super) unsafe fn abandon(interval: NonNull<Header>) -> Result<(), Payload> {
    // SAFETY: as the caller promises.
    let methods = unsafe { interval.as_ref() }.methods;
    // SAFETY: these are the methods of this interval; as the caller promises.
    unsafe { (methods.abandon)(interval) }
}

/// What is to be sent when an interval is ready.
pub(super) fn as_job(interval: NonNull<Header>) -> NonNull<Job> {
    interval.cast()
}

/// Puts a node at the head of a list that only grows.
fn push<N>(list: &AtomicPtr<N>, node: *mut N, next: &AtomicPtr<N>) {
    let mut head = list.load(Ordering::Relaxed);
    loop {
        next.store(head, Ordering::Relaxed);
        // Release pairs with the acquire of who goes through the list.
        match list.compare_exchange(head, node, Ordering::Release, Ordering::Relaxed) {
            Ok(_) => return,
            Err(newer) => head = newer,
        }
    }
}

impl Drop for Header {
    fn drop(&mut self) {
        if let Some(holding) = self.holding.filter(|_| self.special.has_locks()) {
            // SAFETY: a box that was made for this interval; the root has ended, so nobody looks at it.
            drop(unsafe { Box::from_raw(holding.as_ptr()) });
        }
        if let Some(notes) = self.notes {
            // SAFETY: made for this interval; as above.
            unsafe { notes.drop_in_place() };
        }
    }
}

impl<F, T> Interval<F, T> {
    const METHODS: &'static Methods =
        &Methods { abandon: Self::abandon, result: Self::result, drop: Self::drop };

    /// # Safety
    /// As the caller of [`Header::abandon`] promises; it is the header of a `Self`.
    unsafe fn abandon(header: NonNull<Header>) -> Result<(), Payload> {
        // SAFETY: as the caller promises.
        let interval = unsafe { header.cast::<Self>().as_ref() };
        // SAFETY: who has the right to run the body has it alone.
        let body =
            interval.body.with_mut(|body| unsafe { mem::replace(&mut *body, Body::Nothing) });
        unwind::halt(|| drop(body))
    }

    /// # Safety
    /// It is the header of a `Self`, whose end has occurred.
    unsafe fn result(header: NonNull<Header>) -> Option<NonNull<()>> {
        // SAFETY: as the caller promises.
        let interval = unsafe { header.cast::<Self>().as_ref() };
        // SAFETY: nobody changes it after the end has occurred.
        interval.body.with_mut(|body| match unsafe { &*body } {
            Body::Result(result) => Some(NonNull::from(result).cast()),
            Body::Closure(_) | Body::Nothing => None,
        })
    }

    /// # Safety
    /// It is the header of a `Self`, whose root has ended; it is not used again.
    unsafe fn drop(header: NonNull<Header>) {
        // SAFETY: as the caller promises; nobody looks at it any more.
        unsafe { header.cast::<Self>().drop_in_place() };
    }

    /// Puts it where it lies as long as its root lives.
    #[inline]
    fn placed(
        kind: &'static Kind,
        parts: Parts,
        points: [PointState; 2],
        body: Body<F, T>,
    ) -> NonNull<Header> {
        let lane = parts.lane;
        // The place first: then all is written where it is to lie, and not moved there.
        // SAFETY: the core outlives all intervals of the root.
        let place = unsafe { parts.core.as_ref() }.arena().room::<Self>(lane);
        let header = Header::new(kind, Self::METHODS, parts, points);
        // SAFETY: it is room for this.
        unsafe { place.write(Self { header, body: UnsafeCell::new(body) }) };
        let header: NonNull<Header> = place.cast();
        // SAFETY: just made.
        unsafe { Header::note(header, mem::needs_drop::<T>(), lane) };
        header
    }
}

impl Interval<(), ()> {
    /// The root's own, whose body runs elsewhere.
    pub(super) fn make_root(parts: Parts) -> NonNull<Header> {
        let points = [PointState::occurred(), PointState::new(BODY)];
        Self::placed(const { &Kind::of_intervals(never) }, parts, points, Body::Nothing)
    }
}

unsafe fn never(_: NonNull<Job>, _: &Worker, _: usize) {
    unreachable!("the root's body is run by whoever waits for it");
}

impl<F, T> Interval<F, T> {
    /// The start waits for `waits[0]` things, the end for `waits[1]`.
    #[inline]
    pub(super) fn make<'g, 'env: 'g>(parts: Parts, waits: [usize; 2], body: F) -> NonNull<Header>
    where
        F: FnOnce(&Context<'g, 'env>) -> T + Send + 'g,
        T: Send + 'g,
    {
        let kind = const { &Kind::of_intervals(Self::execute) };
        Self::placed(kind, parts, waits.map(PointState::new), Body::Closure(body))
    }

    /// # Safety
    /// As for every job: it was taken by this worker alone, and its start has occurred.
    unsafe fn execute<'g, 'env: 'g>(job: NonNull<Job>, worker: &Worker, _from: usize)
    where
        F: FnOnce(&Context<'g, 'env>) -> T + Send + 'g,
        T: Send + 'g,
    {
        // SAFETY: the job is the first field of the head, that of the header, which is the first of a `Self`. It lives until the root has ended,
        // which waits for the end of this interval, which waits for the body.
        let interval = unsafe { job.cast::<Self>().as_ref() };
        let header = &interval.header;
        if header.start().outcome() == Some(Outcome::Failed) {
            // SAFETY: who has the job has the body alone.
            if let Err(payload) = unsafe { abandon(job.cast()) } {
                header.core().keep_panic(payload);
            }
            header.paths().into_iter().for_each(|paths| paths.body_has_ended(worker));
            // SAFETY: the body has ended, and nothing here is touched any more.
            return unsafe {
                Occurrence::body_has_ended(job.cast(), BODY, Outcome::Failed, Some(worker))
            };
        }
        // SAFETY: the job is this worker's.
        if !header.special.is_nothing() && !unsafe { begins_specially(header, worker) } {
            return; // whoever gives the lock back sends the job again
        }
        // SAFETY: who has the job has the body alone.
        let body =
            interval.body.with_mut(|body| unsafe { mem::replace(&mut *body, Body::Nothing) });
        let Body::Closure(closure) = body else { unreachable!("a body runs once") };
        // SAFETY: alive, as above, while the body runs.
        let context = unsafe { Context::new(job.cast(), worker) };
        let outcome = match unwind::halt(|| closure(&context)) {
            Ok(result) => {
                // SAFETY: still ours alone; others read it after the end has occurred.
                interval.body.with_mut(|body| unsafe { *body = Body::Result(result) });
                Outcome::Well
            }
            Err(payload) => {
                header.core().keep_panic(payload);
                Outcome::Failed
            }
        };
        if !header.special.is_nothing() {
            header.paths().into_iter().for_each(|paths| paths.body_has_ended(worker));
        }
        let things = context.things_at_its_end();
        // SAFETY: the body has ended, and nothing here is touched any more.
        unsafe { Occurrence::body_has_ended(job.cast(), things, outcome, Some(worker)) };
    }
}

/// What comes before the body of an interval with something special. Whether that is to run now; else it waits for a lock.
///
/// # Safety
/// The caller has its job.
#[cold]
unsafe fn begins_specially(header: &Header, worker: &Worker) -> bool {
    if let Some(holding) = header.own_holding() {
        // SAFETY: who has the job has the right to that.
        let take = || unsafe { Holding::take(NonNull::from(holding)) };
        if !worker.counted_if_it_stays(take) {
            return false;
        }
        if let Some(paths) = header.paths() {
            // SAFETY: they are held from now on.
            let left = unsafe { holding.path_left(paths.region()) };
            left.into_iter().for_each(|path| paths.begins_after(path, worker));
        }
    }
    if let Some(record) = header.record() {
        record.begins(header.core(), worker);
    }
    true
}

/// The result of an interval, if there is one.
///
/// # Safety
/// The interval was made with results of that type. Its end has occurred, and it is alive while the reference is used.
pub(super) unsafe fn result_of<'a, T>(interval: NonNull<Header>) -> Option<&'a T> {
    // SAFETY: as the caller promises.
    let methods = unsafe { interval.as_ref() }.methods;
    // SAFETY: the methods of this interval; as the caller promises.
    let result = unsafe { (methods.result)(interval) }?;
    // SAFETY: it is a `T`, as the caller promises, and nobody changes it any more.
    Some(unsafe { result.cast::<T>().as_ref() })
}

/// Drops what intervals of a root have left: first all results, since their destructors may still ask for points and names; and
/// then the rest. What a destructor has panicked with first.
///
/// # Safety
/// The root has ended, and nobody uses anything of it any more, but the destructors.
pub(super) unsafe fn drop_all(root: NonNull<Header>) -> Result<(), Payload> {
    // SAFETY: as the caller promises.
    let header = unsafe { root.as_ref() };
    let firsts: Vec<_> = if header.record().is_some() {
        vec![root]
    } else {
        header.core().newest_owners().collect()
    };
    let mut outcome = Ok(());
    let drop_result = |interval: NonNull<Header>| {
        // SAFETY: alive, and nobody else has a right to what the body has left.
        match (unsafe { abandon(interval) }, &outcome) {
            (Ok(()), _) => {}
            (Err(payload), Ok(())) => outcome = Err(payload),
            (Err(payload), Err(_)) => unwind::discard(payload),
        }
    };
    // SAFETY: as the caller promises; nothing else is dropped yet.
    unsafe { for_each(&firsts, drop_result) };
    let drop_rest = |interval: NonNull<Header>| {
        // SAFETY: not dropped yet.
        let drop = unsafe { interval.as_ref() }.methods.drop;
        // SAFETY: the methods of this interval; as the caller promises, and it is not looked at again.
        unsafe { drop(interval) };
    };
    // SAFETY: as the caller promises; each is dropped after it was looked at.
    unsafe { for_each(&firsts, drop_rest) };
    outcome
}

/// Calls `visit` with some intervals, with all that stand behind them in their lists, and with all that were noted as made inside of these. It
/// may drop them.
///
/// # Safety
/// They are alive, and have ended; none is found from two of them.
unsafe fn for_each(firsts: &[NonNull<Header>], mut visit: impl FnMut(NonNull<Header>)) {
    // The first of some siblings, of one list for each generation.
    let mut lists = firsts.to_vec();
    while let Some(interval) = lists.pop() {
        // SAFETY: not visited yet.
        let header = unsafe { interval.as_ref() };
        let children = header.record().map(Record::youngest);
        // Acquire pairs with the release in `push`.
        let heads = [Some(&header.sibling), children].into_iter().flatten();
        lists.extend(heads.filter_map(|list| NonNull::new(list.load(Ordering::Acquire))));
        visit(interval);
    }
}
