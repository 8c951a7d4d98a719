//! Mailboxes, to compare with: those of Acar, Blelloch and Blumofe ("The data locality of work stealing", SPAA 2000, "Locality-guided
//! work stealing").
//!
//! A task lies in two places: in the deque of the worker that spawns it, and in the mailbox of where its data is. Whoever comes to it first
//! runs it, and whoever comes later finds an empty letter. A mailbox is one for each place here, and not for each worker: that of Locksley's tasks
//! for the place.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use locksley::{Scope, Spawn, Worker};

/// Adds a task that lies in both. It is counted `elsewhere` if a worker of another place runs it.
pub(super) fn spawn<'scope, F>(
    worker: &Worker,
    scope: &Scope<'scope>,
    place: usize,
    elsewhere: &'scope AtomicU64,
    task: F,
) where
    F: FnOnce(&Worker, &Scope<'scope>) + Send + 'scope,
{
    let task = move |worker: &Worker, scope: &Scope<'scope>| {
        // Relaxed: it is read when all tasks have ended.
        elsewhere.fetch_add(u64::from(worker.place() != place), Ordering::Relaxed);
        task(worker, scope);
    };
    if place == worker.place() {
        return scope.spawn_on(worker, task);
    }
    let letter = Arc::new(Mutex::new(Some(task)));
    let copy = Arc::clone(&letter);
    scope.spawn_on(worker, move |worker, scope| open(&letter, worker, scope));
    scope.spawn_with(Spawn::Near(place), move |worker, scope| open(&copy, worker, scope));
}

fn open<'scope, F>(letter: &Mutex<Option<F>>, worker: &Worker, scope: &Scope<'scope>)
where
    F: FnOnce(&Worker, &Scope<'scope>),
{
    let task = letter.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(task) = task {
        task(worker, scope);
    }
}
