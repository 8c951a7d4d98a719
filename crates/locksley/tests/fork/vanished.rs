//! In a child the memory of threads that are gone is given to others, so nothing there is looked at.

use std::ffi::c_void;
use std::hint::black_box;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering};

use locksley::{Pool, Worker};

use crate::children::{End, alone, end_of, fork_and_go_on};
use crate::pools::fib_on;

const STACK: usize = 1 << 20;
const PAGE: usize = 4096;

type Body = Box<dyn FnOnce(&AtomicUsize) + Send>;

/// A thread on a stack whose place is known.
struct Thread {
    thread: libc::pthread_t,
    stack: *mut c_void,
    /// What its body calls lies below this, once it is not 0.
    top: &'static AtomicUsize,
}

impl Thread {
    /// Notes the top of what it is about to call, and calls.
    fn spawn(body: impl FnOnce() + Send + 'static) -> Self {
        let body: Body = Box::new(move |top| {
            let here = 0_u8;
            top.store(ptr::from_ref(black_box(&here)).addr(), Ordering::Release);
            deeper(body);
        });
        let (access, kind) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: new memory, wherever there is some.
        let stack = unsafe { libc::mmap(ptr::null_mut(), STACK, access, kind, -1, 0) };
        assert_ne!(stack, libc::MAP_FAILED);
        let top: &'static AtomicUsize = Box::leak(Box::default());
        let start = Box::into_raw(Box::new((body, top))).cast();
        let (mut attributes, mut thread) = (MaybeUninit::uninit(), MaybeUninit::uninit());
        // SAFETY: there is room for them.
        assert_eq!(unsafe { libc::pthread_attr_init(attributes.as_mut_ptr()) }, 0);
        // SAFETY: initialized above; the memory is nobody else's.
        let set = unsafe { libc::pthread_attr_setstack(attributes.as_mut_ptr(), stack, STACK) };
        assert_eq!(set, 0);
        let made =
            // SAFETY: as above; `run` is given what it takes.
            unsafe { libc::pthread_create(thread.as_mut_ptr(), attributes.as_ptr(), run, start) };
        assert_eq!(made, 0);
        // SAFETY: it was made.
        Self { thread: unsafe { thread.assume_init() }, stack, top }
    }

    fn frames(&self) -> Frames {
        Frames { stack: self.stack.addr(), top: self.top }
    }

    fn join(self) {
        // SAFETY: a thread of ours, joined once.
        assert_eq!(unsafe { libc::pthread_join(self.thread, ptr::null_mut()) }, 0);
        // SAFETY: nobody uses it any more.
        assert_eq!(unsafe { libc::munmap(self.stack, STACK) }, 0);
    }
}

/// Where the frames are of what a thread calls.
#[derive(Clone, Copy, Debug)]
struct Frames {
    stack: usize,
    top: &'static AtomicUsize,
}

impl Frames {
    /// In a child, where the thread is not there: from now on whoever looks there is ended by a signal.
    fn forbid(self) {
        let top = self.top.load(Ordering::Acquire) & !(PAGE - 1);
        let stack = ptr::without_provenance_mut(self.stack);
        // SAFETY: whole pages of what nobody uses.
        assert_eq!(unsafe { libc::mprotect(stack, top - self.stack, libc::PROT_NONE) }, 0);
    }
}

extern "C" fn run(start: *mut c_void) -> *mut c_void {
    // SAFETY: as `spawn` has made it, for this call alone.
    let (body, top) = *unsafe { Box::from_raw(start.cast::<(Body, &'static AtomicUsize)>()) };
    body(top);
    ptr::null_mut()
}

/// Calls it some pages further down.
#[inline(never)]
fn deeper(body: impl FnOnce()) {
    black_box([0_u8; 4 * PAGE]);
    body();
}

/// What a thread waits for lies in its frame, and comes into the deque of a worker that takes up what waits elsewhere.
#[test]
fn frames_of_others_are_not_looked_at() {
    let _alone = alone();
    let pool: &'static Pool = Box::leak(Box::new(Pool::new(1).unwrap()));
    let child = pool.run(move |w| {
        let thread = Thread::spawn(move || pool.run(|_| ()));
        // From time to time, after it has polled a task, it takes what was sent to the pool.
        while !w.has_own_tasks() {
            let task = w.spawn_future(async {});
            assert!(w.run_one());
            drop(task);
        }
        let (child, ran) = (AtomicI32::new(-1), AtomicBool::new(false));
        child.store(fork_and_go_on(), Ordering::Release);
        match child.into_inner() {
            0 => {
                thread.frames().forbid();
                // What is sent to each worker is looked for last.
                w.scope(|w: &Worker, scope| {
                    scope.spawn_broadcast(|_, _| ran.store(true, Ordering::Release));
                    w.join(|_| (), |_| ());
                });
                // SAFETY: ends the process.
                unsafe { libc::_exit(i32::from(!ran.load(Ordering::Acquire))) }
            }
            child => {
                // Its task is in this worker's deque.
                assert!(w.run_one());
                thread.join();
                child
            }
        }
    });
    assert!(child > 0);
    assert_eq!(end_of(child), End::Exit(0));
}

/// Who has forked the half is not there in the child, where the half goes on: with joins and a scope of its own, metered or not.
#[test]
fn a_stolen_half_goes_on_without_the_frames_of_its_owner() {
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Metered {
        Nothing,
        /// The region lies in the owner's frames.
        Task,
        Pool,
    }
    let _alone = alone();
    for metered in [Metered::Nothing, Metered::Task, Metered::Pool] {
        let frames: &'static [OnceLock<Frames>; 2] = Box::leak(Box::default());
        let is_over: &'static AtomicBool = Box::leak(Box::default());
        let mut threads = Vec::new();
        let builder = Pool::builder().workers(2).metered(metered == Metered::Pool);
        let pool = builder.build_with(|worker| {
            let place = &frames[worker.index()];
            let thread = Thread::spawn(|| worker.run());
            place.set(thread.frames()).unwrap();
            threads.push(thread);
            Ok(())
        });
        let pool = pool.unwrap();
        // Nothing that it uses in the child lies in another thread's frame.
        let stolen = move |w: &Worker, owner: usize| {
            assert_ne!(w.index(), owner);
            let child = fork_and_go_on();
            if child == 0 {
                frames[owner].get().unwrap().forbid();
                let ran = AtomicUsize::new(fib_on(w, 10) as usize);
                w.scope(|w, scope| {
                    let add = || _ = ran.fetch_add(100, Ordering::AcqRel);
                    scope.spawn_on(w, move |w, _| _ = w.join(|_| add(), |_| add()));
                });
                // SAFETY: ends the process.
                unsafe { libc::_exit(i32::from(ran.into_inner() != 255)) };
            }
            is_over.store(true, Ordering::Release);
            child
        };
        let task = move |w: &Worker| {
            let owner = w.index();
            let first = |_: &Worker| {
                while !is_over.load(Ordering::Acquire) {
                    std::thread::yield_now();
                }
            };
            w.join(first, move |w| stolen(w, owner)).1
        };
        let child = match metered {
            Metered::Task => pool.metered(task).0,
            Metered::Nothing | Metered::Pool => pool.run(task),
        };
        assert!(child > 0);
        assert_eq!(end_of(child), End::Exit(0), "{metered:?}");
        drop(pool);
        threads.into_iter().for_each(Thread::join);
    }
}
