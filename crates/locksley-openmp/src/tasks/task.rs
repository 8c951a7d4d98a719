//! A task, explicit or implicit.

use std::cell::{Cell, RefCell};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::dependences::{Dependent, Links, Table};
use super::{Access, Body, Event, Group};
use crate::icv::Icvs;
use crate::mutex::lock;
use crate::race_detector;

/// A task. Its memory lives as long as a reference; children have one to their parent.
#[derive(Debug)]
pub(crate) struct Task {
    /// The parent, or an ancestor that has not ended: see [`begin`](Self::begin).
    parent: Mutex<Option<Arc<Task>>>,
    /// The number of ancestors.
    depth: u32,
    /// The address of the implicit task from which this one descends; 0 in that task itself.
    root: usize,
    options: Options,
    /// Deferred children that have not ended.
    children: AtomicUsize,
    has_ended: AtomicBool,
    /// The group in which the task was created.
    membership: Option<Arc<Group>>,
    links: Option<Links<Task>>,
    event: Option<Arc<Event>>,
    /// What only the thread that executes the task uses.
    own: Own,
}

/// What only the thread that executes the task uses.
#[derive(Debug)]
struct Own {
    /// Taken by the thread that begins to execute the task.
    body: RefCell<Option<Body>>,
    icvs: Cell<Icvs>,
    group: RefCell<Option<Arc<Group>>>,
    /// The latest tasks among the children to access each address.
    table: RefCell<Table<Task>>,
}

// SAFETY: one thread at a time executes a task, and it alone uses `own`; a queue's lock lies
// between two such threads, or the exchange by which an event happens. All else is `Send`.
unsafe impl Send for Task {}
// SAFETY: as above; all fields but `own` are `Sync`.
unsafe impl Sync for Task {}

/// How a task is executed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Options {
    pub(crate) is_final: bool,
    /// The creator continues before the task has ended, and waits for it later.
    pub(crate) is_deferred: bool,
    /// Ready tasks with a larger one come first. 0 unless OMP_MAX_TASK_PRIORITY allows more.
    pub(crate) priority: i32,
}

impl Task {
    /// The task of a team's member, or of an initial thread.
    pub(crate) fn implicit(icvs: Icvs, group: Option<Arc<Group>>) -> Arc<Self> {
        Arc::new(Self::new(None, Options::default(), None, icvs, group, None, None))
    }

    /// A child that the creator executes at once, in the memory of `spare` if nothing refers to
    /// that any more.
    pub(crate) fn undeferred(
        parent: &Arc<Self>,
        is_final: bool,
        spare: Option<Arc<Self>>,
    ) -> Arc<Self> {
        let options = Options { is_final, ..Options::default() };
        let group = parent.group();
        if let Some(mut task) = spare
            && let Some(it) = Arc::get_mut(&mut task)
        {
            let before = it.parent.get_mut().unwrap_or_else(PoisonError::into_inner);
            if before.as_ref().is_none_or(|it| !Arc::ptr_eq(it, parent)) {
                *before = Some(Arc::clone(parent));
            }
            (it.depth, it.root, it.options) = (parent.depth + 1, Self::root(parent), options);
            // Children that outlived the task before no longer count there: see `begin`.
            *it.children.get_mut() = 0;
            *it.has_ended.get_mut() = false;
            it.own.icvs.set(parent.icvs());
            *it.own.group.get_mut() = group.clone();
            it.membership = group;
            return task;
        }
        Arc::new(Self::new(Some(parent), options, None, parent.icvs(), group, None, None))
    }

    /// A child of a task, which the calling thread executes.
    pub(crate) fn child(
        parent: &Arc<Self>,
        options: Options,
        body: Option<Body>,
        has_dependences: bool,
        event: Option<Arc<Event>>,
    ) -> Arc<Self> {
        let group = parent.group();
        if options.is_deferred {
            // Relaxed: the parent, which waits for its children, does this itself.
            parent.children.fetch_add(1, Ordering::Relaxed);
            if let Some(group) = &group {
                group.add();
            }
        }
        let links = has_dependences.then(Links::new);
        Arc::new(Self::new(Some(parent), options, body, parent.icvs(), group, links, event))
    }

    fn new(
        parent: Option<&Arc<Self>>,
        options: Options,
        body: Option<Body>,
        icvs: Icvs,
        group: Option<Arc<Group>>,
        links: Option<Links<Self>>,
        event: Option<Arc<Event>>,
    ) -> Self {
        Self {
            parent: Mutex::new(parent.cloned()),
            depth: parent.map_or(0, |it| it.depth + 1),
            root: parent.map_or(0, Self::root),
            options,
            children: AtomicUsize::new(0),
            has_ended: AtomicBool::new(false),
            membership: group.clone(),
            links,
            event,
            own: Own {
                body: RefCell::new(body),
                icvs: Cell::new(icvs),
                group: RefCell::new(group),
                table: RefCell::new(Table::new()),
            },
        }
    }

    /// The `root` of a task's children.
    fn root(parent: &Arc<Self>) -> usize {
        if parent.root == 0 { Arc::as_ptr(parent).addr() } else { parent.root }
    }

    pub(crate) fn is_explicit(&self) -> bool {
        self.depth > 0
    }

    pub(crate) fn options(&self) -> Options {
        self.options
    }

    /// What is to be executed. Taken once.
    pub(crate) fn take_body(&self) -> Option<Body> {
        self.own.body.take()
    }

    pub(crate) fn event(&self) -> Option<&Arc<Event>> {
        self.event.as_ref()
    }

    pub(crate) fn icvs(&self) -> Icvs {
        self.own.icvs.get()
    }

    pub(crate) fn change_icvs(&self, change: impl FnOnce(&mut Icvs)) {
        let mut icvs = self.icvs();
        change(&mut icvs);
        self.own.icvs.set(icvs);
    }

    /// The innermost group that the task has begun, or was created in.
    pub(crate) fn group(&self) -> Option<Arc<Group>> {
        self.own.group.borrow().clone()
    }

    pub(crate) fn set_group(&self, group: Option<Arc<Group>>) {
        self.own.group.replace(group);
    }

    /// The group in which the task was created.
    pub(crate) fn membership(&self) -> Option<&Group> {
        self.membership.as_deref()
    }

    /// True if all deferred children have ended.
    pub(crate) fn has_no_children(&self) -> bool {
        // Acquire: pairs with the release in `end`. What the children wrote is seen.
        let has_none = self.children.load(Ordering::Acquire) == 0;
        race_detector::acquire(self);
        has_none
    }

    /// Makes the task, a child of the calling thread's, wait for earlier children that access the
    /// same addresses. True if it need not wait.
    pub(crate) fn link(
        self: &Arc<Self>,
        parent: &Self,
        accesses: &[Access],
        is_last: bool,
    ) -> bool {
        parent.own.table.borrow_mut().link(self, accesses, is_last)
    }

    #[cfg(test)]
    pub(super) fn swap_table(&self, table: &mut Table<Self>) {
        std::mem::swap(table, &mut self.own.table.borrow_mut());
    }

    /// True if no earlier task has to end before this one begins.
    pub(crate) fn is_ready(&self) -> bool {
        self.links.as_ref().is_none_or(Links::are_met)
    }

    /// The task begins. Ancestors that have ended are no longer needed: a long chain of tasks that
    /// each create the next one would otherwise stay in memory.
    pub(crate) fn begin(&self) {
        if self.depth == 1 {
            // An implicit task ends after its children.
            return;
        }
        let mut parent = lock(&self.parent);
        while let Some(ended) = parent.take_if(|it| it.has_ended.load(Ordering::Relaxed)) {
            let next = lock(&ended.parent).clone();
            *parent = next;
        }
    }

    /// The task has ended. Returns the deferred tasks that have become ready thereby, and whether a
    /// thread may wait for what this has changed.
    pub(crate) fn end(&self) -> (Vec<Arc<Self>>, bool) {
        // Relaxed: the parent's own counter orders what matters.
        self.has_ended.store(true, Ordering::Relaxed);
        self.own.table.replace(Table::new());
        let mut ready = self.links.as_ref().map(Links::end).unwrap_or_default();
        let all = ready.len();
        // The creator of an undeferred task waits for it, and executes it.
        ready.retain(|it| it.options.is_deferred);
        let is_creator_waiting = ready.len() != all;
        if !self.options.is_deferred {
            return (ready, is_creator_waiting);
        }
        // Release: pairs with the acquire in `has_no_children`. If an ancestor has taken the
        // parent's place, nothing counts on the parent's children any more.
        let is_last_child = lock(&self.parent).as_ref().is_some_and(|it| {
            race_detector::release(&**it);
            it.depth + 1 == self.depth && it.children.fetch_sub(1, Ordering::AcqRel) == 1
        });
        let is_last_of_group = self.membership.as_ref().is_some_and(|it| it.remove());
        (ready, is_creator_waiting || is_last_child || is_last_of_group)
    }

    /// True if the task descends from `ancestor`.
    pub(crate) fn descends_from(&self, ancestor: &Self) -> bool {
        if ancestor.root == 0 {
            return self.root == ptr::from_ref(ancestor).addr();
        }
        if self.root != ancestor.root || self.depth <= ancestor.depth {
            return false;
        }
        let mut task = lock(&self.parent).clone();
        while let Some(it) = task {
            if ptr::eq(&raw const *it, ancestor) {
                return true;
            }
            if it.depth <= ancestor.depth {
                return false;
            }
            task = lock(&it.parent).clone();
        }
        false
    }
}

impl Dependent for Task {
    fn links(&self) -> Option<&Links<Self>> {
        self.links.as_ref()
    }
}

impl Drop for Task {
    /// Frees a chain of ancestors without recursion.
    fn drop(&mut self) {
        let mut parent = self.parent.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        while let Some(mut last) = parent.and_then(Arc::into_inner) {
            parent = last.parent.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        }
    }
}
