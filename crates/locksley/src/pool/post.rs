//! A post: where one stand-in serves, how a worker calls it, and how it is let go. The README beside this file has the states
//! and the argument.

use std::ptr::NonNull;

use crate::fiber::{Node, Returns};
use crate::latch::Flag;
use crate::os::Futex;
use crate::primitive::Ordering;

/// The word of one stand-in, which doubles as the flag that its work lasts until: it is *set* while nobody wants it.
#[derive(Debug)]
pub(super) struct Post {
    word: Flag,
    /// Rung by whoever calls a stand-in that rests, and when the pool is closed.
    bell: Futex,
}

/// Nobody serves here yet.
const VACANT: *mut () = std::ptr::null_mut();
/// The stand-in waits for its bell.
const RESTING: *mut () = std::ptr::without_provenance_mut(2);
const SILENT: u32 = 0;
const RUNG: u32 = 1;

/// The stand-in of the worker with that number.
fn called_by(number: usize) -> *mut () {
    std::ptr::without_provenance_mut((number + 1) << 2)
}

fn caller(word: *mut ()) -> usize {
    (word.addr() >> 2) - 1
}

/// Who comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(super) enum Called {
    /// The stand-in.
    Comes,
    /// Nobody, until the caller has found a thread for it.
    NeedsThread,
}

impl Post {
    pub(super) fn new() -> Self {
        Self { word: Flag::holding(VACANT), bell: Futex::new(SILENT) }
    }

    /// What the stand-in works until.
    pub(super) fn is_released(&self) -> &Flag {
        &self.word
    }

    /// The number of the worker that has called the stand-in; `None` if nobody wants it.
    pub(super) fn caller(&self) -> Option<usize> {
        match self.word.seen() {
            VACANT | RESTING | Flag::SET => None,
            word => Some(caller(word)),
        }
    }

    /// A worker calls the stand-in, unless somebody else has.
    pub(super) fn call(&self, number: usize) -> Option<Called> {
        let mut before = self.word.seen();
        loop {
            let called = match before {
                VACANT => Called::NeedsThread,
                RESTING | Flag::SET => Called::Comes,
                _ => return None,
            };
            match self.word.exchange(before, called_by(number)) {
                Ok(RESTING) => {
                    self.ring();
                    return Some(called);
                }
                Ok(_) => return Some(called),
                Err(now) => before = now,
            }
        }
    }

    /// There is no thread for the stand-in.
    pub(super) fn leave_vacant(&self, number: usize) {
        let _ = self.word.exchange(called_by(number), VACANT);
    }

    /// The worker that has called it needs it no more. The caller then wakes it, if it sleeps in the pool. `false` if it was released
    /// when the pool was closed.
    pub(super) fn release(&self, number: usize) -> bool {
        self.word.exchange(called_by(number), Flag::SET).is_ok()
    }

    /// The pool has been closed: the stand-in ends. The caller then wakes it, if it sleeps in the pool.
    pub(super) fn close(&self) {
        // It fails if the stand-in has just been let go, and if somebody else calls, that one lets it go.
        let _ = self.caller().map(|number| self.release(number));
        self.ring();
    }

    /// Gives back a stack of the stand-in's, which may rest.
    ///
    /// # Safety
    /// As for [`Returns::send`]; the returns are the stand-in's.
    pub(super) unsafe fn give_back(&self, stack: NonNull<Node>, returns: &Returns) {
        // SAFETY: as the caller promises.
        unsafe { returns.send(stack) };
        self.ring();
    }

    fn ring(&self) {
        // Release pairs with the acquire in `attend`: who finds it rung sees why.
        self.bell.word().swap(RUNG, Ordering::Release);
        self.bell.wake();
    }

    /// The stand-in waits until there is something for it to do; `None`, when the pool has been closed. `has_returns` says whether
    /// a stack that waited has come back to it.
    pub(super) fn attend(
        &self,
        is_closed: impl Fn() -> bool,
        has_returns: impl Fn() -> bool,
    ) -> Option<Duty> {
        loop {
            match self.word.seen() {
                Flag::SET if is_closed() => return None,
                Flag::SET => {
                    // If it fails, somebody has called.
                    let _ = self.word.exchange(Flag::SET, RESTING);
                }
                RESTING => {
                    // A ring before this is not lost: what it was for is seen by what follows. One after it ends the wait.
                    // Acquire pairs with the release in `ring`.
                    self.bell.word().swap(SILENT, Ordering::Acquire);
                    if has_returns() {
                        return Some(Duty::Returns);
                    }
                    if is_closed() {
                        return None;
                    }
                    if self.word.seen() == RESTING {
                        self.bell.wait(SILENT);
                    }
                }
                _ => return Some(Duty::Call),
            }
        }
    }
}

/// What a stand-in is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Duty {
    /// To work for the [caller](Post::caller) until it is released.
    Call,
    /// To go on with its own stacks that waited, and are ready.
    Returns,
}

#[cfg(all(test, loom))]
mod models {
    use std::ptr::NonNull;

    use loom::sync::Arc;
    use loom::thread;

    use super::{Called, Duty, Post};
    use crate::fiber::{Node, Ready, Returns};
    use crate::latch::Flag;
    use crate::primitive::{AtomicUsize, Ordering};

    struct Place {
        post: Post,
        closed: Flag,
        /// A bit for each worker: whom it has served, and who wants it.
        served: AtomicUsize,
        wanted: AtomicUsize,
    }

    impl Place {
        fn new() -> Arc<Self> {
            let zero = || AtomicUsize::new(0);
            Arc::new(Self {
                post: Post::new(),
                closed: Flag::new(),
                served: zero(),
                wanted: zero(),
            })
        }

        /// What a stand-in's thread does, but that it waits instead of working.
        fn serve(&self) {
            while let Some(duty) = self.post.attend(|| self.closed.is_set(), || false) {
                assert_eq!(duty, Duty::Call, "it has no stacks");
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
    fn loom_post_a_stand_in_comes_and_goes() {
        check(3, || {
            let place = Place::new();
            place.want(0);
            assert_eq!(place.post.call(0), Some(Called::NeedsThread));
            let server = place.clone();
            let server = thread::spawn(move || server.serve());
            assert_eq!(place.post.call(1), None, "it is called already");
            assert!(place.post.release(0));
            place.want(1);
            assert_eq!(place.post.call(1), Some(Called::Comes));
            // Nobody else could do what has to be done now; and it is done under that number.
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
    fn loom_post_only_one_worker_gets_the_stand_in() {
        check(2, || {
            let place = Place::new();
            place.want(0);
            assert_eq!(place.post.call(0), Some(Called::NeedsThread));
            // Nobody wants it when it comes: how it is let go of while it looks is the subject of the models around this one.
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

    /// The pool is closed while the stand-in is about to rest, or called by a thread that is no task of the pool.
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

    /// It ends though the worker that has called it never comes back; and if that one does, late, it lets go of its own stand-in alone.
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
            assert_eq!(place.post.call(1), Some(Called::Comes));
            assert!(!place.post.release(0));
            assert_eq!(place.post.caller(), Some(1));
        });
    }

    /// A stack of the stand-in's comes back while nobody wants it, and it is about to rest.
    #[test]
    fn loom_post_a_stack_comes_back_to_who_rests() {
        check(3, || {
            let place = Place::new();
            let shared = Arc::new((Flag::new(), Returns::new()));
            assert_eq!(place.post.call(0), Some(Called::NeedsThread));
            let server = {
                let (place, shared) = (place.clone(), shared.clone());
                thread::spawn(move || {
                    let (event, returns) = &*shared;
                    let node = NonNull::from(Box::leak(Box::new(Node::new())));
                    // SAFETY: it does nothing with the node until it has come back.
                    let waits = unsafe { event.await_by(node) }.is_ok();
                    // It ends when its stack has come back: nothing else would wake it.
                    let ready = Ready::new();
                    while waits && ready.is_empty() {
                        let duty = place.post.attend(|| false, || !returns.is_empty());
                        match duty.expect("the pool is not closed") {
                            Duty::Call => thread::yield_now(),
                            Duty::Returns => ready.fetch(returns),
                        }
                    }
                    let back = ready.take(returns);
                    assert_eq!(back, waits.then_some(node));
                    assert!(event.is_set());
                    // SAFETY: made above; whoever had it has given it back.
                    drop(unsafe { Box::from_raw(node.as_ptr()) });
                })
            };
            let setter = {
                let (place, shared) = (place.clone(), shared.clone());
                thread::spawn(move || {
                    let (event, returns) = &*shared;
                    if let Some(node) = event.set_for_stacks() {
                        // SAFETY: just taken from the flag; of the only stand-in.
                        unsafe { place.post.give_back(node, returns) };
                    }
                })
            };
            assert!(place.post.release(0));
            setter.join().unwrap();
            server.join().unwrap();
        });
    }
}
