//! The tasks of one rank, on its pool.
//!
//! They lie in *pieces*. A worker that processes a piece splits it whenever no other piece is
//! ready. So thieves find one, of this rank and of others, without asking a worker. Each ready
//! piece has a task of the pool, which takes any piece. A piece that another rank has taken leaves
//! a task that finds none.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};
use std::thread::{self, Thread};
use std::time::Instant;

use crossbeam_queue::SegQueue;
use locksley::Pool;

use crate::bag::Bag;
use crate::chunk;
use crate::nap::Due;
use crate::steal::{Local, Reduce};

/// A bag on the pool of one rank. If it is dropped, what is left of it is given up.
pub(crate) struct Pieces<'p, B: Bag> {
    pool: &'p Pool,
    shared: Arc<Shared<B>>,
}

struct Shared<B: Bag> {
    bag: Arc<B>,
    ready: SegQueue<B::Tasks>,
    /// Pieces that are ready or being processed.
    unfinished: AtomicUsize,
    /// Pieces that are being processed.
    active: AtomicUsize,
    /// Of this rank: as many as workers have processed pieces at a time. And of others.
    outputs: SegQueue<B::Output>,
    /// Whether a task of the pool reduces them to one.
    is_reducing: AtomicBool,
    /// How many tasks a chunk has.
    grain: AtomicUsize,
    /// Whether `poller` has looked for a ready piece in vain.
    is_wanted: AtomicBool,
    is_over: AtomicBool,
    panics: SegQueue<Box<dyn Any + Send>>,
    /// The thread that polls the transport.
    poller: Thread,
    due: Arc<Due>,
}

impl<'p, B: Bag> Pieces<'p, B> {
    pub(crate) fn new(pool: &'p Pool, bag: Arc<B>, due: Arc<Due>) -> Self {
        let shared = Arc::new(Shared {
            bag,
            ready: SegQueue::new(),
            unfinished: AtomicUsize::new(0),
            active: AtomicUsize::new(0),
            outputs: SegQueue::new(),
            is_reducing: AtomicBool::new(false),
            grain: AtomicUsize::new(1),
            is_wanted: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
            panics: SegQueue::new(),
            poller: thread::current(),
            due,
        });
        Self { pool, shared }
    }
}

impl<B: Bag> Local for Pieces<'_, B> {
    type Tasks = B::Tasks;
    type Output = B::Output;

    fn is_idle(&self) -> bool {
        // Acquire: pairs with the release in `process`; outputs are seen when all pieces are.
        self.shared.unfinished.load(Ordering::Acquire) == 0
    }

    fn take(&mut self, _thief: usize) -> Option<B::Tasks> {
        let shared = &self.shared;
        // If no piece is being processed, a worker is about to take this one. Relaxed: a hint.
        let spare = || (shared.active.load(Ordering::Relaxed) > 0).then(|| shared.ready.pop());
        let tasks = spare().flatten().or_else(|| {
            shared.is_wanted.store(true, Ordering::Relaxed);
            // Pairs with the fence in `publish`: either this finds the piece, or that the wish.
            fence(Ordering::SeqCst);
            spare().flatten()
        })?;
        // Relaxed: nothing is read that the pieces' processing has written.
        shared.unfinished.fetch_sub(1, Ordering::Relaxed);
        Some(tasks)
    }

    fn give(&mut self, tasks: B::Tasks) {
        let shared = Arc::clone(&self.shared);
        shared.publish(tasks);
        self.pool.spawn(move |_| process(&shared));
    }

    fn panicked(&self) -> Option<Box<dyn Any + Send>> {
        self.shared.panics.pop()
    }
}

impl<B: Bag> Reduce for Pieces<'_, B> {
    fn add(&mut self, other: B::Output) {
        self.shared.outputs.push(other);
    }

    /// A merge may take long, and this thread has messages to receive: a task of the pool merges.
    fn output(&mut self) -> Option<B::Output> {
        let shared = &self.shared;
        // Acquire: pairs with the release in `reduce`.
        if shared.is_reducing.load(Ordering::Acquire) {
            return None;
        }
        if shared.outputs.len() < 2 {
            return Some(shared.outputs.pop().unwrap_or_default());
        }
        // Relaxed: the task sees it.
        shared.is_reducing.store(true, Ordering::Relaxed);
        let shared = Arc::clone(shared);
        self.pool.spawn(move |_| _ = shared.catch(|| shared.reduce()));
        None
    }
}

impl<B: Bag> Drop for Pieces<'_, B> {
    fn drop(&mut self) {
        // Relaxed: workers need only see it some time.
        self.shared.is_over.store(true, Ordering::Relaxed);
    }
}

impl<B: Bag> Shared<B> {
    /// Makes a piece ready.
    fn publish(&self, tasks: B::Tasks) {
        // Before the piece can be taken. Relaxed: what the poller reads after it has seen 0 was
        // published by the pieces' ends.
        self.unfinished.fetch_add(1, Ordering::Relaxed);
        self.ready.push(tasks);
        // Pairs with the fence in `take`.
        fence(Ordering::SeqCst);
        if self.is_wanted.load(Ordering::Relaxed) && self.is_wanted.swap(false, Ordering::Relaxed) {
            self.poller.unpark();
        }
    }

    /// Merges all outputs.
    fn reduce(&self) {
        let mut all = self.outputs.pop().unwrap_or_default();
        while let Some(other) = self.outputs.pop() {
            self.bag.merge(&mut all, other);
        }
        self.outputs.push(all);
        // Release: pairs with the acquire in `output`.
        self.is_reducing.store(false, Ordering::Release);
        self.poller.unpark();
    }

    /// Calls code of the bag. Returns false if that has panicked.
    fn catch(&self, code: impl FnOnce()) -> bool {
        let ended = catch_unwind(AssertUnwindSafe(code));
        let has_returned = ended.is_ok();
        if let Err(payload) = ended {
            self.panics.push(payload);
            self.poller.unpark();
        }
        has_returned
    }

    fn process_piece(self: &Arc<Self>, mut tasks: B::Tasks) {
        let mut output = self.outputs.pop().unwrap_or_default();
        // Relaxed, here and below: a hint.
        let mut grain = self.grain.load(Ordering::Relaxed);
        let mut before = Instant::now();
        while self.bag.process(&mut tasks, grain, &mut output) {
            if self.is_over.load(Ordering::Relaxed) {
                return;
            }
            let now = Instant::now();
            let time = now - before;
            before = now;
            if self.due.is_late(now) {
                thread::yield_now();
            }
            grain = chunk::next_length(grain, time);
            if self.ready.is_empty()
                && let Some(half) = self.bag.split(&mut tasks)
            {
                self.publish(half);
                let shared = Arc::clone(self);
                locksley::spawn(move || process(&shared));
            }
        }
        self.grain.store(grain, Ordering::Relaxed);
        self.outputs.push(output);
    }
}

/// A task of the pool: processes a piece, if one is ready.
fn process<B: Bag>(shared: &Arc<Shared<B>>) {
    if shared.is_over.load(Ordering::Relaxed) {
        return;
    }
    let Some(tasks) = shared.ready.pop() else { return };
    // Relaxed, here and below: a hint.
    shared.active.fetch_add(1, Ordering::Relaxed);
    let has_returned = shared.catch(|| shared.process_piece(tasks));
    shared.active.fetch_sub(1, Ordering::Relaxed);
    // After a panic, the piece stays unfinished, so the output is not taken without it. Release:
    // pairs with `is_idle`, which publishes the output.
    if has_returned && shared.unfinished.fetch_sub(1, Ordering::Release) == 1 {
        shared.poller.unpark();
    }
}
