//! Scatter and gather, the network of Nornir's study (Vrba, Halvorsen and Griwodz, "A simple
//! improvement of the work-stealing scheduling algorithm", 2010, figure 2):
//! `cargo run --release -p locksley-kahn --example scatter_gather [WORKERS [MICROS [ROUNDS]]]`.
//!
//! A central process sends each of n processes a message. Each of them computes for a while and
//! answers. When all have answered, the next round begins. The example prints which share of the
//! processors' time was spent computing, with both placements.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    use std::hint::black_box;
    use std::time::{Duration, Instant};

    use locksley::Pool;
    use locksley::task::Placement;
    use locksley_kahn::{Network, Receiver, Sender};

    /// Divides that many numbers, as the study's workers do.
    fn divide(times: u64) {
        let mut number = black_box(u64::MAX);
        for n in 0..times {
            number = black_box(u64::MAX - n) / (number | 1);
        }
        black_box(number);
    }

    /// How many divisions take that long.
    fn divisions(time: Duration) -> u64 {
        let mut best = f64::MAX;
        for _ in 0..20 {
            let begin = Instant::now();
            divide(200_000);
            best = best.min(begin.elapsed().as_secs_f64() / 200_000.0);
        }
        (time.as_secs_f64() / best) as u64
    }

    fn run(
        pool: &Pool,
        workers: usize,
        rounds: usize,
        work: u64,
    ) -> Result<Duration, locksley_kahn::NetworkError> {
        let mut network = Network::new();
        let (mut tasks, mut answers) = (Vec::new(), Vec::new());
        for n in 0..workers {
            let (task, todo) = network.channel::<u64>(format!("task {n}"), 1);
            let (done, answer) = network.channel::<()>(format!("answer {n}"), 1);
            network.process(format!("worker {n}"), (todo, done), async |(mut todo, mut done)| {
                while let Some(times) = todo.recv().await {
                    divide(times);
                    done.send(()).await;
                }
            });
            tasks.push(task);
            answers.push(answer);
        }
        let center = network.process(
            "center",
            (tasks, answers),
            async move |(mut tasks, mut answers): (Vec<Sender<u64>>, Vec<Receiver<()>>)| {
                let begin = Instant::now();
                for _ in 0..rounds {
                    for task in &mut tasks {
                        task.send(work).await;
                    }
                    for answer in &mut answers {
                        answer.recv().await;
                    }
                }
                begin.elapsed()
            },
        );
        network.run(pool)?;
        Ok(center.take().expect("the network has ended"))
    }

    let mut numbers = std::env::args().skip(1).map(|argument| argument.parse::<usize>());
    let mut next = |otherwise| numbers.next().unwrap_or(Ok(otherwise));
    let (workers, micros, rounds) = (next(250)?, next(100)?, next(20)?);
    let work = divisions(Duration::from_micros(micros as u64));
    for placement in [Placement::Last, Placement::Current] {
        let pool = Pool::builder().placement(placement).build()?;
        let time = run(&pool, workers, rounds, work)?;
        let computed = Duration::from_micros((workers * rounds * micros) as u64);
        let share = computed.as_secs_f64() / time.as_secs_f64() / pool.workers() as f64;
        let steals: u64 = pool.stats().workers.iter().map(|worker| worker.steals).sum();
        println!(
            "{placement:?}: {time:.1?} with {} workers, {:.3} of it computing, {steals} steals",
            pool.workers(),
            share
        );
    }
    Ok(())
}
