//! Random programs, against their sequential simulation.

use std::collections::BTreeMap;
use std::sync::Arc;

use locksley::computation::Own;
use locksley::sync::Semaphore;
use locksley::{Pool, task};

use crate::{pools, stuck};

/// A random number below `limit` (splitmix64).
fn below(state: &mut u64, limit: usize) -> usize {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let z = (*state ^ *state >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((z ^ z >> 31) % limit as u64) as usize
}

/// Gives to a task, or takes what that task has given.
#[derive(Clone, Copy, Debug)]
enum Step {
    Give(usize),
    Take(usize),
    Yield,
}

type Program = Vec<Vec<Step>>;

fn program(seed: u64) -> Program {
    let state = &mut seed.clone();
    let tasks = 1 + below(state, 5);
    // What is given is mostly taken: about half of the programs come to their end.
    let mut program: Program = vec![Vec::new(); tasks];
    for _ in 0..below(state, 30) {
        let (from, to) = (below(state, tasks), below(state, tasks));
        match below(state, 12) {
            0 => program[from].push(Step::Take(to)),
            1 => program[from].push(Step::Give(to)),
            2 => program[from].push(Step::Yield),
            _ => {
                program[from].push(Step::Give(to));
                program[to].push(Step::Take(from));
            }
        }
    }
    program
}

/// Who waits for whom when nobody can go on: the order of steps does not matter, since each pair of tasks has a semaphore of
/// its own, from which only one takes.
fn simulated(program: &Program) -> BTreeMap<usize, usize> {
    let mut given = BTreeMap::<(usize, usize), usize>::new();
    let mut at = vec![0; program.len()];
    loop {
        let mut went = false;
        for (task, steps) in program.iter().enumerate() {
            while let Some(&step) = steps.get(at[task]) {
                match step {
                    Step::Give(to) => *given.entry((task, to)).or_default() += 1,
                    Step::Take(from) => match given.get_mut(&(from, task)) {
                        Some(permits) if *permits > 0 => *permits -= 1,
                        _ => break,
                    },
                    Step::Yield => {}
                }
                at[task] += 1;
                went = true;
            }
        }
        if !went {
            let waits = |(task, steps): (usize, &Vec<Step>)| match steps.get(at[task])? {
                Step::Take(from) => Some((task, *from)),
                _ => None,
            };
            return program.iter().enumerate().filter_map(waits).collect();
        }
    }
}

fn run(pool: &Pool, program: &Program) -> BTreeMap<usize, usize> {
    let tasks = program.len();
    let end = pool.computation(|all| {
        let semaphore = |n: usize| all.own(&(n / tasks).to_string(), Semaphore::new(0));
        let semaphores: Arc<[Own<'_, Semaphore>]> = (0..tasks * tasks).map(semaphore).collect();
        for (task, steps) in program.iter().enumerate() {
            let semaphores = Arc::clone(&semaphores);
            all.spawn(&task.to_string(), async move {
                for &step in steps {
                    match step {
                        Step::Give(to) => semaphores[task * tasks + to].add_permits(1),
                        Step::Take(from) => {
                            semaphores[from * tasks + task].acquire().await.unwrap().forget();
                        }
                        Step::Yield => task::yield_now().await,
                    }
                }
            });
        }
    });
    match end {
        Ok(()) => BTreeMap::new(),
        Err(_) => {
            let number = |name: &str| name.parse::<usize>().unwrap();
            stuck(end).iter().map(|(task, for_)| (number(task), number(&for_[0]))).collect()
        }
    }
}

#[test]
fn random_programs_end_as_they_are_simulated() {
    let pools: Vec<Pool> = pools().collect();
    let (mut complete, mut incomplete) = (0, 0);
    for seed in 0..600 {
        let program = program(seed);
        let expected = simulated(&program);
        for pool in &pools {
            assert_eq!(run(pool, &program), expected, "seed {seed}: {program:?}");
        }
        *(if expected.is_empty() { &mut complete } else { &mut incomplete }) += 1;
    }
    assert!(complete > 50 && incomplete > 50, "both are tried: {complete}, {incomplete}");
}
