//! What idle ranks and messages cost: prints a line of JSON for each.
//!
//! ```sh
//! cargo build --release --example costs
//! mpirun -n 2 --oversubscribe target/release/examples/costs
//! ```

use std::hint::spin_loop;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use locksley::Pool;
use locksley_mpi::{Bag, Error, Mpi, Ranks, Transport};
use rustix::time::{ClockId, clock_gettime};

const ROUNDS: u32 = 10_000;
const IDLE: Duration = Duration::from_secs(3);

/// The processor time of this process.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// The time for a small message to rank 1 and back, while both poll: alone, or beside a thread of
/// rank 0 that works, as in a steal.
fn ping_pong(mpi: &mut Mpi, is_beside: bool) -> Result<(), Error> {
    if mpi.rank() > 1 || mpi.size() < 2 {
        return Ok(());
    }
    let is_over = AtomicBool::new(!is_beside || mpi.rank() == 1);
    let start = Instant::now();
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                spin_loop();
            }
        });
        let exchanged = (0..ROUNDS).try_for_each(|_| exchange(mpi, is_beside));
        is_over.store(true, Ordering::Relaxed);
        exchanged
    })?;
    if mpi.rank() == 0 {
        let metric = if is_beside { "ping-pong-beside" } else { "ping-pong" };
        let us = start.elapsed().as_secs_f64() * 1e6 / f64::from(ROUNDS);
        println!("{{\"metric\":\"{metric}\",\"us\":{us:.2}}}");
    }
    Ok(())
}

/// A message from rank 0 to rank 1, and one back.
fn exchange(mpi: &mut Mpi, yields: bool) -> Result<(), Error> {
    if mpi.rank() == 0 {
        mpi.send(1, vec![0; 16])?;
    }
    while mpi.try_receive()?.is_none() {
        if yields {
            thread::yield_now();
        }
    }
    if mpi.rank() == 1 {
        mpi.send(0, vec![0; 16])?;
    }
    Ok(())
}

/// The time for a run without tasks: between two ranks, messages go to and fro three and a half
/// times.
fn empty_run(ranks: &mut Ranks<Mpi>, pool: &Pool) -> Result<(), Error> {
    let start = Instant::now();
    for _ in 0..ROUNDS / 10 {
        ranks.par_map_reduce(pool, 0..0, |_| (), |(), ()| ())?;
    }
    if ranks.rank() == 0 {
        let us = start.elapsed().as_secs_f64() * 1e7 / f64::from(ROUNDS);
        println!("{{\"metric\":\"empty-run\",\"us\":{us:.2}}}");
    }
    Ok(())
}

/// Tasks of which a thief gets one at a time.
struct Singles {
    length: Duration,
    last: Mutex<Option<Instant>>,
}

impl Bag for Singles {
    type Tasks = u32;
    /// The time between two tasks of a thief.
    type Output = Vec<Duration>;

    fn process(&self, tasks: &mut u32, items: usize, waits: &mut Vec<Duration>) -> bool {
        let mut last = self.last.lock().expect("no task panics");
        waits.extend(last.map(|last| last.elapsed()).filter(|_| *tasks == 1));
        // Rank 0's tasks are shorter, so that it has split one off when the thief asks.
        let length = if *tasks == 1 { self.length } else { self.length / 5 };
        for _ in 0..items.min(*tasks as usize) {
            *tasks -= 1;
            let start = Instant::now();
            while start.elapsed() < length {}
        }
        *last = (*tasks == 0).then(Instant::now);
        *tasks > 0
    }

    fn split(&self, tasks: &mut u32) -> Option<u32> {
        (*tasks > 1).then(|| {
            *tasks -= 1;
            1
        })
    }

    fn merge(&self, waits: &mut Vec<Duration>, more: Vec<Duration>) {
        waits.extend(more);
    }
}

/// The time from the end of a thief's task to the next one, which it steals from rank 0. That one
/// is busy with shorter tasks.
fn steal(ranks: &mut Ranks<Mpi>, pool: &Pool, length: Duration) -> Result<(), Error> {
    let tasks = (ranks.rank() == 0).then_some(1_000_000 / length.as_micros() as u32);
    let bag = Singles { length, last: Mutex::new(None) };
    if let Some(mut waits) = ranks.run(pool, bag, tasks)?
        && !waits.is_empty()
    {
        waits.sort();
        let us = waits[waits.len() / 2].as_secs_f64() * 1e6;
        let task = length.as_micros();
        println!("{{\"metric\":\"steal\",\"task_us\":{task},\"us\":{us:.1}}}");
    }
    Ok(())
}

/// The processor time of a rank without tasks, while rank 0 has one.
fn idle(ranks: &mut Ranks<Mpi>, pool: &Pool) -> Result<(), Error> {
    let rank = ranks.rank();
    let map = move |_| {
        if rank == 0 {
            thread::sleep(IDLE);
        }
    };
    let before = (Instant::now(), processor_time());
    // One task for each rank.
    ranks.par_map_reduce(pool, 0..ranks.size() as u64, map, |(), ()| ())?;
    let share = (processor_time() - before.1).as_secs_f64() / before.0.elapsed().as_secs_f64();
    println!("{{\"metric\":\"idle\",\"rank\":{rank},\"percent\":{:.2}}}", share * 100.0);
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut mpi = Mpi::new()?;
    ping_pong(&mut mpi, false)?;
    ping_pong(&mut mpi, true)?;
    let mut ranks = Ranks::connect(mpi)?;
    let pool = Pool::new(1)?;
    empty_run(&mut ranks, &pool)?;
    for task in [20, 200] {
        steal(&mut ranks, &pool, Duration::from_micros(task))?;
    }
    idle(&mut ranks, &pool)?;
    Ok(())
}
