//! A lower priority for the calling thread of the operating system, as thieves of Hood have it.

use locksley_sys::os;
use locksley_sys::primitive::plain::OnceLock;
use locksley_sys::primitive::thread;

/// Nice values range from -20 to this.
const LOWEST: i32 = 19;

/// The calling thread has the lowest priority until this is dropped, on the same thread.
pub struct LoweredPriority(i32);

impl LoweredPriority {
    /// Lowers the priority. `None` where the system would not let the thread raise it again.
    pub fn begin() -> Option<LoweredPriority> {
        static CAN_BE_RAISED: OnceLock<bool> = OnceLock::new();
        let probe = || lower().is_some_and(os::set_niceness);
        let can_be_raised =
            CAN_BE_RAISED.get_or_init(|| thread::spawn(probe).join().unwrap_or(false));
        can_be_raised.then(lower)?.map(LoweredPriority)
    }
}

impl Drop for LoweredPriority {
    fn drop(&mut self) {
        os::set_niceness(self.0);
    }
}

/// Lowers the priority, and returns what it was.
fn lower() -> Option<i32> {
    let before = os::niceness()?;
    os::set_niceness(LOWEST).then_some(before)
}
