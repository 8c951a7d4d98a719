//! Heat on a rod of blocks: each step of a block waits only for the last step of its neighbours.
//! For comparison, the same with a join of all blocks after each step. Run with `--checked` to
//! check each access, and with `--dot` to draw the graph.

use std::time::Instant;

use locksley::Pool;
use locksley_intervals::{Guarded, Handle, Recording, Root};

#[derive(Clone, Copy)]
struct Rod {
    blocks: usize,
    cells: usize,
    steps: usize,
}

type Block = Guarded<Vec<f64>>;

impl Rod {
    fn blocks(self) -> Vec<Vec<f64>> {
        let cell = |block, cell| ((block * self.cells + cell) * 7919 % 1000) as f64;
        (0..self.blocks).map(|b| (0..self.cells).map(|c| cell(b, c)).collect()).collect()
    }
}

/// Computes the next temperatures of a block between the nearest cells of its neighbours.
fn relax(now: &[f64], left: f64, right: f64, next: &mut [f64]) {
    for (n, next) in next.iter_mut().enumerate() {
        let before = if n == 0 { left } else { now[n - 1] };
        let after = now.get(n + 1).copied().unwrap_or(right);
        *next = 0.25 * before + 0.5 * now[n] + 0.25 * after;
    }
}

/// Runs all steps with edges between neighbours.
fn by_edges(
    pool: &Pool,
    rod: Rod,
    is_checked: bool,
    recording: Option<&mut Recording>,
) -> Vec<Vec<f64>> {
    let grids = [rod.blocks(), rod.blocks()]
        .map(|grid| grid.into_iter().map(Guarded::new).collect::<Vec<Block>>());
    let mut root = Root::new("rod").on(pool).checked(is_checked);
    if let Some(recording) = recording {
        root = root.recorded(recording);
    }
    let end = root.run(|root| {
        let mut last: Vec<Handle<'_, ()>> = Vec::new();
        for step in 0..rod.steps {
            let (now, next) = (&grids[step % 2], &grids[(step + 1) % 2]);
            let make = |block: usize| {
                let neighbours = block.saturating_sub(1)..(block + 2).min(rod.blocks);
                let before = last.get(neighbours).unwrap_or_default();
                root.interval("block").after_all(before.iter().copied()).spawn(move |cx| {
                    let left =
                        block.checked_sub(1).map_or(0.0, |left| now[left].read(cx)[rod.cells - 1]);
                    let right = now.get(block + 1).map_or(0.0, |right| right.read(cx)[0]);
                    relax(&now[block].read(cx), left, right, &mut next[block].write(cx));
                })
            };
            last = (0..rod.blocks).map(make).collect();
        }
    });
    end.expect("no interval cancels");
    let [even, odd] = grids;
    let grid = if rod.steps % 2 == 0 { even } else { odd };
    grid.into_iter().map(Guarded::into_inner).collect()
}

/// Runs all steps with a join of all blocks after each.
fn by_joins(pool: &Pool, rod: Rod) -> Vec<Vec<f64>> {
    let (mut now, mut next) = (rod.blocks(), rod.blocks());
    pool.install(|_| {
        for _ in 0..rod.steps {
            locksley::in_place_scope(|scope| {
                for (block, next) in next.iter_mut().enumerate() {
                    let now = &now;
                    scope.spawn(move |_| {
                        let left =
                            block.checked_sub(1).map_or(0.0, |left| now[left][rod.cells - 1]);
                        let right = now.get(block + 1).map_or(0.0, |right| right[0]);
                        relax(&now[block], left, right, next);
                    });
                }
            });
            std::mem::swap(&mut now, &mut next);
        }
    });
    now
}

fn main() -> Result<(), locksley::BuildError> {
    let has = |flag: &str| std::env::args().any(|argument| argument == flag);
    let (is_checked, is_drawn) = (has("--checked"), has("--dot"));
    let rod = if is_checked || is_drawn {
        Rod { blocks: 8, cells: 1000, steps: 10 }
    } else {
        Rod { blocks: 32, cells: 20_000, steps: 500 }
    };
    let pool = Pool::builder().build()?;
    let mut recording = Recording::default();

    let begun = Instant::now();
    let edges = by_edges(&pool, rod, is_checked, is_drawn.then_some(&mut recording));
    let (with_edges, begun) = (begun.elapsed(), Instant::now());
    let joins = by_joins(&pool, rod);
    let with_joins = begun.elapsed();
    assert_eq!(edges, joins, "both are the same to the last bit");
    if is_drawn {
        print!("{}", recording.to_dot());
    } else {
        println!("{} workers: edges {with_edges:.1?}, joins {with_joins:.1?}", pool.workers());
    }
    Ok(())
}
