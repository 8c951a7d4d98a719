//! What the calling thread is in OpenMP's terms, until it ends.
//!
//! A destructor of thread-specific data (`man 3 pthread_key_create`) runs when a thread ends: after
//! the destructors of thread-local variables, and not when the program exits, whose handlers may
//! begin regions. Destructors of the program that run after it may begin regions, too. Then the
//! thread gives its workers back when such a region ends, and the destructor runs once more.
//!
//! The C library exits when its last thread has ended, by a call of `exit` on that thread. A region
//! of an exit handler then starts threads. If these ended with the region, the last of them would
//! call `exit`, too, beside the first call. So they stay.

use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use locksley_sys::os::{generation, watch_for_forks};
use rustix::process::getpid;
use rustix::thread::gettid;

use super::members::Context;
use super::worker::{self, Hosts, Owner, Worker};
use super::{Member, Team, size};
use crate::environment::settings;
use crate::first_line;
use crate::tasks::Task;
use crate::waiting;

thread_local! {
    /// The member that the thread is; null if it has not used OpenMP yet.
    static MEMBER: Cell<*const Member> = const { Cell::new(ptr::null()) };
    static THREAD: Cell<*const Thread> = const { Cell::new(ptr::null()) };
    /// The thread counts among the hosts.
    static IS_HOST: Cell<bool> = const { Cell::new(false) };
    /// The destructors of its data run.
    static IS_ENDING: Cell<bool> = const { Cell::new(false) };
}

/// What a thread has that has used OpenMP, or begins regions.
#[derive(Debug)]
pub(super) struct Thread {
    /// The team of one in which the thread is outside of all regions; none for workers.
    root: Option<Arc<Team>>,
    pub(super) state: RefCell<State>,
}

/// The regions that the thread has begun, and what the next ones use again.
#[derive(Debug, Default)]
pub(super) struct State {
    /// The process in which the workers are.
    pub(super) generation: u32,
    /// How the reserve knows the thread.
    pub(super) owner: Owner,
    /// The workers of regions that an initial thread begins: the same ones each time, so that
    /// `threadprivate` variables persist.
    pub(super) workers: Vec<Arc<Worker>>,
    pub(super) active: Vec<Active>,
    /// The teams of the last regions. Members of the one before the last have left it.
    pub(super) idle: [Option<Arc<Team>>; 2],
    /// The numbers of the places that the last team printed.
    pub(super) shown: Vec<u32>,
}

/// A region that has begun.
#[derive(Debug)]
pub(super) struct Active {
    pub(super) team: Arc<Team>,
    /// The workers that go back to the reserve.
    pub(super) borrowed: Vec<Arc<Worker>>,
}

/// The member that the calling thread is, if it has used OpenMP.
#[inline]
pub(crate) fn member() -> Option<&'static Member> {
    let member = MEMBER.get();
    // SAFETY: a member outlives its thread's stay in the region, within which callers use it.
    (!member.is_null()).then(|| unsafe { &*member })
}

/// The library is loaded. If by the main thread, this is a host from now on, whether it uses OpenMP
/// or not: the reserve keeps its workers while it lives.
pub(crate) fn begin_process() {
    watch_for_forks(after_fork);
    if gettid() == getpid() {
        watch_end();
        become_host();
    }
}

fn become_host() {
    if !IS_ENDING.get() && !IS_HOST.replace(true) {
        worker::add_host();
    }
}

/// Has the end of the calling thread noticed, unless the program has used up all keys.
fn watch_end() {
    static KEY: OnceLock<Option<libc::pthread_key_t>> = OnceLock::new();
    let key = KEY.get_or_init(|| {
        let mut key = 0;
        // SAFETY: the library, which has the destructor, is never unloaded.
        (unsafe { libc::pthread_key_create(&raw mut key, Some(end_thread)) } == 0).then_some(key)
    });
    if let Some(key) = key {
        let not_null = ptr::dangling::<c_void>();
        // SAFETY: the key exists. Where this fails, for want of memory, the end is not noticed.
        unsafe { libc::pthread_setspecific(*key, not_null) };
    }
}

unsafe extern "C" fn end_thread(_: *mut c_void) {
    let is_first_time = !IS_ENDING.replace(true);
    if release() == Hosts::None && is_first_time && may_be_last() {
        // The handler that is registered last runs first. Without memory for it, handlers that
        // begin regions may run twice.
        // SAFETY: the library, which has the function, is never unloaded.
        unsafe { libc::atexit(note_exit) };
    }
}

/// True if the process may end with this thread: it is the first one, or that has ended. Other
/// threads come and go for as long as the process lives, and a registration is for ever.
fn may_be_last() -> bool {
    let has_ended = |state: String| {
        let after_name = state.rsplit_once(") ");
        after_name.is_none_or(|(_, state)| state.starts_with('Z'))
    };
    // The state of the process is that of its first thread, a zombie until the process ends.
    gettid() == getpid() || std::fs::read_to_string("/proc/self/stat").map_or(true, has_ended)
}

/// Exit handlers run.
static EXITS: AtomicBool = AtomicBool::new(false);

extern "C" fn note_exit() {
    // Relaxed: handlers run on this thread.
    EXITS.store(true, Ordering::Relaxed);
}

/// A region has ended that the calling thread had begun.
pub(super) fn note_region_end() {
    let is_exiting = EXITS.load(Ordering::Relaxed);
    if IS_ENDING.get() && !is_exiting && thread().state.borrow().active.is_empty() {
        let (owner, workers) = thread().take_workers();
        worker::leave(owner, workers, false);
    }
}

/// The member that the calling thread is.
#[inline]
pub(crate) fn current() -> &'static Member {
    member().unwrap_or_else(root)
}

/// Uses the calling thread's task.
pub(crate) fn with_task<T>(use_task: impl FnOnce(&Arc<Task>) -> T) -> T {
    current().with_task(use_task)
}

pub(super) fn set_member(new: *const Member) {
    MEMBER.set(new);
    if let Some(member) = member() {
        let team = member.team();
        waiting::note_team(team.size, team.generation);
    }
}

/// Makes the calling thread an initial thread: a team of its own.
#[cold]
fn root() -> &'static Member {
    watch_for_forks(after_fork);
    become_host();
    let team = Arc::new(Team::new(1, Context::initial(settings().icvs)));
    waiting::note_awake(1);
    let thread = adopt(Thread { root: Some(team), state: RefCell::default() });
    let team = thread.root.as_ref().expect("made with a team");
    let member = team.member(0);
    member.enter(team);
    set_member(member);
    first_line::print_once();
    // SAFETY: it lives as long as the thread.
    unsafe { &*ptr::from_ref(member) }
}

fn adopt(thread: Thread) -> &'static Thread {
    *thread.state.borrow_mut() =
        State { generation: generation(), owner: Owner::new(), ..State::default() };
    let thread = Box::leak(Box::new(thread));
    let old = THREAD.replace(thread).cast_mut();
    if !old.is_null() {
        // A worker's, which ends and uses OpenMP in a destructor.
        // SAFETY: made by `Box::leak`, and no longer reachable.
        drop(unsafe { Box::from_raw(old) });
    }
    watch_end();
    thread
}

/// True if the calling thread serves the regions of others.
pub(super) fn is_worker() -> bool {
    thread().root.is_none()
}

/// The calling thread's regions. A thread without a record is a worker: the others have got one by
/// [`current`].
pub(super) fn thread() -> &'static Thread {
    let thread = THREAD.get();
    if thread.is_null() {
        return adopt(Thread { root: None, state: RefCell::default() });
    }
    // SAFETY: freed only by the thread itself, at its end.
    unsafe { &*thread }
}

/// The calling thread ends: its workers go to the reserve.
fn release() -> Hosts {
    let thread = THREAD.get().cast_mut();
    if thread.is_null() {
        return worker::leave(Owner::default(), [], IS_HOST.replace(false));
    }
    // SAFETY: as in `thread`.
    let root = unsafe { &*thread }.root.as_deref();
    let is_in_region = MEMBER.get() != root.map_or(ptr::null(), |it| ptr::from_ref(it.member(0)));
    if is_in_region {
        // The program may not end a thread there. The other threads use its record, which stays.
        return Hosts::Some;
    }
    THREAD.set(ptr::null());
    set_member(ptr::null());
    // SAFETY: made by `Box::leak`, and no longer reachable.
    let thread = unsafe { Box::from_raw(thread) };
    if let Some(root) = &thread.root {
        root.member(0).leave();
        waiting::note_asleep();
    }
    let (owner, workers) = thread.take_workers();
    worker::leave(owner, workers, IS_HOST.replace(false))
}

impl Thread {
    fn take_workers(&self) -> (Owner, Vec<Arc<Worker>>) {
        let mut state = self.state.borrow_mut();
        state.forget_workers_after_fork();
        (state.owner, std::mem::take(&mut state.workers))
    }
}

impl State {
    pub(super) fn forget_workers_after_fork(&mut self) {
        if self.generation != generation() {
            self.generation = generation();
            // Their threads are not in this process. What they share with them is not freed.
            std::mem::forget(std::mem::take(&mut self.workers));
            std::mem::forget(std::mem::take(&mut self.idle));
        }
    }
}

/// Ends the threads that are in no region (`omp_pause_resource`).
pub(crate) fn release_threads() {
    let thread = THREAD.get();
    if !thread.is_null() {
        // SAFETY: as in `thread`.
        let (owner, workers) = unsafe { &*thread }.take_workers();
        worker::give_back(owner, workers);
    }
    worker::end_reserve();
}

/// In a forked child, on its only thread.
fn after_fork() {
    worker::forget_others(IS_HOST.get());
    waiting::forget_threads(!MEMBER.get().is_null());
    size::forget();
}
