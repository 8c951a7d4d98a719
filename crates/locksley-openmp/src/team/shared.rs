//! A team: the threads that execute one parallel region.

use std::cell::Cell;
use std::ffi::c_void;
use std::ops::Deref;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use locksley_sys::primitive::CachePadded;

use super::Member;
use super::barrier::Barrier;
use crate::icv::Icvs;
use crate::shares::{List, Preparation};
use crate::tasks::{Function, Group, Task};
use crate::waiting::{Event, Poll};

/// A team.
#[derive(Debug)]
pub(crate) struct Team {
    pub(crate) size: u32,
    setting: CachePadded<Setting>,
    members: Box<[CachePadded<Member>]>,
    pub(crate) shares: List,
    barrier: CachePadded<Barrier>,
    /// For barriers that members leave when the region is cancelled.
    cancel_barrier: CachePadded<Barrier>,
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
pub(crate) struct Setting {
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
unsafe impl Send for Setting {}
// SAFETY: as above.
unsafe impl Sync for Setting {}

impl Deref for Team {
    type Target = Setting;

    fn deref(&self) -> &Setting {
        &self.setting
    }
}

impl Setting {
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

    fn is_same(&self, other: &Self) -> bool {
        let plain = |it: &Self| {
            let function = it.function.map(|it| it as usize);
            let binding = (it.bind, it.displays_affinity);
            (it.level, it.active_level, it.league.get(), it.parent, binding, function, it.data)
        };
        plain(self) == plain(other)
            && self.icvs == other.icvs
            && self.group.is_none()
            && other.group.is_none()
            && Arc::ptr_eq(&self.group_size, &other.group_size)
    }
}

impl Team {
    pub(super) fn new(size: u32, setting: Setting) -> Self {
        Self {
            size,
            setting: CachePadded::new(setting),
            members: (0..size).map(|it| CachePadded::new(Member::new(it))).collect(),
            shares: List::new(size),
            barrier: CachePadded::new(Barrier::new(size)),
            cancel_barrier: CachePadded::new(Barrier::new(size)),
            outstanding: CachePadded::new(AtomicUsize::new(0)),
            detached: AtomicUsize::new(0),
            singles: CachePadded::new(AtomicU64::new(0)),
            is_cancelled: AtomicBool::new(false),
            cancelled_share: AtomicU64::new(0),
            arrivals: Event::new(),
            progress: Event::new(),
        }
    }

    /// Makes the team ready for another region. What stays the same stays in the members' caches.
    pub(super) fn reset(&mut self, setting: Setting) {
        if !self.setting.is_same(&setting) {
            self.setting = CachePadded::new(setting);
        }
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

    /// The region begins with a loop or with sections: the first thread need not prepare them.
    pub(super) fn append_first_share(&mut self, preparation: Preparation) {
        self.shares.append_first(preparation);
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
        let Some(number) = barrier.arrive(&self.outstanding) else {
            return self.arrivals.notify_all();
        };
        let is_over = || barrier.is_past(number) || is_cancelled();
        let poll = || {
            if is_over() {
                Poll::Done
            } else if self.has_outstanding() && self.execute_any(member) {
                Poll::Worked
            } else {
                Poll::Idle
            }
        };
        let has_task = || self.members().any(|it| !it.queue.is_empty());
        self.arrivals.wait_and_work(poll, || is_over() || has_task());
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
