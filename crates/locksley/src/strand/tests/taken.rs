//! What the kernel takes from strands: one worker beside two threads that want the same processor.

use crate::os::{self, Processors, ThreadClock, ThreadDelay};
use crate::pool::Pool;
use crate::worker::Worker;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Works until the thread has had the processor for so long.
fn work(clock: &ThreadClock, time: Duration) {
    let end = clock.read().unwrap() + time;
    while clock.read().unwrap() < end {
        std::hint::spin_loop();
    }
}

/// What the worker's thread says of itself: when it is, for how long it ran, and for how long it waited.
fn now(clock: &ThreadClock) -> Option<(Instant, Duration, Duration)> {
    Some((Instant::now(), clock.read()?, ThreadDelay::of_this_thread().read()?))
}

#[test]
fn what_others_had_is_neither_work_nor_path() {
    const LEAF: Duration = Duration::from_micros(700);
    let Some(&processor) = Processors::allowed().ids().first() else { return };
    let pool = Pool::new(1).unwrap();
    // Where the system does not tell, there is nothing to compare with.
    let can_tell = pool.run(|_| {
        let can_tell = os::own_delay().and(now(&ThreadClock::of_this_thread())).is_some();
        can_tell && os::bind_this_thread(&[processor])
    });
    if !can_tell {
        return;
    }
    let whole = pool.run(|_| ThreadDelay::of_this_thread());
    let is_over = AtomicBool::new(false);
    let (waited_before, begin) = (whole.read().unwrap(), Instant::now());
    let (elapsed, ran, waited, report) = thread::scope(|threads| {
        // Also if what follows panics: nobody would learn of it.
        let _ends = Ends(&is_over);
        for _ in 0..2 {
            threads.spawn(|| {
                os::bind_this_thread(&[processor]);
                while !is_over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let ((before, after), report) = pool.metered(|worker| {
            let clock = ThreadClock::of_this_thread();
            let half = |_: &Worker| work(&clock, LEAF);
            let before = now(&clock).unwrap();
            for _ in 0..100 {
                // On the only worker.
                worker.join(half, |_| work(&ThreadClock::of_this_thread(), LEAF));
            }
            (before, now(&clock).unwrap())
        });
        (after.0 - before.0, after.1 - before.1, after.2 - before.2, report)
    });
    let (most, whole) = (begin.elapsed(), whole.read().unwrap() - waited_before);
    let taken = report.taken.expect("the system tells");
    // The clocks are compared to a thousandth.
    let about = |time: Duration| time.mul_f64(1.01) + Duration::from_millis(1);
    // What is not taken out is in the work, and nothing is in it twice: there is only one worker.
    let all = report.work + taken;
    assert!(elapsed <= about(all) && all <= about(most), "{elapsed:?} {most:?}\n{report}");
    // Nothing was taken for a wait that was none.
    assert!(taken <= about(whole), "{whole:?}\n{report}");
    // What it waited for was found, but for short turns; and what it ran was not taken for that.
    let room = elapsed / 4 + Duration::from_millis(10);
    assert!(waited <= taken + room, "{waited:?}\n{report}");
    assert!(ran <= report.work + room, "{ran:?}\n{report}");
    assert!(!report.advice().iter().any(|said| said.contains("upper bounds")), "{report}");
}

/// Says that it is over.
struct Ends<'f>(&'f AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
