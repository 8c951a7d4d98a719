//! Parallel regions: how they begin and end.

use std::ffi::c_void;
use std::io;
use std::ptr;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Once};

use super::current::{self, Active};
use super::members::Context;
use super::worker;
use super::{Member, Team, size};
use crate::environment::settings;
use crate::icv::Icvs;
use crate::messages::warn;
use crate::shares::Preparation;
use crate::tasks::{Function, Group};
use crate::{trace, waiting};

/// A region as the program states it.
#[derive(Debug)]
pub(crate) struct Region {
    pub(crate) function: Function,
    pub(crate) data: *mut c_void,
    /// What `num_threads` says; 1 if an `if` clause is false; 0 for neither.
    pub(crate) threads: u32,
    /// What `proc_bind` says, as a number of `omp_proc_bind_t`; 0 for nothing.
    pub(crate) bind: i32,
    /// The loop or sections with which the region begins.
    pub(crate) share: Option<Preparation>,
}

/// Begins a region: the calling thread becomes its member 0, and does not execute it yet.
/// `make_group` makes the group of the region's reductions, for that many threads. Returns the
/// number of threads.
pub(crate) fn start(region: Region, make_group: impl FnOnce(u32) -> Option<Arc<Group>>) -> u32 {
    let member = current::current();
    let mut state = current::thread().state.borrow_mut();
    state.forget_workers_after_fork();
    let mut size = size::reserve(member, region.threads);
    // Those of the outer regions are in use.
    let is_outermost = state.active.is_empty() && !current::is_worker();
    let count = size as usize - 1;
    let mut borrowed = Vec::new();
    let owner = state.owner;
    let workers = if is_outermost { &mut state.workers } else { &mut borrowed };
    if let Err(error) = worker::fill(workers, count, owner, execute) {
        static WARNING: Once = Once::new();
        WARNING.call_once(|| warn(&format!("Thread creation failed: {}", reason(&error))));
        let fewer = workers.len() as u32 + 1;
        size::release(&member.team().group_size, size - fewer, true);
        size = fewer;
    }
    let mut context = context(member, &region, size, make_group(size));
    if settings().displays_affinity && size > 1 {
        let shown = member.places_of_team(context.bind, size);
        context.displays_affinity = context.level > 1 || state.shown != shown;
        if context.level == 1 {
            state.shown = shown;
        }
    }
    let mut team = team(&mut state.idle, size, context);
    if let Some(preparation) = region.share {
        let team = Arc::get_mut(&mut team).expect("no member has it yet");
        // The first thread need not prepare the loop or the sections.
        team.shares.append_first(preparation);
    }
    let workers = if is_outermost { &state.workers } else { &borrowed };
    for (worker, number) in workers.iter().zip(1..size) {
        worker.assign(Arc::clone(&team), number);
    }
    enter(&team, 0);
    state.active.push(Active { team, borrowed });
    size
}

/// Ends the innermost region that the calling thread has begun.
pub(crate) fn end() {
    let thread = current::thread();
    let team = thread.state.borrow().active.last().map(|it| Arc::clone(&it.team));
    let Some(team) = team else { return };
    // The region stays active meanwhile: tasks that end in its last barrier may begin others.
    leave(team.member(0), team.parent);
    drop(team);
    let active = thread.state.borrow_mut().active.pop();
    let Some(Active { team, borrowed }) = active else { return };
    size::release(&team.group_size, team.size - 1, team.is_complete());
    if team.is_complete() {
        worker::give_back(thread.state.borrow().owner, borrowed);
    } else {
        // Their threads are not in this process.
        std::mem::forget(borrowed);
    }
    let mut state = thread.state.borrow_mut();
    state.idle.swap(0, 1);
    state.idle[0] = Some(team);
    drop(state);
    current::note_region_end();
}

/// Executes `body` as an initial thread would, with a `thread_limit`; 0 for the environment's.
pub(crate) fn isolated(thread_limit: u32, body: impl FnOnce()) {
    let outer = current::current();
    let mut icvs = settings().icvs;
    if thread_limit != 0 {
        icvs.thread_limit = thread_limit;
    }
    let team = Arc::new(Team::new(1, Context::initial(icvs)));
    let member = enter(&team, 0);
    // The threads of its regions are not those of the regions outside.
    let depth = Active { team: Arc::clone(&team), borrowed: Vec::new() };
    current::thread().state.borrow_mut().active.push(depth);
    body();
    current::thread().state.borrow_mut().active.pop();
    leave(member, outer);
}

/// Executes a region on a worker.
fn execute(team: &Arc<Team>, number: u32) {
    waiting::prepare_worker();
    let member = enter(team, number);
    if let Some(function) = team.function {
        // SAFETY: the compiler made the function for this region, and its data live until the end.
        unsafe { function(team.data) };
    }
    leave(member, ptr::null());
}

fn enter(team: &Arc<Team>, number: u32) -> &Member {
    let member = team.member(number);
    member.enter(team);
    current::set_member(member);
    member.trace_slot.store(trace::begin_region(), Ordering::Relaxed);
    member
}

/// The calling thread leaves its team when all members have come to the region's end. It becomes
/// the member `outer` again, or none.
fn leave(member: &Member, outer: *const Member) {
    member.team().wait_at_barrier(member);
    trace::end_region();
    member.leave();
    current::set_member(outer);
}

fn context(member: &Member, region: &Region, size: u32, group: Option<Arc<Group>>) -> Context {
    let team = member.team();
    let icvs = member.with_task(|it| it.icvs());
    let level = team.level + 1;
    // A clause has no effect where OMP_PROC_BIND is false.
    let bind = if region.bind != 0 && icvs.bind != 0 { region.bind } else { icvs.bind };
    Context {
        parent: member,
        level,
        active_level: team.active_level + u32::from(size > 1),
        league: team.league.clone(),
        icvs: icvs_inside(icvs, level, bind),
        bind,
        displays_affinity: false,
        group,
        function: Some(region.function),
        data: region.data,
        group_size: Arc::clone(&team.group_size),
    }
}

/// The variables inside of a region at a nesting level, from those outside and the region's policy.
fn icvs_inside(icvs: Icvs, level: u32, bind: i32) -> Icvs {
    let settings = settings();
    let of_list = |list: &[u32]| list.get(level as usize).copied();
    let listed = settings.binds.get(level as usize).copied().filter(|_| bind != 0);
    Icvs {
        threads: of_list(&settings.threads).unwrap_or(icvs.threads),
        bind: listed.unwrap_or(bind),
        ..icvs
    }
}

/// Returns a team of that size: one that no thread has any more, or a new one.
fn team(idle: &mut [Option<Arc<Team>>], size: u32, context: Context) -> Arc<Team> {
    for idle in idle {
        if let Some(mut team) = idle.take_if(|it| it.size == size && Arc::strong_count(it) == 1)
            && let Some(it) = Arc::get_mut(&mut team)
        {
            it.reset(context);
            return team;
        }
    }
    Arc::new(Team::new(size, context))
}

/// The error in the system's words, as libgomp gives it, without its number.
fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}
