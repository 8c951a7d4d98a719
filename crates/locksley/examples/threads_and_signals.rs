//! Hood's threads, built of tasks and semaphores: `cargo run --release -p locksley --example
//! threads_and_signals -- 20`
//!
//! A thread begins when a number of signals has been sent to it, and may wait for more of them in
//! the middle of its code. Anything that has its [`Signaller`] sends it signals. A thread that
//! waits occupies no worker. Programs of Hood are written like this (Blumofe and Papadopoulos 1998,
//! section 2).
//!
//! This one computes a Fibonacci number. A thread for `n` creates two threads, for `n - 1` and `n -
//! 2`, and waits for a signal of each.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use locksley::task::{self, JoinHandle};
use locksley_sync::Semaphore;

/// Sends signals to one thread. A signal may come before the thread waits for it.
#[derive(Clone, Debug)]
pub(crate) struct Signaller(Arc<Semaphore>);

impl Signaller {
    pub(crate) fn signal(&self) {
        self.0.add_permits(1);
    }
}

/// A thread as its own code sees it.
#[derive(Debug)]
pub(crate) struct Current(Signaller);

impl Current {
    /// Waits for this many signals more.
    pub(crate) async fn wait(&self, signals: usize) {
        let received = self.0.0.acquire_many(signals).await;
        received.expect("the semaphore is never closed").forget();
    }

    /// Lets others send signals to this thread.
    pub(crate) fn signaller(&self) -> Signaller {
        self.0.clone()
    }
}

/// Creates a thread that begins after `signals` signals.
pub(crate) fn create<F, B>(signals: usize, body: F) -> (JoinHandle<B::Output>, Signaller)
where
    F: FnOnce(Current) -> B + Send + 'static,
    B: Future + Send + 'static,
    B::Output: Send + 'static,
{
    let signaller = Signaller(Arc::new(Semaphore::new(0)));
    let current = Current(signaller.clone());
    let task = task::spawn(async move {
        current.wait(signals).await;
        body(current).await
    });
    (task, signaller)
}

/// Adds the Fibonacci number of `n` to `sum`, and then signals `parent`.
pub(crate) fn fib(n: u64, sum: Arc<AtomicU64>, parent: Signaller) {
    create(0, async move |me: Current| {
        if n < 2 {
            sum.fetch_add(n, Ordering::Relaxed);
        } else {
            fib(n - 1, Arc::clone(&sum), me.signaller());
            fib(n - 2, sum, me.signaller());
            me.wait(2).await;
        }
        parent.signal();
    });
}

fn main() {
    let n = std::env::args().nth(1).map_or(20, |n| n.parse().expect("a number"));
    let sum = Arc::new(AtomicU64::new(0));
    let result = Arc::clone(&sum);
    // Begins after one signal: when all threads have ended.
    let (last, signaller) = create(1, async move |_| result.load(Ordering::Relaxed));
    fib(n, sum, signaller);
    println!("fib({n}) = {}", last.join().expect("the last thread returns"));
}
