//! What the calling thread is in OpenMP's terms.

use std::cell::{Cell, RefCell};
use std::ptr;
use std::sync::{Arc, Once};

use locksley_sys::os::{generation, watch_for_forks};

use super::members::Setting;
use super::worker::{self, Worker};
use super::{Member, Team, size};
use crate::environment::settings;
use crate::tasks::Task;
use crate::waiting;

thread_local! {
    /// The member that the thread is; null if it has not used OpenMP yet.
    static MEMBER: Cell<*const Member> = const { Cell::new(ptr::null()) };
    static THREAD: Cell<*const Thread> = const { Cell::new(ptr::null()) };
    static AT_EXIT: AtExit = const { AtExit };
}

/// What a thread has that has used OpenMP, or begins regions.
#[derive(Debug)]
pub(super) struct Thread {
    /// The team of one in which the thread is outside of all regions; none for workers.
    root: Option<Arc<Team>>,
    pub(super) state: RefCell<State>,
    is_registered: Cell<bool>,
}

/// The regions that the thread has begun, and what the next ones use again.
#[derive(Debug, Default)]
pub(super) struct State {
    /// The process in which the workers are.
    pub(super) generation: u32,
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

struct AtExit;

impl Drop for AtExit {
    fn drop(&mut self) {
        release();
    }
}

/// The member that the calling thread is, if it has used OpenMP.
#[inline]
pub(crate) fn member() -> Option<&'static Member> {
    let member = MEMBER.get();
    // SAFETY: a member outlives its thread's stay in the region, within which callers use it.
    (!member.is_null()).then(|| unsafe { &*member })
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
        waiting::note_team(member.team().size);
    }
}

/// Makes the calling thread an initial thread: a team of its own.
#[cold]
fn root() -> &'static Member {
    watch_for_forks(after_fork);
    let team = Arc::new(Team::new(1, Setting::initial(settings().icvs)));
    static FIRST: Once = Once::new();
    // The program's first thread is counted already.
    let mut is_first = false;
    FIRST.call_once(|| is_first = true);
    if !is_first {
        waiting::note_awake(1);
    }
    let thread = Thread { root: Some(team), state: RefCell::default(), is_registered: true.into() };
    let thread = adopt(thread);
    let team = thread.root.as_ref().expect("made with a team");
    let member = team.member(0);
    member.enter(team);
    set_member(member);
    // SAFETY: it lives as long as the thread.
    unsafe { &*ptr::from_ref(member) }
}

fn adopt(thread: Thread) -> &'static Thread {
    thread.state.borrow_mut().generation = generation();
    let thread = Box::leak(Box::new(thread));
    THREAD.set(thread);
    // The thread's end releases it. If the thread is ending already, it stays.
    let _ = AT_EXIT.try_with(|_| ());
    thread
}

/// True if the calling thread serves the regions of others.
pub(super) fn is_worker() -> bool {
    thread().root.is_none()
}

/// The calling thread's regions.
pub(super) fn thread() -> &'static Thread {
    let thread = THREAD.get();
    if thread.is_null() {
        let state = RefCell::default();
        return adopt(Thread { root: None, state, is_registered: false.into() });
    }
    // SAFETY: freed only by the thread itself, at its end.
    unsafe { &*thread }
}

/// The calling thread ends: its workers go to the reserve.
fn release() {
    let thread = THREAD.get().cast_mut();
    if thread.is_null() {
        return;
    }
    // SAFETY: as in `thread`.
    let root = unsafe { &*thread }.root.as_deref();
    // A thread within a region exits the program: others use what is here, and functions that the
    // program calls at its exit see the region.
    if MEMBER.get() != root.map_or(ptr::null(), |it| ptr::from_ref(it.member(0))) {
        return;
    }
    THREAD.set(ptr::null());
    set_member(ptr::null());
    // SAFETY: made by `Box::leak`, and no longer reachable.
    let thread = unsafe { Box::from_raw(thread) };
    if let Some(root) = &thread.root {
        root.member(0).leave();
    }
    if thread.is_registered.get() {
        waiting::note_asleep();
    }
    give_back_workers(&thread);
}

fn give_back_workers(thread: &Thread) {
    let mut state = thread.state.borrow_mut();
    state.forget_workers_after_fork();
    worker::give_back(std::mem::take(&mut state.workers));
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
        give_back_workers(unsafe { &*thread });
    }
    worker::end_reserve();
}

/// In a forked child, on its only thread.
fn after_fork() {
    worker::forget_reserve();
    waiting::forget_threads();
    size::forget();
}
