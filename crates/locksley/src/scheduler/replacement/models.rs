//! What the model checker runs: replacements come when they are called, and end with the pool.

use loom::sync::Arc;
use loom::thread;

use super::post::{Called, Post};
use crate::primitive::{AtomicUsize, Ordering};
use crate::scheduler::latch::Flag;

struct Place {
    post: Post,
    closed: Flag,
    /// A bit for each worker: which it has served, and which want it.
    served: AtomicUsize,
    wanted: AtomicUsize,
}

impl Place {
    fn new() -> Arc<Self> {
        let zero = || AtomicUsize::new(0);
        Arc::new(Self { post: Post::new(), closed: Flag::new(), served: zero(), wanted: zero() })
    }

    /// What a replacement's thread does, but that it waits instead of working.
    fn serve(&self) {
        while self.post.attend(|| (), || self.closed.is_set()) {
            self.work();
        }
    }

    /// It may be let go and called again before it looks.
    fn work(&self) {
        while let Some(number) = self.post.caller() {
            // Relaxed: what the caller did before it called is seen because it called.
            assert!(self.wanted.load(Ordering::Relaxed) & 1 << number != 0);
            self.served.fetch_or(1 << number, Ordering::Relaxed);
            thread::yield_now();
        }
    }

    fn want(&self, number: usize) {
        // Relaxed: calling publishes it.
        self.wanted.fetch_add(1 << number, Ordering::Relaxed);
    }

    fn close(&self) {
        self.closed.set();
        self.post.close();
    }
}

fn check(bound: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(bound);
    builder.check(model);
}

/// It comes whenever it is called, rests in between, and ends when the pool is closed.
#[test]
fn loom_post_a_replacement_comes_and_goes() {
    check(3, || {
        let place = Place::new();
        place.want(0);
        assert_eq!(place.post.call(0), Some(Called::NeedsThread));
        let server = place.clone();
        let server = thread::spawn(move || server.serve());
        assert_eq!(place.post.call(1), None, "it is called already");
        assert!(place.post.release(0));
        place.want(1);
        assert!(matches!(place.post.call(1), Some(Called::Comes | Called::Stays)));
        // No other thread could do what has to be done now; and it is done under that number.
        while place.served.load(Ordering::Relaxed) & 1 << 1 == 0 {
            thread::yield_now();
        }
        assert!(place.post.release(1));
        place.close();
        server.join().unwrap();
    });
}

/// Two workers call at the same time: it comes for one of them.
#[test]
fn loom_post_only_one_worker_gets_the_replacement() {
    check(2, || {
        let place = Place::new();
        place.want(0);
        assert_eq!(place.post.call(0), Some(Called::NeedsThread));
        // No worker wants it when it comes: how it is let go of while it looks is the subject of
        // the models around this one.
        assert!(place.post.release(0));
        let server = place.clone();
        let server = thread::spawn(move || server.serve());
        let other = place.clone();
        let call = |place: &Place, number| {
            place.want(number);
            let called = place.post.call(number).is_some();
            if called {
                assert_eq!(place.post.call(3), None);
                assert!(place.post.release(number));
            }
        };
        let other = thread::spawn(move || call(&other, 1));
        call(&place, 2);
        other.join().unwrap();
        place.close();
        server.join().unwrap();
    });
}

/// The pool is closed while the replacement is about to rest, or called by a thread that is no task of
/// the pool.
#[test]
fn loom_post_closing_ends_it() {
    check(3, || {
        let place = Place::new();
        place.want(0);
        assert_eq!(place.post.call(0), Some(Called::NeedsThread));
        let server = place.clone();
        let server = thread::spawn(move || server.serve());
        let closer = place.clone();
        let closer = thread::spawn(move || closer.close());
        assert!(place.post.release(0) || place.closed.is_set(), "else it was called by 0");
        closer.join().unwrap();
        server.join().unwrap();
    });
}

/// It ends though the worker that has called it never comes back; and if that one does, late, it
/// lets go of its own replacement alone.
#[test]
fn loom_post_closing_ends_it_though_it_is_not_let_go_of() {
    check(3, || {
        let place = Place::new();
        place.want(0);
        assert_eq!(place.post.call(0), Some(Called::NeedsThread));
        let server = place.clone();
        let server = thread::spawn(move || server.serve());
        place.close();
        server.join().unwrap();
        assert!(matches!(place.post.call(1), Some(Called::Comes | Called::Stays)));
        assert!(!place.post.release(0));
        assert_eq!(place.post.caller(), Some(1));
    });
}
