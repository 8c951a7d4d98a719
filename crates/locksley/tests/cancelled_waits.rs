//! Cancellation of what waits: hooks, futures and deadlines.

use std::future::pending;
use std::panic::{catch_unwind, panic_any};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use locksley::{Cancellation, Cancelled, OnCancel, Pool, block_on, task};

const LONG: Duration = Duration::from_secs(3600);

/// A hook that counts its calls and its drops.
struct Counts(Arc<[AtomicUsize; 2]>);

impl Counts {
    fn of(token: &Cancellation) -> (OnCancel, Arc<[AtomicUsize; 2]>) {
        let counts = Arc::<[AtomicUsize; 2]>::default();
        let counted = Self(Arc::clone(&counts));
        let hook = token.on_cancel(move || _ = counted.0[0].fetch_add(1, Ordering::Relaxed));
        (hook, counts)
    }
}

impl Drop for Counts {
    fn drop(&mut self) {
        self.0[1].fetch_add(1, Ordering::Relaxed);
    }
}

fn read(counts: &[AtomicUsize; 2]) -> [usize; 2] {
    [0, 1].map(|n| counts[n].load(Ordering::Relaxed))
}

#[test]
fn a_hook_is_called_once_by_the_first_cancellation_above_it() {
    let (root, sibling) = (Cancellation::new(), Cancellation::new());
    let middle = root.child();
    let leaf = middle.child();
    let (hook, counts) = Counts::of(&leaf);
    let (other, others) = Counts::of(&root);
    sibling.cancel();
    root.child().cancel();
    assert_eq!((read(&counts), read(&others)), ([0, 0], [0, 0]));
    middle.cancel();
    assert_eq!((read(&counts), read(&others)), ([1, 1], [0, 0]));
    (0..2).for_each(|_| _ = [&leaf, &middle, &root].map(Cancellation::cancel));
    assert_eq!((read(&counts), read(&others)), ([1, 1], [1, 1]));
    drop((hook, other));
    assert_eq!((read(&counts), read(&others)), ([1, 1], [1, 1]));
}

#[test]
fn a_hook_of_a_cancelled_token_is_called_at_once() {
    let root = Cancellation::new();
    let leaf = root.child();
    root.cancel();
    let (_hook, counts) = Counts::of(&leaf);
    assert_eq!(read(&counts), [1, 1]);
}

#[test]
fn a_dropped_hook_is_not_called() {
    let token = Cancellation::new();
    let (hook, counts) = Counts::of(&token.child());
    drop(hook);
    assert_eq!(read(&counts), [0, 1], "it is dropped with what it owns");
    token.cancel();
    assert_eq!(read(&counts), [0, 1]);
}

#[test]
fn all_hooks_are_called_although_some_panic() {
    let token = Cancellation::new();
    let _first = token.on_cancel(|| panic!("a hook panics"));
    let (_second, counts) = Counts::of(&token);
    let _third = token.on_cancel(|| panic!("a hook panics"));
    let payload = catch_unwind(|| token.cancel()).unwrap_err();
    assert_eq!(*payload.downcast::<&str>().unwrap(), "a hook panics");
    assert_eq!(read(&counts), [1, 1]);
    assert!(token.is_cancelled());
}

#[test]
fn all_hooks_are_called_although_a_payload_panics_when_it_is_dropped() {
    struct Loud;
    impl Drop for Loud {
        fn drop(&mut self) {
            panic!("a payload panics");
        }
    }
    let token = Cancellation::new();
    let _first = token.on_cancel(|| panic!("the first one"));
    let _second = token.on_cancel(|| panic_any(Loud));
    let (_third, counts) = Counts::of(&token);
    let payload = catch_unwind(|| token.cancel()).unwrap_err();
    assert_eq!(*payload.downcast::<&str>().unwrap(), "the first one");
    assert_eq!(read(&counts), [1, 1]);
}

#[test]
fn a_hook_may_use_its_token_and_drop_itself() {
    let token = Cancellation::new();
    let kept = Arc::new(Mutex::new(None));
    let (inner, own) = (token.clone(), Arc::clone(&kept));
    let (sender, receiver) = channel();
    let hook = token.on_cancel(move || {
        inner.cancel();
        drop(own.lock().unwrap().take());
        let _now = inner.on_cancel(move || sender.send(()).unwrap());
    });
    *kept.lock().unwrap() = Some(hook);
    token.cancel();
    assert_eq!(receiver.try_recv(), Ok(()));
}

/// A future that never ends, and tells that it was dropped.
fn endless() -> (impl Future<Output = ()> + Send, Receiver<()>) {
    struct Tells(std::sync::mpsc::Sender<()>);
    impl Drop for Tells {
        fn drop(&mut self) {
            self.0.send(()).unwrap();
        }
    }
    let (sender, dropped) = channel();
    let tells = Tells(sender);
    let future = async move {
        let _tells = tells;
        pending::<()>().await;
    };
    (future, dropped)
}

#[test]
fn a_cancelled_future_is_dropped_where_it_waits() {
    let pool = Pool::new(1).unwrap();
    for is_early in [true, false] {
        let token = Cancellation::new();
        let (future, dropped) = endless();
        let inner = token.child();
        if is_early {
            token.cancel();
        }
        let task = pool.spawn_future(async move { inner.run_until_cancelled(future).await });
        assert!(is_early || dropped.try_recv().is_err());
        token.cancel();
        assert_eq!(task.join().unwrap(), Err(Cancelled));
        assert_eq!(dropped.recv(), Ok(()));
    }
    let token = Cancellation::new();
    assert_eq!(block_on(token.run_until_cancelled(async { 7 })), Ok(7));
    assert!(!token.is_cancelled());
}

#[test]
fn many_waits_end_when_their_token_is_cancelled() {
    let pool = Pool::new(2).unwrap();
    for round in 0..50 {
        let token = Cancellation::new();
        let tasks: Vec<_> = (0..20)
            .map(|n| {
                let token = if n % 2 == 0 { token.clone() } else { token.child() };
                pool.spawn_future(async move {
                    token.cancelled().await;
                    token.is_cancelled()
                })
            })
            .collect();
        if round % 2 == 0 {
            thread::yield_now();
        }
        token.cancel();
        assert!(tasks.into_iter().all(|task| task.join().is_ok_and(|is_cancelled| is_cancelled)));
    }
}

#[test]
fn deadlines_come_in_their_order() {
    // Again if the thread was suspended before it had set all three.
    while !is_set_before_the_first_comes() {}
}

fn is_set_before_the_first_comes() -> bool {
    let start = Instant::now();
    let (sender, receiver) = channel();
    let tokens = [30, 10, 20].map(|delay| {
        let (token, sender) = (Cancellation::new(), sender.clone());
        let hook = token.on_cancel(move || sender.send((delay, start.elapsed())).unwrap());
        token.cancel_after(Duration::from_millis(delay)).unwrap();
        (token, hook)
    });
    let is_in_time = start.elapsed() < Duration::from_millis(10);
    drop(sender);
    for expected in [10, 20, 30] {
        let (delay, came) = receiver.recv().unwrap();
        assert!(!is_in_time || delay == expected);
        assert!(came >= Duration::from_millis(delay), "{delay} ms came after {came:?}");
    }
    assert!(tokens.iter().all(|(token, _)| token.is_cancelled()));
    is_in_time
}

#[test]
fn a_deadline_may_be_now_or_never() {
    let (now, never, far) = (Cancellation::new(), Cancellation::new(), Cancellation::new());
    never.cancel_after(Duration::MAX).unwrap();
    far.cancel_after(LONG).unwrap();
    now.cancel_after(Duration::ZERO).unwrap();
    block_on(now.cancelled());
    assert!(!never.is_cancelled() && !far.is_cancelled());
    // Another deadline of the same token: the first one counts.
    far.cancel_after(Duration::from_millis(1)).unwrap();
    block_on(far.cancelled());
}

#[test]
fn the_timer_goes_on_after_a_hook_that_panics() {
    let token = Cancellation::new();
    let _hook = token.on_cancel(|| panic!("a hook panics"));
    token.cancel_after(Duration::ZERO).unwrap();
    block_on(token.cancelled());
    let other = Cancellation::new();
    other.cancel_after(Duration::from_millis(1)).unwrap();
    block_on(other.cancelled());
}

#[test]
fn many_deadlines_of_dropped_tokens_disturb_no_other() {
    (0..10_000).for_each(|_| Cancellation::new().cancel_after(LONG).unwrap());
    let token = Cancellation::new();
    token.cancel_after(Duration::from_millis(1)).unwrap();
    block_on(token.cancelled());
}

#[test]
fn a_task_ends_by_a_token_while_a_thread_joins_it() {
    let token = Cancellation::new();
    let inner = token.clone();
    let task = task::spawn(async move { inner.run_until_cancelled(pending::<()>()).await });
    let joined = thread::spawn(move || task.join());
    token.cancel();
    assert_eq!(joined.join().unwrap().unwrap(), Err(Cancelled));
}
