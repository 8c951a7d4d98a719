//! Programs that share the machine with the one that is studied.

use std::sync::Arc;
use std::time::Duration;

use crate::atomic::{AtomicUsize, Ordering};
use crate::hint::spin_loop;
use crate::kernel::{Bandwidth, CpuSet};
use crate::os;
use crate::thread;

/// A program that starts with the machine.
///
/// Its closure is its first thread. When that returns, other threads of the program go on.
#[must_use = "a program runs when the machine's builder gets it"]
pub struct Program {
    pub(crate) name: String,
    pub(crate) body: Box<dyn FnOnce()>,
    pub(crate) bandwidth: Option<Bandwidth>,
    pub(crate) affinity: Option<CpuSet>,
}

impl std::fmt::Debug for Program {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Program").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Program {
    /// A program whose first thread runs `body`.
    pub fn new(name: &str, body: impl FnOnce() + 'static) -> Self {
        Self { name: name.to_owned(), body: Box::new(body), bandwidth: None, affinity: None }
    }

    /// Gives the program a control group with this processor bandwidth.
    pub fn bandwidth(self, bandwidth: Bandwidth) -> Self {
        Self { bandwidth: Some(bandwidth), ..self }
    }

    /// Lets the program run on these processors alone.
    pub fn affinity(self, set: CpuSet) -> Self {
        Self { affinity: Some(set), ..self }
    }

    /// Threads that compute without an end. The count is in milliseconds of work.
    pub fn busy_loops(threads: usize) -> Self {
        let run = || loop {
            os::work(Duration::from_millis(1));
            os::count(1);
        };
        Self::new("busy loops", move || {
            for _ in 1..threads {
                drop(thread::spawn(run));
            }
            if threads > 0 {
                run();
            }
        })
    }

    /// A thread that sleeps for `pause` and then computes for `work`, again and again. The count is
    /// the sum of its latencies, in nanoseconds: from when it should run until its work is done.
    /// The number of rounds is about that of its voluntary switches.
    pub fn interactive(pause: Duration, work: Duration) -> Self {
        Self::new("interactive", move || {
            loop {
                let due = crate::time::Instant::now() + pause;
                thread::sleep(pause);
                os::work(work);
                os::count(crate::time::nanos(due.elapsed()));
            }
        })
    }

    /// A thread that computes for `work` and then sleeps for `pause`, again and again. The count
    /// is the number of rounds.
    pub fn sleeper(work: Duration, pause: Duration) -> Self {
        Self::new("sleeper", move || {
            loop {
                os::work(work);
                os::count(1);
                thread::sleep(pause);
            }
        })
    }

    /// A static team: each round, each thread computes for `work`, and they meet at a barrier where
    /// threads spin, as libgomp's with an active wait policy. The count is the number of rounds.
    ///
    /// # Panics
    /// If it has no threads.
    pub fn static_team(threads: usize, work: Duration) -> Self {
        assert!(threads > 0, "a team has threads");
        Self::new("static team", move || {
            let barrier = Arc::new(SpinBarrier::new(threads));
            for _ in 1..threads {
                let barrier = Arc::clone(&barrier);
                drop(thread::spawn(move || {
                    loop {
                        os::work(work);
                        barrier.wait();
                    }
                }));
            }
            loop {
                os::work(work);
                barrier.wait();
                os::count(1);
            }
        })
    }
}

/// A barrier at which threads spin.
#[derive(Debug)]
struct SpinBarrier {
    arrived: AtomicUsize,
    round: AtomicUsize,
    threads: usize,
}

impl SpinBarrier {
    fn new(threads: usize) -> Self {
        Self { arrived: AtomicUsize::new(0), round: AtomicUsize::new(0), threads }
    }

    fn wait(&self) {
        let round = self.round.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.arrived.store(0, Ordering::Relaxed);
            self.round.store(round + 1, Ordering::Release);
        } else {
            while self.round.load(Ordering::Acquire) == round {
                spin_loop();
            }
        }
    }
}
