use std::hint::black_box;
use std::time::Duration;

use platform::atomic::{AtomicU64, Ordering::*, fence};
use platform::{Instant, Mutex, membarrier, pin, spin_loop, thread};

/// Each program by name. It returns nanoseconds for one operation.
type Program = (&'static str, fn() -> f64);

pub(crate) const ALL: [Program; 12] = [
    ("add to an owned word", owned_add),
    ("store and fence", store_and_fence),
    ("read the clock", clock),
    ("ping-pong of two lines", ping_pong),
    ("contended add, two threads", contended_add),
    ("contended lock, two threads", contended_lock),
    ("yield, nothing else to run", yield_alone),
    ("yield to a thread of the processor", yield_in_turn),
    ("membarrier, the other thread sleeps", membarrier_alone),
    ("membarrier, the other thread runs", membarrier_beside),
    ("park and unpark, two processors", || park_ring(1)),
    ("park and unpark, one processor", || park_ring(0)),
];

#[repr(align(128))]
#[derive(Default)]
struct Line(AtomicU64);

fn nanos(rounds: u64, mut operation: impl FnMut(u64)) -> f64 {
    let start = Instant::now();
    (1..=rounds).for_each(&mut operation);
    start.elapsed().as_nanos() as f64 / rounds as f64
}

fn owned_add() -> f64 {
    let word = Line::default();
    nanos(100_000, |_| {
        black_box(&word).0.fetch_add(1, Relaxed);
    })
}

fn store_and_fence() -> f64 {
    let word = Line::default();
    nanos(100_000, |n| {
        black_box(&word).0.store(n, Relaxed);
        fence(SeqCst);
    })
}

fn clock() -> f64 {
    nanos(10_000, |_| {
        let _ = Instant::now().elapsed();
    }) / 2.0
}

/// Runs `other` on processor `cpu` beside `this` on processor 0, after both have begun.
fn beside(cpu: usize, this: impl FnOnce() -> f64 + Send, other: impl FnOnce() + Send) -> f64 {
    let ready = Line::default();
    thread::scope(|scope| {
        scope.spawn(|| {
            pin(cpu);
            ready.0.store(1, Release);
            other();
        });
        // A new thread does not move the one that made it.
        thread::scope(|inner| {
            let result = inner.spawn(|| {
                pin(0);
                while ready.0.load(Acquire) == 0 {
                    thread::yield_now();
                }
                this()
            });
            result.join().unwrap_or(f64::NAN)
        })
    })
}

fn ping_pong() -> f64 {
    const ROUNDS: u64 = 20_000;
    let (there, back) = (Line::default(), Line::default());
    let wait = |line: &Line, n: u64| {
        while line.0.load(Acquire) != n {
            spin_loop();
        }
    };
    let this = || {
        nanos(ROUNDS, |n| {
            there.0.store(n, Release);
            wait(&back, n);
        })
    };
    let other = || {
        for n in 1..=ROUNDS {
            wait(&there, n);
            back.0.store(n, Release);
        }
    };
    beside(1, this, other)
}

/// Nanoseconds for an operation while another thread does the same: of both together.
fn contended(operation: impl Fn() + Sync) -> f64 {
    let is_over = Line::default();
    let done = Line::default();
    let this = || {
        let mut own = 0;
        let start = Instant::now();
        while own < 50_000 {
            operation();
            own += 1;
        }
        let time = start.elapsed().as_nanos() as f64;
        is_over.0.store(1, Release);
        while done.0.load(Acquire) == 0 {
            spin_loop();
        }
        time / (own + done.0.load(Acquire)) as f64
    };
    let other = || {
        let mut count = 0;
        while is_over.0.load(Relaxed) == 0 {
            operation();
            count += 1;
        }
        done.0.store(count, Release);
    };
    beside(1, this, other)
}

fn contended_add() -> f64 {
    let word = Line::default();
    contended(|| {
        word.0.fetch_add(1, Relaxed);
    })
}

fn contended_lock() -> f64 {
    let lock = Mutex::new(0_u64);
    contended(|| {
        if let Ok(mut value) = lock.lock() {
            *value += 1;
        }
    })
}

fn yield_alone() -> f64 {
    nanos(2_000, |_| thread::yield_now())
}

fn yield_in_turn() -> f64 {
    let is_over = Line::default();
    let this = || {
        let nanos = nanos(2_000, |_| thread::yield_now());
        is_over.0.store(1, Release);
        nanos / 2.0
    };
    let other = || {
        while is_over.0.load(Relaxed) == 0 {
            thread::yield_now();
        }
    };
    beside(0, this, other)
}

/// With no other thread, the kernel would return at once.
fn membarrier_alone() -> f64 {
    membarrier();
    let is_over = Line::default();
    let other = || {
        while is_over.0.load(Relaxed) == 0 {
            thread::park();
        }
    };
    thread::scope(|scope| {
        let other = scope.spawn(other);
        // It has fallen asleep meanwhile.
        let start = Instant::now();
        while start.elapsed() < Duration::from_millis(2) {
            thread::yield_now();
        }
        let nanos = nanos(2_000, |_| membarrier());
        is_over.0.store(1, Relaxed);
        other.thread().unpark();
        nanos
    })
}

fn membarrier_beside() -> f64 {
    membarrier();
    let is_over = Line::default();
    let this = || {
        let nanos = nanos(2_000, |_| membarrier());
        is_over.0.store(1, Release);
        nanos
    };
    let other = || {
        while is_over.0.load(Relaxed) == 0 {
            spin_loop();
        }
    };
    beside(1, this, other)
}

/// A round trip of two threads that park.
fn park_ring(cpu: usize) -> f64 {
    const ROUNDS: u64 = 1_000;
    let turn = Line::default();
    let handles: Mutex<Vec<thread::Thread>> = Mutex::default();
    let me = || {
        if let Ok(mut handles) = handles.lock() {
            handles.push(thread::current());
        }
    };
    let peer = || loop {
        let own = thread::current().id();
        if let Ok(handles) = handles.lock()
            && let Some(peer) = handles.iter().find(|it| it.id() != own)
        {
            return peer.clone();
        }
        thread::yield_now();
    };
    let await_turn = |n: u64| {
        while turn.0.load(Acquire) != n {
            thread::park();
        }
    };
    let this = || {
        me();
        let peer = peer();
        nanos(ROUNDS, |n| {
            turn.0.store(2 * n - 1, Release);
            peer.unpark();
            await_turn(2 * n);
        })
    };
    let other = || {
        me();
        let peer = peer();
        for n in 1..=ROUNDS {
            await_turn(2 * n - 1);
            turn.0.store(2 * n, Release);
            peer.unpark();
        }
    };
    beside(cpu, this, other)
}
