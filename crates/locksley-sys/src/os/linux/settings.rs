//! What a thread takes over from the one that starts it: signal mask, affinity and floating-point
//! control.

use super::affinity;
use super::floating_point::FloatingPoint;

/// The signal mask, the affinity and the floating-point control (such as rounding) of a thread.
///
/// A thread starts with those of the thread that starts it. Use this where that thread may have
/// changed its own for a while. (Niceness is not in here: without privileges, a thread can give
/// itself less priority, but never more.)
///
/// # Examples
/// ```
/// use locksley_sys::os::ThreadSettings;
///
/// let settings = ThreadSettings::of_this_thread();
/// std::thread::spawn(move || settings.apply()).join().unwrap();
/// ```
#[derive(Clone, Debug)]
pub struct ThreadSettings {
    /// The signals that are blocked. `None` if the system does not tell.
    signals: Option<libc::sigset_t>,
    /// `None` if the system does not tell. Boxed, since it is large.
    affinity: Option<Box<affinity::Mask>>,
    floating_point: FloatingPoint,
}

impl ThreadSettings {
    /// The settings of the calling thread.
    pub fn of_this_thread() -> Self {
        let affinity = affinity::get(affinity::THIS_THREAD).map(Box::new);
        // SAFETY: a set of signals is numbers, which may be 0.
        let mut signals: libc::sigset_t = unsafe { std::mem::zeroed() };
        // SAFETY: without a new mask, the call only writes the present one, to where there is room.
        let answer =
            unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, std::ptr::null(), &raw mut signals) };
        let signals = (answer == 0).then_some(signals);
        Self { signals, affinity, floating_point: FloatingPoint::of_this_thread() }
    }

    /// Gives the calling thread these settings, as far as the system allows.
    pub fn apply(&self) {
        if let Some(signals) = &self.signals {
            // SAFETY: the mask is read, and the old one is not written.
            unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, signals, std::ptr::null_mut()) };
        }
        if let Some(wanted) = self.affinity.as_deref() {
            // One that is set explicitly does not grow with the control group's.
            if affinity::get(affinity::THIS_THREAD).as_ref() != Some(wanted) {
                affinity::set(affinity::THIS_THREAD, wanted);
            }
        }
        self.floating_point.apply();
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn blocks(signal: libc::c_int) -> bool {
        let signals = ThreadSettings::of_this_thread().signals.unwrap();
        // SAFETY: the set is initialized, and only read.
        unsafe { libc::sigismember(&raw const signals, signal) == 1 }
    }

    fn block(signal: libc::c_int) {
        // SAFETY: a set of signals is numbers, which may be 0.
        let mut signals: libc::sigset_t = unsafe { std::mem::zeroed() };
        // SAFETY: the set is initialized, and the signal exists.
        unsafe { libc::sigaddset(&raw mut signals, signal) };
        // SAFETY: the mask is read, and the old one is not written.
        unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const signals, std::ptr::null_mut()) };
    }

    #[test]
    fn a_thread_gets_the_settings_of_another_one() {
        let settings = ThreadSettings::of_this_thread();
        std::thread::spawn(move || {
            let expected = affinity::get(affinity::THIS_THREAD);
            let first = affinity::process_affinity().unwrap()[0];
            assert!(affinity::bind_this_thread(&[first]));
            block(libc::SIGUSR1);
            assert!(blocks(libc::SIGUSR1));
            settings.apply();
            assert!(!blocks(libc::SIGUSR1));
            assert_eq!(affinity::get(affinity::THIS_THREAD), expected);
        })
        .join()
        .unwrap();
    }
}
