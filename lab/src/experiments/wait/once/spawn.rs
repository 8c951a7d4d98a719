//! A task spawns an empty one and awaits it, again and again.

use std::hint::black_box;
use std::time::Instant;

use super::runtime::Tasks;
use super::{Timed, warm_up};

pub(super) async fn measure<T: Tasks>(tasks: T, number: u64, seed: u64) -> Timed {
    spawn(&tasks, warm_up(number), seed).await;
    let start = Instant::now();
    let answer = spawn(&tasks, number, seed).await;
    Timed { seconds: start.elapsed().as_secs_f64(), answer, apart: None }
}

/// The sum of what the tasks return.
async fn spawn<T: Tasks>(tasks: &T, number: u64, seed: u64) -> u64 {
    let mut sum = 0u64;
    for index in 0..number {
        let value = seed.wrapping_add(index);
        sum = sum.wrapping_add(tasks.spawn(async move { black_box(value) }).await);
    }
    sum
}
