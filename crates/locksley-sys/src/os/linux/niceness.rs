//! The nice value of a thread (`man 2 getpriority`). On Linux each thread has one of its own.

const PROCESS: libc::c_long = libc::PRIO_PROCESS as libc::c_long;
/// The calling thread.
const THIS: libc::c_long = 0;

/// The nice value of the calling thread, from -20 to 19. A thread with a higher value gets less
/// processor time. `None` if the system does not tell.
pub fn niceness() -> Option<i32> {
    // SAFETY: no memory is involved.
    let answer = unsafe { libc::syscall(libc::SYS_getpriority, PROCESS, THIS) };
    // The kernel returns 40 to 1 for -20 to 19, so that no value looks like an error.
    (answer > 0).then_some(20 - answer as i32)
}

/// Sets the nice value of the calling thread. Returns true on success. Without privileges, a thread
/// may be refused a lower value than it has.
pub fn set_niceness(nice: i32) -> bool {
    let nice = libc::c_long::from(nice);
    // SAFETY: no memory is involved.
    unsafe { libc::syscall(libc::SYS_setpriority, PROCESS, THIS, nice) == 0 }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_thread_has_a_nice_value_of_its_own() {
        let before = niceness().unwrap();
        let change = || {
            assert!(set_niceness(19));
            niceness()
        };
        assert_eq!(std::thread::spawn(change).join().unwrap(), Some(19));
        assert_eq!(niceness(), Some(before));
    }
}
