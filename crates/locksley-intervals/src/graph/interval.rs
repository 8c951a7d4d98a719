//! An interval in memory: one piece of the arena of its root, until the root has ended. And
//! references to its points.

use std::borrow::Cow;
use std::mem;
use std::ptr::{self, NonNull};

use locksley::extend::{GroupHeader, Job, Kind, Tracer, WorkerRef};
use locksley_sys::primitive::plain::MutexGuard;
use locksley_sys::primitive::{AtomicUsize, Ordering, UnsafeCell};
use locksley_sys::unwind;

use crate::graph::lock_set::LockSet;
use crate::graph::point::{Edge, PointState, Side};
use crate::graph::root_state::RootState;
use crate::graph::trace::{Log, Trace};

/// What all intervals have.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Header {
    /// The job. Its group is the [`RootState`].
    head: GroupHeader,
    start: PointState,
    pub(crate) end: PointState,
    pub(crate) parent: Option<NonNull<Header>>,
    /// The interval that holds locks while this one runs: itself or an ancestor.
    pub(crate) holder: Option<NonNull<Header>>,
    pub(crate) extras: Option<Box<Extras>>,
    /// The interval on whose worker this one should run.
    followed: Option<NonNull<Header>>,
    /// The index of the worker that ran the body. Written before the end occurs.
    pub(crate) ran_on: AtomicUsize,
    // The fields below are not accessed by the worker that runs an interval without extras.
    methods: &'static Methods,
    /// The next older interval of the root that has something to drop.
    pub(crate) next_owner: *mut Header,
    name: Cow<'static, str>,
    edges: [Edge; INLINE_EDGES],
}

/// What few intervals have. Most have none, and one test says so.
#[derive(Debug, Default)]
pub(crate) struct Extras {
    /// The place at which it should run.
    pub(crate) place: Option<usize>,
    /// The locks that it holds itself, from its start to its end.
    pub(crate) locks: Option<LockSet>,
    /// Present in roots that are recorded, checked or observed.
    pub(crate) trace: Option<Trace>,
}

/// The number of edges that lie in the interval itself.
const INLINE_EDGES: usize = 2;

/// Operations that depend on the types of the body and of its result.
#[derive(Debug)]
struct Methods {
    abandon: unsafe fn(NonNull<Header>),
    result: unsafe fn(NonNull<Header>) -> Option<NonNull<()>>,
}

/// An interval with its body, and later with the result.
#[repr(C)]
pub(crate) struct Interval<F, T> {
    pub(crate) header: Header,
    pub(crate) body: UnsafeCell<Body<F, T>>,
}

pub(crate) enum Body<F, T> {
    Closure(F),
    Result(T),
    Nothing,
}

/// An interval that will be created.
pub(crate) struct NewInterval {
    pub(crate) name: Cow<'static, str>,
    pub(crate) root: NonNull<RootState<'static>>,
    pub(crate) parent: Option<NonNull<Header>>,
    pub(crate) extras: Option<Box<Extras>>,
    pub(crate) followed: Option<NonNull<Header>>,
    /// The number of dependencies of the start, and of the end.
    pub(crate) dependencies: [usize; 2],
}

impl Header {
    #[inline]
    pub(crate) fn point(&self, side: Side) -> &PointState {
        match side {
            Side::Start => &self.start,
            Side::End => &self.end,
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    #[inline]
    pub(crate) fn root(&self) -> &RootState<'static> {
        // SAFETY: it outlives all intervals of the root.
        unsafe { self.root_address().as_ref() }
    }

    pub(crate) fn root_address(&self) -> NonNull<RootState<'static>> {
        self.head.group.cast()
    }

    /// The trace, if the root is recorded, checked or observed.
    #[inline]
    pub(crate) fn trace(&self) -> Option<&Trace> {
        self.extras.as_deref()?.trace.as_ref()
    }

    /// The tracer, if the interval has a name to tell it.
    pub(crate) fn tracer(&self) -> Option<&dyn Tracer> {
        self.root().tracer.as_deref().filter(|_| !self.name.is_empty())
    }

    /// The log, if the root is recorded or checked.
    pub(crate) fn log(&self) -> Option<MutexGuard<'_, Log>> {
        self.trace()?.log()
    }

    /// The locks that the interval holds itself.
    #[inline]
    pub(crate) fn own_locks(&self) -> Option<&LockSet> {
        self.extras.as_deref()?.locks.as_ref()
    }

    /// The locks that are held while the interval runs: its own, or those of an ancestor.
    pub(crate) fn held_locks(&self) -> Option<&LockSet> {
        // SAFETY: itself or an ancestor is alive as long as it is.
        self.holder.and_then(|holder| unsafe { holder.as_ref() }.own_locks())
    }

    /// The index of the worker that ran the followed interval, if this one follows another.
    ///
    /// The start of this interval has occurred.
    #[inline]
    pub(crate) fn followed_worker(&self) -> Option<usize> {
        let followed = self.followed?;
        // SAFETY: alive, as the root is.
        let followed = unsafe { followed.as_ref() };
        // Relaxed: the end of the followed interval came before this start.
        Some(followed.ran_on.load(Ordering::Relaxed))
    }

    /// The memory of the edge of that number into this interval.
    #[inline]
    pub(crate) fn edge(&self, number: usize) -> &Edge {
        self.edges.get(number).unwrap_or_else(|| self.new_edge())
    }

    /// Allocates one more edge into this interval.
    pub(crate) fn new_edge(&self) -> &Edge {
        let edge = self.root().arena.alloc::<Edge>();
        // SAFETY: allocated above.
        unsafe { edge.write(Edge::new()) };
        // SAFETY: just written. It lives as long as the root, and needs no destructor.
        unsafe { edge.as_ref() }
    }
}

/// Drops the body of an interval that will not run, or its result. The root keeps the panic of a
/// destructor.
///
/// # Safety
/// The interval is alive. The caller has the right to run the body, which ends here; or the right
/// to drop the result.
pub(crate) unsafe fn abandon(interval: NonNull<Header>) {
    // SAFETY: as the caller promises.
    let methods = unsafe { interval.as_ref() }.methods;
    // SAFETY: the methods of this interval; as the caller promises.
    unsafe { (methods.abandon)(interval) };
}

impl<F, T> Interval<F, T> {
    const METHODS: &'static Methods = &Methods { abandon: Self::abandon, result: Self::result };

    /// # Safety
    /// As for [`abandon`]; it is the header of a `Self`.
    unsafe fn abandon(header: NonNull<Header>) {
        // SAFETY: as the caller promises.
        let interval = unsafe { header.cast::<Self>().as_ref() };
        let body = interval.take_body();
        if let Err(payload) = unwind::catch(|| drop(body)) {
            interval.header.root().keep_panic(payload);
        }
    }

    /// The caller has the exclusive right to the body.
    pub(crate) fn take_body(&self) -> Body<F, T> {
        // SAFETY: only the caller accesses the body.
        self.body.with_mut(|body| unsafe { mem::replace(&mut *body, Body::Nothing) })
    }

    /// # Safety
    /// It is the header of a `Self`, and the end has occurred.
    unsafe fn result(header: NonNull<Header>) -> Option<NonNull<()>> {
        // SAFETY: as the caller promises.
        let interval = unsafe { header.cast::<Self>().as_ref() };
        // SAFETY: not changed after the end has occurred.
        interval.body.with(|body| match unsafe { &*body } {
            Body::Result(result) => Some(NonNull::from(result).cast()),
            Body::Closure(_) | Body::Nothing => None,
        })
    }

    /// Puts the interval into the arena.
    #[inline]
    pub(crate) fn place(
        kind: &'static Kind,
        new: NewInterval,
        body: Body<F, T>,
    ) -> NonNull<Header> {
        // SAFETY: it outlives all intervals of the root.
        let root = unsafe { new.root.as_ref() };
        // Allocated first, so that the interval is written where it lies, and not moved there.
        let place = root.arena.alloc::<Self>();
        let interval: NonNull<Header> = place.cast();
        let has_locks = new.extras.as_ref().is_some_and(|extras| extras.locks.is_some());
        // SAFETY: a parent is alive.
        let inherited = || new.parent.and_then(|parent| unsafe { parent.as_ref() }.holder);
        let is_owner =
            mem::needs_drop::<T>() || new.extras.is_some() || matches!(new.name, Cow::Owned(_));
        let [start, end] = new.dependencies.map(PointState::new);
        let header = Header {
            head: GroupHeader::new(kind, new.root.cast()),
            start,
            end,
            parent: new.parent,
            holder: if has_locks { Some(interval) } else { inherited() },
            extras: new.extras,
            followed: new.followed,
            ran_on: AtomicUsize::new(0),
            methods: Self::METHODS,
            next_owner: ptr::null_mut(),
            name: new.name,
            edges: std::array::from_fn(|_| Edge::new()),
        };
        // SAFETY: allocated above.
        unsafe { place.write(Self { header, body: UnsafeCell::new(body) }) };
        if is_owner {
            // SAFETY: just created, and no other thread has seen it.
            unsafe { root.add_owner(interval) };
        }
        interval
    }
}

impl Interval<(), ()> {
    /// Creates the root interval. Its body runs in the frame that waits for it.
    pub(crate) fn create_root(new: NewInterval) -> NonNull<Header> {
        Self::place(const { &Kind::of_group(never) }, new, Body::Nothing)
    }
}

unsafe fn never(_: NonNull<Job>, _: WorkerRef<'_>, _: usize) {
    unreachable!("the body of the root is no job");
}

/// Returns the result of an interval, if there is one.
///
/// # Safety
/// The results of the interval are of type `T`. Its end has occurred, and it is alive while the
/// reference is used.
pub(crate) unsafe fn result_of<'a, T>(interval: NonNull<Header>) -> Option<&'a T> {
    // SAFETY: as the caller promises.
    let methods = unsafe { interval.as_ref() }.methods;
    // SAFETY: the methods of this interval; as the caller promises.
    let result = unsafe { (methods.result)(interval) }?;
    // SAFETY: it is a `T`, as the caller promises, and is not changed any more.
    Some(unsafe { result.cast::<T>().as_ref() })
}

/// A reference to a point: the address of its interval, plus 1 for the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PointRef(pub(crate) NonNull<()>);

// SAFETY: it is an address. Each dereference states why the interval is alive. Other threads access
// only atomics there.
unsafe impl Send for PointRef {}
// SAFETY: as above.
unsafe impl Sync for PointRef {}

const END: usize = Side::End as usize;
const _: () = assert!(align_of::<Header>() >= 4, "one bit for the side, one for `Edge`");

impl PointRef {
    #[inline]
    pub(crate) fn new(interval: NonNull<Header>, side: Side) -> Self {
        Self(interval.cast().map_addr(|address| address | side as usize))
    }

    #[inline]
    pub(crate) fn start(interval: NonNull<Header>) -> Self {
        Self::new(interval, Side::Start)
    }

    #[inline]
    pub(crate) fn end(interval: NonNull<Header>) -> Self {
        Self::new(interval, Side::End)
    }

    #[inline]
    pub(crate) fn side(self) -> Side {
        if self.0.addr().get() & END == 0 { Side::Start } else { Side::End }
    }

    #[inline]
    pub(crate) fn interval(self) -> NonNull<Header> {
        // SAFETY: `new` has added the offset.
        unsafe { self.0.byte_sub(self.side() as usize) }.cast()
    }

    /// # Safety
    /// The interval is alive while the result is used.
    #[inline]
    pub(crate) unsafe fn header<'a>(self) -> &'a Header {
        // SAFETY: alive, as the caller promises; all references to it are shared.
        unsafe { self.interval().as_ref() }
    }

    /// # Safety
    /// The interval is alive while the result is used.
    #[inline]
    pub(crate) unsafe fn state<'a>(self) -> &'a PointState {
        // SAFETY: as the caller promises.
        let header = unsafe { self.header() };
        header.point(self.side())
    }

    /// Returns a text like "the end of `root`".
    ///
    /// # Safety
    /// The interval is alive.
    pub(crate) unsafe fn describe(self) -> String {
        // SAFETY: as the caller promises.
        let header = unsafe { self.header() };
        format!("the {} of `{}`", self.side(), header.name())
    }
}
