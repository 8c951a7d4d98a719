//! Stand-ins: threads that work in the place of workers which are blocked in system calls.

#[cfg(all(test, loom))]
mod models;
mod post;

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use super::config::{Affinity, Hook, Hooks, Threads};
use super::shared::Shared;
use crate::idle::Activity;
use crate::os::{self, Assists};
use crate::primitive::{AtomicUsize, CachePadded, Ordering};
use crate::scheduler::latch::Flag;
use crate::scheduler::worker::{OwnEnds, Worker};
use crate::unwind::{self, AbortOnUnwind};

use post::{Called, Post};

/// All stand-ins of a pool, those to come included.
pub(crate) struct StandIns {
    places: Box<[CachePadded<Place>]>,
    threads: Option<Threads>,
    hooks: Arc<Hooks>,
    affinity: Affinity,
    /// Threads of the pool that look for tasks, or will when what they run has ended: all but
    /// guests, replacements that rest, and those that wait or block.
    threads_at_work: AtomicUsize,
}

struct Place {
    post: Post,
    /// For the thread, when there is one.
    ends: Mutex<Option<OwnEnds>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl StandIns {
    /// One for each of `ends`; `threads` are how the pool makes them, if it does.
    pub(crate) fn new(
        ends: impl Iterator<Item = OwnEnds>,
        threads: Option<Threads>,
        hooks: Arc<Hooks>,
        affinity: Affinity,
        workers: usize,
    ) -> Self {
        let place = |ends| {
            let (ends, thread) = (Mutex::new(Some(ends)), Mutex::new(None));
            CachePadded::new(Place { post: Post::new(), ends, thread })
        };
        let threads_at_work = AtomicUsize::new(workers);
        Self { places: ends.map(place).collect(), threads, hooks, affinity, threads_at_work }
    }

    /// So many threads, 0 or 1, are about to wait or to block. Says whether none is left at work:
    /// of those that leave one after the other, the last one learns of it.
    pub(crate) fn threads_leave(&self, threads: usize) -> bool {
        // Relaxed: what is decided depends on nothing but the number.
        self.threads_at_work.fetch_sub(threads, Ordering::Relaxed) == threads
    }

    /// They are back.
    pub(crate) fn threads_come(&self, threads: usize) {
        self.threads_at_work.fetch_add(threads, Ordering::Relaxed);
    }

    /// That of the workers.
    pub(crate) fn affinity(&self) -> Affinity {
        self.affinity
    }

    /// What a stand-in works until.
    pub(crate) fn is_released(&self, stand_in: usize) -> &Flag {
        self.places[stand_in].post.is_released()
    }

    /// The pool has been closed: they all end. The caller wakes those that sleep in the pool.
    pub(crate) fn close(&self) {
        self.places.iter().for_each(|place| place.post.close());
    }

    /// The threads that there have been, to be waited for, once the pool is closed.
    pub(crate) fn take_threads(&self) -> Vec<JoinHandle<()>> {
        let take = |place: &CachePadded<Place>| {
            place.thread.lock().unwrap_or_else(PoisonError::into_inner).take()
        };
        self.places.iter().filter_map(take).collect()
    }
}

impl Shared {
    /// Has somebody stand in for the worker with that number. Returns who; `None` if nobody is to
    /// be had.
    pub(crate) fn call_stand_in(self: &Arc<Self>, number: usize) -> Option<usize> {
        // (A thread would do what is the parent's.)
        if self.closed().is_set() || self.is_lost() {
            return None;
        }
        let stand_ins = self.stand_ins();
        // Before it can wait in its turn.
        stand_ins.threads_come(1);
        let called = self.call_any_stand_in(number);
        if called.is_none_or(|(_, called)| called == Called::Stays) {
            stand_ins.threads_leave(1);
        }
        called.map(|(stand_in, _)| stand_in)
    }

    fn call_any_stand_in(self: &Arc<Self>, number: usize) -> Option<(usize, Called)> {
        let places = &self.stand_ins().places;
        let call =
            |(index, place): (usize, &CachePadded<Place>)| Some((index, place.post.call(number)?));
        let (stand_in, called) = places.iter().enumerate().find_map(call)?;
        if called == Called::NeedsThread && start(self, stand_in, number).is_err() {
            places[stand_in].post.leave_vacant(number);
            return None;
        }
        Some((stand_in, called))
    }

    /// The worker with that number is back. Its stand-in steps down when it has ended what it is
    /// about.
    pub(crate) fn release_stand_in(&self, stand_in: usize, number: usize) {
        let was_released = self.stand_ins().places[stand_in].post.release(number);
        debug_assert!(was_released || self.closed().is_set(), "{number} has not called {stand_in}");
        // As when a latch has been set.
        self.sleep().wake(self.workers() + stand_in);
    }
}

/// Gives a stand-in its thread.
fn start(shared: &Arc<Shared>, stand_in: usize, number: usize) -> io::Result<()> {
    let stand_ins = shared.stand_ins();
    let threads = stand_ins.threads.as_ref().ok_or(io::ErrorKind::Unsupported)?;
    // Before it pushes anything: then it is looked for there.
    shared.takes_seat(shared.workers() + stand_in);
    let its_shared = Arc::clone(shared);
    let thread = threads.spawn_stand_in(number, move || serve(&its_shared, stand_in, number))?;
    let mut place =
        stand_ins.places[stand_in].thread.lock().unwrap_or_else(PoisonError::into_inner);
    *place = Some(thread);
    Ok(())
}

/// What a stand-in's thread does. `number` is that of the worker that it stands in for first.
fn serve(shared: &Arc<Shared>, stand_in: usize, number: usize) {
    let stand_ins = shared.stand_ins();
    let place = &stand_ins.places[stand_in];
    let ends = place.ends.lock().unwrap_or_else(PoisonError::into_inner).take();
    let ends = ends.expect("a post is given a thread once");
    if stand_ins.affinity != Affinity::Builder {
        os::move_to_process_affinity();
    }
    if let Some(turn) = shared.governor().turn()
        && shared.assists().has(Assists::SHORT_TURNS)
    {
        os::shorten_turns(turn);
    }
    let report = |payload| shared.report_panic(payload);
    let hooks = &stand_ins.hooks;
    let data = unwind::halt(|| hooks.make_data(number)).unwrap_or_else(|payload| {
        report(payload);
        Box::new(())
    });
    let seat = shared.workers() + stand_in;
    shared.sleep().thread_comes_or_goes(seat);
    let abort = AbortOnUnwind("a governor panicked");
    let worker = Worker::stand_in(number, seat, ends, Arc::clone(shared), data);
    abort.disarm();
    let call = |hook: &Option<Hook>| {
        let called = unwind::halt(|| hook.iter().for_each(|hook| hook(number)));
        called.unwrap_or_else(report);
    };
    worker.as_current(|| {
        call(&hooks.on_start);
        shared.seat(seat).appear(shared.assists());
        let rests = || _ = stand_ins.threads_leave(1);
        let attend = || place.post.attend(rests, || shared.closed().is_set());
        let seat = shared.seat(seat);
        loop {
            // Nobody wants it.
            seat.spends_time_on(Some(Activity::Sleeps));
            if !attend() {
                break;
            }
            seat.spends_time_on(Some(Activity::Works));
            worker.stand_in_for(|| place.post.caller(), place.post.is_released());
        }
        seat.disappear();
        call(&hooks.on_exit);
    });
    unwind::halt(|| drop(worker)).unwrap_or_else(report);
    shared.sleep().thread_comes_or_goes(seat);
}
