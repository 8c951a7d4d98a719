//! An interval in memory: one piece of the arena of its root, until the root has ended.

use std::borrow::Cow;
use std::mem;
use std::ptr::{self, NonNull};
use std::sync::MutexGuard;

use locksley::Worker;
use locksley::extend::{GroupHeader, Job, Kind, Tracer};
use locksley_sys::primitive::{AtomicUsize, Ordering, UnsafeCell};
use locksley_sys::unwind;

use crate::graph::context::Context;
use crate::graph::extras::Extras;
use crate::graph::lock::LockSet;
use crate::graph::occurrence::Occurrence;
use crate::graph::point::{Edge, Outcome, PointState};
use crate::graph::point_ref::Side;
use crate::graph::root::RootState;
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
    ran_on: AtomicUsize,
    // The fields below are not accessed by the worker that runs an interval without extras.
    methods: &'static Methods,
    /// The next older interval of the root that has something to drop.
    pub(crate) next_owner: *mut Header,
    name: Cow<'static, str>,
    edges: [Edge; INLINE_EDGES],
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
    header: Header,
    body: UnsafeCell<Body<F, T>>,
}

enum Body<F, T> {
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
    fn take_body(&self) -> Body<F, T> {
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
    fn place(kind: &'static Kind, new: NewInterval, body: Body<F, T>) -> NonNull<Header> {
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

unsafe fn never(_: NonNull<Job>, _: &Worker, _: usize) {
    unreachable!("the body of the root is no job");
}

impl<F, T> Interval<F, T> {
    #[inline]
    pub(crate) fn create<'g, 'env: 'g>(new: NewInterval, body: F) -> NonNull<Header>
    where
        F: FnOnce(&Context<'g, 'env>) -> T + Send + 'g,
        T: Send + 'g,
    {
        Self::place(const { &Kind::of_group(Self::execute) }, new, Body::Closure(body))
    }

    /// # Safety
    /// As for every job: only this worker has taken it, and the start has occurred.
    unsafe fn execute<'g, 'env: 'g>(job: NonNull<Job>, worker: &Worker, _from: usize)
    where
        F: FnOnce(&Context<'g, 'env>) -> T + Send + 'g,
        T: Send + 'g,
    {
        let address: NonNull<Header> = job.cast();
        // SAFETY: the job is the first field of the head, that of the header, and that of a `Self`.
        // It lives until the root has ended, which waits for the end of this interval.
        let interval = unsafe { job.cast::<Self>().as_ref() };
        let header = &interval.header;
        // Relaxed: the end of this interval publishes it.
        header.ran_on.store(worker.index(), Ordering::Relaxed);
        let outcome = if header.start.outcome() == Some(Outcome::Failed) {
            // `end_body` ends it.
            header.tracer().inspect(|tracer| tracer.begin_span(header.name()));
            // SAFETY: the body belongs to the worker that has the job.
            unsafe { abandon(address) };
            Outcome::Failed
        } else {
            // SAFETY: this worker has the job.
            if header.extras.is_some() && !unsafe { begin_with_extras(address, worker) } {
                return; // scheduled again by the thread that releases the lock
            }
            let Body::Closure(closure) = interval.take_body() else {
                unreachable!("a body runs once")
            };
            // SAFETY: alive while the body runs.
            let context = unsafe { Context::new(address) };
            match unwind::catch(|| closure(&context)) {
                Ok(result) => {
                    let result = Body::Result(result);
                    // SAFETY: only this worker accesses it before the end has occurred.
                    interval.body.with_mut(|body| unsafe { *body = result });
                    Outcome::Succeeded
                }
                Err(payload) => {
                    header.root().keep_panic(payload);
                    Outcome::Failed
                }
            }
        };
        // SAFETY: the body has ended, and the interval is not accessed any more here.
        unsafe { Occurrence::end_body(address, outcome, worker) };
    }
}

/// Takes the locks of an interval and logs its begin. Returns false if it waits for a lock.
///
/// # Safety
/// The interval has extras, and the caller has its job.
#[cold]
unsafe fn begin_with_extras(interval: NonNull<Header>, worker: &Worker) -> bool {
    // SAFETY: alive, as the caller has the job, which has the right to the locks.
    if !unsafe { LockSet::take(interval) } {
        return false;
    }
    // SAFETY: as above.
    let header = unsafe { interval.as_ref() };
    if let Some(trace) = header.trace() {
        trace.log_begin(header, worker);
    }
    true
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
