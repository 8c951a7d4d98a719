//! The example `threads_and_signals`: threads wait for signals at their beginning and in the middle
//! of their code.

#[path = "../examples/threads_and_signals.rs"]
#[allow(dead_code, reason = "the example's own `main`")]
mod threads_and_signals;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use locksley::Pool;
use threads_and_signals::{create, fib};

#[test]
fn a_thread_begins_when_its_signals_have_come() {
    let (thread, signaller) = create(2, async |_| 42);
    signaller.signal();
    assert!(!thread.is_finished());
    signaller.signal();
    assert_eq!(thread.join().unwrap(), 42);
}

#[test]
fn threads_wait_for_threads_in_the_middle_of_their_code() {
    for workers in [1, 3] {
        let last = Pool::new(workers).unwrap().install(|_| {
            let sum = Arc::new(AtomicU64::new(0));
            let result = Arc::clone(&sum);
            let (last, signaller) = create(1, async move |_| result.load(Ordering::Relaxed));
            fib(15, sum, signaller);
            last.join()
        });
        assert_eq!(last.unwrap(), 610);
    }
}
