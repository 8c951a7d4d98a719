//! Words to sleep on (`man 2 futex`).

use locksley_sys::primitive::AtomicU32;
#[cfg(not(loom))]
use rustix::thread::futex::{self, Flags};

#[cfg(not(loom))]
use super::machine;

/// Sleeps while the word is `expected`, until a wake. May return spuriously.
#[cfg(not(loom))]
pub(super) fn wait(word: &AtomicU32, expected: u32) {
    machine::note_asleep();
    crate::trace::sleep(|| {
        let woken = futex::wait(std_word(word), Flags::PRIVATE, expected, None);
        // If not by a wake, which counts this thread. The caller looks at the word again.
        if woken.is_err() {
            machine::note_awake(1);
        }
    });
}

/// Wakes at most `count` of the threads that sleep on the word, `expected` of them as it seems.
/// They count as awake before they run: if they wait for a processor, it is not another program
/// that wants one.
#[cfg(not(loom))]
pub(super) fn wake(word: &AtomicU32, count: u32, expected: u32) {
    // Before: a woken thread may run first, and look whether others want its processor.
    machine::note_awake(expected);
    let woken = futex::wake(std_word(word), Flags::PRIVATE, count);
    machine::note_awake((woken.unwrap_or(0) as u32).wrapping_sub(expected));
}

/// The word as the standard library's, which the stall harness wraps.
#[cfg(not(loom))]
fn std_word(word: &AtomicU32) -> &std::sync::atomic::AtomicU32 {
    // SAFETY: the pointer is valid for as long as the reference, and all accesses are atomic.
    unsafe { std::sync::atomic::AtomicU32::from_ptr(word.as_ptr()) }
}

/// In loom's models a sleeping thread runs again only when the word has changed.
#[cfg(loom)]
pub(super) fn wait(word: &AtomicU32, expected: u32) {
    while word.load(std::sync::atomic::Ordering::Relaxed) == expected {
        loom::thread::yield_now();
    }
}

#[cfg(loom)]
pub(super) fn wake(_word: &AtomicU32, _count: u32, _expected: u32) {}
