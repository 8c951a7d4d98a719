//! How streams end: completely, or by a failure, which receivers tell apart.

use std::future::pending;
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex};

use locksley::Pool;
use locksley::task::yield_now;
use locksley_kahn::{Inlet, Network, NetworkError, Over, Receiver, Sender};
use tokio::sync::Semaphore;

use crate::common::{in_time, pools};

/// How a process fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    Error,
    /// Its sender is dropped while it unwinds.
    Panic,
    /// It drops its sender, waits, and fails then.
    Later,
}

impl How {
    fn fail(self) -> Result<(), &'static str> {
        match self {
            // No panic hook, which would print a message each time.
            Self::Panic => resume_unwind(Box::new("no more arrows")),
            Self::Error | Self::Later => Err("no more arrows"),
        }
    }
}

/// What a sink has seen at last: true if the stream was complete.
type Seen = Arc<Mutex<Option<Result<bool, Over>>>>;

/// A sink that says when it has begun, so that it is running when the other process fails.
fn add_sink(network: &mut Network, numbers: Inlet<u32>, blocks: bool) -> (Inlet<()>, Seen) {
    let (begins, begun) = network.channel("begun", 1);
    let seen = Seen::default();
    let sees = Arc::clone(&seen);
    if blocks {
        network.process_blocking("sink", (numbers, begins), move |(mut numbers, mut begins)| {
            begins.send_blocking(())?;
            let mut next = || numbers.recv_blocking().map(|number| number.is_none());
            let last = loop {
                match next() {
                    Ok(false) => {}
                    last => break last,
                }
            };
            *sees.lock().unwrap() = Some(last);
            last.map(drop)
        });
    } else {
        network.process("sink", (numbers, begins), async move |(mut numbers, mut begins)| {
            begins.send(()).await;
            while numbers.recv().await.is_some() {}
            *sees.lock().unwrap() = Some(Ok(true));
        });
    }
    (begun, seen)
}

/// A process that ticks once, after others have run.
fn add_clock(network: &mut Network) -> Inlet<()> {
    let (ticks, tick) = network.channel("ticks", 1);
    network.process("clock", ticks, async |mut ticks| {
        for _ in 0..3 {
            yield_now().await;
        }
        ticks.send(()).await;
    });
    tick
}

/// A process fails after three messages, between a sink and a source that goes on. Returns what the
/// sink has seen.
fn fail(
    pool: &Pool,
    how: How,
    stage_blocks: bool,
    sink_blocks: bool,
) -> Option<Result<bool, Over>> {
    let mut network = Network::new();
    let (source, input) = network.channel("source", 2);
    let (output, numbers) = network.channel("numbers", 4);
    network.process("source", source, async |mut source| {
        for n in 0..100 {
            source.send(n).await;
        }
    });
    let (begun, seen) = add_sink(&mut network, numbers, sink_blocks);
    let ends = (input, output, begun, add_clock(&mut network));
    if stage_blocks {
        network.process_blocking("stage", ends, move |(mut input, mut output, mut begun, tick)| {
            let mut tick: Receiver<()> = tick;
            let text = |_: Over| "over";
            begun.recv_blocking().map_err(text)?;
            for _ in 0..3 {
                let number = input.recv_blocking().map_err(text)?.expect("there are 100");
                output.send_blocking(number).map_err(text)?;
            }
            if how == How::Later {
                drop(output);
                tick.recv_blocking().map_err(text)?;
            }
            how.fail()
        });
    } else {
        network.try_process(
            "stage",
            ends,
            async move |(mut input, mut output, mut begun, tick)| {
                let mut tick: Receiver<()> = tick;
                begun.recv().await;
                for _ in 0..3 {
                    output.send(input.recv().await.expect("there are 100")).await;
                }
                if how == How::Later {
                    drop(output);
                    tick.recv().await;
                }
                how.fail()
            },
        );
    }
    match network.run(pool).unwrap_err() {
        NetworkError::Process { process, error } => {
            assert_eq!((&*process, &*error.to_string()), ("stage", "no more arrows"));
        }
        NetworkError::Panicked { process: Some(process), .. } if how == How::Panic => {
            assert_eq!(process, "stage");
        }
        other => panic!("{other:?}"),
    }
    seen.lock().unwrap().take()
}

/// It is a race between what the sink sees of its channel and of the failure: many times.
fn a_failure_is_never_a_normal_end(sink_blocks: bool, expected: Option<Result<bool, Over>>) {
    for workers in [1, 2] {
        let pool = Pool::builder().workers(workers).replacements(4).build().unwrap();
        for how in [How::Error, How::Panic, How::Later] {
            for stage_blocks in [false, true] {
                for round in 0..300 {
                    let seen = fail(&pool, how, stage_blocks, sink_blocks);
                    assert_eq!(
                        seen, expected,
                        "round {round}: {workers} workers, {how:?}, stage blocks: {stage_blocks}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_failure_is_an_error_for_a_blocking_receiver() {
    a_failure_is_never_a_normal_end(true, Some(Err(Over)));
}

#[test]
fn a_failure_does_not_resume_an_async_receiver() {
    a_failure_is_never_a_normal_end(false, None);
}

/// The closure that makes a process is a part of it.
#[test]
fn a_process_that_fails_before_it_is_a_future_ends_no_stream() {
    for pool in pools() {
        for _ in 0..20 {
            let mut network = Network::new();
            let (output, numbers) = network.channel("numbers", 4);
            let (_begun, seen) = add_sink(&mut network, numbers, true);
            network.process("made", output, |output| {
                drop(output);
                if std::hint::black_box(true) {
                    resume_unwind(Box::new("made"));
                }
                pending::<()>()
            });
            assert!(network.run(&pool).is_err());
            assert!(!matches!(*seen.lock().unwrap(), Some(Ok(true))));
        }
    }
}

/// To keep an end is a failure, too: it comes before the end of the other stream.
#[test]
fn a_process_that_keeps_an_end_ends_no_stream() {
    for workers in [1, 2] {
        let pool = Pool::builder().workers(workers).replacements(4).build().unwrap();
        for _ in 0..300 {
            let mut network = Network::new();
            let (output, numbers) = network.channel("numbers", 4);
            let (begun, seen) = add_sink(&mut network, numbers, true);
            let (keep, dropped) = network.channel::<()>("kept", 1);
            drop(dropped);
            let ends = (output, begun, keep);
            let kept = network.process("keeps", ends, async |(output, mut begun, keep)| {
                begun.recv().await;
                drop(output);
                keep
            });
            match network.run(&pool) {
                Err(NetworkError::Kept { channel, .. }) => assert_eq!(channel, "kept"),
                other => panic!("{other:?}"),
            }
            assert_eq!(seen.lock().unwrap().take(), Some(Err(Over)));
            drop(kept);
        }
    }
}

/// A process that comes after the one that fails is no way round.
#[test]
fn a_failure_goes_through_several_processes() {
    for pool in pools() {
        for _ in 0..50 {
            let mut network = Network::new();
            let (output, mut next) = network.channel::<u32>("numbers", 1);
            network.try_process("fails", output, async |mut output| {
                output.send(1).await;
                How::Error.fail()
            });
            for _ in 0..3 {
                let (output, input) = network.channel("numbers", 1);
                let ends = (std::mem::replace(&mut next, input), output);
                network.process("passes on", ends, async |(mut input, mut output)| {
                    while let Some(number) = input.recv().await {
                        output.send(number).await;
                    }
                });
            }
            let last = network.process(
                "last",
                next,
                async |mut input| {
                    while input.recv().await.is_some() {}
                },
            );
            assert!(matches!(network.run(&pool), Err(NetworkError::Process { .. })));
            assert_eq!(last.take(), None);
        }
    }
}

/// Sends what it has received, and says how many these were when the stream has ended.
async fn count(mut numbers: Receiver<u32>, mut answer: Sender<u32>) {
    let mut count = 0;
    while numbers.recv().await.is_some() {
        count += 1;
    }
    answer.send(count).await;
}

#[test]
fn a_sender_that_is_dropped_early_ends_its_stream_if_its_process_waits_for_that() {
    for pool in pools() {
        for stages in [0, 1, 7] {
            let mut network = Network::new();
            let (numbers, mut next) = network.channel("numbers", 2);
            for stage in 0..stages {
                let (output, input) = network.channel(format!("after {stage}"), 2);
                let ends = (std::mem::replace(&mut next, input), output);
                network.process("stage", ends, async |(mut input, mut output)| {
                    while let Some(number) = input.recv().await {
                        output.send(number).await;
                    }
                });
            }
            let (answer, answers) = network.channel("answer", 1);
            network.process("count", (next, answer), |(numbers, answer)| count(numbers, answer));
            let found = network.process(
                "ask",
                (numbers, answers),
                async |(mut numbers, mut answers): (Sender<u32>, Receiver<u32>)| {
                    for n in 0..5 {
                        numbers.send(n).await;
                    }
                    drop(numbers);
                    answers.recv().await
                },
            );
            network.run(&pool).unwrap();
            assert_eq!(found.take(), Some(Some(5)));
        }
    }
}

/// It waits for itself.
#[test]
fn a_process_that_is_its_own_partner_sees_the_end_of_its_stream() {
    for workers in [1, 2] {
        let pool = Pool::builder().workers(workers).replacements(4).build().unwrap();
        let mut network = Network::new();
        let ends = network.channel("itself", 4);
        let sum = network.process("async", ends, async |(mut output, mut input)| {
            for n in 0..4_u32 {
                output.send(n).await;
            }
            drop(output);
            let mut sum = 0;
            while let Some(n) = input.recv().await {
                sum += n;
            }
            sum
        });
        let ends = network.channel("itself", 4);
        let count = network.process_blocking("blocking", ends, |(mut output, mut input)| {
            (0..4_u32).try_for_each(|n| output.send_blocking(n))?;
            drop(output);
            let mut count = 0;
            while input.recv_blocking()?.is_some() {
                count += 1;
            }
            Ok::<_, Over>(count)
        });
        network.run(&pool).unwrap();
        assert_eq!((sum.take(), count.take()), (Some(6), Some(4)));
    }
}

#[test]
fn a_sender_that_is_dropped_early_by_a_blocking_process_ends_its_stream() {
    for workers in [1, 2] {
        let pool = Pool::builder().workers(workers).replacements(4).build().unwrap();
        let mut network = Network::new();
        let (numbers, all) = network.channel("numbers", 2);
        let (answer, answers) = network.channel("answer", 1);
        network.process_blocking("count", (all, answer), |(mut all, mut answer)| {
            let mut count = 0;
            while all.recv_blocking()?.is_some() {
                count += 1;
            }
            answer.send_blocking(count)
        });
        let found = network.process_blocking(
            "ask",
            (numbers, answers),
            |(mut numbers, mut answers): (Sender<u32>, Receiver<u32>)| {
                (0..5).try_for_each(|n| numbers.send_blocking(n))?;
                drop(numbers);
                answers.recv_blocking()
            },
        );
        network.run(&pool).unwrap();
        assert_eq!(found.take(), Some(Some(5)));
    }
}

/// It receives all headers before the first body.
#[test]
fn a_stream_that_is_over_ends_before_a_channel_grows() {
    for pool in pools() {
        let mut network = Network::new().limit(0);
        let (headers, all_headers) = network.channel("headers", 1);
        let (bodies, all_bodies) = network.channel("bodies", 1);
        network.process("split", (headers, bodies), async |(mut headers, mut bodies)| {
            for n in 0..10 {
                headers.send(n).await;
            }
            drop(headers);
            for n in 0..10 {
                bodies.send(n).await;
            }
        });
        let ends = (all_headers, all_bodies);
        network.process("join", ends, async |(mut headers, mut bodies)| {
            while headers.recv().await.is_some() {}
            while bodies.recv().await.is_some() {}
        });
        assert_eq!(network.run(&pool).unwrap().times_grown, 0);
    }
}

/// The process waits for something that the network does not see.
#[test]
fn a_closed_sender_ends_its_stream_at_once() {
    in_time(|| {
        for pool in pools() {
            for blocks in [false, true] {
                let is_over = Arc::new(Semaphore::new(0));
                let says = Arc::clone(&is_over);
                let mut network = Network::new();
                let (numbers, all) = network.channel("numbers", 4);
                if blocks {
                    network.process_blocking("closes", numbers, move |mut numbers| {
                        numbers.send_blocking(1)?;
                        numbers.close();
                        locksley::block_on(is_over.acquire()).unwrap().forget();
                        Ok::<_, Over>(())
                    });
                } else {
                    network.process("closes", numbers, async move |mut numbers| {
                        numbers.send(1).await;
                        numbers.close();
                        is_over.acquire().await.unwrap().forget();
                    });
                }
                network.process("all", all, async move |mut all| {
                    assert_eq!(all.recv().await, Some(1));
                    assert_eq!(all.recv().await, None);
                    says.add_permits(1);
                });
                network.run(&pool).unwrap();
            }
        }
    });
}

/// It is complete, whatever becomes of the process that has closed it.
#[test]
fn a_closed_stream_stays_complete_if_its_process_fails() {
    for pool in pools() {
        let (say, said) = tokio::sync::oneshot::channel();
        let mut network = Network::new();
        let (numbers, all) = network.channel("numbers", 4);
        network.try_process("closes", numbers, async move |mut numbers| {
            numbers.send(1).await;
            numbers.close();
            said.await.unwrap();
            How::Error.fail()
        });
        let count = network.process("all", all, async move |mut all| {
            let mut count = 0;
            while all.recv().await.is_some() {
                count += 1;
            }
            say.send(()).unwrap();
            count
        });
        assert!(matches!(network.run(&pool), Err(NetworkError::Process { .. })));
        assert_eq!(count.take(), Some(1));
    }
}

/// A process keeps a buffer, of which several copies would fill a worker's stack.
#[test]
fn a_process_may_be_large() {
    for pool in pools() {
        let mut network = Network::new();
        let (numbers, all) = network.channel("numbers", 4);
        network.process("count", numbers, async |mut numbers| {
            let buffer: [usize; 40_000] = std::array::from_fn(|n| n);
            for number in std::hint::black_box(&buffer) {
                numbers.send(*number).await;
            }
        });
        let sum = network.process("sum", all, async |mut all| {
            let mut buffer = [0; 40_000];
            for place in &mut buffer {
                *place = all.recv().await.unwrap();
            }
            std::hint::black_box(&buffer).iter().sum::<usize>()
        });
        network.run(&pool).unwrap();
        assert_eq!(sum.take(), Some(799_980_000));
    }
}
