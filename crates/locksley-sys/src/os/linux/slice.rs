//! How long a turn on the processor a thread asks for (`man 2 sched_setattr`; since Linux 6.12, for
//! ordinary threads).
//!
//! Of two threads that are owed as much, EEVDF runs the one first whose turn would end first. So
//! who asks for short turns is served soon, and gets no more in total.

use std::sync::OnceLock;
use std::time::Duration;

use super::affinity::on_a_throwaway_thread;
use super::last_error;

/// Has the calling thread take turns of that length, and the threads that it starts take the usual
/// ones again. Leaves alone a thread that does not have the ordinary policy, or whose turns or
/// priority somebody has chosen.
pub fn shorten(turn: Duration) {
    if probe().is_ok() {
        // Where it fails, turns stay as they are.
        let _ = shorten_from_the_usual(turn);
    }
}

fn shorten_from_the_usual(turn: Duration) -> Result<(), String> {
    static USUAL: OnceLock<Option<u64>> = OnceLock::new();
    let mut attributes = attributes()?;
    // A new thread of a new process would have it; what this one has may have been handed down to
    // it.
    let usual = USUAL.get_or_init(|| usual().ok());
    let is_ordinary = attributes.sched_policy == libc::SCHED_OTHER as u32
        && attributes.sched_nice == 0
        && (usual.is_none() || *usual == Some(attributes.sched_runtime));
    if is_ordinary {
        attributes.sched_runtime = turn.as_nanos() as u64;
        attributes.sched_flags = libc::SCHED_FLAG_RESET_ON_FORK as u64;
        set(&attributes)?;
    }
    Ok(())
}

/// The usual turn: what a thread has that was started by one which resets.
fn usual() -> Result<u64, String> {
    on_a_throwaway_thread(|| Ok(()))?;
    let (sender, receiver) = std::sync::mpsc::channel();
    on_a_throwaway_thread(move || {
        let mut own = attributes()?;
        own.sched_flags = libc::SCHED_FLAG_RESET_ON_FORK as u64;
        set(&own)?;
        on_a_throwaway_thread(move || {
            let _ = sender.send(attributes()?.sched_runtime);
            Ok(())
        })
    })?;
    receiver.recv().map_err(|error| error.to_string())
}

fn attributes() -> Result<libc::sched_attr, String> {
    let mut attributes = libc::sched_attr {
        size: 0,
        sched_policy: 0,
        sched_flags: 0,
        sched_nice: 0,
        sched_priority: 0,
        sched_runtime: 0,
        sched_deadline: 0,
        sched_period: 0,
    };
    let (this_thread, no_flags) = (0, 0);
    let size = size_of::<libc::sched_attr>();
    // SAFETY: the kernel writes at most `size` bytes, for which there is room.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_sched_getattr,
            this_thread,
            &raw mut attributes,
            size as libc::c_uint,
            no_flags,
        )
    };
    if answer == 0 { Ok(attributes) } else { Err(last_error()) }
}

fn set(attributes: &libc::sched_attr) -> Result<(), String> {
    let (this_thread, no_flags) = (0, 0);
    let pointer = ptr_of(attributes);
    // SAFETY: the kernel reads as many bytes as the attributes say they have, which is what it
    // wrote itself.
    let answer = unsafe { libc::syscall(libc::SYS_sched_setattr, this_thread, pointer, no_flags) };
    if answer == 0 { Ok(()) } else { Err(last_error()) }
}

fn ptr_of(attributes: &libc::sched_attr) -> *const libc::sched_attr {
    attributes
}

pub(crate) fn probe() -> Result<(), String> {
    static PROBE: OnceLock<Result<(), String>> = OnceLock::new();
    const SHORT: u64 = 200_000;
    let probe = || {
        on_a_throwaway_thread(|| {
            let before = attributes()?;
            if before.sched_policy != libc::SCHED_OTHER as u32 {
                return Err("the policy is not the ordinary one".to_owned());
            }
            let mut short = before;
            short.sched_runtime = SHORT;
            set(&short)?;
            if attributes()?.sched_runtime != SHORT {
                return Err("this kernel gives all threads the same turn".to_owned());
            }
            set(&before)?;
            let back = attributes()?.sched_runtime == before.sched_runtime;
            back.then_some(()).ok_or_else(|| "it could not be restored".to_owned())
        })
    };
    PROBE.get_or_init(probe).clone()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const SHORT: Duration = Duration::from_micros(150);

    /// On a thread of its own, with the turn that a test left to it.
    fn turn_of_a_new_thread() -> u64 {
        std::thread::spawn(|| attributes().unwrap().sched_runtime).join().unwrap()
    }

    #[test]
    fn a_short_turn_is_the_threads_own() {
        if let Err(why) = probe() {
            return eprintln!("not tried: {why}");
        }
        if attributes().unwrap().sched_nice != 0 {
            return eprintln!("not tried: somebody has chosen a priority");
        }
        std::thread::spawn(|| {
            let usual = turn_of_a_new_thread();
            shorten(SHORT);
            assert_eq!(attributes().unwrap().sched_runtime, SHORT.as_nanos() as u64);
            assert_eq!(turn_of_a_new_thread(), usual);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_turn_that_somebody_chose_is_left_alone() {
        if let Err(why) = probe() {
            return eprintln!("not tried: {why}");
        }
        std::thread::spawn(|| {
            let mut chosen = attributes().unwrap();
            chosen.sched_runtime = 7_000_000;
            set(&chosen).unwrap();
            shorten(SHORT);
            assert_eq!(attributes().unwrap().sched_runtime, 7_000_000);
        })
        .join()
        .unwrap();
    }
}
