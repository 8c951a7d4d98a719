//! Threads that become members of teams, and wait for the next region in between.

use std::cell::UnsafeCell;
use std::ffi::{CStr, c_void};
use std::io;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use locksley_sys::primitive::AtomicBool;
use rustix::process::Pid;
use rustix::thread::gettid;

use super::Team;
use super::attributes::Attributes;
use crate::environment::settings;
use crate::mutex::lock;
use crate::race_detector;
use crate::waiting::{self, Event};

/// A thread of the library, and what it is to do next.
///
/// The thread that has the worker gives it one assignment at a time. The worker takes it before
/// the region begins, so the next one finds the place empty.
///
/// It polls its own words: neither others' nor the count of references may lie beside them.
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct Worker {
    execute: Execute,
    assignment: UnsafeCell<Option<Assignment>>,
    /// What the worker takes over before the next assignment, from an owner that is not its last.
    attributes: UnsafeCell<Option<Arc<Attributes>>>,
    is_assigned: AtomicBool,
    assigned: Event,
    thread: OnceLock<Pid>,
}

// SAFETY: `assignment` and `attributes` belong to the thread that has the worker while `is_assigned`
// is false, and to the worker while it is true.
unsafe impl Send for Worker {}
// SAFETY: as above.
unsafe impl Sync for Worker {}

/// How debuggers and profilers show the threads.
const NAME: &CStr = c"locksley-omp";

/// Executes a region as the member of that number.
pub(super) type Execute = fn(&Arc<Team>, u32);

#[derive(Debug)]
enum Assignment {
    Region(Arc<Team>, u32),
    End,
}

impl Worker {
    /// Starts a thread, which executes regions by `execute`.
    fn start(execute: Execute) -> io::Result<Arc<Self>> {
        let worker = Arc::new(Self {
            execute,
            assignment: UnsafeCell::new(None),
            attributes: UnsafeCell::new(None),
            is_assigned: AtomicBool::new(false),
            assigned: Event::new(),
            thread: OnceLock::new(),
        });
        waiting::note_awake(1);
        let own = Arc::into_raw(Arc::clone(&worker));
        start_thread(serve, own.cast_mut().cast()).map(|()| worker).inspect_err(|_| {
            waiting::note_asleep();
            // SAFETY: no thread has taken the reference over.
            drop(unsafe { Arc::from_raw(own) });
        })
    }

    /// Has the worker take these over before its next region. False if it may not be able to.
    fn inherit(&self, attributes: &Arc<Attributes>) -> bool {
        let is_able = self.thread.get().is_none_or(|&it| attributes.can_be_given_to(it));
        if is_able {
            // SAFETY: the caller has the worker, which has taken its last assignment.
            unsafe { *self.attributes.get() = Some(Arc::clone(attributes)) };
        }
        is_able
    }

    /// Has the worker execute a region.
    pub(super) fn assign(&self, team: Arc<Team>, number: u32) {
        self.hand_over(Assignment::Region(team, number));
    }

    fn hand_over(&self, assignment: Assignment) {
        // SAFETY: the caller has the worker, which has taken its last assignment.
        unsafe { *self.assignment.get() = Some(assignment) };
        race_detector::release(self);
        // Release: pairs with the acquire in `take`.
        self.is_assigned.store(true, Ordering::Release);
        self.assigned.notify_one();
    }

    fn take(&self) -> Option<Assignment> {
        // Acquire: pairs with the release in `hand_over`.
        self.assigned.wait(|| self.is_assigned.load(Ordering::Acquire));
        race_detector::acquire(self);
        // SAFETY: the worker's until the next line.
        let assignment = unsafe { (*self.assignment.get()).take() };
        // SAFETY: as above.
        let attributes = unsafe { (*self.attributes.get()).take() };
        // Relaxed: the next `hand_over` comes behind the region's barrier.
        self.is_assigned.store(false, Ordering::Relaxed);
        if let Some(it) = attributes {
            it.apply();
        }
        assignment
    }
}

/// What a worker's thread executes.
extern "C" fn serve(worker: *mut c_void) -> *mut c_void {
    // SAFETY: `start` hands over a reference.
    let worker = unsafe { Arc::from_raw(worker.cast_const().cast::<Worker>()) };
    let _ = rustix::thread::set_name(NAME);
    let _ = worker.thread.set(gettid());
    while let Some(Assignment::Region(team, number)) = worker.take() {
        (worker.execute)(&team, number);
    }
    waiting::note_asleep();
    ptr::null_mut()
}

/// Identifies a thread that begins regions among all that the process ever has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Owner(u64);

impl Owner {
    pub(super) fn new() -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        Self(LAST.fetch_add(1, Ordering::Relaxed) + 1)
    }
}

/// The workers that no thread has, and which thread had each last.
struct Reserve(UnsafeCell<Mutex<Vec<Spare>>>);

type Spare = (Owner, Arc<Worker>);

// SAFETY: the mutex is replaced only while the process has one thread.
unsafe impl Sync for Reserve {}

static RESERVE: Reserve = Reserve(UnsafeCell::new(Mutex::new(Vec::new())));

fn reserve() -> MutexGuard<'static, Vec<Spare>> {
    // SAFETY: the thread that replaces the mutex does not use it meanwhile.
    lock(unsafe { &*RESERVE.0.get() })
}

/// How many threads of the program have used OpenMP, the main thread included. When the last one
/// ends, the reserve's workers end, so that the process can end.
static HOSTS: AtomicUsize = AtomicUsize::new(0);

pub(super) fn add_host() {
    HOSTS.fetch_add(1, Ordering::Relaxed);
}

/// In a forked child: all workers are gone, and all hosts but the calling thread, if it is one.
pub(super) fn forget_others(is_host: bool) {
    // A thread that is not there may have locked it. What it shared with others is not freed.
    // SAFETY: no other thread is there, and this one holds no lock.
    unsafe { RESERVE.0.get().write(Mutex::default()) };
    HOSTS.store(is_host.into(), Ordering::Relaxed);
}

/// Makes them at least `count` workers of the calling thread, which execute regions by `execute`, or
/// fewer if the system refuses threads. Others than its last ones are as if it had started them.
pub(super) fn fill(
    workers: &mut Vec<Arc<Worker>>,
    count: usize,
    owner: Owner,
    execute: Execute,
) -> io::Result<()> {
    let mut attributes = None;
    while workers.len() < count {
        let Some((last, worker)) = take_spare(owner) else {
            workers.push(Worker::start(execute)?);
            continue;
        };
        let own = || Arc::new(Attributes::of_this_thread());
        if last == owner || worker.inherit(attributes.get_or_insert_with(own)) {
            workers.push(worker);
        } else {
            worker.hand_over(Assignment::End);
        }
    }
    Ok(())
}

/// Returns a worker from the reserve, if possible one that this owner had last.
fn take_spare(owner: Owner) -> Option<Spare> {
    let mut reserve = reserve();
    match reserve.iter().rposition(|&(last, _)| last == owner) {
        Some(own) => Some(reserve.swap_remove(own)),
        None => reserve.pop(),
    }
}

/// Gives workers back that the owner had, and whose regions have ended.
pub(super) fn give_back(owner: Owner, workers: impl IntoIterator<Item = Arc<Worker>>) {
    let mut workers = workers.into_iter().map(|it| (owner, it)).peekable();
    if workers.peek().is_some() {
        reserve().extend(workers);
    }
}

/// Whether threads are left that use OpenMP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hosts {
    None,
    Some,
}

/// A thread ends, and gives these workers back. `is_host`: it counts among the hosts.
pub(super) fn leave(
    owner: Owner,
    workers: impl IntoIterator<Item = Arc<Worker>>,
    is_host: bool,
) -> Hosts {
    give_back(owner, workers);
    // Acquire and release: the last host finds the workers of those before.
    let left = HOSTS.fetch_sub(is_host.into(), Ordering::AcqRel) - usize::from(is_host);
    if left > 0 {
        return Hosts::Some;
    }
    end_reserve();
    Hosts::None
}

/// Ends the workers of the reserve.
pub(super) fn end_reserve() {
    let workers = std::mem::take(&mut *reserve());
    workers.iter().for_each(|(_, it)| it.hand_over(Assignment::End));
}

/// Starts a detached thread, with the stack that the environment states, or else the C library's
/// default. The standard library's threads register destructors of thread-local variables when they
/// start, and hang if the region begins in a constructor of a library that is being opened.
fn start_thread(
    function: extern "C" fn(*mut c_void) -> *mut c_void,
    data: *mut c_void,
) -> io::Result<()> {
    let mut attributes = MaybeUninit::uninit();
    // SAFETY: it initializes the attributes.
    unsafe { libc::pthread_attr_init(attributes.as_mut_ptr()) };
    let attributes = attributes.as_mut_ptr();
    // SAFETY: they are initialized, here and until they are destroyed.
    unsafe { libc::pthread_attr_setdetachstate(attributes, libc::PTHREAD_CREATE_DETACHED) };
    /// Room for this library's own frames.
    const MIN: usize = 64 << 10;
    if let Some(size) = settings().stack().map(|it| it.max(MIN)) {
        // SAFETY: as above.
        unsafe { libc::pthread_attr_setstacksize(attributes, size) };
    }
    let mut thread = 0;
    // SAFETY: the function takes the data over.
    let error = unsafe { libc::pthread_create(&raw mut thread, attributes, function, data) };
    // SAFETY: as above.
    unsafe { libc::pthread_attr_destroy(attributes) };
    if error == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(error)) }
}
