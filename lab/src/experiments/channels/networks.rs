//! Networks of processes and channels. The processes take the time themselves, after some numbers
//! have gone through to warm up: senders begin when all of those have been received.

use std::array;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use tokio::sync::Semaphore;

use super::measurement::Finding;
use super::runtime::{Runtime, noting_wait};
use super::subject::{FAN, Kind, Subject};
use crate::experiment::prelude::*;
use crate::experiments::{memory, place::place};

/// What a channel holds through which numbers stream.
const STREAM_CAPACITY: usize = 64;
/// What a channel of a ring holds, where one token goes round.
const RING_CAPACITY: usize = 8;
/// The threads of sender and receiver are compared once in so many numbers.
const LOOK: u64 = 1024;
/// Idle processes that come and go before the others: few, because their memory is used again.
const FIRST_IDLE: u64 = 100;

/// Measures `subject` on `runtime`.
pub(super) fn measure(runtime: &impl Runtime, subject: Subject, seed: u64) -> Outcome<Finding> {
    let Subject { kind, width, number } = subject;
    let receivers = if kind == Kind::FanOut { FAN } else { 1 };
    let mut net = Net::new(runtime, Notes::new(subject, receivers));
    match kind {
        Kind::Idle => return idle(runtime, subject),
        Kind::Ring => net.ring(width, number, seed),
        Kind::FanOut => {
            let outlets = array::from_fn(|_| {
                let (outlet, inlet) = net.channel(STREAM_CAPACITY);
                net.consumer([inlet]);
                outlet
            });
            net.producer::<FAN>(outlets, seed);
        }
        Kind::FanIn => {
            let inlets = array::from_fn(|from| {
                let (outlet, inlet) = net.channel(STREAM_CAPACITY);
                net.producer([outlet], seed.wrapping_add(from as u64 * number));
                inlet
            });
            net.consumer::<FAN>(inlets);
        }
        // A stream is a pipeline of two processes.
        _ => {
            let (output, first) = net.channel(STREAM_CAPACITY);
            net.producer([output], seed);
            let last = (2..width).fold(first, |next, _| net.adder(next, STREAM_CAPACITY, 1));
            net.consumer([last]);
        }
    }
    net.complete()?.finding()
}

/// What the processes of a network share.
pub(super) struct Notes {
    subject: Subject,
    /// How many receivers have yet to receive what warms up, or idle processes have yet to wait.
    awaited: AtomicUsize,
    /// Never has a permit: it is closed when senders may begin. It depends on no runtime.
    gate: Semaphore,
    account: Mutex<Account>,
    /// Where the sender of a single channel ran, and how often the receiver ran elsewhere.
    /// `Relaxed`: a share is made of it, so a place that is a few numbers old does no harm.
    sender: AtomicUsize,
    apart: AtomicU64,
    /// The resident memory while all waited; 0 where it cannot be read.
    resident: AtomicU64,
}

/// The sum of what was received; when the first process began, and when the last one ended.
#[derive(Default)]
struct Account {
    sum: u64,
    begun: Option<Instant>,
    ended: Option<Instant>,
}

impl Notes {
    /// Notes for so many arrivals.
    pub(super) fn new(subject: Subject, awaited: usize) -> Arc<Notes> {
        Arc::new(Notes {
            subject,
            awaited: AtomicUsize::new(awaited),
            gate: Semaphore::const_new(0),
            account: Mutex::default(),
            sender: AtomicUsize::new(0),
            apart: AtomicU64::new(0),
            resident: AtomicU64::new(0),
        })
    }

    /// Counts a receiver that has received what warms up, or an idle process that waits.
    pub(super) fn arrive(&self) {
        if self.awaited.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.gate.close();
        }
    }

    /// Returns when all have arrived.
    pub(super) async fn pass(&self) {
        let none = self.gate.acquire().await;
        debug_assert!(none.is_err(), "there are no permits");
    }

    /// A process has begun, after warming up.
    pub(super) fn begin(&self, at: Instant) {
        let mut account = self.account.lock().unwrap_or_else(PoisonError::into_inner);
        account.begun = Some(account.begun.map_or(at, |first| first.min(at)));
    }

    /// A process has ended, and this is its sum.
    pub(super) fn end(&self, at: Instant, sum: u64) {
        let mut account = self.account.lock().unwrap_or_else(PoisonError::into_inner);
        account.sum = account.sum.wrapping_add(sum);
        account.ended = Some(account.ended.map_or(at, |last| last.max(at)));
    }

    /// The time from the first beginning to the last end, and the sum of all.
    pub(super) fn finding(&self) -> Outcome<Finding> {
        let account = self.account.lock().unwrap_or_else(PoisonError::into_inner);
        let (Some(begun), Some(ended)) = (account.begun, account.ended) else {
            return Err(Fault::input("no process has begun, or none has ended"));
        };
        let seconds = ended.saturating_duration_since(begun).as_secs_f64();
        let looks = self.subject.number.div_ceil(LOOK) as f64;
        let apart = self.apart.load(Ordering::Relaxed) as f64 / looks;
        let is_single = self.subject.kind == Kind::Stream;
        Ok(Finding { apart: is_single.then_some(apart), ..Finding::timed(account.sum, seconds) })
    }
}

/// A network in the making.
struct Net<'r, R: Runtime> {
    runtime: &'r R,
    network: R::Network,
    notes: Arc<Notes>,
}

impl<'r, R: Runtime> Net<'r, R> {
    fn new(runtime: &'r R, notes: Arc<Notes>) -> Self {
        Net { runtime, network: R::Network::default(), notes }
    }

    fn channel(&mut self, capacity: usize) -> (R::Outlet, R::Inlet) {
        R::channel(&mut self.network, capacity)
    }

    fn complete(self) -> Outcome<Arc<Notes>> {
        self.runtime.complete(self.network)?;
        Ok(self.notes)
    }

    /// Adds a process that sends numbers from `first` on, through each output in turn.
    fn producer<const N: usize>(&mut self, outlets: [R::Outlet; N], first: u64) {
        let notes = self.notes.clone();
        let body = move |outputs, _: [R::Input; 0]| produce::<R, N>(notes, outputs, first);
        self.runtime.process(&mut self.network, (outlets, []), body);
    }

    /// Adds a process that receives from each input in turn.
    fn consumer<const N: usize>(&mut self, inlets: [R::Inlet; N]) {
        let notes = self.notes.clone();
        let body = move |_: [R::Output; 0], inputs| consume::<R, N>(notes, inputs);
        self.runtime.process(&mut self.network, ([], inlets), body);
    }

    /// Adds a process that adds something to each number and passes it on, to a new channel.
    fn adder(&mut self, inlet: R::Inlet, capacity: usize, added: u64) -> R::Inlet {
        let (outlet, next) = self.channel(capacity);
        let body = move |[mut output]: [R::Output; 1], [mut input]: [R::Input; 1]| async move {
            while let Some(number) = R::receive(&mut input).await {
                R::send(&mut output, number.wrapping_add(added)).await;
            }
        };
        self.runtime.process(&mut self.network, ([outlet], [inlet]), body);
        next
    }

    /// A token goes round, and each process adds its number to it: so many times, and once before,
    /// in which all begin.
    fn ring(&mut self, width: u64, turns: u64, seed: u64) {
        let (outlet, first) = self.channel(RING_CAPACITY);
        let last = (1..width).fold(first, |next, own| self.adder(next, RING_CAPACITY, own));
        let notes = self.notes.clone();
        let body = move |[mut output]: [R::Output; 1], [mut input]: [R::Input; 1]| async move {
            R::send(&mut output, seed).await;
            let mut token = R::receive(&mut input).await.unwrap_or_default();
            notes.begin(Instant::now());
            for _ in 0..turns {
                R::send(&mut output, token).await;
                token = R::receive(&mut input).await.unwrap_or_default();
            }
            notes.end(Instant::now(), token);
        };
        self.runtime.process(&mut self.network, ([outlet], [last]), body);
    }
}

async fn produce<R: Runtime, const N: usize>(
    notes: Arc<Notes>,
    mut outputs: [R::Output; N],
    first: u64,
) {
    let Subject { kind, number: rounds, .. } = notes.subject;
    for _ in 0..notes.subject.warm_up() {
        for output in &mut outputs {
            R::send(output, 0).await;
        }
    }
    notes.pass().await;
    notes.begin(Instant::now());
    let mut number = first;
    for round in 0..rounds {
        if kind == Kind::Stream && round % LOOK == 0 {
            notes.sender.store(place(), Ordering::Relaxed);
        }
        for output in &mut outputs {
            R::send(output, number).await;
            number = number.wrapping_add(1);
        }
    }
}

/// Adds up what it receives until all inputs have ended. The order counts: each number is
/// multiplied by its position.
async fn consume<R: Runtime, const N: usize>(notes: Arc<Notes>, mut inputs: [R::Input; N]) {
    for _ in 0..notes.subject.warm_up() {
        for input in &mut inputs {
            R::receive(input).await;
        }
    }
    notes.arrive();
    let is_single = notes.subject.kind == Kind::Stream;
    let (mut sum, mut position, mut open) = (0u64, 0u64, N);
    while open > 0 {
        open = N;
        for input in &mut inputs {
            let Some(number) = R::receive(input).await else {
                open -= 1;
                continue;
            };
            if is_single && position % LOOK == 0 && notes.sender.load(Ordering::Relaxed) != place()
            {
                notes.apart.fetch_add(1, Ordering::Relaxed);
            }
            position += 1;
            sum = sum.wrapping_add(number.wrapping_mul(position));
        }
    }
    notes.end(Instant::now(), sum);
}

/// Measures the memory that waiting processes take, each with one channel that it waits for.
fn idle(runtime: &impl Runtime, subject: Subject) -> Outcome<Finding> {
    row(runtime, Subject { number: subject.number.min(FIRST_IDLE), ..subject })?;
    let before = memory::resident()?;
    let (passed, after, future) = row(runtime, subject)?;
    Ok(Finding::memory(passed, before, after, future))
}

/// Has processes wait in a row, each for the one before it, and passes a token through. Returns by
/// how many it was passed on, the memory while all waited, and the size of the future of each.
fn row<R: Runtime>(runtime: &R, subject: Subject) -> Outcome<(u64, u64, usize)> {
    let mut net = Net::new(runtime, Notes::new(subject, subject.number as usize));
    let (first, mut next) = net.channel(1);
    let mut future = 0;
    for _ in 0..subject.number {
        let (outlet, inlet) = net.channel(1);
        let notes = net.notes.clone();
        let body = move |[mut output]: [R::Output; 1], [mut input]: [R::Input; 1]| async move {
            let token = {
                let token = pin!(R::receive(&mut input));
                noting_wait(token, || notes.arrive()).await
            };
            drop(notes);
            R::send(&mut output, token.unwrap_or_default() + 1).await;
        };
        future = runtime.process(&mut net.network, ([outlet], [next]), body);
        next = inlet;
    }
    let notes = net.notes.clone();
    let body = move |_: [R::Output; 0], [mut input]: [R::Input; 1]| async move {
        let passed = R::receive(&mut input).await.unwrap_or_default();
        notes.end(Instant::now(), passed);
    };
    runtime.process(&mut net.network, ([], [next]), body);
    let notes = net.notes.clone();
    let body = move |[mut output]: [R::Output; 1], _: [R::Input; 0]| async move {
        notes.pass().await;
        notes.resident.store(memory::resident().unwrap_or(0), Ordering::Relaxed);
        R::send(&mut output, 0).await;
    };
    runtime.process(&mut net.network, ([first], []), body);
    let notes = net.complete()?;
    let passed = notes.account.lock().unwrap_or_else(PoisonError::into_inner).sum;
    Ok((passed, notes.resident.load(Ordering::Relaxed), future))
}
