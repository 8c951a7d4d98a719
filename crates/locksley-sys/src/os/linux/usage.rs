//! How often threads lose their processor (`man 2 getrusage`).

/// The number of times that the calling thread was preempted.
///
/// A yield that lets another thread run counts too.
pub fn involuntary_switches() -> Option<u64> {
    read(libc::RUSAGE_THREAD)
}

/// The number of times that threads of this process were preempted, ended threads included.
pub fn process_involuntary_switches() -> Option<u64> {
    read(libc::RUSAGE_SELF)
}

fn read(of: libc::c_int) -> Option<u64> {
    // SAFETY: all of it is numbers, which may be 0.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes one `rusage`, for which there is room.
    let answer = unsafe { libc::getrusage(of, &raw mut usage) };
    (answer == 0).then(|| usage.ru_nivcsw.try_into().ok()).flatten()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::fs;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::{Duration, Instant};

    use super::*;
    use crate::os::{bind_this_thread, current_processor};

    /// The same number by another way.
    fn told_by_proc() -> u64 {
        let status = fs::read_to_string("/proc/thread-self/status").unwrap();
        let line = status.lines().find_map(|it| it.strip_prefix("nonvoluntary_ctxt_switches:"));
        line.unwrap().trim().parse().unwrap()
    }

    /// Two threads on one processor preempt each other.
    fn until_preempted(has_seen: impl Fn() -> bool) -> bool {
        let (here, is_over) = (current_processor().unwrap(), AtomicBool::new(false));
        let until = Instant::now() + Duration::from_secs(20);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                bind_this_thread(&[here]);
                while !is_over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
            while !has_seen() && Instant::now() < until {
                std::hint::spin_loop();
            }
            is_over.store(true, Ordering::Relaxed);
        });
        has_seen()
    }

    #[test]
    fn a_preemption_of_the_thread_is_counted() {
        std::thread::spawn(|| {
            let before = involuntary_switches().unwrap();
            bind_this_thread(&[current_processor().unwrap()]);
            assert!(until_preempted(|| involuntary_switches().unwrap() >= before + 2));
            let (first, told, last) =
                (involuntary_switches().unwrap(), told_by_proc(), involuntary_switches().unwrap());
            assert!((first..=last).contains(&told), "{told}, not {first} to {last}");
        })
        .join()
        .unwrap();
    }

    #[test]
    fn the_process_has_the_preemptions_of_ended_threads() {
        let before = process_involuntary_switches().unwrap();
        let of_thread = std::thread::spawn(|| {
            bind_this_thread(&[current_processor().unwrap()]);
            until_preempted(|| involuntary_switches().unwrap() >= 2);
            involuntary_switches().unwrap()
        });
        let of_thread = of_thread.join().unwrap();
        assert!(of_thread >= 2);
        assert!(process_involuntary_switches().unwrap() >= before + of_thread);
    }
}
