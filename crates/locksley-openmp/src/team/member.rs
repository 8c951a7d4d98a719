//! A member of a team: what one thread has of its own in a region.

use std::cell::{Cell, RefCell};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use super::Team;
use super::binding::Place;
use crate::affinity::{self, Thread, describe};
use crate::environment::settings;
use crate::shares::Position;
use crate::tasks::{Queue, Task};

/// A member. Only its own thread uses it; others use its queue.
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
            affinity::print(&describe("", &self.description()));
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
