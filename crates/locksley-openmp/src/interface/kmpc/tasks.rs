//! Tasks: the compiler asks for memory, fills it, and hands it back.
//!
//! In front of what the compiler sees (`kmp_task_t`, then what the task captures, then the pointers
//! to what it shares) lies a head for this library.

use std::alloc::{Layout, dealloc};
use std::ffi::c_void;
use std::mem::{self, offset_of, size_of};
use std::ptr;
use std::sync::Arc;

use super::reductions::{begun, end_begun};
use super::{Place, Thread};
use crate::interface::taskloop::{GRAINSIZE, STRICT, divide};
use crate::interface::tasks::{begin_group, end_group, wait, within_group};
use crate::interface::{depend, read, write};
use crate::memory::zeroed;
use crate::shares::Iterations;
use crate::tasks::{Access, Event, Kind, Task};
use crate::team::{self, Member, NewTask, current};

type Routine = unsafe extern "C" fn(Thread, *mut Visible) -> i32;
/// Copies what one task of a loop captures to another, and whether that has the last iteration.
type Duplicate = unsafe extern "C" fn(*mut Visible, *mut Visible, i32);

/// `kmp_task_t`.
#[repr(C)]
pub(super) struct Visible {
    shared: *mut c_void,
    routine: Routine,
    _part: i32,
    /// Destroys what the task has captured, if `DESTRUCTORS` says so.
    destroy: Option<Routine>,
    priority: i32,
    _padding: i32,
}

#[repr(C)]
struct Head {
    layout: Layout,
    /// In bytes, of what the compiler sees, but for the pointers to what it shares.
    size: usize,
    event: Option<Arc<Event>>,
    /// The task of the thread that executes this one at once, and `begun()` there.
    outer: (Option<Arc<Task>>, usize),
    flags: i32,
    is_running: bool,
    /// The task has asked to be called again: an untied task returns wherever another thread might
    /// continue it, and its function continues at `Visible::_part`.
    again: bool,
    _padding: [u8; 10],
    visible: Visible,
}

/// What a task captures may be aligned as far as a cache line.
const ALIGN: usize = 64;
const _: () = assert!(offset_of!(Head, visible).is_multiple_of(ALIGN));

const FINAL: i32 = 2;
const DESTRUCTORS: i32 = 8;
const PRIORITY: i32 = 32;

/// `kmp_depend_info`
#[repr(C)]
pub(super) struct Dependence {
    address: usize,
    _size: usize,
    flags: u8,
}
const IN: u8 = 1;
const INOUTSET: u8 = 8;
const ALL_MEMORY: u8 = 0x80;

fn head(task: *mut Visible) -> *mut Head {
    task.wrapping_byte_sub(offset_of!(Head, visible)).cast()
}

fn allocate(flags: i32, size: usize, shared: usize, routine: Routine) -> *mut Visible {
    let before = offset_of!(Head, visible);
    let size = size.max(size_of::<Visible>()).next_multiple_of(16);
    let layout = Layout::from_size_align(before + size + shared, ALIGN).expect("a task is small");
    // SAFETY: the size is not 0.
    let task = unsafe { zeroed(layout) }.wrapping_add(before).cast::<Visible>();
    let at = task.wrapping_byte_add(size).cast();
    let shared = if shared == 0 { ptr::null_mut() } else { at };
    let visible = Visible { shared, routine, _part: 0, destroy: None, priority: 0, _padding: 0 };
    let new = Head {
        layout,
        size,
        event: None,
        outer: (None, 0),
        flags,
        is_running: false,
        again: false,
        _padding: [0; 10],
        visible,
    };
    // SAFETY: the memory is new, large enough, and aligned.
    unsafe { head(task).write(new) };
    task
}

/// # Safety
/// The task is from `allocate`, and is not used any more.
unsafe fn free(task: *mut Visible) {
    let head = head(task);
    // SAFETY: as the caller promises.
    let layout = unsafe { (*head).layout };
    // SAFETY: as above.
    unsafe { head.drop_in_place() };
    // SAFETY: as above; it was allocated with this layout.
    unsafe { dealloc(head.cast(), layout) };
}

/// Executes the task at the address of the data, and frees it.
unsafe extern "C" fn execute(data: *mut c_void) {
    // SAFETY: `create` passes it.
    let task = unsafe { *data.cast::<*mut Visible>() };
    // SAFETY: the task is from `allocate`.
    let head = unsafe { &mut *head(task) };
    (head.is_running, head.again) = (true, true);
    let begun = begun();
    // SAFETY: as above.
    unsafe { call_again(task) };
    end_begun(begun);
    // SAFETY: as above.
    unsafe { discard(data) };
}

/// Frees the task at the address of the data.
unsafe extern "C" fn discard(data: *mut c_void) {
    // SAFETY: `create` passes it.
    let task = unsafe { *data.cast::<*mut Visible>() };
    // SAFETY: the task is from `allocate`.
    unsafe { destroy(task) };
    // SAFETY: it is not used any more.
    unsafe { free(task) };
}

/// Calls a task's function as long as the task asks for it.
///
/// # Safety
/// The task is from `allocate`, and complete.
unsafe fn call_again(task: *mut Visible) {
    let thread = current().number.cast_signed();
    let head = head(task);
    // SAFETY: as the caller promises.
    let routine = unsafe { (*task).routine };
    // SAFETY: as above; `__kmpc_omp_task` writes there while the function runs.
    while mem::take(unsafe { &mut (*head).again }) {
        // SAFETY: the compiler's function and its task.
        unsafe { routine(thread, task) };
    }
}

/// Destroys what a task has captured.
///
/// # Safety
/// The task is from `allocate`, and is not executed any more.
unsafe fn destroy(task: *mut Visible) {
    // SAFETY: as the caller promises.
    let &Head { flags, visible: Visible { destroy, .. }, .. } = unsafe { &*head(task) };
    if let Some(destroy) = destroy.filter(|_| flags & DESTRUCTORS != 0) {
        // SAFETY: the compiler's function and its task.
        unsafe { destroy(current().number.cast_signed(), task) };
    }
}

fn create(member: &Member, task: *mut Visible, accesses: &[Access], may_be_deferred: bool) {
    // SAFETY: the task is from `allocate`, and this thread's.
    let head = unsafe { &mut *head(task) };
    let (flags, event) = (head.flags, head.event.take());
    let mut task = task;
    let new = NewTask {
        may_be_deferred,
        is_final: flags & FINAL != 0,
        priority: if flags & PRIORITY == 0 { 0 } else { head.visible.priority },
        accesses,
        event: event.as_ref(),
        ..NewTask::with_pointer(execute, discard, &mut task)
    };
    team::create(member, new);
}

/// # Safety
/// The list has so many dependences.
unsafe fn accesses(count: i32, list: *const Dependence) -> Vec<Access> {
    let access = |at: i32| {
        // SAFETY: as the caller promises.
        let it = unsafe { &*list.wrapping_add(at as usize) };
        match it.flags {
            ALL_MEMORY => Access::ALL_MEMORY,
            // Clang's address of `omp_all_memory`.
            _ if it.address == usize::MAX => Access::ALL_MEMORY,
            IN => Access { address: it.address, kind: Kind::In },
            INOUTSET => Access { address: it.address, kind: Kind::InOutSet },
            _ => Access { address: it.address, kind: Kind::InOut },
        }
    };
    (0..count).map(access).collect()
}

/// A copy of a task for the iterations up to `last`, which is included.
///
/// # Safety
/// The task is from `allocate`; the bounds lie within it.
unsafe fn copy(
    task: *mut Visible,
    (lower, upper): (*mut u64, *mut u64),
    (first, last): (u64, u64),
) -> *mut Visible {
    // SAFETY: as the caller promises.
    let &Head { layout, size, flags, visible: Visible { routine, .. }, .. } =
        unsafe { &*head(task) };
    let shared = layout.size() - offset_of!(Head, visible) - size;
    let copy = allocate(flags, size, shared, routine);
    // SAFETY: the copy is this thread's, here and below.
    let own_shared = unsafe { (*copy).shared };
    // SAFETY: both have so much memory.
    unsafe { ptr::copy_nonoverlapping(task.cast::<u8>(), copy.cast::<u8>(), size + shared) };
    // SAFETY: as above.
    unsafe { (*copy).shared = own_shared };
    let within = |bound: *mut u64| copy.wrapping_byte_add(bound.addr() - task.addr()).cast::<u64>();
    write(within(lower), first);
    write(within(upper), last);
    copy
}

export! {
    __kmpc_omp_task_alloc __kmpc_omp_target_task_alloc(
        _place: Place, _thread: Thread, flags: i32, size: usize, shared: usize, routine: Routine,
    ) -> *mut Visible {
        allocate(flags, size, shared, routine)
    }

    __kmpc_omp_task(_place: Place, _thread: Thread, task: *mut Visible) -> i32 {
        // SAFETY: the task is from `allocate`.
        let head = unsafe { &mut *head(task) };
        if head.is_running {
            head.again = true;
        } else {
            create(current(), task, &[], true);
        }
        0
    }

    __kmpc_omp_task_with_deps(
        _place: Place, _thread: Thread, task: *mut Visible, count: i32, list: *const Dependence,
    ) -> i32 {
        // SAFETY: the compiler's list.
        create(current(), task, &unsafe { accesses(count, list) }, true);
        0
    }

    // A hint.
    __kmpc_omp_reg_task_with_affinity() -> i32 {
        0
    }

    __kmpc_omp_wait_deps __kmpc_omp_taskwait_deps_51(
        _place: Place, _thread: Thread, count: i32, list: *const Dependence,
    ) -> () {
        // SAFETY: the compiler's list.
        depend::wait_for(current(), &unsafe { accesses(count, list) });
    }

    // The compiler calls the task's function between these two.
    __kmpc_omp_task_begin_if0(_place: Place, _thread: Thread, task: *mut Visible) -> () {
        let member = current();
        // SAFETY: the task is from `allocate`.
        let head = unsafe { &mut *head(task) };
        head.is_running = true;
        head.outer = (member.begin_child(head.flags & FINAL != 0), begun());
    }

    __kmpc_omp_task_complete_if0(_place: Place, _thread: Thread, task: *mut Visible) -> () {
        // SAFETY: the task is from `allocate`, here and below.
        unsafe { call_again(task) };
        // SAFETY: as above.
        unsafe { destroy(task) };
        // SAFETY: as above.
        let head = unsafe { &mut *head(task) };
        let (member, (outer, begun)) = (current(), mem::take(&mut head.outer));
        end_begun(begun);
        if let Some(event) = head.event.take() {
            team::await_event(member, &event);
        }
        member.end_child(outer);
        // SAFETY: it has been executed.
        unsafe { free(task) };
    }

    __kmpc_omp_taskwait() -> i32 {
        wait();
        0
    }

    __kmpc_omp_taskyield() -> i32 {
        team::yield_to_descendant(current());
        0
    }

    __kmpc_taskgroup() -> () {
        begin_group(current());
    }

    __kmpc_end_taskgroup __kmpc_task_reduction_modifier_fini() -> () {
        end_group(current());
    }

    __kmpc_task_allow_completion_event(
        _place: Place, _thread: Thread, task: *mut Visible,
    ) -> usize {
        let event = Arc::<Event>::default();
        let handle = event.handle();
        // SAFETY: the task is from `allocate`.
        unsafe { (*head(task)).event = Some(event) };
        handle
    }

    __kmpc_taskloop(
        _place: Place, _thread: Thread, task: *mut Visible, may_be_deferred: i32, lower: *mut u64,
        upper: *mut u64, step: i64, has_no_group: i32, schedule: i32, stated: u64,
        duplicate: Option<Duplicate>,
    ) -> () {
        // SAFETY: as the compiler would.
        unsafe {
            __kmpc_taskloop_5(
                _place, _thread, task, may_be_deferred, lower, upper, step, has_no_group, schedule,
                stated, 0, duplicate,
            );
        }
    }

    __kmpc_taskloop_5(
        _place: Place, _thread: Thread, task: *mut Visible, may_be_deferred: i32, lower: *mut u64,
        upper: *mut u64, step: i64, has_no_group: i32, schedule: i32, stated: u64,
        is_strict: i32, duplicate: Option<Duplicate>,
    ) -> () {
        let (first, last) = (read(lower) as i64, read(upper) as i64);
        // The compiler counts the iterations from 0.
        let iterations = Iterations::included(first.into(), last.into(), step);
        let member = current();
        let threads = u64::from(member.team().size);
        let flags = if schedule == 1 { GRAINSIZE } else { 0 };
        let flags = if is_strict == 1 { flags | STRICT } else { flags };
        within_group(member, has_no_group == 0, || {
            for (from, to) in divide(iterations.total(), stated, flags, threads) {
                let values = (iterations.value(from), iterations.value(to - 1));
                // SAFETY: the compiler's task, and its bounds within it.
                let copy = unsafe { copy(task, (lower, upper), values) };
                if let Some(duplicate) = duplicate {
                    // SAFETY: the compiler's function for such tasks.
                    unsafe { duplicate(copy, task, i32::from(to == iterations.total())) };
                }
                create(member, copy, &[], may_be_deferred != 0);
            }
        });
        // SAFETY: only its copies are executed.
        unsafe { destroy(task) };
        // SAFETY: as above.
        unsafe { free(task) };
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
    use std::thread;
    use std::time::Duration;

    use super::*;

    unsafe extern "C" fn nothing(_thread: Thread, _task: *mut Visible) -> i32 {
        0
    }

    #[test]
    fn cancelled_tasks_are_destroyed_and_not_executed() {
        static DESTROYED: AtomicU64 = AtomicU64::new(0);
        unsafe extern "C" fn body(_thread: Thread, _task: *mut Visible) -> i32 {
            unreachable!("it is cancelled")
        }
        unsafe extern "C" fn destructor(_thread: Thread, _task: *mut Visible) -> i32 {
            DESTROYED.fetch_add(1, Ordering::Relaxed);
            0
        }
        let task = || {
            let task = allocate(DESTRUCTORS, 0, 0, body);
            // SAFETY: the task is new.
            unsafe { (*task).destroy = Some(destructor) };
            task
        };
        let member = current();
        let group = begin_group(member);
        let first = allocate(0, 0, 0, nothing);
        // SAFETY: the task is new.
        let event = unsafe { __kmpc_task_allow_completion_event(ptr::null(), 0, first) };
        let accesses = [Access { address: 8, kind: Kind::InOut }];
        create(member, first, &accesses, true);
        // Until the event is fulfilled, this one waits.
        create(member, task(), &accesses, true);
        group.cancel();
        create(member, task(), &[], true);
        assert_eq!(DESTROYED.load(Ordering::Relaxed), 1);
        // SAFETY: once.
        unsafe { Event::fulfill(event) };
        end_group(member);
        assert_eq!(DESTROYED.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn a_task_that_is_not_deferred_waits_for_its_event() {
        let task = allocate(0, 0, 0, nothing);
        // SAFETY: the task is new, and used as the compiler does.
        let event = unsafe { __kmpc_task_allow_completion_event(ptr::null(), 0, task) };
        let is_fulfilled = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(Duration::from_millis(20));
                is_fulfilled.store(true, Ordering::Relaxed);
                // SAFETY: once.
                unsafe { Event::fulfill(event) };
            });
            // SAFETY: as above.
            unsafe { __kmpc_omp_task_begin_if0(ptr::null(), 0, task) };
            // SAFETY: as above.
            unsafe { __kmpc_omp_task_complete_if0(ptr::null(), 0, task) };
            assert!(is_fulfilled.load(Ordering::Relaxed));
        });
    }

    #[test]
    fn dependences_have_kinds() {
        let list = [1, 2, 3, 4, 8].map(|flags| Dependence { address: 8, _size: 0, flags });
        // SAFETY: the list has so many.
        let accesses = unsafe { accesses(5, list.as_ptr()) };
        let kinds = [Kind::In, Kind::InOut, Kind::InOut, Kind::InOut, Kind::InOutSet];
        assert!(accesses.iter().map(|it| it.kind).eq(kinds));
    }

    #[test]
    fn captures_are_aligned() {
        let task = allocate(0, 200, 8, nothing);
        assert_eq!(task.addr() % ALIGN, 0);
        // SAFETY: nothing uses it.
        unsafe { free(task) };
    }

    static ITERATIONS: AtomicU64 = AtomicU64::new(0);
    static DESTROYED: AtomicU64 = AtomicU64::new(0);

    /// The bounds of a loop's task.
    fn bounds(task: *mut Visible) -> (*mut u64, *mut u64) {
        let lower = task.wrapping_add(1).cast::<u64>();
        (lower, lower.wrapping_add(1))
    }

    #[test]
    fn a_taskloop_executes_copies_and_destroys_each_task() {
        unsafe extern "C" fn body(_thread: Thread, task: *mut Visible) -> i32 {
            let (lower, upper) = bounds(task);
            ITERATIONS.fetch_add(read(upper) + 1 - read(lower), Ordering::Relaxed);
            0
        }
        unsafe extern "C" fn destructor(_thread: Thread, _task: *mut Visible) -> i32 {
            DESTROYED.fetch_add(1, Ordering::Relaxed);
            0
        }
        for (first, last, grain, is_strict, tasks) in [
            (0, u64::MAX, 2, 0, 0),
            (5, 2, 2, 0, 0),
            (0, 9, 2, 0, 5),
            (3, 3, 2, 0, 1),
            (0, 9, 4, 0, 2),
            (0, 9, 4, 1, 3),
        ] {
            let task = allocate(DESTRUCTORS, size_of::<Visible>() + 16, 0, body);
            // SAFETY: the task is new.
            unsafe { (*task).destroy = Some(destructor) };
            let (lower, upper) = bounds(task);
            write(lower, first);
            write(upper, last);
            ITERATIONS.store(0, Ordering::Relaxed);
            DESTROYED.store(0, Ordering::Relaxed);
            // SAFETY: a task and its bounds, as the compiler passes them.
            unsafe {
                __kmpc_taskloop_5(
                    ptr::null(),
                    0,
                    task,
                    1,
                    lower,
                    upper,
                    1,
                    0,
                    1,
                    grain,
                    is_strict,
                    None,
                );
            }
            let iterations = if tasks == 0 { 0 } else { last + 1 - first };
            assert_eq!(ITERATIONS.load(Ordering::Relaxed), iterations);
            assert_eq!(DESTROYED.load(Ordering::Relaxed), tasks + 1);
        }
    }
}
