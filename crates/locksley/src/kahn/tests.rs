//! How large processes are; and the stall harness: a worker is held at each of its steps in turn while it sends, receives and waits,
//! and all processes finish but those that need the one that it has in hand.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Waker};

use super::Network;
use super::process::Process;
use super::wait::Need;
#[cfg(all(feature = "stacks", not(locksley_portable)))]
use crate::Worker;
#[cfg(all(feature = "stacks", not(locksley_portable)))]
use crate::fiber::block_on;
use crate::hunt::Abp;
use crate::primitive::stepped::{self, Gate, wait_for};
use crate::task::Placement;
#[cfg(all(feature = "stacks", not(locksley_portable)))]
use crate::task::yield_now;
use crate::{Pool, unwind};

#[test]
fn what_is_known_of_a_process_is_small() {
    assert!(size_of::<Process>() <= 72, "{}", size_of::<Process>());
}

/// A waker of nothing, of which others have another copy of the same table.
mod tables {
    use std::task::{RawWaker, RawWakerVTable, Waker};

    fn clone_one(data: *const ()) -> RawWaker {
        RawWaker::new(data, &ONE)
    }
    fn clone_other(data: *const ()) -> RawWaker {
        RawWaker::new(data, &OTHER)
    }
    fn nothing(_: *const ()) {}

    static ONE: RawWakerVTable = RawWakerVTable::new(clone_one, nothing, nothing, nothing);
    static OTHER: RawWakerVTable = RawWakerVTable::new(clone_other, nothing, nothing, nothing);

    pub(super) fn waker(data: &u64, is_one: bool) -> Waker {
        let table = if is_one { &ONE } else { &OTHER };
        // SAFETY: the functions do nothing, from any thread.
        unsafe { Waker::from_raw(RawWaker::new(std::ptr::from_ref(data).cast(), table)) }
    }
}

/// `will_wake` may say no of two wakers that wake the same.
#[test]
fn a_process_knows_its_waker_by_what_it_wakes() {
    let (own, others) = (1, 2);
    let wait = |waker: Waker| {
        let process = Process::new("waits".into());
        assert!(process.is_woken_by(&tables::waker(&own, true)));
        process.begin_to_wait(&Context::from_waker(&waker), 3, Need::Room);
        assert_eq!(process.wait.read().target(), Some((3, Need::Room)));
    };
    assert!(!tables::waker(&own, true).will_wake(&tables::waker(&own, false)));
    wait(tables::waker(&own, true));
    wait(tables::waker(&own, false));
    for is_one in [true, false] {
        let refused = unwind::halt(|| wait(tables::waker(&others, is_one))).unwrap_err();
        let said = refused.downcast_ref::<String>().unwrap();
        assert!(said.contains("waits only in the process that it belongs to, which is 'waits'"));
    }
}

fn pool(workers: usize, placement: Placement) -> Pool {
    let governor = Abp { attempts: 2, lower_after: Some(1), sleep_after: Some(0) };
    Pool::builder().workers(workers).placement(placement).governor(governor).build().unwrap()
}

const PAIRS: usize = 6;
const MESSAGES: usize = 5;

/// Pairs of processes that send each other messages. The first process of the first pair arms its worker.
#[test]
fn other_pairs_finish_while_a_process_is_held_at_any_step() {
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
                network.process(
                    "first",
                    (there, returns),
                    async move |(mut there, mut returns)| {
                        if pair == 0 {
                            stepped::arm(steps, &at);
                        }
                        for n in 0..MESSAGES {
                            there.send(n).await;
                            assert_eq!(returns.recv().await, Some(n));
                        }
                        if pair == 0 {
                            stepped::disarm();
                        }
                        count.fetch_add(1, Ordering::Release);
                    },
                );
                let count = Arc::clone(&done);
                network.process("second", (comes, back), async move |(mut comes, mut back)| {
                    while let Some(n) = comes.recv().await {
                        back.send(n).await;
                    }
                    count.fetch_add(1, Ordering::Release);
                });
            }
            let running = network.start(&pool).unwrap();
            // The held worker may also have another process in hand, which it has woken or just taken: one pair more.
            let least = 2 * (PAIRS - 2);
            let finished = wait_for(&done, least);
            times_held += usize::from(gate.is_held());
            gate.open();
            running.join().unwrap();
            assert!(finished >= least, "held after {steps} steps: {finished}");
            assert_eq!(done.load(Ordering::Acquire), 2 * PAIRS, "nothing is lost");
        }
    }
    assert!(times_held > 50, "the harness holds threads: {times_held}");
}

/// What a held process has sent is received by one that waited for it.
#[test]
fn what_a_held_process_has_sent_is_received() {
    const SENT: usize = 12;
    let mut times_held = 0;
    for placement in [Placement::Last, Placement::Current] {
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
                    count.fetch_add(1, Ordering::Release);
                }
                stepped::disarm();
            });
            let count = Arc::clone(&received);
            network.process("receives", input, async move |mut input| {
                while input.recv().await.is_some() {
                    count.fetch_add(1, Ordering::Release);
                }
            });
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
    assert!(times_held > 50, "the harness holds threads: {times_held}");
}

/// A process on a stack is held at any step of what it waits for that is no channel, or of a wait at a channel in the middle of that. What others
/// send meanwhile is done.
#[cfg(all(feature = "stacks", not(locksley_portable)))]
#[test]
fn others_go_on_while_a_process_is_held_that_waits_for_what_is_no_channel() {
    const TASKS: usize = 6;
    let mut times_held = 0;
    for steps in (0..150).chain((150..500).step_by(17)) {
        let pool = pool(2, Placement::Last);
        let (gate, done) = (Arc::new(Gate::default()), Arc::new(AtomicUsize::new(0)));
        let mut network = Network::new();
        let (output, input) = network.channel("numbers", 1);
        network.process("feeds", output, async |mut output| {
            for n in 0..2 {
                output.send(n).await;
            }
        });
        let at = Arc::clone(&gate);
        let ended = network.process_on_stack("waits", input, move |mut input| {
            stepped::arm(steps, &at);
            let received = Worker::with_current(|current| {
                let worker = current.expect("tasks run on workers");
                [0, 1].map(|_| {
                    worker.scope(|w, scope| scope.spawn_on(w, |_, _| ()));
                    block_on(yield_now());
                    worker.blocking(|| input.recv_blocking())
                })
            });
            stepped::disarm();
            received
        });
        let running = network.start(&pool).unwrap();
        times_held += usize::from(gate.wait_until_held());
        for _ in 0..TASKS {
            let count = Arc::clone(&done);
            pool.spawn(move |_| {
                count.fetch_add(1, Ordering::Release);
            });
        }
        // The last one may be left to the held worker, if it is held on its way up or to sleep.
        let finished = wait_for(&done, TASKS - 1);
        gate.open();
        running.join().unwrap();
        drop(pool);
        assert!(finished >= TASKS - 1, "held after {steps} steps: {finished}");
        assert_eq!(done.load(Ordering::Acquire), TASKS, "nothing is lost");
        assert_eq!(ended.take(), Some([Ok(Some(0)), Ok(Some(1))]));
    }
    assert!(times_held > 100, "the harness holds threads: {times_held}");
}
