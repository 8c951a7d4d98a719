//! The condition variable.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Waker};

use loom::thread;

use super::{Begun, block_on, model};
use crate::{Condvar, Mutex};

fn wait_once(pair: &Arc<(Mutex<bool>, Condvar)>) -> impl Future<Output = ()> + Send + use<> {
    let pair = Arc::clone(pair);
    async move {
        let guard = pair.0.lock().await;
        drop(pair.1.wait(guard).await);
    }
}

#[test]
fn loom_condvar_notified_while_a_wait_begins() {
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
fn loom_condvar_all_notified_while_a_wait_begins() {
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
fn loom_condvar_cancelled_while_notified() {
    model(2, || {
        let pair = Arc::new((Mutex::new(false), Condvar::new()));
        let cancelled = Begun::new(wait_once(&pair));
        let remains = Begun::new(wait_once(&pair));
        let cancelled = thread::spawn(move || drop(cancelled));
        pair.1.notify_one();
        remains.end();
        cancelled.join().unwrap();
    });
}

#[test]
fn loom_condvar_cancelled_while_it_waits_for_the_lock() {
    model(3, || {
        let pair = Arc::new((Mutex::new(false), Condvar::new()));
        let mut cancelled = wait_box(&pair);
        let remains = Begun::new(wait_once(&pair));
        let cancelled = thread::spawn(move || {
            // If it is notified, it gets the lock, or waits for it.
            let context = &mut Context::from_waker(Waker::noop());
            cancelled.as_mut().poll(context).is_ready()
        });
        let lock = pair.0.try_lock();
        pair.1.notify_one();
        drop(lock);
        // If it got the lock, it used the notification.
        if cancelled.join().unwrap() {
            pair.1.notify_one();
        }
        remains.end();
    });
}

/// A wait that was polled once.
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
        // No notification is left.
        drop(Begun::new(wait_once(&pair)));
    });
}
