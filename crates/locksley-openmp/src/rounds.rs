//! A small loop on any library with libgomp's interface: `locksley-openmp check` measures two by
//! it.

use std::ffi::{c_int, c_uint, c_void};
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// `GOMP_parallel`
type Parallel =
    unsafe extern "C" fn(unsafe extern "C" fn(*mut c_void), *mut c_void, c_uint, c_uint);
/// `omp_get_thread_num`, `omp_get_num_threads`
type Number = unsafe extern "C" fn() -> c_int;

/// The iterations of a round: about 0.4 ms for one thread. An iteration is a step of xorshift64.
const ITERATIONS: u64 = 200_000;

struct Round {
    thread_num: Number,
    num_threads: Number,
    /// The iterations that were executed.
    done: AtomicU64,
}

/// Repeats a parallel region with a static loop for so many seconds, on the library that has these
/// three functions. Returns the number of rounds, or -1 if a round did not execute all iterations.
///
/// # Safety
/// The functions are `GOMP_parallel`, `omp_get_thread_num` and `omp_get_num_threads` of one
/// library.
#[unsafe(no_mangle)]
unsafe extern "C" fn locksley_openmp_rounds(
    parallel: Parallel,
    thread_num: Number,
    num_threads: Number,
    seconds: f64,
) -> i64 {
    let Ok(limit) = Duration::try_from_secs_f64(seconds) else { return 0 };
    let mut round = Round { thread_num, num_threads, done: AtomicU64::new(0) };
    let start = Instant::now();
    let mut rounds = 0;
    while start.elapsed() < limit {
        *round.done.get_mut() = 0;
        // SAFETY: the region's function gets the address of `round`, which lives until its end.
        unsafe { parallel(execute, (&raw mut round).cast(), 0, 0) };
        if *round.done.get_mut() != ITERATIONS {
            return -1;
        }
        rounds += 1;
    }
    rounds
}

/// A thread's part of a round.
unsafe extern "C" fn execute(round: *mut c_void) {
    // SAFETY: `locksley_openmp_rounds` passes it. The threads only read it, but for the counter.
    let round = unsafe { &*round.cast::<Round>() };
    // SAFETY: as its caller promises.
    let number = unsafe { (round.thread_num)() } as u64;
    // SAFETY: as above.
    let threads = unsafe { (round.num_threads)() } as u64;
    let bound = |number: u64| ITERATIONS * number / threads;
    let iterations = bound(number + 1) - bound(number);
    let mut x = number | 1;
    for _ in 0..iterations {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    black_box(x);
    // Relaxed: the region's end, at which all threads meet, orders it before it is read.
    round.done.fetch_add(iterations, Ordering::Relaxed);
}
