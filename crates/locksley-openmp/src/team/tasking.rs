//! How members create, find, execute and await tasks.

use std::cell::Cell;
use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::{Member, Team, current};
use crate::environment::settings;
use crate::race_detector;
use crate::tasks::{Access, Body, Copier, Event, Function, Options, Task};
use crate::trace;

/// A task as the program states it.
#[derive(Clone, Copy)]
pub(crate) struct NewTask<'a> {
    pub(crate) function: Function,
    /// Gets the data instead if the task is cancelled before it begins.
    pub(crate) discard: Option<Function>,
    pub(crate) data: *mut c_void,
    pub(crate) copier: Option<Copier>,
    pub(crate) size: usize,
    pub(crate) align: usize,
    /// False if an `if` clause says so: the creator waits for the task.
    pub(crate) may_be_deferred: bool,
    pub(crate) is_final: bool,
    pub(crate) priority: i32,
    pub(crate) accesses: &'a [Access],
    /// That of a detached task.
    pub(crate) event: Option<&'a Arc<Event>>,
    /// Writes into the task's copy of the data, before it may run.
    pub(crate) adjust: Option<&'a dyn Fn(*mut c_void)>,
}

impl NewTask<'_> {
    /// A task that gets a copy of so many bytes of data.
    pub(crate) fn new(function: Function, data: *mut c_void, size: usize, align: usize) -> Self {
        Self {
            function,
            discard: None,
            data,
            copier: None,
            size,
            align,
            may_be_deferred: true,
            is_final: false,
            priority: 0,
            accesses: &[],
            event: None,
            adjust: None,
        }
    }

    /// A task that gets a pointer, which `function` or else `discard` frees.
    pub(crate) fn with_pointer<T>(
        function: Function,
        discard: Function,
        pointer: &mut *mut T,
    ) -> Self {
        let data = ptr::from_mut(pointer).cast();
        let size = size_of::<*mut T>();
        Self { discard: Some(discard), ..Self::new(function, data, size, align_of::<*mut T>()) }
    }
}

/// With so many ready tasks for each thread of the team, their creator executes its next ones.
const READY_PER_THREAD: usize = 64;
/// With so many tasks for each thread, ready or not, it also waits for what those depend on.
const PENDING_PER_THREAD: usize = 4096;

/// Creates a task.
pub(crate) fn create(member: &Member, new: NewTask<'_>) {
    let team = member.team();
    let (is_cancelled, is_in_final) =
        member.with_task(|it| (is_cancelled(team, it), it.options().is_final));
    if is_cancelled {
        if let Some(discard) = new.discard {
            // SAFETY: the compiler's function and its data.
            unsafe { discard(new.data) };
        }
        return;
    }
    let (threads, has_event) = (team.size as usize, new.event.is_some());
    let is_simple = new.accesses.is_empty() && !has_event;
    // Outside of regions no barrier follows, at which a deferred task would run.
    let runs_now = team.level == 0 || member.queue.len() >= READY_PER_THREAD * threads;
    let must_wait = !has_event && team.has_pending(PENDING_PER_THREAD * threads);
    let is_immediate = is_in_final || is_simple && runs_now || must_wait;
    let is_deferred = new.may_be_deferred && !is_immediate;
    let is_final = is_in_final || new.is_final;
    if !is_deferred && is_simple && new.copier.is_none() && new.adjust.is_none() {
        // The data need no copy, because their owner waits.
        // SAFETY: the compiler's function and its data.
        return member.within_child(is_final, || unsafe { (new.function)(new.data) });
    }
    let priority = new.priority.clamp(0, settings().max_task_priority);
    let (parent, options) = (member.task(), Options { is_final, is_deferred, priority });
    // SAFETY: the compiler's data, of this size or for this copier.
    let body = unsafe {
        Body::copy((new.function, new.discard), new.data, new.copier, new.size, new.align)
    };
    if let Some(adjust) = new.adjust {
        adjust(body.data());
    }
    let has_dependences = !new.accesses.is_empty();
    let task = Task::child(&parent, options, Some(body), has_dependences, new.event.cloned());
    if is_deferred {
        team.add_task(&task);
    }
    if !task.link(&parent, new.accesses, !is_deferred) {
        if is_deferred {
            return;
        }
        wait_until(member, || task.is_ready());
    }
    if is_deferred && !runs_now {
        push(team, member, task);
    } else {
        execute(team, member, task);
    }
}

fn is_cancelled(team: &Team, task: &Task) -> bool {
    team.is_cancelled() || task.group().is_some_and(|it| it.is_cancelled())
}

fn push(team: &Team, member: &Member, task: Arc<Task>) {
    member.queue.push(task);
    announce(team);
}

/// Wakes a member at a barrier for a task that was pushed: it takes any task. Else wakes all that
/// wait for tasks, since perhaps only one of them may take this one.
fn announce(team: &Team) {
    if !team.arrivals.notify_one() {
        team.progress.notify_all();
    }
}

fn execute(team: &Team, member: &Member, task: Arc<Task>) {
    race_detector::acquire(&*task);
    task.begin();
    let body = task.take_body();
    let is_cancelled =
        || team.is_cancelled() || task.membership().is_some_and(|it| it.is_cancelled());
    let is_discarded = body.as_ref().is_none_or(|it| !it.is_constructed()) && is_cancelled();
    if let Some(body) = body {
        let end = || if is_discarded { body.discard() } else { body.run() };
        member.within(Arc::clone(&task), end);
    }
    let Some(event) = task.event().filter(|_| !is_discarded).cloned() else {
        return finish(team, member, &task);
    };
    if !task.options().is_deferred {
        await_event(member, &event);
        return finish(team, member, &task);
    }
    let shared = member.shared_team();
    event.end(Box::new(move || {
        let member = current::member().filter(|it| ptr::eq(it.team(), &raw const *shared));
        finish_elsewhere(&shared, member.unwrap_or_else(|| shared.member(0)), &task);
    }));
}

/// The body of an undeferred task has ended: waits until its event is fulfilled.
pub(crate) fn await_event(member: &Member, event: &Event) {
    let team = member.shared_team();
    event.end(Box::new(move || team.progress.notify_all()));
    wait_until(member, || event.is_fulfilled());
}

/// A task has ended that `member` has executed.
fn finish(team: &Team, member: &Member, task: &Task) {
    let (ready, is_awaited) = task.end();
    // They are siblings of the task, so they descend from whatever the member executes.
    ready.into_iter().for_each(|it| push(team, member, it));
    settle(team, task, is_awaited);
}

/// A task has ended on a thread that has not executed it.
fn finish_elsewhere(team: &Team, member: &Member, task: &Task) {
    let (ready, is_awaited) = task.end();
    if !ready.is_empty() {
        for task in ready {
            member.queue.push_last(task);
            announce(team);
        }
        // Not every waiting member may take them.
        team.progress.notify_all();
    }
    settle(team, task, is_awaited);
}

fn settle(team: &Team, task: &Task, is_awaited: bool) {
    if is_awaited {
        team.progress.notify_all();
    }
    if task.options().is_deferred {
        team.remove_task(task);
    }
}

impl Team {
    /// Executes the member's newest task or another member's oldest, if it `accepts` it. Among
    /// those of a queue, one with the largest priority. Unless `looks_at_all`, it may miss one
    /// that lies behind others of another member.
    pub(super) fn execute_one(
        &self,
        member: &Member,
        looks_at_all: bool,
        accepts: impl Fn(&Task) -> bool,
    ) -> bool {
        let own = member.queue.pop(&accepts).map(|task| (task, None));
        let mut others = self.others(member);
        let steal =
            || others.find_map(|it| Some((it.queue.steal(looks_at_all, &accepts)?, Some(it))));
        let Some((task, victim)) = own.or_else(steal) else { return false };
        if self.members().any(|it| !it.queue.is_empty()) {
            // One woken member wakes the next.
            announce(self);
        }
        let execute = || execute(self, member, task);
        match victim {
            None => execute(),
            Some(victim) => {
                let slot = victim.trace_slot.load(Ordering::Relaxed);
                trace::steal(slot, victim.queue.len(), execute);
            }
        }
        true
    }

    /// True if an `execute_one` that looks at all tasks would find one.
    fn has_one(&self, accepts: impl Fn(&Task) -> bool) -> bool {
        self.members().any(|it| it.queue.has_one(&accepts))
    }

    /// The other members, those with larger numbers first.
    fn others<'a>(&'a self, member: &Member) -> impl Iterator<Item = &'a Member> {
        let number = member.number as usize;
        self.members().skip(number + 1).chain(self.members().take(number))
    }
}

/// Waits until `is_done`. Meanwhile the member executes only descendants of its task: others might
/// want a lock that the task holds.
pub(crate) fn wait_until(member: &Member, is_done: impl Fn() -> bool) {
    if is_done() {
        return;
    }
    let (team, own) = (member.team(), member.task());
    let accepts = |it: &Task| it.descends_from(&own);
    // Looks at all tasks only once it would sleep: the queues' owners have to wait meanwhile.
    let looks_at_all = Cell::new(false);
    let work = || team.execute_one(member, looks_at_all.get(), accepts);
    let has_work = || {
        looks_at_all.set(team.has_one(accepts));
        looks_at_all.get()
    };
    team.progress.wait_and_work(is_done, work, has_work);
}

/// Executes one ready descendant of the member's task, if it has one (`taskyield`).
pub(crate) fn yield_to_descendant(member: &Member) {
    let own = member.task();
    member.team().execute_one(member, false, |it| it.descends_from(&own));
}
