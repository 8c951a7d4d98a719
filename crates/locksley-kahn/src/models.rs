//! What the model checker runs: real channels and real deadlock checks. Each process has a thread
//! of its own, which blocks until it is woken.

use std::future::pending;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use loom::sync::{Condvar, Mutex};
use loom::thread::{self, JoinHandle};

use super::channel::{AnyChannel, Channel};
use super::ends::{receiver::Receiver, sender::Sender};
use super::error::{Failure, NetworkError};
use super::graph::{Graph, Link};
use super::process::Process;
use super::task::{BoxError, ProcessTask, WaitMode};
use locksley_sys::primitive::Ordering;

/// A thread's own waker. A wake that is lost is a deadlock, which loom reports.
struct Bell {
    is_rung: Mutex<bool>,
    changed: Condvar,
}

impl Bell {
    fn new() -> Arc<Self> {
        Arc::new(Self { is_rung: Mutex::new(false), changed: Condvar::new() })
    }

    fn wait(&self) {
        let mut is_rung = self.is_rung.lock().unwrap();
        while !*is_rung {
            is_rung = self.changed.wait(is_rung).unwrap();
        }
        *is_rung = false;
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }
    fn wake_by_ref(self: &Arc<Self>) {
        *self.is_rung.lock().unwrap() = true;
        self.changed.notify_one();
    }
}

loom::thread_local! {
    /// The thread's mark as the owner of a network, or 0.
    static HERE: std::cell::Cell<usize> = std::cell::Cell::new(0);
}

pub(super) fn here() -> usize {
    HERE.with(std::cell::Cell::get)
}

type Ends = (Option<Sender<u32>>, Option<Receiver<u32>>);

/// Channels between numbered processes: from, to, capacity.
struct Model {
    graph: Arc<Graph>,
    ends: Vec<Ends>,
    bells: Vec<Arc<Bell>>,
}

impl Model {
    fn new(processes: usize, channels: &[(u32, u32, u64)]) -> Self {
        Self::with_limit(processes, channels, u64::MAX)
    }

    fn with_limit(processes: usize, channels: &[(u32, u32, u64)], limit: u64) -> Self {
        let made: Vec<Arc<Channel<u32>>> = channels
            .iter()
            .enumerate()
            .map(|(n, &(_, _, capacity))| Arc::new(Channel::new(n as u32, "".into(), capacity)))
            .collect();
        let links = channels.iter().map(|&(producer, consumer, _)| Link { producer, consumer });
        let all = made.iter().map(|channel| Arc::clone(channel) as Arc<dyn AnyChannel>).collect();
        let names = (0..processes).map(|_| Process::new("".into())).collect();
        let graph = Graph::new(names, all, links.collect(), limit, false);
        let bells: Vec<_> = (0..processes).map(|_| Bell::new()).collect();
        for (number, bell) in bells.iter().enumerate() {
            assert!(graph.process(number as u32).set_waker(&Waker::from(Arc::clone(bell))));
        }
        let ends = made.into_iter().zip(channels).map(|(channel, &(producer, consumer, _))| {
            // SAFETY: the one sender, and nothing was received.
            let sender = unsafe { Sender::new(Arc::clone(&channel), Arc::clone(&graph), producer) };
            // SAFETY: the one receiver.
            let receiver = unsafe { Receiver::new(channel, Arc::clone(&graph), consumer) };
            (Some(sender), Some(receiver))
        });
        Self { ends: ends.collect(), graph, bells }
    }

    fn sender(&mut self, channel: usize) -> Sender<u32> {
        self.ends[channel].0.take().unwrap()
    }

    fn receiver(&mut self, channel: usize) -> Receiver<u32> {
        self.ends[channel].1.take().unwrap()
    }

    /// Runs a process until it ends, or its network does.
    fn block<R>(&self, number: usize, process: impl Future<Output = R>) -> Option<R> {
        block(&self.graph, number, &self.bells[number], process)
    }

    /// The same on another thread.
    fn begin<R: 'static>(
        &self,
        number: usize,
        process: impl Future<Output = R> + 'static,
    ) -> JoinHandle<Option<R>> {
        let (graph, bell) = (Arc::clone(&self.graph), Arc::clone(&self.bells[number]));
        thread::spawn(move || block(&graph, number, &bell, process))
    }

    fn times_grown(&self) -> u64 {
        self.graph.grown.load(Ordering::Relaxed)
    }

    /// How many processes the network's deadlock has; `None` if it has not failed.
    fn deadlock(&self) -> Option<usize> {
        match self.graph.take_failure()? {
            Failure::Error(NetworkError::Deadlock(cycle)) => Some(cycle.len()),
            _ => panic!("the network has failed otherwise"),
        }
    }
}

fn block<R>(
    graph: &Graph,
    number: usize,
    bell: &Arc<Bell>,
    process: impl Future<Output = R>,
) -> Option<R> {
    let waker = Waker::from(Arc::clone(bell));
    let mut process = pin!(process);
    while !graph.has_failed() {
        if let Poll::Ready(product) = process.as_mut().poll(&mut Context::from_waker(&waker)) {
            graph.finish_process(number as u32);
            return Some(product);
        }
        bell.wait();
    }
    None
}

fn check(bound: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(bound);
    builder.check(model);
}

async fn send_all(mut sender: Sender<u32>, messages: u32) {
    for n in 0..messages {
        sender.send(n).await;
    }
}

async fn receive_all(mut receiver: Receiver<u32>) -> u32 {
    let mut count = 0;
    while let Some(n) = receiver.recv().await {
        assert_eq!(n, count, "in order");
        count += 1;
    }
    count
}

/// Also at a capacity that is made free in portions.
#[test]
fn loom_kahn_no_wake_is_lost() {
    for capacity in [1, 2] {
        check(2, move || {
            let mut model = Model::new(2, &[(0, 1, capacity)]);
            let (sender, receiver) = (model.sender(0), model.receiver(0));
            let producer = model.begin(0, send_all(sender, 3));
            assert_eq!(model.block(1, receive_all(receiver)), Some(3));
            producer.join().unwrap();
            assert_eq!(model.deadlock(), None);
        });
    }
}

/// One process stays on the thread on which the network has begun, and the other one leaves it.
#[test]
fn loom_kahn_no_wake_is_lost_when_a_process_leaves_its_thread() {
    for stays in [0, 1] {
        check(2, move || {
            let mut model = Model::new(2, &[(0, 1, 1)]);
            HERE.with(|here| here.set(16));
            model.graph.begin(false, true);
            let (sender, receiver) = (model.sender(0), model.receiver(0));
            if stays == 1 {
                let producer = model.begin(0, send_all(sender, 2));
                assert_eq!(model.block(1, receive_all(receiver)), Some(2));
                producer.join().unwrap();
            } else {
                let consumer = model.begin(1, receive_all(receiver));
                model.block(0, send_all(sender, 2));
                assert_eq!(consumer.join().unwrap(), Some(2));
            }
            assert_eq!(model.deadlock(), None);
        });
    }
}

/// The receiver takes one message, which is less than a portion, and waits for what is sent after
/// the third.
#[test]
fn loom_kahn_a_deferred_publication_comes_before_a_wait() {
    check(3, || {
        let mut model = Model::new(2, &[(0, 1, 2), (0, 1, 1)]);
        let (mut numbers, mut signal) = (model.sender(0), model.sender(1));
        let (mut all, mut done) = (model.receiver(0), model.receiver(1));
        let producer = model.begin(0, async move {
            for n in 0..3 {
                numbers.send(n).await;
            }
            signal.send(3).await;
        });
        let received = model.block(1, async move {
            assert_eq!(all.recv().await, Some(0));
            assert_eq!(done.recv().await, Some(3));
            receive_rest(all).await
        });
        producer.join().unwrap();
        assert_eq!(received, Some(2));
        assert_eq!(model.times_grown(), 0, "there was room");
    });
}

async fn receive_rest(mut receiver: Receiver<u32>) -> u32 {
    let mut count = 0;
    while receiver.recv().await.is_some() {
        count += 1;
    }
    count
}

#[test]
fn loom_kahn_a_receiver_goes_while_the_sender_waits() {
    check(3, || {
        let mut model = Model::new(2, &[(0, 1, 1)]);
        let (sender, mut receiver) = (model.sender(0), model.receiver(0));
        let producer = model.begin(0, send_all(sender, 3));
        let first = model.block(1, async move { receiver.recv().await });
        assert_eq!(first, Some(Some(0)));
        assert!(producer.join().unwrap().is_some());
        model.graph.purge();
        let channel = model.graph.core(0);
        assert_eq!(channel.counts(), (3, 1));
    });
}

/// Processes in a ring, each of which waits for the one before it.
fn a_deadlock_is_found(size: usize, bound: usize) {
    check(bound, move || {
        let links = |n| (n as u32, ((n + 1) % size) as u32, 1);
        let mut model = Model::new(size, &(0..size).map(links).collect::<Vec<_>>());
        let mut process = |n| {
            let (mut receiver, sender) = (model.receiver((n + size - 1) % size), model.sender(n));
            async move { (receiver.recv().await, sender).0 }
        };
        let processes: Vec<_> = (0..size).map(&mut process).collect();
        let mut processes = processes.into_iter().enumerate();
        let (_, first) = processes.next().unwrap();
        let others: Vec<_> = processes.map(|(n, process)| model.begin(n, process)).collect();
        assert_eq!(model.block(0, first), None);
        others.into_iter().for_each(|other| assert_eq!(other.join().unwrap(), None));
        assert_eq!(model.deadlock(), Some(size));
    });
}

#[test]
fn loom_kahn_two_that_wait_for_each_other_are_found() {
    a_deadlock_is_found(2, 4);
}

#[test]
fn loom_kahn_three_that_wait_for_each_other_are_found() {
    a_deadlock_is_found(3, 2);
}

/// The producer waits for room, and the consumer for what comes after that: one of them, or both,
/// has the channel grow, once.
#[test]
fn loom_kahn_an_artificial_deadlock_grows_one_channel_once() {
    check(3, || {
        let mut model = Model::with_limit(2, &[(0, 1, 1), (0, 1, 1)], 2);
        let (mut numbers, mut signal) = (model.sender(0), model.sender(1));
        let (all, mut done) = (model.receiver(0), model.receiver(1));
        let producer = model.begin(0, async move {
            numbers.send(0).await;
            numbers.send(1).await;
            signal.send(7).await;
        });
        let received = model.block(1, async move {
            assert_eq!(done.recv().await, Some(7));
            receive_all(all).await
        });
        producer.join().unwrap();
        assert_eq!(received, Some(2));
        assert_eq!((model.graph.core(0).capacity(), model.times_grown()), (2, 1));
    });
}

/// A message is under way in what looks like a cycle.
#[test]
fn loom_kahn_a_token_that_goes_round_is_no_deadlock() {
    check(3, || {
        let mut model = Model::new(2, &[(0, 1, 1), (1, 0, 1)]);
        let (mut to_b, mut from_b) = (model.sender(0), model.receiver(1));
        let (mut to_a, mut from_a) = (model.sender(1), model.receiver(0));
        let other = model.begin(0, async move {
            to_b.send(0).await;
            assert_eq!(from_b.recv().await, Some(1));
            to_b.send(2).await;
        });
        let ended = model.block(1, async move {
            assert_eq!(from_a.recv().await, Some(0));
            to_a.send(1).await;
            assert_eq!(from_a.recv().await, Some(2));
        });
        other.join().unwrap();
        assert_eq!((ended, model.deadlock()), (Some(()), None));
    });
}

/// While a message is under way, not all processes seem to wait.
#[test]
fn loom_kahn_processes_wait_when_none_can_continue() {
    check(3, || {
        let mut model = Model::new(2, &[(0, 1, 1), (1, 0, 1)]);
        let (mut to_b, mut from_b) = (model.sender(0), model.receiver(1));
        let (mut to_a, mut from_a) = (model.sender(1), model.receiver(0));
        let first = model.begin(0, async move {
            to_b.send(0).await;
            assert_eq!(from_b.recv().await, Some(1));
        });
        let second = model.begin(1, async move {
            assert_eq!(from_a.recv().await, Some(0));
            to_a.send(1).await;
        });
        assert_eq!(model.graph.waiting(|_| None), None);
        first.join().unwrap();
        second.join().unwrap();
        assert_eq!(model.graph.waiting(|_| None), None, "all have ended");
    });
}

/// A process sends a message, drops its sender, and fails.
#[test]
fn loom_kahn_a_failure_is_no_end_of_a_stream() {
    check(3, || {
        let mut model = Model::new(2, &[(0, 1, 1)]);
        let (mut sender, receiver) = (model.sender(0), model.receiver(0));
        let failing = async move {
            sender.send(0).await;
            drop(sender);
            Err::<(), BoxError>("failed".into())
        };
        let task = ProcessTask {
            future: Some(Box::pin(failing)),
            finish: |result| result,
            product: None,
            graph: Arc::clone(&model.graph),
            number: 0,
            wait_mode: WaitMode::Async,
        };
        let bell = Arc::clone(&model.bells[0]);
        let producer = thread::spawn(move || poll_to_end(task, &bell));
        assert_eq!(model.block(1, receive_all(receiver)), None, "it seemed to be complete");
        producer.join().unwrap();
        assert!(matches!(
            model.graph.take_failure(),
            Some(Failure::Error(NetworkError::Process { .. }))
        ));
    });
}

fn poll_to_end<F: Future, T>(task: ProcessTask<F, T>, bell: &Arc<Bell>) {
    let waker = Waker::from(Arc::clone(bell));
    let mut task = pin!(task);
    while task.as_mut().poll(&mut Context::from_waker(&waker)).is_pending() {
        bell.wait();
    }
}

/// The process goes on after it has closed its channel.
#[test]
fn loom_kahn_a_closed_sender_ends_its_stream_at_once() {
    check(3, || {
        let mut model = Model::new(2, &[(0, 1, 1)]);
        let (mut sender, receiver) = (model.sender(0), model.receiver(0));
        let producer = model.begin(0, async move {
            sender.send(0).await;
            sender.close();
            pending::<()>().await;
        });
        assert_eq!(model.block(1, receive_all(receiver)), Some(1));
        model.graph.cancel();
        assert_eq!(producer.join().unwrap(), None);
    });
}

/// The process waits for what the receiver sends after the end of the stream.
#[test]
fn loom_kahn_a_dropped_sender_ends_its_stream_in_a_cycle() {
    check(3, || {
        let mut model = Model::new(2, &[(0, 1, 1), (1, 0, 1)]);
        let (mut numbers, mut answer) = (model.sender(0), model.receiver(1));
        let (all, mut answers) = (model.receiver(0), model.sender(1));
        let producer = model.begin(0, async move {
            numbers.send(0).await;
            drop(numbers);
            answer.recv().await
        });
        model.block(1, async move {
            let count = receive_all(all).await;
            answers.send(count).await;
        });
        assert_eq!(producer.join().unwrap(), Some(Some(1)));
        assert_eq!(model.deadlock(), None);
    });
}

/// A network is ended while a process is polled for the first time.
#[test]
fn loom_kahn_a_network_ends_while_a_process_begins() {
    check(4, || {
        let one = Box::new([Process::new("".into())]);
        let graph = Graph::new(one, Box::new([]), Box::new([]), 1, false);
        let task = ProcessTask {
            future: Some(pending::<()>()),
            finish: Ok,
            product: None,
            graph: Arc::clone(&graph),
            number: 0,
            wait_mode: WaitMode::Async,
        };
        let ended = thread::spawn(move || poll_to_end(task, &Bell::new()));
        graph.cancel();
        ended.join().unwrap();
    });
}
