//! What the model checker runs: a few waits, gifts and departures, interleaved with up to two or three preemptions, under
//! every outcome that the memory model allows. A wake-up that is lost is a deadlock; a place that is read after it was freed,
//! or a waker that two touch at once, is reported by loom. Run with `--cfg loom` (see CONTRIBUTING.md).

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use loom::cell::UnsafeCell;
use loom::sync::{Condvar as LoomCondvar, Mutex as LoomMutex};
use loom::thread;

use super::line::{Place, Verdict, Waiters};
use super::{Barrier, Condvar, JoinCounter, Mutex, OnceCell, Permit, Semaphore};
use crate::primitive::{AtomicBool, Ordering};

/// A thread that blocks until it is woken.
struct Blocked {
    woken: LoomMutex<bool>,
    bell: LoomCondvar,
}

impl Wake for Blocked {
    fn wake(self: Arc<Self>) {
        *self.woken.lock().unwrap() = true;
        self.bell.notify_one();
    }
}

impl Blocked {
    fn new() -> Arc<Self> {
        Arc::new(Self { woken: LoomMutex::new(false), bell: LoomCondvar::new() })
    }

    fn wait(&self) {
        let mut woken = self.woken.lock().unwrap();
        while !*woken {
            woken = self.bell.wait(woken).unwrap();
        }
        *woken = false;
    }
}

fn block_on<F: Future>(future: F) -> F::Output {
    let blocked = Blocked::new();
    let waker = Waker::from(Arc::clone(&blocked));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(value) => return value,
            Poll::Pending => blocked.wait(),
        }
    }
}

/// A wait that has begun, and may go on in another thread, with another waker.
struct Begun<T>(Pin<Box<dyn Future<Output = T> + Send>>);

impl<T> Begun<T> {
    fn new(future: impl Future<Output = T> + Send + 'static) -> Self {
        let mut future: Pin<Box<dyn Future<Output = T> + Send>> = Box::pin(future);
        let polled = future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(polled.is_pending(), "it has to wait");
        Self(future)
    }

    fn end(self) -> T {
        block_on(self.0)
    }
}

fn model(preemptions: usize, check: impl Fn() + Sync + Send + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(preemptions);
    model.check(check);
}

/// Takes permits for good.
fn keep(semaphore: &Arc<Semaphore>, permits: usize) -> impl Future<Output = ()> + Send + use<> {
    let semaphore = Arc::clone(semaphore);
    async move { semaphore.acquire_many(permits).await.unwrap().forget() }
}

/// A number that loom sees two threads touch at once.
struct Watched(UnsafeCell<usize>);

// SAFETY: loom checks what the models do with it.
unsafe impl Send for Watched {}
// SAFETY: as above.
unsafe impl Sync for Watched {}

impl Watched {
    fn new() -> Self {
        Self(UnsafeCell::new(0))
    }

    fn add_one(&self) {
        // SAFETY: loom checks that nobody else touches it.
        self.0.with_mut(|number| unsafe { *number += 1 });
    }

    fn get(&self) -> usize {
        // SAFETY: loom checks that nobody else writes it.
        self.0.with(|number| unsafe { *number })
    }
}

#[test]
fn loom_semaphore_a_permit_comes_while_one_begins_to_wait() {
    model(3, || {
        let semaphore = Arc::new(Semaphore::new(0));
        let waits = keep(&semaphore, 1);
        let waits = thread::spawn(move || block_on(waits));
        semaphore.add_permits(1);
        waits.join().unwrap();
        assert_eq!(semaphore.available_permits(), 0);
    });
}

#[test]
fn loom_semaphore_a_permit_comes_while_one_looks_again() {
    model(5, || {
        let semaphore = Arc::new(Semaphore::new(0));
        let begun = Begun::new(keep(&semaphore, 1));
        let number = Arc::new(Watched::new());
        let seen = Arc::clone(&number);
        let waits = thread::spawn(move || {
            begun.end();
            // It may have looked before it was woken.
            seen.get()
        });
        number.add_one();
        semaphore.add_permits(1);
        assert_eq!(waits.join().unwrap(), 1);
    });
}

#[test]
fn loom_semaphore_two_givers_serve_two() {
    model(2, || {
        let semaphore = Arc::new(Semaphore::new(0));
        let first = Begun::new(keep(&semaphore, 1));
        let second = Begun::new(keep(&semaphore, 1));
        let giver = Arc::clone(&semaphore);
        let giver = thread::spawn(move || giver.add_permits(1));
        semaphore.add_permits(1);
        first.end();
        giver.join().unwrap();
        second.end();
        assert_eq!(semaphore.available_permits(), 0);
    });
}

#[test]
fn loom_semaphore_what_was_done_under_a_permit_is_seen_under_the_next() {
    model(4, || {
        let semaphore = Arc::new(Semaphore::new(1));
        let number = Arc::new(Watched::new());
        let work = |semaphore: Arc<Semaphore>, number: Arc<Watched>| {
            let permit: Permit<'_> = block_on(semaphore.acquire()).unwrap();
            number.add_one();
            drop(permit);
        };
        let other = (Arc::clone(&semaphore), Arc::clone(&number));
        let other = thread::spawn(move || work(other.0, other.1));
        work(Arc::clone(&semaphore), Arc::clone(&number));
        other.join().unwrap();
        assert_eq!(number.get(), 2);
        assert_eq!(semaphore.available_permits(), 1);
    });
}

#[test]
fn loom_semaphore_one_that_leaves_takes_no_permit_with_it() {
    model(3, || {
        let semaphore = Arc::new(Semaphore::new(0));
        let leaves = Begun::new(keep(&semaphore, 1));
        let leaves = thread::spawn(move || drop(leaves));
        semaphore.add_permits(1);
        leaves.join().unwrap();
        assert_eq!(semaphore.available_permits(), 1);
        assert!(semaphore.try_acquire().is_ok());
    });
}

#[test]
fn loom_semaphore_one_that_leaves_lets_the_next_have_it() {
    model(2, || {
        let semaphore = Arc::new(Semaphore::new(0));
        let leaves = Begun::new(keep(&semaphore, 1));
        let stays = Begun::new(keep(&semaphore, 1));
        let leaves = thread::spawn(move || drop(leaves));
        semaphore.add_permits(1);
        stays.end();
        leaves.join().unwrap();
        assert_eq!(semaphore.available_permits(), 0);
    });
}

#[test]
fn loom_semaphore_one_that_needs_many_leaves_and_one_that_needs_few_comes() {
    model(2, || {
        let semaphore = Arc::new(Semaphore::new(1));
        let leaves = Begun::new(keep(&semaphore, 2));
        let leaves = thread::spawn(move || drop(leaves));
        block_on(keep(&semaphore, 1));
        leaves.join().unwrap();
        assert_eq!(semaphore.available_permits(), 0);
    });
}

#[test]
fn loom_semaphore_swept_while_others_are_served() {
    // The one in the middle leaves, and is taken out while the head of the line comes to it, and goes on.
    model(2, || {
        let semaphore = Arc::new(Semaphore::new(0));
        let first = Begun::new(keep(&semaphore, 1));
        let leaves = Begun::new(keep(&semaphore, 1));
        let last = Begun::new(keep(&semaphore, 1));
        let leaves = thread::spawn(move || drop(leaves));
        semaphore.add_permits(2);
        leaves.join().unwrap();
        first.end();
        last.end();
        assert_eq!(semaphore.available_permits(), 0);
    });
}

#[test]
fn loom_semaphore_two_neighbours_leave() {
    model(2, || {
        let semaphore = Arc::new(Semaphore::new(0));
        let first = Begun::new(keep(&semaphore, 1));
        let leaves = Begun::new(keep(&semaphore, 1));
        let neighbour = Begun::new(keep(&semaphore, 1));
        let last = Begun::new(keep(&semaphore, 1));
        let leaves = thread::spawn(move || drop(leaves));
        drop(neighbour);
        leaves.join().unwrap();
        semaphore.add_permits(2);
        first.end();
        last.end();
        assert_eq!(semaphore.available_permits(), 0);
    });
}

#[test]
fn loom_semaphore_one_comes_behind_one_that_leaves() {
    model(3, || {
        let semaphore = Arc::new(Semaphore::new(0));
        let first = Begun::new(keep(&semaphore, 1));
        let leaves = Begun::new(keep(&semaphore, 1));
        let leaves = thread::spawn(move || drop(leaves));
        let comes = Begun::new(keep(&semaphore, 1));
        leaves.join().unwrap();
        semaphore.add_permits(2);
        first.end();
        comes.end();
        assert_eq!(semaphore.available_permits(), 0);
    });
}

#[test]
fn loom_semaphore_alone_and_served_while_another_comes() {
    model(3, || {
        let semaphore = Arc::new(Semaphore::new(0));
        let first = Begun::new(keep(&semaphore, 1));
        let comes = keep(&semaphore, 1);
        let comes = thread::spawn(move || block_on(comes));
        semaphore.add_permits(1);
        first.end();
        semaphore.add_permits(1);
        comes.join().unwrap();
        assert_eq!(semaphore.available_permits(), 0);
    });
}

#[test]
fn loom_semaphore_alone_and_leaves_while_another_comes() {
    model(2, || {
        let semaphore = Arc::new(Semaphore::new(0));
        let leaves = Begun::new(keep(&semaphore, 2));
        semaphore.add_permits(1);
        let leaves = thread::spawn(move || drop(leaves));
        // What the other had been given comes to this one, whether it left before or after.
        block_on(keep(&semaphore, 1));
        leaves.join().unwrap();
        assert_eq!(semaphore.available_permits(), 0);
    });
}

#[test]
fn loom_semaphore_alone_and_served_in_parts_by_two() {
    model(4, || {
        let semaphore = Arc::new(Semaphore::new(0));
        let waits = Begun::new(keep(&semaphore, 2));
        let number = Arc::new([Watched::new(), Watched::new()]);
        let other = (Arc::clone(&semaphore), Arc::clone(&number));
        let other = thread::spawn(move || {
            other.1[0].add_one();
            other.0.add_permits(1);
        });
        number[1].add_one();
        semaphore.add_permits(1);
        waits.end();
        assert_eq!(number[0].get() + number[1].get(), 2);
        other.join().unwrap();
        assert_eq!(semaphore.available_permits(), 0);
    });
}

#[test]
fn loom_semaphore_alone_while_two_come() {
    model(2, || {
        let semaphore = Arc::new(Semaphore::new(0));
        let first = Begun::new(keep(&semaphore, 1));
        let comes = keep(&semaphore, 1);
        let comes = thread::spawn(move || {
            let mut comes = Box::pin(comes);
            let polled = comes.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            assert!(polled.is_pending());
            Begun(comes)
        });
        let second = Begun::new(keep(&semaphore, 1));
        let comes = comes.join().unwrap();
        semaphore.add_permits(3);
        first.end();
        second.end();
        comes.end();
        assert_eq!(semaphore.available_permits(), 0);
    });
}

#[test]
fn loom_semaphore_alone_and_looks_again_while_another_comes() {
    model(3, || {
        let semaphore = Arc::new(Semaphore::new(0));
        let first = Begun::new(keep(&semaphore, 1));
        let first = thread::spawn(move || first.end());
        let second = Begun::new(keep(&semaphore, 1));
        semaphore.add_permits(2);
        first.join().unwrap();
        second.end();
        assert_eq!(semaphore.available_permits(), 0);
    });
}

#[test]
fn loom_semaphore_alone_and_closed() {
    model(4, || {
        let semaphore = Arc::new(Semaphore::new(0));
        let alone = Arc::clone(&semaphore);
        let alone = Begun::new(async move { alone.acquire().await.map(Permit::forget).is_ok() });
        let closes = Arc::clone(&semaphore);
        let closes = thread::spawn(move || closes.close());
        semaphore.add_permits(1);
        let is_served = alone.end();
        closes.join().unwrap();
        assert_eq!(semaphore.available_permits(), usize::from(!is_served));
    });
}

/// A line, in which so many stand; those of them that `left` names have left, and are not swept yet.
fn line_of(count: usize, left: &[usize]) -> (Arc<Waiters>, Vec<Place<'static>>) {
    let line = Arc::new(Waiters::new());
    // SAFETY: the line outlives the places: whoever has places has a share in the line, and drops it after them.
    let there: &'static Waiters = unsafe { &*Arc::as_ptr(&line) };
    let mut places: Vec<_> = (0..count).map(|_| there.join(0, Waker::noop())).collect();
    for &left in left {
        assert_eq!(places[left].leave(), Ok(()));
    }
    (line, places)
}

/// Lets all go who wait.
fn dismiss(line: &Waiters) {
    line.serve(|_| Some(Verdict::Dismissed));
}

/// One thread sweeps, another lets all go; what was passed by is freed under the first.
fn swept_and_passed(count: usize, left: usize) {
    model(2, move || {
        let (line, mut places) = line_of(count, &[left]);
        let left = places.remove(left);
        let there = Arc::clone(&line);
        let sweeps = thread::spawn(move || {
            drop(left);
            drop(there);
        });
        let there = Arc::clone(&line);
        let passes = thread::spawn(move || {
            dismiss(&there);
            let all_ready = places.iter().all(|place| place.verdict().is_ready());
            drop(places);
            drop(there);
            all_ready
        });
        sweeps.join().unwrap();
        assert!(passes.join().unwrap());
        assert!(line.is_empty());
    });
}

#[test]
fn loom_line_one_is_swept_and_passed() {
    swept_and_passed(3, 1);
}

#[test]
fn loom_line_passed_under_who_sweeps_behind() {
    swept_and_passed(4, 2);
}

#[test]
fn loom_line_passed_while_one_joins() {
    model(2, || {
        let (line, places) = line_of(1, &[]);
        // So that the first place is not the one in the line itself.
        dismiss(&line);
        drop(places);
        let there = Arc::clone(&line);
        let joins = thread::spawn(move || {
            let place = there.join(0, Waker::noop());
            dismiss(&there);
            let is_ready = place.verdict().is_ready();
            drop(place);
            is_ready
        });
        dismiss(&line);
        let place = line.join(0, Waker::noop());
        dismiss(&line);
        assert!(place.verdict().is_ready());
        drop(place);
        assert!(joins.join().unwrap());
    });
}

#[test]
fn loom_semaphore_closed_while_one_begins_to_wait() {
    model(4, || {
        let semaphore = Arc::new(Semaphore::new(0));
        let waits = Arc::clone(&semaphore);
        let waits = thread::spawn(move || block_on(waits.acquire()).is_err());
        semaphore.close();
        assert!(waits.join().unwrap());
    });
}

#[test]
fn loom_semaphore_taken_without_waiting_by_two() {
    model(5, || {
        let semaphore = Arc::new(Semaphore::new(1));
        let try_to = |semaphore: &Semaphore| {
            let permit = semaphore.try_acquire();
            permit.map(Permit::forget).is_ok()
        };
        let other = Arc::clone(&semaphore);
        let other = thread::spawn(move || try_to(&other));
        let here = try_to(&semaphore);
        assert!(here != other.join().unwrap(), "one of the two gets it");
    });
}

#[test]
fn loom_semaphore_taken_without_waiting_while_one_waits() {
    model(2, || {
        let semaphore = Arc::new(Semaphore::new(0));
        let first = Begun::new(keep(&semaphore, 1));
        let other = Arc::clone(&semaphore);
        let other = thread::spawn(move || other.try_acquire().map(Permit::forget).is_ok());
        semaphore.add_permits(1);
        // It was there first.
        assert!(!other.join().unwrap());
        first.end();
    });
}

#[test]
fn loom_mutex_handed_over() {
    model(3, || {
        let mutex = Arc::new(Mutex::new(Watched::new()));
        let other = Arc::clone(&mutex);
        let other = thread::spawn(move || block_on(other.lock()).add_one());
        block_on(mutex.lock()).add_one();
        other.join().unwrap();
        assert_eq!(mutex.try_lock().unwrap().get(), 2);
    });
}

fn wait_once(pair: &Arc<(Mutex<bool>, Condvar)>) -> impl Future<Output = ()> + Send + use<> {
    let pair = Arc::clone(pair);
    async move {
        let guard = pair.0.lock().await;
        drop(pair.1.wait(guard).await);
    }
}

#[test]
fn loom_condvar_notified_while_one_begins_to_wait() {
    model(3, || {
        let pair = Arc::new((Mutex::new(false), Condvar::new()));
        let waits = Arc::clone(&pair);
        let waits = thread::spawn(move || {
            block_on(async {
                let guard = waits.0.lock().await;
                assert!(*waits.1.wait_while(guard, |set| !*set).await);
            });
        });
        *block_on(pair.0.lock()) = true;
        pair.1.notify_one();
        waits.join().unwrap();
    });
}

#[test]
fn loom_condvar_all_notified_while_one_begins_to_wait() {
    model(3, || {
        let pair = Arc::new((Mutex::new(false), Condvar::new()));
        let waits = Arc::clone(&pair);
        let waits = thread::spawn(move || {
            block_on(async {
                let guard = waits.0.lock().await;
                assert!(*waits.1.wait_while(guard, |set| !*set).await);
            });
        });
        *block_on(pair.0.lock()) = true;
        pair.1.notify_all();
        waits.join().unwrap();
    });
}

#[test]
fn loom_condvar_one_that_leaves_takes_no_notification_with_it() {
    model(2, || {
        let pair = Arc::new((Mutex::new(false), Condvar::new()));
        let leaves = Begun::new(wait_once(&pair));
        let stays = Begun::new(wait_once(&pair));
        let leaves = thread::spawn(move || drop(leaves));
        pair.1.notify_one();
        stays.end();
        leaves.join().unwrap();
    });
}

#[test]
fn loom_condvar_one_that_leaves_while_it_waits_for_the_lock() {
    model(3, || {
        let pair = Arc::new((Mutex::new(false), Condvar::new()));
        let mut leaves = wait_box(&pair);
        let stays = Begun::new(wait_once(&pair));
        let leaves = thread::spawn(move || {
            // It may be notified, and then gets the lock, or in line for it.
            let context = &mut Context::from_waker(Waker::noop());
            leaves.as_mut().poll(context).is_ready()
        });
        let lock = pair.0.try_lock();
        pair.1.notify_one();
        drop(lock);
        // If it went on, the notification was its own.
        if leaves.join().unwrap() {
            pair.1.notify_one();
        }
        stays.end();
    });
}

/// Begun, and to be polled by hand.
fn wait_box(pair: &Arc<(Mutex<bool>, Condvar)>) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    Begun::new(wait_once(pair)).0
}

#[test]
fn loom_condvar_all_and_one_notified() {
    model(2, || {
        let pair = Arc::new((Mutex::new(false), Condvar::new()));
        let first = Begun::new(wait_once(&pair));
        let second = Begun::new(wait_once(&pair));
        let all = Arc::clone(&pair);
        let all = thread::spawn(move || all.1.notify_all());
        pair.1.notify_one();
        first.end();
        second.end();
        all.join().unwrap();
        // Nothing is left over.
        drop(Begun::new(wait_once(&pair)));
    });
}

#[test]
fn loom_barrier_two_parties() {
    model(4, || {
        let barrier = Arc::new(Barrier::new(2));
        let number = Arc::new(Watched::new());
        let other = (Arc::clone(&barrier), Arc::clone(&number));
        let other = thread::spawn(move || {
            other.1.add_one();
            block_on(other.0.wait()).is_leader()
        });
        let here = block_on(barrier.wait()).is_leader();
        assert_eq!(number.get(), 1, "what was done before is seen after");
        assert!(here != other.join().unwrap(), "one leads");
    });
}

#[test]
fn loom_barrier_one_leaves_while_another_comes() {
    model(3, || {
        let barrier = Arc::new(Barrier::new(2));
        let wait = |barrier: &Arc<Barrier>| {
            let barrier = Arc::clone(barrier);
            async move { barrier.wait().await.is_leader() }
        };
        let (leaves, has_left) = (Begun::new(wait(&barrier)), Arc::new(AtomicBool::new(false)));
        let leaver = Arc::clone(&has_left);
        let leaves = thread::spawn(move || {
            drop(leaves);
            leaver.store(true, Ordering::Release);
        });
        let had_left = has_left.load(Ordering::Acquire);
        let context = &mut Context::from_waker(Waker::noop());
        let mut comes = Box::pin(wait(&barrier));
        match comes.as_mut().poll(context) {
            // It came before the other left, who does not leave the next round either.
            Poll::Ready(is_leader) => {
                assert!(is_leader && !had_left);
                let mut next = Box::pin(wait(&barrier));
                assert!(next.as_mut().poll(context).is_pending());
                leaves.join().unwrap();
                assert!(block_on(wait(&barrier)));
                assert!(!block_on(next));
            }
            // It came after: the round is for it and another.
            Poll::Pending => {
                leaves.join().unwrap();
                assert!(block_on(wait(&barrier)));
                assert!(!block_on(comes));
            }
        }
    });
}

#[test]
fn loom_once_cell_made_once() {
    model(4, || {
        let cell = Arc::new(OnceCell::new());
        let made = Arc::new(Watched::new());
        let other = (Arc::clone(&cell), Arc::clone(&made));
        let get = async |cell: &OnceCell<Watched>, made: &Watched| {
            let value = cell.get_or_init(async || {
                made.add_one();
                let value = Watched::new();
                value.add_one();
                value
            });
            value.await.get()
        };
        let other = thread::spawn(move || block_on(get(&other.0, &other.1)));
        assert_eq!(block_on(get(&cell, &made)), 1);
        assert_eq!(other.join().unwrap(), 1);
        assert_eq!(made.get(), 1);
    });
}

#[test]
fn loom_once_cell_one_that_makes_it_leaves() {
    model(4, || {
        let cell = Arc::new(OnceCell::new());
        let maker = Arc::clone(&cell);
        let maker = Begun::new(async move { *maker.get_or_init(std::future::pending).await });
        let maker = thread::spawn(move || drop(maker));
        assert_eq!(*block_on(cell.get_or_init(async || 1)), 1);
        maker.join().unwrap();
        assert_eq!(cell.get(), Some(&1));
    });
}

#[test]
fn loom_join_counter_two_signals() {
    model(3, || {
        let counter = Arc::new(JoinCounter::new(2));
        let number = Arc::new([Watched::new(), Watched::new()]);
        let signals: Vec<_> = (0..2)
            .map(|n| {
                let (counter, number) = (Arc::clone(&counter), Arc::clone(&number));
                thread::spawn(move || {
                    number[n].add_one();
                    counter.signal();
                })
            })
            .collect();
        block_on(counter.wait());
        assert_eq!(number[0].get() + number[1].get(), 2);
        signals.into_iter().for_each(|signal| signal.join().unwrap());
    });
}
