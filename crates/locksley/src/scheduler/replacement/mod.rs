//! Replacements: threads that work in the place of workers which are blocked in system calls.

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

/// All replacements of a pool, those to come included.
pub(crate) struct Replacements {
    places: Box<[CachePadded<Place>]>,
    threads: Option<Threads>,
    hooks: Arc<Hooks>,
    affinity: Affinity,
    /// Threads of the pool that look for tasks, or will when what they run has ended: all but
    /// borrowed threads, replacements that rest, and those that wait or block.
    threads_at_work: AtomicUsize,
}

struct Place {
    post: Post,
    /// For the thread, when there is one.
    ends: Mutex<Option<OwnEnds>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Replacements {
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

    /// What a replacement works until.
    pub(crate) fn is_released(&self, replacement: usize) -> &Flag {
        self.places[replacement].post.is_released()
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
    pub(crate) fn call_replacement(self: &Arc<Self>, number: usize) -> Option<usize> {
        // (A thread would do what is the parent's.)
        if self.closed().is_set() || self.is_lost() {
            return None;
        }
        let replacements = self.replacements();
        // Before it can wait in its turn.
        replacements.threads_come(1);
        let called = self.call_any_replacement(number);
        if called.is_none_or(|(_, called)| called == Called::Stays) {
            replacements.threads_leave(1);
        }
        called.map(|(replacement, _)| replacement)
    }

    fn call_any_replacement(self: &Arc<Self>, number: usize) -> Option<(usize, Called)> {
        let places = &self.replacements().places;
        let call =
            |(index, place): (usize, &CachePadded<Place>)| Some((index, place.post.call(number)?));
        let (replacement, called) = places.iter().enumerate().find_map(call)?;
        if called == Called::NeedsThread && start(self, replacement, number).is_err() {
            places[replacement].post.leave_vacant(number);
            return None;
        }
        Some((replacement, called))
    }

    /// The worker with that number is back. Its replacement steps down when it has ended what it is
    /// about.
    pub(crate) fn release_replacement(&self, replacement: usize, number: usize) {
        let was_released = self.replacements().places[replacement].post.release(number);
        debug_assert!(
            was_released || self.closed().is_set(),
            "{number} has not called {replacement}"
        );
        // As when a latch has been set.
        self.sleep().wake(self.workers() + replacement);
    }
}

/// Gives a replacement its thread.
fn start(shared: &Arc<Shared>, replacement: usize, number: usize) -> io::Result<()> {
    let replacements = shared.replacements();
    let threads = replacements.threads.as_ref().ok_or(io::ErrorKind::Unsupported)?;
    // Before it pushes anything: then it is looked for there.
    shared.take_slot(shared.workers() + replacement);
    let its_shared = Arc::clone(shared);
    let thread =
        threads.spawn_replacement(number, move || serve(&its_shared, replacement, number))?;
    let mut place =
        replacements.places[replacement].thread.lock().unwrap_or_else(PoisonError::into_inner);
    *place = Some(thread);
    Ok(())
}

/// What a replacement's thread does. `number` is that of the worker that it replaces first.
fn serve(shared: &Arc<Shared>, replacement: usize, number: usize) {
    let replacements = shared.replacements();
    let place = &replacements.places[replacement];
    let ends = place.ends.lock().unwrap_or_else(PoisonError::into_inner).take();
    let ends = ends.expect("a post is given a thread once");
    if replacements.affinity != Affinity::Builder {
        os::move_to_process_affinity();
    }
    if let Some(turn) = shared.idle_policy().turn()
        && shared.assists().has(Assists::SHORT_TURNS)
    {
        os::shorten_turns(turn);
    }
    let report = |payload| shared.report_panic(payload);
    let hooks = &replacements.hooks;
    let data = unwind::halt(|| hooks.make_data(number)).unwrap_or_else(|payload| {
        report(payload);
        Box::new(())
    });
    let slot = shared.workers() + replacement;
    shared.sleep().thread_comes_or_goes(slot);
    let abort = AbortOnUnwind("a idle policy panicked");
    let worker = Worker::replacement(number, slot, ends, Arc::clone(shared), data);
    abort.disarm();
    let call = |hook: &Option<Hook>| {
        let called = unwind::halt(|| hook.iter().for_each(|hook| hook(number)));
        called.unwrap_or_else(report);
    };
    worker.as_current(|| {
        call(&hooks.on_start);
        shared.slot(slot).appear(shared.assists());
        let rests = || _ = replacements.threads_leave(1);
        let attend = || place.post.attend(rests, || shared.closed().is_set());
        let slot = shared.slot(slot);
        loop {
            // Nobody wants it.
            slot.spends_time_on(Some(Activity::Sleeps));
            if !attend() {
                break;
            }
            slot.spends_time_on(Some(Activity::Works));
            worker.replace_worker(|| place.post.caller(), place.post.is_released());
        }
        slot.disappear();
        call(&hooks.on_exit);
    });
    unwind::halt(|| drop(worker)).unwrap_or_else(report);
    shared.sleep().thread_comes_or_goes(slot);
}
