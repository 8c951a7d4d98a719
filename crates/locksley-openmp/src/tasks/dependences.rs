//! Dependences between the children of one task (`depend`).
//!
//! For each address the creator remembers the last child that writes it alone, and since then the
//! latest set of independent children (all `in`, or all `inoutset`), and the set before. A child of
//! the latest set waits for the set before, another one for the latest. A task that writes address
//! 0 (`omp_all_memory`) waits for all earlier ones, and all later ones wait for it.

use std::collections::HashMap;
use std::ffi::c_void;
use std::mem::swap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use crate::mutex::lock;
use crate::race_detector;

/// An address that a task depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Access {
    pub(crate) address: usize,
    pub(crate) kind: Kind,
}

/// How a task depends on others that access the same address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    In,
    /// Also `out` and `mutexinoutset`.
    InOut,
    InOutSet,
}

impl Access {
    /// `omp_all_memory`
    pub(crate) const ALL_MEMORY: Self = Self { address: 0, kind: Kind::InOut };
}

/// Kinds of dependences in an `omp_depend_t`.
const IN: usize = 1;
const INOUTSET: usize = 5;

/// Reads the list of dependences that the compiler passes to `GOMP_task`: either the number of
/// all, the number of writers, and addresses; or 0, the number of all, of writers, of
/// `mutexinoutset`, of readers, and addresses, the last of which are those of `omp_depend_t`.
///
/// # Safety
/// `list` is such a list, or null: there are none.
pub(crate) unsafe fn accesses(list: *const *mut c_void) -> Vec<Access> {
    if list.is_null() {
        return Vec::new();
    }
    // SAFETY: the list has all words that are read below, since its head says how many.
    let word = |at: usize| (unsafe { *list.wrapping_add(at) }) as usize;
    let (all, writers, known, first) = match word(0) {
        0 => (word(1), word(2) + word(3), word(2) + word(3) + word(4), 5),
        all => (all, word(1), all, 2),
    };
    let access = |number: usize| {
        let address = word(first + number);
        if number < known {
            let kind = if number < writers { Kind::InOut } else { Kind::In };
            return Access { address, kind };
        }
        let object = address as *const usize;
        // SAFETY: an `omp_depend_t` is an address and a kind.
        let address = unsafe { *object };
        // SAFETY: as above.
        let kind = match unsafe { *object.wrapping_add(1) } {
            IN => Kind::In,
            INOUTSET => Kind::InOutSet,
            _ => Kind::InOut,
        };
        Access { address, kind }
    };
    (0..all).map(access).collect()
}

/// A task that may have dependences.
pub(super) trait Dependent: Sized {
    /// `None` if the task has none, and no other one waits for it.
    fn links(&self) -> Option<&Links<Self>>;
}

/// A task's edges to later ones.
#[derive(Debug)]
pub(super) struct Links<T> {
    /// How many tasks have to end before this one, and one more until all are known.
    unmet: AtomicUsize,
    /// The tasks that wait for this one; `None` once it has ended.
    successors: Mutex<Option<Vec<Arc<T>>>>,
}

impl<T: Dependent> Links<T> {
    pub(super) fn new() -> Self {
        Self { unmet: AtomicUsize::new(1), successors: Mutex::new(Some(Vec::new())) }
    }

    pub(super) fn are_met(&self) -> bool {
        // Acquire: pairs with the release in `meet`. What earlier tasks wrote is seen.
        let are_met = self.unmet.load(Ordering::Acquire) == 0;
        race_detector::acquire(self);
        are_met
    }

    /// One task fewer. True if it was the last.
    fn meet(&self) -> bool {
        // Release: pairs with the acquire in `are_met` and of the last one here.
        race_detector::release(self);
        let is_last = self.unmet.fetch_sub(1, Ordering::AcqRel) == 1;
        race_detector::acquire(self);
        is_last
    }

    /// The task has ended. Returns the tasks that have become ready.
    pub(super) fn end(&self) -> Vec<Arc<T>> {
        race_detector::release(&self.successors);
        let successors = lock(&self.successors).take().unwrap_or_default();
        let is_ready = |task: &Arc<T>| task.links().is_some_and(Self::meet);
        successors.into_iter().filter(is_ready).collect()
    }
}

/// The children that later children depend on.
#[derive(Debug)]
pub(super) struct Table<T> {
    by_address: Option<HashMap<usize, Users<T>>>,
    /// With more addresses than this, those without living users are removed.
    threshold: usize,
    /// The last one that writes all memory.
    writer_of_all: Option<Arc<T>>,
}

/// The children that access an address.
#[derive(Debug)]
struct Users<T> {
    writer: Option<Arc<T>>,
    /// The set before the latest.
    earlier: Vec<Arc<T>>,
    /// The latest set, all of this kind.
    latest: Vec<Arc<T>>,
    kind: Kind,
}

impl<T: Dependent> Table<T> {
    pub(super) fn new() -> Self {
        Self { by_address: None, threshold: 0, writer_of_all: None }
    }

    /// Enters a task. True if it need not wait. `is_last`: no later task depends on it.
    pub(super) fn link(&mut self, task: &Arc<T>, accesses: &[Access], is_last: bool) -> bool {
        let Some(links) = task.links() else { return true };
        if let Some(writer) = &self.writer_of_all {
            precede(writer, task, links);
        }
        if accesses.contains(&Access::ALL_MEMORY) {
            for users in self.by_address.iter().flat_map(HashMap::values) {
                users.writer.iter().chain(&users.latest).for_each(|it| precede(it, task, links));
            }
            if !is_last {
                *self = Self { writer_of_all: Some(Arc::clone(task)), ..Self::new() };
            }
            return links.meet();
        }
        self.remove_unused();
        for &Access { address, kind } in accesses {
            let new = || Users { writer: None, earlier: Vec::new(), latest: Vec::new(), kind };
            let by_address = self.by_address.get_or_insert_default();
            let users = by_address.entry(address).or_insert_with(new);
            let before = if kind == users.kind { &users.earlier } else { &users.latest };
            users.writer.iter().chain(before).for_each(|it| precede(it, task, links));
            if is_last {
                continue;
            }
            if kind == Kind::InOut {
                users.earlier.clear();
                users.latest.clear();
                users.writer = Some(Arc::clone(task));
                continue;
            }
            if kind != users.kind {
                swap(&mut users.earlier, &mut users.latest);
                users.latest.clear();
                users.kind = kind;
            }
            // Those that have ended are not collected for ever.
            users.latest.retain(has_not_ended);
            users.latest.push(Arc::clone(task));
        }
        links.meet()
    }

    /// Keeps at most about twice as many addresses as have users.
    fn remove_unused(&mut self) {
        let Some(by_address) = self.by_address.as_mut().filter(|it| it.len() > self.threshold)
        else {
            return;
        };
        by_address.retain(|_, users| users.writer.iter().chain(&users.latest).any(has_not_ended));
        self.threshold = (2 * by_address.len()).max(64);
    }
}

fn has_not_ended<T: Dependent>(task: &Arc<T>) -> bool {
    task.links().is_some_and(|it| {
        let has_not_ended = lock(&it.successors).is_some();
        race_detector::acquire(&it.successors);
        has_not_ended
    })
}

/// Has `later` wait for `earlier`, unless that has ended or is the same.
fn precede<T: Dependent>(earlier: &Arc<T>, later: &Arc<T>, links: &Links<T>) {
    if Arc::ptr_eq(earlier, later) {
        return;
    }
    let Some(earlier) = earlier.links() else { return };
    let mut successors = lock(&earlier.successors);
    race_detector::acquire(&earlier.successors);
    if let Some(successors) = successors.as_mut() {
        // Relaxed: before the successor is in the list.
        links.unmet.fetch_add(1, Ordering::Relaxed);
        successors.push(Arc::clone(later));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::settings;
    use crate::tasks::{Options, Task};

    fn parent() -> Arc<Task> {
        Task::implicit(settings().icvs, None)
    }

    fn child(parent: &Arc<Task>, accesses: &[(usize, bool)]) -> (Arc<Task>, bool) {
        let kind = |is_write| if is_write { Kind::InOut } else { Kind::In };
        let accesses: Vec<_> = accesses.iter().map(|it| (it.0, kind(it.1))).collect();
        child_of_kinds(parent, &accesses)
    }

    fn child_of_kinds(parent: &Arc<Task>, accesses: &[(usize, Kind)]) -> (Arc<Task>, bool) {
        let options = Options { is_deferred: true, ..Options::default() };
        let task = Task::child(parent, options, None, true, None);
        let access = |&(address, kind): &(usize, Kind)| Access { address, kind };
        let accesses: Vec<_> = accesses.iter().map(access).collect();
        let is_ready = task.link(parent, &accesses, false);
        (task, is_ready)
    }

    #[test]
    fn readers_wait_for_the_writer_and_a_writer_for_the_readers() {
        let parent = parent();
        let (write, is_ready) = child(&parent, &[(8, true)]);
        assert!(is_ready);
        let (read, is_ready) = child(&parent, &[(8, false)]);
        let (read_too, is_ready_too) = child(&parent, &[(8, false), (16, true)]);
        assert!(!is_ready && !is_ready_too);
        let (last, is_ready) = child(&parent, &[(8, true)]);
        assert!(!is_ready);
        let (ready, _) = write.end();
        assert_eq!(ready.len(), 2);
        assert!(read.end().0.is_empty());
        let (ready, is_last) = read_too.end();
        assert!(ready.len() == 1 && Arc::ptr_eq(&ready[0], &last) && !is_last);
        assert!(last.end().1, "the last child has ended");
        assert!(child(&parent, &[(8, true)]).1, "those before have ended");
    }

    #[test]
    fn tasks_of_a_set_wait_for_others_and_not_for_each_other() {
        for kind in [Kind::In, Kind::InOut] {
            let parent = parent();
            let of = |kind| child_of_kinds(&parent, &[(8, kind)]);
            assert!(of(Kind::InOutSet).1 && of(Kind::InOutSet).1);
            let (middle, is_ready) = of(kind);
            assert!(!is_ready);
            let [(first, _), (second, _)] = [(); 2].map(|()| of(Kind::InOutSet));
            let (last, _) = of(kind);
            assert!(!first.is_ready() && !second.is_ready());
            assert_eq!(middle.end().0.len(), 2);
            assert!(first.is_ready() && second.is_ready());
            assert!(second.end().0.is_empty() && !last.is_ready());
            let (third, is_ready) = of(Kind::InOutSet);
            assert!(!is_ready && first.end().0.len() == 1 && last.is_ready());
            assert!(last.end().0.len() == 1 && third.is_ready());
        }
    }

    #[test]
    fn a_task_that_writes_all_memory_lies_between_all_earlier_and_all_later_ones() {
        let parent = parent();
        let (read, _) = child(&parent, &[(8, false)]);
        let (write, _) = child(&parent, &[(16, true)]);
        let (all, is_ready) = child(&parent, &[(24, true), (0, true)]);
        assert!(!is_ready);
        let (later, is_ready) = child(&parent, &[(32, false)]);
        assert!(!is_ready && read.end().0.is_empty() && !all.is_ready());
        assert!(write.end().0.iter().all(|it| Arc::ptr_eq(it, &all)) && all.is_ready());
        let (again, is_ready) = child(&parent, &[(0, true)]);
        assert!(!is_ready && !later.is_ready());
        assert_eq!(all.end().0.len(), 1);
        assert!(later.is_ready() && !again.is_ready());
        assert!(later.end().0.iter().all(|it| Arc::ptr_eq(it, &again)) && again.is_ready());
    }

    #[test]
    fn a_task_that_names_an_address_twice_does_not_wait_for_itself() {
        assert!(child(&parent(), &[(8, false), (8, true), (8, true)]).1);
    }

    #[test]
    fn addresses_whose_users_have_ended_are_forgotten() {
        let parent = parent();
        let (held, _) = child(&parent, &[(8, true)]);
        for address in 100..10_000 {
            child(&parent, &[(address, address % 2 == 0)]).0.end();
        }
        let mut table = Table::new();
        parent.swap_table(&mut table);
        let addresses = table.by_address.as_ref().unwrap();
        assert!(addresses.len() < 100 && addresses.contains_key(&8));
        parent.swap_table(&mut table);
        assert!(!child(&parent, &[(8, false)]).1);
        held.end();
    }

    #[test]
    fn the_compilers_lists_are_read() {
        let objects = [[64_usize, IN], [72, 3], [80, INOUTSET]];
        let old = [3_usize, 1, 8, 16, 24].map(|it| it as *mut c_void);
        let [first, second, third] = objects.each_ref().map(|it| it.as_ptr() as usize);
        let new = [0, 6, 1, 1, 1, 8, 16, 24, first, second, third].map(|it| it as *mut c_void);
        let read = |list: &[*mut c_void]| {
            // SAFETY: lists as the compiler makes them.
            let accesses = unsafe { accesses(list.as_ptr()) };
            accesses.iter().map(|it| (it.address, it.kind)).collect::<Vec<_>>()
        };
        let (first, second) = ((8, Kind::InOut), (24, Kind::In));
        assert_eq!(read(&old), [first, (16, Kind::In), second]);
        let of_objects = [(64, Kind::In), (72, Kind::InOut), (80, Kind::InOutSet)];
        assert_eq!(read(&new), [&[first, (16, Kind::InOut), second], &of_objects[..]].concat());
    }
}
