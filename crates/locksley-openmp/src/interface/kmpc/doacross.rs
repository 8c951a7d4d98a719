//! Loops with iterations that wait for others. Their threads share them like gcc's.

use std::cell::Cell;

use super::{Place, Thread};
use crate::interface::doacross::act;
use crate::interface::read;
use crate::shares::Doacross;

thread_local! {
    /// The numbers of iterations of the nested loops that the thread begins next, if those wait.
    static COUNTS: Cell<Option<Vec<u64>>> = const { Cell::new(None) };
}

/// Also called at the thread's exit, when the variable is gone, as are those of other files here.
pub(super) fn take_counts() -> Option<Vec<u64>> {
    COUNTS.try_with(Cell::take).ok().flatten()
}

export! {
    // The compiler numbers the iterations itself: each loop is `(0, count, 1)`.
    __kmpc_doacross_init(
        _place: Place, _thread: Thread, levels: i32, loops: *const [u64; 3],
    ) -> () {
        let count = |level: i32| read(loops.wrapping_add(level as usize))[1];
        let counts = (0..levels).map(count).collect();
        let _ = COUNTS.try_with(|it| it.set(Some(counts)));
    }

    __kmpc_doacross_post(_place: Place, _thread: Thread, numbers: *const u64) -> () {
        act(numbers, Doacross::post);
    }

    __kmpc_doacross_wait(_place: Place, _thread: Thread, numbers: *const u64) -> () {
        act(numbers, Doacross::wait);
    }
}
