//! The cache stress of LASSI's study ("Cache Stress Test"): tasks that add and multiply all the elements of one of some arrays.
//!
//! There are as many arrays as places, and each is gone through a hundred times for each worker of a place. In the
//! paper one task goes through its array a hundred times, in places of four processors, whose tasks contend for their cache at the same
//! time. A cache that one worker has to itself is contended only by what that worker does one after the other; so a task
//! goes through its array once here.
//!
//! Elements have 16 bits, and 32 of them are added and multiplied at a time: of this width every x86-64 and AArch64 has the
//! product in its vector instructions, and the memory is what is waited for. With one chain of products of 32 bits, it
//! was the multiplier: 8 GB/s on a processor whose next cache gives 18, and best and worst were 3% apart.

use std::sync::atomic::{AtomicU64, Ordering};

use locksley::Worker;

use super::order::Placed;
use super::shared_deques::Task;
use super::touch::{self, PIECE};
use super::{Case, Timed};

/// How often each array is gone through, for each worker of a place.
const TIMES: usize = 100;

/// How many elements are added and multiplied at a time.
const LANES: usize = 32;

/// Of arrays of `size` bytes each.
pub(super) fn measure(worker: &Worker, case: &Case<'_>, size: u64) -> Result<Timed, String> {
    let length = usize::try_from(size / 2).map_err(|_| "no array is so large")?;
    // Of pages that nobody has touched, each: a copy of another one would be filled here.
    let mut arrays: Vec<Vec<u16>> = (0..case.places).map(|_| vec![0; length]).collect();
    let parts = arrays.iter_mut().enumerate().flat_map(|(own, array)| {
        array.chunks_mut(PIECE).enumerate().map(move |(piece, part)| {
            let first = own * length + piece * PIECE;
            let fill = move || touch::with_random(part, case.seed, first, |number| number as u16);
            ((own, piece), Box::new(fill) as Task<'_>)
        })
    });
    touch::touch(worker, case, parts);
    let each = TIMES * (worker.workers() / case.places).max(1);
    // The caches have what they have in the middle of it.
    go_through_all(worker, case, &arrays, 1);
    let (total, time) = go_through_all(worker, case, &arrays, each);
    let once = arrays.iter().map(|array| go_through(array)).fold(0, u64::wrapping_add);
    if total != once.wrapping_mul(each as u64) {
        return Err("the sum over all arrays is wrong".to_owned());
    }
    Ok(time)
}

/// Returns the sum over all of them, and how long it took.
fn go_through_all(
    worker: &Worker,
    case: &Case<'_>,
    arrays: &[Vec<u16>],
    times: usize,
) -> (u64, Timed) {
    let total = AtomicU64::new(0);
    let add = |array: &Vec<u16>| _ = total.fetch_add(go_through(array), Ordering::Relaxed);
    let add = &add;
    let tasks = (0..times).flat_map(|turn| {
        arrays.iter().enumerate().map(move |(own, array)| Placed {
            where_to: (own, turn),
            data: own,
            task: Box::new(move || add(array)),
        })
    });
    let time = case.time_all(worker, tasks.collect());
    (total.into_inner(), time)
}

/// The paper's arithmetic over every element: a sum and a product.
#[inline(never)]
fn go_through(array: &[u16]) -> u64 {
    let (mut sums, mut products) = ([0_u16; LANES], [1_u16; LANES]);
    let mut chunks = array.chunks_exact(LANES);
    for chunk in &mut chunks {
        for lane in 0..LANES {
            sums[lane] = sums[lane].wrapping_add(chunk[lane]);
            products[lane] = products[lane].wrapping_mul(chunk[lane] | 1);
        }
    }
    let rest = chunks.remainder().iter();
    let sum = sums.iter().chain(rest.clone()).fold(0_u16, |all, &one| all.wrapping_add(one));
    let product = products.iter().chain(rest).fold(1_u16, |all, &one| all.wrapping_mul(one | 1));
    u64::from(sum) << 32 | u64::from(product)
}
