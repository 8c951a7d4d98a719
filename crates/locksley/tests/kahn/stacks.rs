//! Processes on stacks of their own: what goes through them, and what they are refused.

use locksley::kahn::{Network, NetworkError, Over, Receiver, Sender};
use locksley::{Pool, Worker, block_on};

use crate::common::pools;

/// Whether pools have stacks at all.
const STACKS: bool = cfg!(all(feature = "stacks", not(locksley_portable)));

/// A pipeline with so many stages, all of them on stacks, or every other one.
pub(crate) fn pipeline(
    pool: &Pool,
    stages: usize,
    capacity: usize,
    every: usize,
) -> Result<u64, NetworkError> {
    let mut network = Network::new().measured();
    let (numbers, mut next) = network.channel::<u64>("first", capacity);
    network.process_on_stack("count", numbers, |mut numbers| {
        for n in 0..300 {
            numbers.send_blocking(n)?;
        }
        Ok::<_, Over>(())
    });
    for stage in 0..stages {
        let (output, input) = network.channel(format!("after {stage}"), capacity);
        let ends = (std::mem::replace(&mut next, input), output);
        if stage % every == 0 {
            network.process_on_stack(format!("stage {stage}"), ends, |(mut input, mut output)| {
                while let Some(n) = input.recv_blocking()? {
                    output.send_blocking(n + 1)?;
                }
                Ok::<_, Over>(())
            });
        } else {
            network.process(format!("stage {stage}"), ends, async |(mut input, mut output)| {
                while let Some(n) = input.recv().await {
                    output.send(n + 1).await;
                }
            });
        }
    }
    let sum = network.process_on_stack("sum", next, |mut all| {
        let mut sum = 0;
        while let Some(n) = all.recv_blocking()? {
            sum += n;
        }
        Ok::<_, Over>(sum)
    });
    let report = network.run(pool)?;
    for process in report.processes() {
        let busy = process.busy.expect("it was measured");
        assert!(busy <= report.time(), "{process:?} of {:?}", report.time());
    }
    Ok(sum.take().expect("it has ended").expect("the network has not failed"))
}

#[test]
fn messages_go_through_stacks_and_futures_alike() {
    if !STACKS {
        return;
    }
    let expected = (0..300).sum::<u64>() + 300 * 8;
    for pool in pools() {
        for capacity in [1, 3, 8, 64] {
            for every in [1, 2] {
                assert_eq!(pipeline(&pool, 8, capacity, every).unwrap(), expected);
            }
        }
    }
}

#[test]
fn who_has_no_stack_for_a_process_says_so() {
    for (stacks, workers) in [(0, 1), (0, 3)] {
        let pool = Pool::builder().workers(workers).waiting_stacks(stacks).build().unwrap();
        match pipeline(&pool, 2, 1, 1) {
            Err(NetworkError::NoStack { process }) => {
                assert!(["count", "sum", "stage 0", "stage 1"].contains(&&*process), "{process}");
            }
            other => panic!("{other:?}"),
        }
    }
    // Four are wanted, and two are there: those that have begun are told that it is over.
    let pool = Pool::builder().workers(1).waiting_stacks(2).build().unwrap();
    let error = pipeline(&pool, 2, 1, 1).unwrap_err();
    assert!(error.to_string().starts_with("there is no stack for process"), "{error}");
    if STACKS {
        assert_eq!(pipeline(&pool, 0, 1, 1).unwrap(), (0..300).sum::<u64>(), "for two there are");
    }
}

#[test]
fn a_process_stays_on_its_worker() {
    if !STACKS {
        return;
    }
    let index = || Worker::with_current(|current| current.map(Worker::index));
    for pool in pools() {
        let mut network = Network::new();
        let (mut to, mut from): (Vec<_>, Vec<_>) =
            (0..6).map(|n| network.channel::<u32>(format!("{n}"), 1)).unzip();
        from.rotate_right(1);
        for (n, ends) in to.drain(..).zip(from).enumerate() {
            network.process_on_stack(format!("{n}"), ends, move |(mut output, mut input)| {
                let home = index();
                if n == 0 {
                    output.send_blocking(0)?;
                }
                for _ in 0..100 {
                    let Some(token) = input.recv_blocking()? else { break };
                    assert_eq!(index(), home);
                    output.send_blocking(token + 1)?;
                }
                Ok::<_, Over>(())
            });
        }
        network.run(&pool).unwrap();
    }
}

/// Fewer than half of the stacks that there may be are in use: then there is always one.
#[test]
fn stacks_that_are_kept_elsewhere_leave_enough() {
    if !STACKS {
        return;
    }
    for workers in [1, 2, 4] {
        let pool = Pool::builder().workers(workers).waiting_stacks(16).build().unwrap();
        for _ in 0..100 {
            assert_eq!(pipeline(&pool, 5, 1, 1).unwrap(), (0..300).sum::<u64>() + 300 * 5);
        }
        // And where more are wanted at the same time than there may be, never.
        for _ in 0..5 {
            let error = pipeline(&pool, 15, 1, 1).unwrap_err();
            assert!(matches!(error, NetworkError::NoStack { .. }), "{error}");
        }
    }
}

#[test]
fn waits_where_a_process_is_not_are_refused() {
    if !STACKS {
        return;
    }
    let refused = |make: &dyn Fn(&mut Network), words: &str| {
        let mut network = Network::new();
        make(&mut network);
        let error = network.run(&Pool::new(2).unwrap()).unwrap_err();
        let said = error.to_string();
        assert!(said.contains(words), "{said}");
    };
    // A future blocks.
    refused(
        &|network| {
            let (output, input) = network.channel::<u8>("bytes", 1);
            network.process("blocks", (output, input), async |(_output, mut input)| {
                input.recv_blocking()
            });
        },
        "blocks only in the process that it belongs to, which is 'blocks'",
    );
    // Somebody else's stack.
    refused(
        &|network| {
            let (output, input) = network.channel::<Receiver<u8>>("ends", 1);
            let (inner, bytes) = network.channel::<u8>("bytes", 1);
            let (hold, held) = network.channel::<u8>("held", 1);
            let ends = (output, bytes, held);
            network.process_on_stack("gives", ends, |(mut output, bytes, mut held)| {
                output.send_blocking(bytes)?;
                held.recv_blocking()
            });
            let ends = (input, inner, hold);
            network.process_on_stack("takes", ends, |(mut input, _inner, _hold)| {
                let mut bytes = input.recv_blocking()?.expect("it was sent");
                bytes.recv_blocking()
            });
        },
        "which is 'gives', ",
    );
    // A stack waits as a future does.
    refused(
        &|network| {
            let (output, input) = network.channel::<u8>("bytes", 1);
            network.process_on_stack("awaits", (output, input), |(_output, mut input)| {
                block_on(input.recv())
            });
        },
        "waits only in the process that it belongs to, which is 'awaits'",
    );
}

#[test]
fn deep_code_waits_in_the_middle() {
    if !STACKS {
        return;
    }
    /// Solves the towers of Hanoi, and sends each move.
    fn hanoi(height: u32, from: u8, to: u8, moves: &mut Sender<(u8, u8)>) -> Result<(), Over> {
        if height > 0 {
            let other = 3 - from - to;
            hanoi(height - 1, from, other, moves)?;
            moves.send_blocking((from, to))?;
            hanoi(height - 1, other, to, moves)?;
        }
        Ok(())
    }
    let mut network = Network::new();
    let (moves, all) = network.channel("moves", 3);
    network.process_on_stack("solve", moves, |mut moves| hanoi(8, 0, 2, &mut moves));
    let towers = network.process_on_stack("play", all, |mut all: Receiver<(u8, u8)>| {
        let mut towers = [(1..=8).rev().collect::<Vec<u32>>(), Vec::new(), Vec::new()];
        while let Some((from, to)) = all.recv_blocking()? {
            let disc = towers[usize::from(from)].pop().expect("there is one");
            let target = &mut towers[usize::from(to)];
            assert!(target.last().is_none_or(|&below| below > disc));
            target.push(disc);
        }
        Ok::<_, Over>(towers)
    });
    let report = network.run(&Pool::new(2).unwrap()).unwrap();
    assert_eq!(report.channels()[0].received, (1 << 8) - 1);
    let [first, second, third] = towers.take().unwrap().unwrap();
    assert!(first.is_empty() && second.is_empty() && third == Vec::from_iter((1..=8).rev()));
}
