//! How often the kernel took the processor from this process's threads, and how often they gave it
//! up.

use std::ops::Sub;

use serde::{Deserialize, Serialize};

/// Context switches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Switches {
    /// A thread waited for something.
    pub voluntary: u64,
    /// The kernel gave its processor to another, or it let another have it (a yield).
    pub involuntary: u64,
}

impl Switches {
    /// Those of all threads since the process began, of ended ones too; `None` where the system
    /// does not tell.
    pub fn of_this_process() -> Option<Switches> {
        #[cfg(unix)]
        {
            use nix::sys::resource::{UsageWho, getrusage};
            let usage = getrusage(UsageWho::RUSAGE_SELF).ok()?;
            Some(Switches {
                voluntary: usage.voluntary_context_switches().try_into().ok()?,
                involuntary: usage.involuntary_context_switches().try_into().ok()?,
            })
        }
        #[cfg(not(unix))]
        None
    }
}

impl Sub for Switches {
    type Output = Switches;

    fn sub(self, earlier: Switches) -> Switches {
        Switches {
            voluntary: self.voluntary.saturating_sub(earlier.voluntary),
            involuntary: self.involuntary.saturating_sub(earlier.involuntary),
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn sleeping_is_a_voluntary_switch_also_of_a_thread_that_has_ended() {
        let before = Switches::of_this_process().unwrap();
        std::thread::spawn(|| std::thread::sleep(std::time::Duration::from_millis(2)))
            .join()
            .unwrap();
        let now = Switches::of_this_process().unwrap();
        assert!((now - before).voluntary >= 1);
    }
}
