//! Whether a thread gets on, as another thread sees it (`man 5 proc_pid_stat`).

use std::io;

use super::clock::ThreadClock;
use super::fork::generation;
use super::{file, this_thread};
use crate::os::Progress;

/// The progress of one thread, readable from any other thread while that thread lives.
///
/// A reading opens, reads and closes a file, which takes some microseconds.
///
/// # Examples
/// ```
/// use locksley_sys::os::ThreadProgress;
///
/// let thread = ThreadProgress::of_this_thread();
/// // The thread that reads runs.
/// assert!(thread.read().is_none_or(|it| !it.is_blocked));
/// ```
#[derive(Debug)]
pub struct ThreadProgress {
    thread: libc::pid_t,
    clock: ThreadClock,
    /// When the thread began. A later thread may have the same number. `None` where the kernel does
    /// not tell, or no file could be opened.
    began: Option<u64>,
    /// In a child of the process the thread is not there.
    generation: u32,
}

/// What is read of the file `stat`.
#[derive(Debug, PartialEq, Eq)]
struct Stat {
    state: u8,
    /// In ticks of the kernel since the machine was started.
    began: u64,
}

impl ThreadProgress {
    /// The progress of the calling thread.
    pub fn of_this_thread() -> Self {
        let (thread, clock) = (this_thread(), ThreadClock::of_this_thread());
        let began = Stat::of(thread).map(|it| it.began).ok();
        Self { thread, clock, began, generation: generation() }
    }

    /// `None` after the thread has ended, in a forked child, and where the kernel does not tell.
    /// While no file can be opened, a thread counts as blocked, and its processor time tells.
    pub fn read(&self) -> Option<Progress> {
        if self.generation != generation() {
            return None;
        }
        // First: a thread that runs between the two readings is not taken for one that was blocked
        // all the time.
        let processor_time = self.clock.read()?;
        let stat = match Stat::of(self.thread) {
            Ok(stat) => stat,
            Err(error) if matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE)) => {
                return Some(Progress { processor_time, is_blocked: true });
            }
            Err(_) => return None,
        };
        // Last: after this the clock was that of the thread.
        let is_same = self.began.is_none_or(|began| began == stat.began);
        let is_alive = is_same && !matches!(stat.state, b'X' | b'x' | b'Z');
        // A thread that a debugger has stopped is shown as `t`.
        let is_blocked = !matches!(stat.state, b'R' | b't');
        is_alive.then_some(Progress { processor_time, is_blocked })
    }
}

impl Stat {
    fn of(thread: libc::pid_t) -> io::Result<Self> {
        // Fewer than 24 fields of at most 20 digits, and a name, come before the end of the 22nd.
        let mut buffer = [0; 512];
        let text = file::read_of_thread(thread, "stat", &mut buffer)?;
        Self::parse(text).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    /// The number of the thread, its name in parentheses, the state, and numbers; the 22nd field is
    /// the beginning. The name may have any characters.
    fn parse(text: &[u8]) -> Option<Self> {
        let name_end = text.iter().rposition(|&byte| byte == b')')?;
        let fields = std::str::from_utf8(&text[name_end + 1..]).ok()?;
        let mut fields = fields.split_ascii_whitespace();
        let &[state] = fields.next()?.as_bytes() else { return None };
        Some(Self { state, began: fields.nth(18)?.parse().ok()? })
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::mpsc::channel;
    use std::time::{Duration, Instant};

    use super::*;

    /// Waits until a reading is as wanted.
    fn wait_for(thread: &ThreadProgress, is_wanted: impl Fn(&Progress) -> bool) -> Progress {
        let until = Instant::now() + Duration::from_secs(20);
        loop {
            let progress = thread.read().unwrap();
            if is_wanted(&progress) {
                return progress;
            }
            assert!(Instant::now() < until, "{progress:?}");
            std::thread::yield_now();
        }
    }

    #[test]
    fn the_state_follows_the_last_parenthesis() {
        let stat = |name: &str, state: &str| {
            let text =
                format!("7 ({name}) {state} 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 77 5");
            Stat::parse(text.as_bytes())
        };
        for name in ["worker", "", "a b", ") R (", "(((", "))", "\n"] {
            assert_eq!(stat(name, "S"), Some(Stat { state: b'S', began: 77 }), "{name:?}");
        }
        assert_eq!(stat("worker", "SR"), None);
        for wrong in ["", "7 (worker) ", "7 (worker) S 1 2 3", "7 worker S"] {
            assert_eq!(Stat::parse(wrong.as_bytes()), None, "{wrong:?}");
        }
    }

    #[test]
    fn a_thread_of_any_name_can_be_read() {
        let named = std::thread::Builder::new().name(") S 1 (".to_owned());
        let read = || ThreadProgress::of_this_thread().read();
        let progress = named.spawn(read).unwrap().join().unwrap();
        assert!(!progress.unwrap().is_blocked);
    }

    #[test]
    fn a_thread_that_waits_is_blocked_and_one_that_runs_is_not() {
        let ((send, handles), (end, wait_for_end)) = (channel(), channel::<()>());
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let is_over = &is_over;
            scope.spawn(move || {
                send.send(ThreadProgress::of_this_thread()).unwrap();
                let _ = wait_for_end.recv();
                while !is_over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
            let thread = handles.recv().unwrap();
            // It may also be blocked for a moment before it waits.
            let mut blocked = wait_for(&thread, |it| it.is_blocked);
            while wait_for(&thread, |it| it.is_blocked) != blocked {
                blocked = wait_for(&thread, |it| it.is_blocked);
            }
            drop(end);
            let running = wait_for(&thread, |it| !it.is_blocked);
            let later = wait_for(&thread, |it| it.processor_time > running.processor_time);
            is_over.store(true, Ordering::Relaxed);
            assert!(!later.is_blocked && later.processor_time > blocked.processor_time);
        });
    }

    #[test]
    fn the_reader_itself_runs() {
        let thread = ThreadProgress::of_this_thread();
        let (first, second) = (thread.read().unwrap(), thread.read().unwrap());
        assert!(!first.is_blocked && !second.is_blocked);
        assert!(first.processor_time <= second.processor_time);
    }

    #[test]
    fn an_ended_thread_has_no_progress() {
        let ended = std::thread::spawn(ThreadProgress::of_this_thread).join().unwrap();
        let until = Instant::now() + Duration::from_secs(20);
        // The kernel lets go of a thread a little after it was joined.
        while ended.read().is_some() {
            assert!(Instant::now() < until);
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_later_thread_with_the_same_number_is_not_mistaken() {
        let mut thread = ThreadProgress::of_this_thread();
        thread.began = thread.began.map(|it| it - 1);
        assert_eq!(thread.read(), None);
    }

    #[test]
    fn a_child_of_the_process_does_not_know_the_thread() {
        let mut thread = ThreadProgress::of_this_thread();
        thread.generation += 1;
        assert_eq!(thread.read(), None);
    }
}
