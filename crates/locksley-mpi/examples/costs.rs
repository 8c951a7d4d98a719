//! What idle ranks and messages cost: prints a line of JSON for each.
//!
//! ```sh
//! cargo build --release --example costs
//! mpirun -n 2 --oversubscribe target/release/examples/costs
//! ```

use std::thread;
use std::time::{Duration, Instant};

use locksley::Pool;
use locksley_mpi::{Error, Mpi, Ranks, Transport};
use rustix::time::{ClockId, clock_gettime};

const ROUNDS: u32 = 10_000;
const IDLE: Duration = Duration::from_secs(3);

/// The processor time of this process.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// The time for a small message to rank 1 and back, while both poll.
fn ping_pong(mpi: &mut Mpi) -> Result<(), Error> {
    if mpi.rank() > 1 || mpi.size() < 2 {
        return Ok(());
    }
    let start = Instant::now();
    for _ in 0..ROUNDS {
        if mpi.rank() == 0 {
            mpi.send(1, vec![0; 16])?;
        }
        while mpi.try_receive()?.is_none() {}
        if mpi.rank() == 1 {
            mpi.send(0, vec![0; 16])?;
        }
    }
    if mpi.rank() == 0 {
        let us = start.elapsed().as_secs_f64() * 1e6 / f64::from(ROUNDS);
        println!("{{\"metric\":\"ping-pong\",\"us\":{us:.2}}}");
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
    ping_pong(&mut mpi)?;
    let mut ranks = Ranks::connect(mpi)?;
    let pool = Pool::new(1)?;
    empty_run(&mut ranks, &pool)?;
    idle(&mut ranks, &pool)?;
    Ok(())
}
