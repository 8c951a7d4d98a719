//! As [`std::hint`].

/// Tells the machine that the thread spins. While the few lines that a loop reads cannot have
/// changed, the thread is not run.
#[inline]
pub fn spin_loop() {
    match crate::engine::engine() {
        Some(here) => here.spin_loop(),
        None => std::hint::spin_loop(),
    }
}
