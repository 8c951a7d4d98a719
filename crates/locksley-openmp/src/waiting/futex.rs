//! Words to sleep on (`man 2 futex`).

use locksley_sys::primitive::AtomicU32;

/// Sleeps while the word is `expected`, until a wake. May return spuriously.
#[cfg(not(loom))]
pub(super) fn wait(word: &AtomicU32, expected: u32) {
    super::machine::note_asleep();
    crate::trace::sleep(|| {
        // What it returns does not matter: the caller looks at the word again.
        let _ = rustix::thread::futex::wait(
            std_word(word),
            rustix::thread::futex::Flags::PRIVATE,
            expected,
            None,
        );
    });
    super::machine::note_awake();
}

/// Wakes at most `count` of the threads that sleep on the word.
#[cfg(not(loom))]
pub(super) fn wake(word: &AtomicU32, count: u32) {
    let _ =
        rustix::thread::futex::wake(std_word(word), rustix::thread::futex::Flags::PRIVATE, count);
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
pub(super) fn wake(_word: &AtomicU32, _count: u32) {}
