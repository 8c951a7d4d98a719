//! What this process has used of the machine.

/// What all threads have used since the process began, ended ones too.
#[derive(Debug, Clone, Copy)]
pub struct Usage {
    /// Processor time.
    pub seconds: f64,
    /// Context switches because a thread waited for something.
    pub voluntary: u64,
    /// Context switches because the kernel gave the processor to another thread, or one let
    /// another have it (a yield).
    pub involuntary: u64,
}

impl Usage {
    /// What has been used until now; `None` where the system does not tell.
    pub fn now() -> Option<Usage> {
        #[cfg(unix)]
        {
            use nix::sys::resource::{UsageWho, getrusage};
            use nix::sys::time::{TimeVal, TimeValLike};

            let usage = getrusage(UsageWho::RUSAGE_SELF).ok()?;
            let seconds = |time: TimeVal| time.num_microseconds() as f64 / 1e6;
            Some(Usage {
                seconds: seconds(usage.user_time()) + seconds(usage.system_time()),
                voluntary: usage.voluntary_context_switches().try_into().ok()?,
                involuntary: usage.involuntary_context_switches().try_into().ok()?,
            })
        }
        #[cfg(not(unix))]
        None
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn sleeping_is_a_voluntary_switch_also_of_a_thread_that_has_ended() {
        let before = Usage::now().unwrap();
        std::thread::spawn(|| std::thread::sleep(std::time::Duration::from_millis(2)))
            .join()
            .unwrap();
        assert!(Usage::now().unwrap().voluntary > before.voluntary);
    }
}
