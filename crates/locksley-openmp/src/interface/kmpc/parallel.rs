//! Parallel regions: a function of the compiler's, and pointers to what it uses.

use std::cell::Cell;
use std::ffi::c_void;
use std::ptr;

use super::{Place, Thread};
use crate::interface::variadic::{Arguments, FEWEST_POINTERS, call, variadic};
use crate::interface::{parallel, teams};
use crate::team::{self, Region, current};

/// A region's function, and the pointers that it gets.
struct Call {
    function: *const c_void,
    /// With zeros behind them, if they are fewer than [`FEWEST_POINTERS`].
    pointers: Vec<usize>,
}

impl Call {
    fn new(function: *const c_void, mut pointers: Vec<usize>) -> Self {
        pointers.resize(pointers.len().max(FEWEST_POINTERS), 0);
        Self { function, pointers }
    }

    /// The arguments are `(place, count, function, pointers ...)`.
    ///
    /// # Safety
    /// A function has been called with so many.
    unsafe fn from_arguments(registers: *const u64, stack: *const u64) -> Self {
        // SAFETY: as the caller promises.
        let argument = |at| unsafe { Arguments { registers, stack }.get(at) } as usize;
        let count = argument(1) as u32 as usize;
        let pointers = (3..3 + count).map(argument).collect();
        Self::new(argument(2) as *const c_void, pointers)
    }
}

/// Executes a region as one of its threads.
unsafe extern "C" fn execute(data: *mut c_void) {
    // SAFETY: `fork` passes it.
    let Call { function, pointers } = unsafe { &*data.cast::<Call>() };
    let number = current().number.cast_signed();
    // SAFETY: the compiler's function, for at most so many pointers.
    unsafe { call(*function, &raw const number, pointers.as_ptr(), pointers.len()) };
}

/// How many teams a league has that states no number, with libomp.
const DEFAULT_TEAMS: u32 = 1;

thread_local! {
    /// What `num_threads` and `proc_bind` say of the thread's next region.
    static CLAUSES: Cell<(u32, u32)> = const { Cell::new((0, 0)) };
    /// What `num_teams` and `thread_limit` say of its next league.
    static LEAGUE: Cell<(u32, u32)> = const { Cell::new((0, 0)) };
}

unsafe extern "C" fn fork(registers: *const u64, stack: *const u64) {
    // SAFETY: the compiler has passed them.
    let mut call = unsafe { Call::from_arguments(registers, stack) };
    let data = (&raw mut call).cast();
    // SAFETY: the function and its data belong together.
    unsafe { parallel::run(execute, data, CLAUSES.take(), None, |_| None) };
}

unsafe extern "C" fn fork_teams(registers: *const u64, stack: *const u64) {
    // SAFETY: the compiler has passed them.
    let mut call = unsafe { Call::from_arguments(registers, stack) };
    // SAFETY: the function and its data belong together.
    unsafe { teams::run(execute, (&raw mut call).cast(), LEAGUE.take(), DEFAULT_TEAMS) };
}

variadic! {
    __kmpc_fork_call => fork;
    __kmpc_fork_teams => fork_teams;
}

export! {
    // A region with an `if` clause, and a pointer to what it uses, or null.
    __kmpc_fork_call_if(
        _place: Place, count: i32, function: *const c_void, is_parallel: i32, pointer: usize,
    ) -> () {
        let (threads, bind) = CLAUSES.take();
        let threads = if is_parallel == 0 { 1 } else { threads };
        let mut call = Call::new(function, vec![pointer; count as usize]);
        let data = (&raw mut call).cast();
        // SAFETY: the function and its data belong together.
        unsafe { parallel::run(execute, data, (threads, bind), None, |_| None) };
    }

    __kmpc_push_num_threads __kmpc_push_num_threads_strict(
        _place: Place, _thread: Thread, threads: u32,
    ) -> () {
        CLAUSES.set((threads, CLAUSES.get().1));
    }

    __kmpc_push_proc_bind(_place: Place, _thread: Thread, bind: u32) -> () {
        // Clang's number of `primary`.
        CLAUSES.set((CLAUSES.get().0, if bind == 5 { 2 } else { bind }));
    }

    __kmpc_push_num_teams(_place: Place, _thread: Thread, teams: u32, limit: u32) -> () {
        LEAGUE.set((teams, limit));
    }

    __kmpc_push_num_teams_51(
        _place: Place, _thread: Thread, least: u32, most: u32, limit: u32,
    ) -> () {
        LEAGUE.set((if least == 0 { most } else { least }, limit));
    }

    __kmpc_serialized_parallel() -> () {
        CLAUSES.take();
        // The compiler calls the region's function itself.
        let (function, data, share) = (execute, ptr::null_mut(), None);
        team::start(Region { function, data, threads: 1, bind: 0, share }, |_| None);
    }

    __kmpc_end_serialized_parallel() -> () {
        team::end();
    }
}
