//! Short time slices (`man 2 sched_setattr`; since Linux 6.12, for ordinary threads): of two
//! threads that are owed as much, EEVDF first runs the one whose time slice would end first. So a
//! thread with short ones is served soon, and gets no more in total.

use std::sync::OnceLock;
use std::time::Duration;

use super::affinity::on_a_throwaway_thread;
use super::last_error;

/// Gives the calling thread time slices of that length. Threads that it starts get the usual length
/// again. Leaves alone a thread with shorter time slices, with another policy than the ordinary one
/// or with a priority that was chosen.
pub fn shorten_time_slice(time_slice: Duration) {
    let time_slice = time_slice.as_nanos() as u64;
    let is_usual = |it: &libc::sched_attr| {
        it.sched_policy == libc::SCHED_OTHER as u32
            && it.sched_nice == 0
            && it.sched_runtime > time_slice
    };
    // A kernel without such time slices says that they are 0. No probe, which starts a thread: a
    // child that another thread forks meanwhile would wait for its end.
    if let Some(mut attributes) = attributes().ok().filter(is_usual) {
        attributes.sched_runtime = time_slice;
        attributes.sched_flags = libc::SCHED_FLAG_RESET_ON_FORK as u64;
        // Where it fails, time slices stay as they are.
        let _ = set(&attributes);
    }
}

pub(super) fn probe() -> Result<(), String> {
    const SHORT: u64 = 200_000;
    static PROBE: OnceLock<Result<(), String>> = OnceLock::new();
    let probe = || {
        let mut short = attributes()?;
        if short.sched_policy != libc::SCHED_OTHER as u32 {
            return Err("the policy is not the ordinary one".to_owned());
        }
        short.sched_runtime = SHORT;
        set(&short)?;
        let has_it = attributes()?.sched_runtime == SHORT;
        has_it
            .then_some(())
            .ok_or_else(|| "this kernel gives all threads the same time slice".to_owned())
    };
    PROBE.get_or_init(|| on_a_throwaway_thread(probe)).clone()
}

fn attributes() -> Result<libc::sched_attr, String> {
    // SAFETY: all of it is numbers, which may be 0.
    let mut attributes: libc::sched_attr = unsafe { std::mem::zeroed() };
    let (this_thread, no_flags) = (0, 0);
    let size = size_of::<libc::sched_attr>() as libc::c_uint;
    // SAFETY: the kernel writes at most `size` bytes, for which there is room.
    let answer = unsafe {
        libc::syscall(libc::SYS_sched_getattr, this_thread, &raw mut attributes, size, no_flags)
    };
    if answer == 0 { Ok(attributes) } else { Err(last_error()) }
}

fn set(attributes: &libc::sched_attr) -> Result<(), String> {
    let (this_thread, no_flags) = (0, 0);
    let pointer: *const libc::sched_attr = attributes;
    // SAFETY: the kernel reads as many bytes as the attributes say they have, which is what it
    // wrote itself.
    let answer = unsafe { libc::syscall(libc::SYS_sched_setattr, this_thread, pointer, no_flags) };
    if answer == 0 { Ok(()) } else { Err(last_error()) }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const SHORT: Duration = Duration::from_micros(150);

    /// On a thread of its own, with the time slice that a test left to it.
    fn time_slice_of_a_new_thread() -> u64 {
        std::thread::spawn(|| attributes().unwrap().sched_runtime).join().unwrap()
    }

    #[test]
    fn a_short_time_slice_is_the_threads_own() {
        if let Err(why) = probe() {
            return crate::skip_test(why);
        }
        if attributes().unwrap().sched_nice != 0 {
            return crate::skip_test("a priority was chosen");
        }
        std::thread::spawn(|| {
            let usual = time_slice_of_a_new_thread();
            shorten_time_slice(SHORT);
            assert_eq!(attributes().unwrap().sched_runtime, SHORT.as_nanos() as u64);
            assert_eq!(time_slice_of_a_new_thread(), usual);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_time_slice_that_is_shorter_is_left_alone() {
        if let Err(why) = probe() {
            return crate::skip_test(why);
        }
        std::thread::spawn(|| {
            let mut chosen = attributes().unwrap();
            chosen.sched_runtime = 120_000;
            set(&chosen).unwrap();
            shorten_time_slice(SHORT);
            assert_eq!(attributes().unwrap().sched_runtime, 120_000);
        })
        .join()
        .unwrap();
    }
}
