//! What a thief takes: one task, or half of what it finds. Both in turns, on tasks that lie in one deque in great numbers, where
//! half should matter most, and on loops.
//!
//! `cargo bench -p locksley --features alternatives --bench half` prints a line of JSON for each shape: the time of one run in
//! microseconds, of either, and the ratio of half to one. All are medians; the ratio is that of the turns' ratios.

use std::hint::black_box;
use std::time::{Duration, Instant};

use locksley::alternatives::StealHalf;
use locksley::hunt::Balanced;
use locksley::{Pool, Worker};

/// How often the two take turns, and for how long each is run in one.
const TURNS: usize = 9;
const TURN: Duration = Duration::from_millis(40);

/// Something that is run.
struct Shape {
    name: &'static str,
    run: fn(&Worker),
}

const SHAPES: [Shape; 6] = [
    Shape { name: "10,000 tasks of 0.1 us in one scope", run: |w| flat(w, 10_000, 64) },
    Shape { name: "1,000 tasks of 1 us in one scope", run: |w| flat(w, 1000, 700) },
    Shape { name: "100 tasks of 10 us in one scope", run: |w| flat(w, 100, 7000) },
    Shape { name: "100 tasks that spawn 100 of 1 us", run: |w| nested(w, 100, 700) },
    Shape {
        name: "loop of 1,000,000 items of 1 ns",
        run: |w| w.for_each(0..1_000_000_u64, |_| leaf(1)),
    },
    Shape { name: "loop of 2,000 items of 7 us", run: |w| w.for_each(0..2000_u64, |_| leaf(5000)) },
];

/// So many steps of a generator of random numbers, of 1.4 ns or about.
fn leaf(steps: u64) {
    let mut x = black_box(steps) | 1;
    for _ in 0..steps {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    black_box(x);
}

fn flat(w: &Worker, tasks: usize, steps: u64) {
    w.scope(|w, scope| (0..tasks).for_each(|_| scope.spawn_on(w, move |_, _| leaf(steps))));
}

fn nested(w: &Worker, tasks: usize, steps: u64) {
    w.scope(|w, scope| {
        (0..tasks).for_each(|_| scope.spawn_on(w, move |w, _| flat(w, tasks, steps)));
    });
}

/// The time of a run, in microseconds, on average over as many as fit into `turn`.
fn run(pool: &Pool, shape: &Shape, turn: Duration) -> f64 {
    pool.run(|w| {
        let start = Instant::now();
        let mut runs = 0;
        while runs == 0 || start.elapsed() < turn {
            (shape.run)(w);
            runs += 1;
        }
        start.elapsed().as_secs_f64() * 1e6 / f64::from(runs)
    })
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<_> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    let is_test = std::env::args().any(|argument| argument == "--test");
    let (turns, turn) = if is_test { (1, Duration::ZERO) } else { (TURNS, TURN) };
    for workers in [2, 8] {
        let builder = || Pool::builder().workers(workers);
        let one = builder().build().unwrap();
        let half = builder().governor(StealHalf(Balanced::default())).build().unwrap();
        for shape in &SHAPES {
            // The order changes from turn to turn: whoever comes second finds the caches warm.
            let times: Vec<_> = (0..turns)
                .map(|n| {
                    if n % 2 == 0 {
                        let one = run(&one, shape, turn);
                        (one, run(&half, shape, turn))
                    } else {
                        let half = run(&half, shape, turn);
                        (run(&one, shape, turn), half)
                    }
                })
                .collect();
            let [one, half] =
                [median(times.iter().map(|t| t.0)), median(times.iter().map(|t| t.1))];
            let ratio = median(times.iter().map(|t| t.1 / t.0));
            println!(
                r#"{{"shape":"{}","P":{workers},"one_us":{one:.1},"half_us":{half:.1},"half_to_one":{ratio:.3}}}"#,
                shape.name
            );
        }
    }
}
