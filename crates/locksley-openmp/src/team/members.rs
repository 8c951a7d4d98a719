//! A team, the threads that execute one parallel region, and its members: what each thread has of
//! its own there.

use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::ops::Deref;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use locksley_sys::os::generation;
use locksley_sys::primitive::CachePadded;

use super::barrier::Barrier;
use super::binding::Place;
use crate::affinity::{Thread, describe};
use crate::environment::settings;
use crate::icv::Icvs;
use crate::messages::print;
use crate::race_detector;
use crate::shares::{List, Position};
use crate::tasks::{Function, Group, Queue, Task};
use crate::waiting::{Event, Lock};

/// A team.
#[derive(Debug)]
pub(crate) struct Team {
    pub(crate) size: u32,
    /// The process in which its threads are.
    pub(super) generation: u32,
    context: CachePadded<Context>,
    members: Box<[CachePadded<Member>]>,
    pub(crate) shares: List,
    barrier: CachePadded<Barrier>,
    /// For barriers that members leave when the region is cancelled.
    cancel_barrier: CachePadded<Barrier>,
    /// One thread at a time registers reductions, or adds a copy to an array.
    pub(crate) reductions: Lock,
    /// Deferred tasks that have not ended.
    outstanding: CachePadded<AtomicUsize>,
    /// Those of them that are detached.
    detached: AtomicUsize,
    /// How many `single` constructs have been taken.
    singles: CachePadded<AtomicU64>,
    is_cancelled: AtomicBool,
    /// Identifies the loop or sections cancelled last: the number of barriers before it, plus 1; 0
    /// for none. (Static loops have no share. A barrier follows each loop that is cancelled.)
    cancelled_share: AtomicU64,
    /// Members at a barrier, which may execute any task of the team.
    pub(super) arrivals: Event,
    /// Members that wait for tasks, and execute only descendants of their own.
    pub(super) progress: Event,
}

/// What a region gives its team.
#[derive(Debug)]
pub(crate) struct Context {
    /// How many regions enclose the members, this one included.
    pub(crate) level: u32,
    /// How many of them have more than one thread.
    pub(crate) active_level: u32,
    /// How many teams a `teams` construct has, and the number of this one.
    pub(crate) league: Cell<(u32, u32)>,
    /// The member of the enclosing team that began the region; null in an initial team.
    pub(crate) parent: *const Member,
    /// The variables with which implicit tasks begin.
    pub(crate) icvs: Icvs,
    /// The policy by which members are bound to places, a number of `omp_proc_bind_t`.
    pub(super) bind: i32,
    /// Members print where they are.
    pub(super) displays_affinity: bool,
    /// The group of reductions of the whole region.
    pub(super) group: Option<Arc<Group>>,
    pub(super) function: Option<Function>,
    pub(super) data: *mut c_void,
    /// The threads of the contention group, but for its first.
    pub(super) group_size: Arc<AtomicU32>,
}

// SAFETY: the pointers are the program's data, which the compiler shares among the members, and the
// parent, which waits for the region's end. `league` changes only in an initial team, which has one
// thread.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

impl Deref for Team {
    type Target = Context;

    fn deref(&self) -> &Context {
        &self.context
    }
}

impl Context {
    /// That of an initial thread, outside of all regions.
    pub(super) fn initial(icvs: Icvs) -> Self {
        Self {
            parent: ptr::null(),
            level: 0,
            active_level: 0,
            league: Cell::new((1, 0)),
            icvs,
            bind: icvs.bind,
            displays_affinity: false,
            group: None,
            function: None,
            data: ptr::null_mut(),
            group_size: Arc::default(),
        }
    }
}

impl Team {
    pub(super) fn new(size: u32, context: Context) -> Self {
        Self {
            size,
            generation: generation(),
            context: CachePadded::new(context),
            members: (0..size).map(|it| CachePadded::new(Member::new(it))).collect(),
            shares: List::new(size),
            barrier: CachePadded::new(Barrier::new(size)),
            cancel_barrier: CachePadded::new(Barrier::new(size)),
            reductions: Lock::new(),
            outstanding: CachePadded::new(AtomicUsize::new(0)),
            detached: AtomicUsize::new(0),
            singles: CachePadded::new(AtomicU64::new(0)),
            is_cancelled: AtomicBool::new(false),
            cancelled_share: AtomicU64::new(0),
            arrivals: Event::new(),
            progress: Event::new(),
        }
    }

    /// Makes the team ready for another region.
    pub(super) fn reset(&mut self, context: Context) {
        self.context = CachePadded::new(context);
        self.shares.reset();
        self.singles.store(0, Ordering::Relaxed);
        if *self.cancelled_share.get_mut() != 0 {
            *self.cancelled_share.get_mut() = 0;
        }
        if *self.is_cancelled.get_mut() {
            *self.is_cancelled.get_mut() = false;
            self.cancel_barrier = CachePadded::new(Barrier::new(self.size));
        }
    }

    pub(crate) fn member(&self, number: u32) -> &Member {
        &self.members[number as usize]
    }

    pub(super) fn members(&self) -> impl ExactSizeIterator<Item = &Member> {
        self.members.iter().map(|it| &**it)
    }

    /// The calling member waits for all others, and executes tasks meanwhile.
    pub(crate) fn wait_at_barrier(&self, member: &Member) {
        self.wait_at(&self.barrier, member, || false);
    }

    /// The same, but the member leaves if the region is cancelled. True if it is.
    pub(crate) fn wait_unless_cancelled(&self, member: &Member) -> bool {
        if !self.is_cancelled() {
            self.wait_at(&self.cancel_barrier, member, || self.is_cancelled());
        }
        self.is_cancelled()
    }

    fn wait_at(&self, barrier: &Barrier, member: &Member, is_cancelled: impl Fn() -> bool) {
        member.barriers.set(member.barriers.get() + 1);
        // Acquire pairs with the release in `remove_task`, by a thread that fulfils an event.
        if self.size == 1 && self.outstanding.load(Ordering::Acquire) == 0 {
            return;
        }
        race_detector::release(&self.barrier);
        if let Some(number) = barrier.arrive(&self.outstanding) {
            let is_over = || barrier.is_past(number) || is_cancelled();
            let work = || self.has_outstanding() && self.execute_one(member, false, |_| true);
            let has_task = || self.members().any(|it| !it.queue.is_empty());
            self.arrivals.wait_and_work(is_over, work, has_task);
        } else {
            self.arrivals.notify_all();
        }
        race_detector::acquire(&self.barrier);
    }

    /// False in a child that was forked within the region: only the calling thread is in it.
    pub(super) fn is_complete(&self) -> bool {
        self.generation == generation()
    }

    /// True if tasks seem to be outstanding. Without any, a waiting member leaves the queues alone:
    /// they lie beside what the other members change.
    fn has_outstanding(&self) -> bool {
        self.outstanding.load(Ordering::Relaxed) != 0
    }

    /// True if at least so many tasks are outstanding, and all can end while their creator waits.
    /// A detached task may not: its event may be fulfilled by its creator.
    pub(super) fn has_pending(&self, count: usize) -> bool {
        // Relaxed: a limit, which orders nothing.
        self.outstanding.load(Ordering::Relaxed) >= count
            && self.detached.load(Ordering::Relaxed) == 0
    }

    /// A deferred task has been created.
    pub(super) fn add_task(&self, task: &Task) {
        // Relaxed: the calling member has not arrived at a barrier, or executes a task that is
        // counted.
        self.outstanding.fetch_add(1, Ordering::Relaxed);
        if task.event().is_some() {
            self.detached.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// A task has ended, or will not be executed.
    pub(super) fn remove_task(&self, task: &Task) {
        if task.event().is_some() {
            self.detached.fetch_sub(1, Ordering::Relaxed);
        }
        race_detector::release(&self.barrier);
        // Release: pairs with the acquire in `Barrier::open`. Acquire: so do those of earlier
        // tasks.
        if self.outstanding.fetch_sub(1, Ordering::AcqRel) == 1 {
            // Pairs with the fence in `Barrier::arrive`.
            std::sync::atomic::fence(Ordering::SeqCst);
            let [barrier, cancel_barrier] = [&self.barrier, &self.cancel_barrier];
            if barrier.open(&self.outstanding) || cancel_barrier.open(&self.outstanding) {
                self.arrivals.notify_all();
            }
        }
    }

    /// True if the calling member is the first at its next `single` construct.
    pub(crate) fn take_single(&self, member: &Member) -> bool {
        let number = member.singles.get();
        member.singles.set(number + 1);
        // Relaxed: the construct's barrier orders what it wrote.
        let taken = &self.singles;
        taken.load(Ordering::Relaxed) == number
            && taken
                .compare_exchange(number, number + 1, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
    }

    /// Cancels the loop or sections that `member` is in.
    pub(crate) fn cancel_share(&self, member: &Member) {
        // Relaxed: a hint, as cancellation is.
        self.cancelled_share.store(member.barriers.get() + 1, Ordering::Relaxed);
    }

    pub(crate) fn is_share_cancelled(&self, member: &Member) -> bool {
        self.cancelled_share.load(Ordering::Relaxed) == member.barriers.get() + 1
    }

    /// Cancels the region.
    pub(crate) fn cancel(&self) {
        // Relaxed: a hint; `notify_all` makes a fence.
        self.is_cancelled.store(true, Ordering::Relaxed);
        self.arrivals.notify_all();
        self.progress.notify_all();
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::Relaxed)
    }

    /// The member of the team at nesting level `level` that is an ancestor of `member`, or is it.
    pub(crate) fn ancestor<'a>(&'a self, member: &'a Member, level: u32) -> Option<&'a Member> {
        let mut member = member;
        while member.team().level > level {
            let parent = member.team().parent;
            if ptr::eq(parent, ptr::null()) {
                return None;
            }
            // SAFETY: the parent waits for the region's end.
            member = unsafe { &*parent };
        }
        (member.team().level == level).then_some(member)
    }
}

/// A member. Only its own thread changes it. Others use its queue, and read `trace_slot`, `team`
/// and `place`.
#[derive(Debug)]
pub(crate) struct Member {
    /// The number that `omp_get_thread_num` reports.
    pub(crate) number: u32,
    pub(crate) queue: Queue,
    pub(crate) position: Position,
    /// How many `single` constructs it has met.
    pub(crate) singles: Cell<u64>,
    /// How many barriers it has met.
    pub(super) barriers: Cell<u64>,
    /// The place that the thread is bound to; all zeros where there are no places.
    pub(crate) place: Cell<Place>,
    /// The number under which the thread is recorded. Relaxed: thieves record it.
    pub(super) trace_slot: AtomicUsize,
    team: Cell<*const Team>,
    /// The task that the thread executes.
    task: RefCell<Option<Arc<Task>>>,
    /// An undeferred task that has ended: its memory is used again.
    spare: RefCell<Option<Arc<Task>>>,
}

// SAFETY: one thread enters a member in a region, and it alone changes what is not `Sync`. Members
// of inner teams read `team` and `place`, which change in `enter` only, before the inner region is
// handed over. Regions are ordered by the hand-over of their team to the threads.
unsafe impl Send for Member {}
// SAFETY: as above.
unsafe impl Sync for Member {}

impl Member {
    pub(super) fn new(number: u32) -> Self {
        Self {
            number,
            queue: Queue::default(),
            position: Position::new(),
            singles: Cell::new(0),
            barriers: Cell::new(0),
            place: Cell::default(),
            trace_slot: AtomicUsize::new(0),
            team: Cell::new(ptr::null()),
            task: RefCell::new(None),
            spare: RefCell::new(None),
        }
    }

    /// The calling thread becomes this member of `team`.
    pub(super) fn enter(&self, team: &Arc<Team>) {
        self.team.set(Arc::as_ptr(team));
        self.singles.set(0);
        self.barriers.set(0);
        team.shares.enter(&self.position);
        let task = Task::implicit(team.icvs, team.group.clone());
        self.task.replace(Some(task));
        let places = &settings().places;
        if !places.is_empty() {
            // SAFETY: the parent waits for the region's end.
            let place = match unsafe { team.parent.as_ref() } {
                Some(parent) => {
                    Place::of_member(parent.place.get(), team.bind, self.number, team.size)
                }
                None => Place::initial(places.len()),
            };
            place.bind(places);
            self.place.set(place);
        }
        if team.displays_affinity {
            print(&(describe("", &self.description()) + "\n"));
        }
    }

    /// The number of each member's place in a team that this member begins; 0 without places.
    pub(super) fn places_of_team(&self, policy: i32, size: u32) -> Vec<u32> {
        let own = self.place.get();
        let of_member =
            |it| if own.count == 0 { own } else { Place::of_member(own, policy, it, size) };
        (0..size).map(|it| of_member(it).number).collect()
    }

    /// What OMP_DISPLAY_AFFINITY and its like say of the calling thread.
    pub(crate) fn description(&self) -> Thread {
        let team = self.team();
        let (teams, team_number) = team.league.get();
        let ancestor = team.level.checked_sub(1).and_then(|it| team.ancestor(self, it));
        Thread {
            team_number,
            teams,
            level: team.level,
            number: self.number,
            threads: team.size,
            ancestor: ancestor.map_or(-1, |it| it.number.cast_signed()),
        }
    }

    /// The region has ended.
    pub(super) fn leave(&self) {
        if let Some(task) = self.task.take() {
            // Children in its table refer to it: otherwise neither would be freed.
            task.end();
        }
        self.spare.take();
    }

    /// A reference to the member's team. The calling thread has begun the team's region or executes
    /// it for the thread that has, which keeps the team meanwhile.
    pub(super) fn shared_team(&self) -> Arc<Team> {
        let team = self.team.get();
        // SAFETY: `enter` has got it from an `Arc`, to which the member's region holds a reference.
        unsafe { Arc::increment_strong_count(team) };
        // SAFETY: as above, and the reference was made there.
        unsafe { Arc::from_raw(team) }
    }

    /// The member's team.
    pub(crate) fn team(&self) -> &Team {
        // SAFETY: `enter` has set it, and a team outlives its members.
        unsafe { &*self.team.get() }
    }

    /// The task that the thread executes.
    pub(crate) fn task(&self) -> Arc<Task> {
        Arc::clone(self.task.borrow().as_ref().expect("a member that has entered has a task"))
    }

    /// The same, without a reference of its own.
    #[inline]
    pub(crate) fn with_task<T>(&self, use_task: impl FnOnce(&Arc<Task>) -> T) -> T {
        use_task(self.task.borrow().as_ref().expect("a member that has entered has a task"))
    }

    /// Executes `body` as another task.
    pub(super) fn within(&self, task: Arc<Task>, body: impl FnOnce()) {
        let outer = self.task.replace(Some(task));
        body();
        self.task.replace(outer);
    }

    /// Executes `body` as a new child of the member's task.
    pub(super) fn within_child(&self, is_final: bool, body: impl FnOnce()) {
        let outer = self.begin_child(is_final);
        body();
        self.end_child(outer);
    }

    /// Begins a new child of the member's task. Returns that task, for [`end_child`].
    ///
    /// [`end_child`]: Self::end_child
    pub(crate) fn begin_child(&self, is_final: bool) -> Option<Arc<Task>> {
        let spare = self.spare.take();
        let task = self.with_task(|parent| Task::undeferred(parent, is_final, spare));
        self.task.replace(Some(task))
    }

    pub(crate) fn end_child(&self, outer: Option<Arc<Task>>) {
        let task = self.task.replace(outer);
        if let Some(task) = &task {
            task.end();
        }
        self.spare.replace(task);
    }
}
