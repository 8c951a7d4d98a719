//! Blocking processes: what goes through them, what they are refused, and how they end.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;

use locksley::task::yield_now;
use locksley::{Pool, Worker, block_on};
use locksley_kahn::{Network, NetworkError, Over, Receiver, Sender};
use tokio::sync::Semaphore;

use crate::common::idle_policies::SLEEPY;
use crate::common::{in_time, message};
use crate::{panic_of, seventeen_for_sixteen};

/// Pools with enough replacement workers for all processes below.
fn pools() -> impl Iterator<Item = Pool> {
    [1, 2, 4].into_iter().flat_map(|workers| {
        [false, true].map(|is_sleepy| {
            let pool = Pool::builder().workers(workers).replacements(16);
            let pool = if is_sleepy { pool.idle_policy(SLEEPY) } else { pool };
            pool.build().unwrap()
        })
    })
}

/// A pipeline with that many stages, of which every first, second, ... blocks.
fn pipeline(pool: &Pool, stages: usize, capacity: usize, every: usize) -> u64 {
    let mut network = Network::new().measured();
    let (numbers, mut next) = network.channel::<u64>("first", capacity);
    network.process_blocking("count", numbers, |mut numbers| {
        (0..100).try_for_each(|n| numbers.send_blocking(n))
    });
    for stage in 0..stages {
        let (output, input) = network.channel(format!("after {stage}"), capacity);
        let ends = (std::mem::replace(&mut next, input), output);
        if stage % every == 0 {
            network.process_blocking(format!("stage {stage}"), ends, |(mut input, mut output)| {
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
    let sum = network.process_blocking("sum", next, |mut all| {
        let mut sum = 0;
        while let Some(n) = all.recv_blocking()? {
            sum += n;
        }
        Ok::<_, Over>(sum)
    });
    let report = network.run(pool).unwrap();
    for process in &report.processes {
        let busy = process.busy.expect("it was measured");
        assert!(busy <= report.time, "{process:?} of {:?}", report.time);
    }
    sum.take().expect("it has ended")
}

#[test]
fn messages_go_through_blocking_processes_and_futures_alike() {
    let expected = (0..100).sum::<u64>() + 100 * 8;
    for pool in pools() {
        for capacity in [1, 3, 8, 64] {
            for every in [1, 2] {
                assert_eq!(pipeline(&pool, 8, capacity, every), expected);
            }
        }
    }
}

#[test]
fn deep_code_waits_in_the_middle() {
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
    network.process_blocking("solve", moves, |mut moves| hanoi(8, 0, 2, &mut moves));
    let towers = network.process_blocking("play", all, |mut all: Receiver<(u8, u8)>| {
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
    assert_eq!(report.channels[0].received, (1 << 8) - 1);
    let [first, second, third] = towers.take().unwrap();
    assert!(first.is_empty() && second.is_empty() && third == Vec::from_iter((1..=8).rev()));
}

#[test]
fn waits_outside_of_the_process_are_refused() {
    let refused = |make: &dyn Fn(&mut Network), words: &str| {
        let mut network = Network::new();
        make(&mut network);
        let error = network.run(&Pool::new(2).unwrap()).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    };
    // A future blocks.
    refused(
        &|network| {
            let ends = network.channel::<u8>("bytes", 1);
            network.process("blocks", ends, async |(_output, mut input)| input.recv_blocking());
        },
        "blocks only in the process that it belongs to, which is 'blocks'",
    );
    // Another process blocks.
    refused(
        &|network| {
            let (output, input) = network.channel::<Receiver<u8>>("ends", 1);
            let (inner, bytes) = network.channel::<u8>("bytes", 1);
            let (hold, held) = network.channel::<u8>("held", 1);
            let ends = (output, bytes, held);
            network.process_blocking("gives", ends, |(mut output, bytes, mut held)| {
                output.send_blocking(bytes)?;
                held.recv_blocking()
            });
            let ends = (input, inner, hold);
            network.process_blocking("takes", ends, |(mut input, _inner, _hold)| {
                let mut bytes = input.recv_blocking()?.expect("it was sent");
                bytes.recv_blocking()
            });
        },
        "which is 'gives', ",
    );
    // A blocking process waits as a future does.
    refused(
        &|network| {
            let ends = network.channel::<u8>("bytes", 1);
            network.process_blocking("awaits", ends, |(_output, mut input)| {
                Ok::<_, Over>(block_on(input.recv()))
            });
        },
        "waits only in the process that it belongs to, which is 'awaits'",
    );
}

#[test]
fn deadlocks_of_blocking_processes_are_found_and_end_their_waits() {
    for pool in pools() {
        for blocking in [1, 2, 3] {
            let over = Arc::new(AtomicUsize::new(0));
            let mut network = Network::new();
            let (to, mut from): (Vec<_>, Vec<_>) =
                (0..3).map(|n| network.channel::<u32>(format!("channel {n}"), 1)).unzip();
            from.rotate_right(1);
            for (n, ends) in to.into_iter().zip(from).enumerate() {
                let own = Arc::clone(&over);
                if n < blocking {
                    network.process_blocking(format!("{n}"), ends, move |(output, mut input)| {
                        assert_eq!(input.recv_blocking(), Err(Over));
                        assert_eq!(input.recv_blocking(), Err(Over), "it stays so");
                        own.fetch_add(1, Ordering::Relaxed);
                        drop(output);
                        Ok::<_, Over>(())
                    });
                } else {
                    network.process(format!("{n}"), ends, async |(_output, mut input)| {
                        input.recv().await
                    });
                }
            }
            match network.run(&pool) {
                Err(NetworkError::Deadlock(cycle)) => {
                    assert_eq!(cycle.len(), 3);
                    assert!(cycle.iter().all(|wait| !wait.is_full));
                }
                other => panic!("{other:?}"),
            }
            assert_eq!(over.load(Ordering::Relaxed), blocking);
        }
    }
}

/// The cycle is too long to be followed at once.
#[test]
fn a_long_cycle_is_found_beside_blocking_processes_without_end() {
    in_time(|| {
        let mut network = Network::new();
        let (ping, from_ping) = network.channel::<u32>("ping", 1);
        let (pong, from_pong) = network.channel::<u32>("pong", 1);
        network.process_blocking("first", (ping, from_pong), |(mut ping, mut from_pong)| {
            loop {
                ping.send_blocking(0)?;
                if from_pong.recv_blocking()?.is_none() {
                    return Ok::<_, Over>(());
                }
            }
        });
        network.process_blocking("second", (pong, from_ping), |(mut pong, mut from_ping)| {
            while let Some(n) = from_ping.recv_blocking()? {
                pong.send_blocking(n)?;
            }
            Ok::<_, Over>(())
        });
        crate::ring(&mut network, 7, 0, 1);
        let pool = Pool::builder().workers(1).replacements(4).build().unwrap();
        match network.run(&pool) {
            Err(NetworkError::Deadlock(cycle)) => assert_eq!(cycle.len(), 7),
            other => panic!("{other:?}"),
        }
    });
}

#[test]
fn channels_between_blocking_processes_grow_up_to_the_limit() {
    let run = |pool: &Pool, limit| {
        let mut network = Network::new().limit(limit);
        let (numbers, last) = network.channel("numbers", 1);
        let (signal, done) = network.channel("signal", 1);
        network.process_blocking("count", (numbers, signal), |(mut numbers, mut signal)| {
            (0..10).try_for_each(|n| numbers.send_blocking(n))?;
            signal.send_blocking(())
        });
        // Takes the signal first.
        network.process_blocking("last", (last, done), |(mut last, mut done)| {
            done.recv_blocking()?;
            while last.recv_blocking()?.is_some() {}
            Ok::<_, Over>(())
        });
        network.run(pool)
    };
    for pool in pools() {
        assert!(run(&pool, 16).unwrap().channels[0].capacity >= 10);
        let error = run(&pool, 9).unwrap_err();
        assert!(
            matches!(&error, NetworkError::Limit { channel, .. } if channel == "numbers"),
            "{error}"
        );
    }
}

#[test]
fn a_panic_and_an_error_are_those_of_their_process() {
    for pool in pools() {
        for panics in [true, false] {
            let mut network = Network::new();
            let (output, input) = network.channel::<u8>("bytes", 1);
            network.process_blocking("careless", output, move |mut output| {
                output.send_blocking(1).map_err(|over| over.to_string())?;
                assert!(!panics, "no more arrows");
                Err::<(), _>("no more arrows".to_owned())
            });
            let (never, other) = network.channel::<u8>("never", 1);
            let ends = (input, never, other);
            network.process("waits", ends, async |(mut input, _never, mut other)| {
                input.recv().await;
                input.recv().await;
                other.recv().await
            });
            // The other one waits for itself in the end: either may end the network first.
            match network.run(&pool).unwrap_err() {
                error @ NetworkError::Panicked { .. } => {
                    assert!(panics && error.to_string().contains("'careless'"), "{error}");
                    assert_eq!(message(&*panic_of(error)), "no more arrows");
                }
                NetworkError::Process { process, error } => {
                    assert!(!panics);
                    assert_eq!((&*process, &*error.to_string()), ("careless", "no more arrows"));
                }
                NetworkError::Deadlock(cycle) => assert_eq!(cycle[0].process, "waits"),
                other => panic!("{other:?}"),
            }
        }
    }
}

#[test]
fn an_end_that_outlives_its_blocking_process_is_an_error() {
    for pool in pools() {
        let mut network = Network::new();
        let (numbers, all) = network.channel::<u32>("numbers", 1);
        let kept = network.process_blocking("returns it", numbers, Ok::<_, Over>);
        network.process_blocking("waits", all, |mut all| all.recv_blocking());
        match network.run(&pool) {
            Err(NetworkError::Kept { process, channel }) => {
                assert_eq!((&*process, &*channel), ("returns it", "numbers"));
            }
            other => panic!("{other:?}"),
        }
        drop(kept);
    }
}

#[test]
fn cancelling_ends_waits() {
    for pool in pools() {
        let (say, said) = mpsc::channel();
        let mut network = Network::new();
        let (output, input) = network.channel::<u8>("bytes", 1);
        network.process("idle", output, async |_output| std::future::pending::<()>().await);
        network.process_blocking("waits", input, move |mut input| {
            say.send(None).unwrap();
            let received = input.recv_blocking();
            say.send(Some(received)).unwrap();
            received
        });
        let running = network.start(&pool).unwrap();
        assert_eq!(said.recv(), Ok(None));
        running.cancel();
        assert!(matches!(running.join(), Err(NetworkError::Cancelled)));
        assert_eq!(said.recv(), Ok(Some(Err(Over))));
    }
}

/// Sends two messages when it is dropped; there is room for one.
struct Polite(Sender<&'static str>);

impl Drop for Polite {
    fn drop(&mut self) {
        for word in ["good", "bye"] {
            self.0.send_blocking(word).expect("the network goes on");
        }
    }
}

#[test]
fn a_process_waits_while_it_unwinds() {
    for pool in pools() {
        let mut network = Network::new();
        let (words, all) = network.channel("words", 1);
        network.process_blocking("catches", words, |words| {
            let polite = Polite(words);
            let unwound = catch_unwind(AssertUnwindSafe(|| {
                let _polite = polite;
                panic!("no more arrows")
            }));
            Ok::<_, Over>(unwound.is_err())
        });
        let count = network.process("counts", all, async |mut all| {
            let mut count = 0;
            while all.recv().await.is_some() {
                count += 1;
            }
            count
        });
        network.run(&pool).unwrap();
        assert_eq!(count.take(), Some(2));
    }
}

/// Waits for something else than a channel. The sender gives a permit when it has learnt that there
/// is room, though the process has taken less than a portion.
#[test]
fn a_pause_of_a_process_publishes_what_was_deferred() {
    type Wait = fn(&Worker, &Semaphore);
    let waits: [Wait; 4] = [
        |_, gate| block_on(gate.acquire()).unwrap().forget(),
        |w, gate| {
            w.join(|_| block_on(gate.acquire()).unwrap().forget(), |_| ());
        },
        |_, gate| {
            while gate.try_acquire().map(|permit| permit.forget()).is_err() {
                block_on(yield_now());
            }
        },
        |_, gate| {
            locksley::blocking(|| {
                while gate.try_acquire().map(|permit| permit.forget()).is_err() {
                    std::thread::yield_now();
                }
            });
        },
    ];
    for wait in waits {
        for pool in pools() {
            in_time(move || {
                let mut network = Network::new();
                let (input, sent, gate) = seventeen_for_sixteen(&mut network);
                network.process_blocking("takes one", input, move |mut input| {
                    block_on(sent.acquire()).unwrap().forget();
                    assert_eq!(input.recv_blocking()?, Some(0));
                    Worker::with_current(|w| wait(w.unwrap(), &gate));
                    assert_eq!(input.recv_blocking()?, Some(1));
                    Ok::<_, Over>(())
                });
                network.run(&pool).unwrap();
            });
        }
    }
}

/// It never waits, and gives way from time to time.
#[test]
fn an_endless_sender_to_no_receiver_ends_with_its_network() {
    in_time(|| {
        let is_over = Arc::new(AtomicBool::new(false));
        let says = Arc::clone(&is_over);
        let mut network = Network::new();
        let (output, input) = network.channel::<u64>("unwanted", 4);
        drop(input);
        network.process_blocking("endless", output, move |mut output: Sender<u64>| {
            let ended = (0..).try_for_each(|n| output.send_blocking(n));
            says.store(true, Ordering::Relaxed);
            ended
        });
        let (to_b, from_a) = network.channel::<u8>("a to b", 1);
        let (to_a, from_b) = network.channel::<u8>("b to a", 1);
        network.process("a", (from_b, to_b), async |(mut input, _output)| input.recv().await);
        let ends = (from_a, to_a);
        network.process_blocking("b", ends, |(mut input, _output)| input.recv_blocking());
        match network.run(&Pool::builder().workers(1).replacements(4).build().unwrap()) {
            Err(NetworkError::Deadlock(cycle)) => assert_eq!(cycle.len(), 2),
            other => panic!("{other:?}"),
        }
        assert!(is_over.load(Ordering::Relaxed));
    });
}
