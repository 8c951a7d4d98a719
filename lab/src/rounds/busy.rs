//! `loop`: threads that compute leaf after leaf and have nothing to do with each other. A
//! program beside them meets one that never waits and never gives way. A round is one leaf.

use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::{Rate, Round};
use crate::fault::{Fault, Outcome};
use crate::leaf;

/// Its name among the runtimes of `rounds`.
pub const LOOP: &str = "loop";

/// Leaves between two looks at the clock.
const BETWEEN: u64 = 16;

/// Threads that wait to be busy. They end when this is dropped, and not before: what they used can
/// be read until then.
pub struct Busy {
    threads: Vec<Thread>,
}

struct Thread {
    /// `None` once it is to end.
    orders: Option<Sender<Order>>,
    results: Receiver<Done>,
    handle: Option<JoinHandle<()>>,
}

#[derive(Clone, Copy)]
struct Order {
    leaf: u64,
    time: Duration,
}

struct Done {
    leaves: u64,
    sum: u64,
    time: Duration,
}

impl Busy {
    /// Starts so many threads.
    pub fn start(threads: usize) -> Outcome<Busy> {
        let mut busy = Busy { threads: Vec::with_capacity(threads) };
        for _ in 0..threads {
            busy.threads.push(Thread::start().map_err(|error| {
                Fault::run(format!("{LOOP} cannot start {threads} threads: {error}"))
            })?);
        }
        Ok(busy)
    }

    /// All threads compute leaves of so many steps until `time` is over: how many leaves they
    /// completed together.
    pub fn repeat(&self, leaf: u64, time: Duration) -> Outcome<Rate> {
        let ended = || Fault::run(format!("a thread of {LOOP} has ended"));
        for thread in &self.threads {
            let orders = thread.orders.as_ref().ok_or_else(ended)?;
            orders.send(Order { leaf, time }).map_err(|_| ended())?;
        }
        let mut rate = Rate { rounds: 0, time: Duration::ZERO };
        let mut sum = 0u64;
        for thread in &self.threads {
            let done = thread.results.recv().map_err(|_| ended())?;
            rate.rounds += done.leaves;
            rate.time = rate.time.max(done.time);
            sum = sum.wrapping_add(done.sum);
        }
        Round { leaf, chunks: 1, serial: 0 }.checked(sum, rate)
    }
}

impl Thread {
    fn start() -> std::io::Result<Thread> {
        let (orders, inbox) = mpsc::channel::<Order>();
        let (outbox, results) = mpsc::channel();
        let body = move || {
            for order in inbox {
                if outbox.send(loops(order)).is_err() {
                    return;
                }
            }
        };
        let handle = thread::Builder::new().name(LOOP.to_owned()).spawn(body)?;
        Ok(Thread { orders: Some(orders), results, handle: Some(handle) })
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        self.orders = None;
        if let Some(handle) = self.handle.take() {
            // A panic of the thread was noticed where its result was awaited.
            let _ = handle.join();
        }
    }
}

fn loops(Order { leaf, time }: Order) -> Done {
    let start = Instant::now();
    let (mut leaves, mut sum) = (0, 0u64);
    loop {
        for _ in 0..BETWEEN {
            sum = sum.wrapping_add(leaf::run(leaf));
        }
        leaves += BETWEEN;
        let passed = start.elapsed();
        if passed >= time {
            return Done { leaves, sum, time: passed };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_threads_are_busy_as_often_as_asked() {
        let busy = Busy::start(3).unwrap();
        for _ in 0..2 {
            let time = Duration::from_millis(3);
            let rate = busy.repeat(100, time).unwrap();
            assert!(rate.rounds >= 3 * BETWEEN && rate.rounds.is_multiple_of(BETWEEN), "{rate:?}");
            assert!(rate.time >= time);
        }
    }
}
