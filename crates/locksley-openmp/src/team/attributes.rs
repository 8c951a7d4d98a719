//! What a new thread takes over from the one that starts it (`man 3 pthread_create`). A worker
//! takes it over from a thread whose team it joins, if it has served another one before.

use locksley_sys::os::{ThreadSettings, niceness, set_niceness};
use rustix::process::{Pid, getpriority_process};

use super::binding;

#[derive(Debug)]
pub(super) struct Attributes {
    settings: ThreadSettings,
    /// `None` if the system does not tell.
    nice: Option<i32>,
}

impl Attributes {
    pub(super) fn of_this_thread() -> Self {
        Self { settings: ThreadSettings::of_this_thread(), nice: niceness() }
    }

    /// False if that thread would need privileges: it has a higher nice value.
    pub(super) fn can_be_given_to(&self, thread: Pid) -> bool {
        // (Linux takes the number of any thread.)
        let its = getpriority_process(Some(thread)).ok();
        its.zip(self.nice).is_none_or(|(its, wanted)| its <= wanted)
    }

    /// Gives them to the calling thread, as far as the system allows.
    pub(super) fn apply(&self) {
        self.settings.apply();
        binding::forget_place();
        if let Some(wanted) = self.nice.filter(|_| niceness() != self.nice) {
            set_niceness(wanted);
        }
    }
}
