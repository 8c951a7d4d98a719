//! The size of a process; and the stall harness: a worker is suspended at each of its steps in turn
//! while it sends, receives, waits and fails, and all processes finish that do not need the one it
//! runs.

#[path = "../../locksley/tests/common/idle_policies.rs"]
mod idle_policies;

use std::panic;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, RawWaker, RawWakerVTable, Waker};
use std::thread;

use super::channel::{AnyChannel, Channel};
use super::graph::{Graph, Link, NO_PROCESS};
use super::process::Process;
use super::task::{BoxError, ProcessTask, WaitMode};
use super::wait::Need;
use super::{Network, Over, Product, Sender};
use idle_policies::Yielding;
use locksley::Pool;
use locksley::task::Placement;
use locksley_sys::primitive::stepped::{self, Gate, wait_for};
use locksley_sys::unwind;

#[test]
fn a_process_is_small() {
    assert!(size_of::<Process>() <= 72, "{}", size_of::<Process>());
}

/// `will_wake` may be false for two wakers that wake the same: there may be copies of a table.
#[test]
fn a_process_knows_its_waker_by_what_it_wakes() {
    const fn table() -> RawWakerVTable {
        const fn nothing(_: *const ()) {}
        RawWakerVTable::new(|data| RawWaker::new(data, &TABLES[0]), nothing, nothing, nothing)
    }
    static TABLES: [RawWakerVTable; 2] = [table(), table()];
    let waker = |data: &u64, which: usize| {
        // SAFETY: the functions do nothing, from any thread.
        unsafe { Waker::new(std::ptr::from_ref(data).cast(), &TABLES[which]) }
    };
    let (own, others) = (1, 2);
    let wait = |waiting: Waker| {
        let process = Process::new("waits".into());
        assert!(process.set_waker(&waker(&own, 0)));
        process.begin_wait(&Context::from_waker(&waiting), 3, Need::Room);
        assert_eq!(process.wait.read().target(), Some((3, Need::Room)));
    };
    for which in [0, 1] {
        wait(waker(&own, which));
        let refused = unwind::catch(|| wait(waker(&others, which))).unwrap_err();
        let message = refused.downcast_ref::<String>().unwrap();
        assert!(message.contains("waits only in the process that it belongs to"), "{message}");
    }
}

fn pool(workers: usize, placement: Placement) -> Pool {
    let policy = Yielding { attempts: 2, sleep_after: Some(0) };
    Pool::builder().workers(workers).placement(placement).idle_policy(policy).build().unwrap()
}

fn add_one(count: &AtomicUsize) {
    count.fetch_add(1, Ordering::Release);
}

/// Pairs of processes send each other messages. The first process of the first pair arms its
/// worker.
#[test]
fn other_pairs_finish_while_a_process_is_suspended_at_any_step() {
    const PAIRS: usize = 6;
    let mut times_held = 0;
    for placement in [Placement::Last, Placement::Current] {
        for steps in (0..150).chain((150..500).step_by(17)) {
            let pool = pool(3, placement);
            let (gate, done) = (Arc::new(Gate::default()), Arc::new(AtomicUsize::new(0)));
            let mut network = Network::new();
            for pair in 0..PAIRS {
                let (there, comes) = network.channel("there", 1);
                let (back, returns) = network.channel("back", 1);
                let (at, count) = (Arc::clone(&gate), Arc::clone(&done));
                let ends = (there, returns);
                network.process("first", ends, async move |(mut there, mut returns)| {
                    if pair == 0 {
                        stepped::arm(steps, &at);
                    }
                    for n in 0..5 {
                        there.send(n).await;
                        assert_eq!(returns.recv().await, Some(n));
                    }
                    if pair == 0 {
                        stepped::disarm();
                    }
                    add_one(&count);
                });
                let count = Arc::clone(&done);
                network.process("second", (comes, back), async move |(mut comes, mut back)| {
                    while let Some(n) = comes.recv().await {
                        back.send(n).await;
                    }
                    add_one(&count);
                });
            }
            let running = network.start(&pool).unwrap();
            // The suspended worker may have another process in hand, which it has woken or taken.
            let least = 2 * (PAIRS - 2);
            let finished = wait_for(&done, least);
            times_held += usize::from(gate.is_held());
            gate.open();
            running.join().unwrap();
            assert!(finished >= least, "held after {steps} steps: {finished}");
            assert_eq!(done.load(Ordering::Acquire), 2 * PAIRS, "nothing is lost");
        }
    }
    assert!(times_held > 50, "the harness suspends threads: {times_held}");
}

/// What a suspended process has sent is received, by a process and by a blocking one.
#[test]
fn what_a_suspended_process_has_sent_is_received() {
    const SENT: usize = 12;
    let mut times_held = 0;
    for (placement, blocks) in [(Placement::Last, false), (Placement::Current, true)] {
        for steps in 0..120 {
            let pool = pool(3, placement);
            let gate = Arc::new(Gate::default());
            let [sent, received] = [0, 0].map(|_| Arc::new(AtomicUsize::new(0)));
            let mut network = Network::new();
            let (output, input) = network.channel("numbers", SENT); // it never waits
            let (at, count) = (Arc::clone(&gate), Arc::clone(&sent));
            network.process("sends", output, async move |mut output| {
                stepped::arm(steps, &at);
                for n in 0..SENT {
                    output.send(n).await;
                    add_one(&count);
                }
                stepped::disarm();
            });
            let count = Arc::clone(&received);
            if blocks {
                network.process_blocking("receives", input, move |mut input| {
                    while input.recv_blocking()?.is_some() {
                        add_one(&count);
                    }
                    Ok::<_, Over>(())
                });
            } else {
                network.process("receives", input, async move |mut input| {
                    while input.recv().await.is_some() {
                        add_one(&count);
                    }
                });
            }
            let running = network.start(&pool).unwrap();
            times_held += usize::from(gate.wait_until_held());
            let least = sent.load(Ordering::Acquire);
            let found = wait_for(&received, least);
            gate.open();
            running.join().unwrap();
            assert!(found >= least, "held after {steps} steps: {found} of {least}");
            assert_eq!(received.load(Ordering::Acquire), SENT);
        }
    }
    assert!(times_held > 50, "the harness suspends threads: {times_held}");
}

/// A process drops one sender and fails: by an error, by a panic, or as it keeps another sender. It
/// is suspended at each of its steps. Whenever the stream has ended, the failure is seen.
#[test]
fn a_process_that_is_suspended_at_any_step_ends_its_stream_after_its_failure() {
    type Fail = fn(Sender<u8>) -> Result<Option<Sender<u8>>, BoxError>;
    let fails: [Fail; 3] = [
        |_| Err("no more arrows".into()),
        |_| panic::resume_unwind(Box::new("no more arrows")),
        |sender| Ok(Some(sender)),
    ];
    let (mut times_held, mut times_ended) = (0, 0);
    for (fail, steps) in fails.into_iter().flat_map(|fail| (0..60).map(move |steps| (fail, steps)))
    {
        let channels =
            [0, 1].map(|number| Arc::new(Channel::<u8>::new(number, "numbers".into(), 1)));
        let any = channels.iter().map(|channel| Arc::clone(channel) as Arc<dyn AnyChannel>);
        let links = [Link { producer: 0, consumer: NO_PROCESS }; 2];
        let processes = Box::new([Process::new("fails".into())]);
        let graph = Graph::new(processes, any.collect(), Box::new(links), 1, false);
        let [first, second] = channels.map(|channel| {
            // SAFETY: the only sender of its channel.
            unsafe { Sender::new(channel, Arc::clone(&graph), 0) }
        });
        let (product, kept) = Product::pair();
        let mut task = ProcessTask {
            future: Some(Box::pin(async move {
                drop(first);
                fail(second)
            })),
            finish: |result| result,
            product: Some(product),
            graph: Arc::clone(&graph),
            number: 0,
            wait_mode: WaitMode::Async,
        };
        let gate = Arc::new(Gate::default());
        let (has_ended, has_failed) = thread::scope(|scope| {
            scope.spawn(|| {
                stepped::arm(steps, &gate);
                let mut context = Context::from_waker(Waker::noop());
                assert!(Pin::new(&mut task).poll(&mut context).is_ready());
                stepped::disarm();
            });
            times_held += usize::from(gate.wait_until_held());
            let has_ended = graph.core(0).is_closed();
            let has_failed = graph.has_failed();
            times_ended += usize::from(has_ended && gate.is_held());
            gate.open();
            (has_ended, has_failed)
        });
        assert!(!has_ended || has_failed, "held after {steps} steps");
        assert!(graph.core(0).is_closed() && graph.has_failed());
        drop(kept.take());
    }
    assert!(times_held > 30 && times_ended > 3, "{times_held}, {times_ended}");
}
