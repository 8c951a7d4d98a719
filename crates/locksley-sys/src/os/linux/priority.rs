//! Giving way to everybody else: the scheduling policy `SCHED_IDLE` (`man 7 sched`).
//!
//! Anybody may lower a thread's priority, but not everybody may restore it: that takes
//! `CAP_SYS_NICE` or a sufficient `RLIMIT_NICE`. So it is done only where a throwaway thread came
//! back from it.

use std::sync::OnceLock;

use super::affinity::on_a_throwaway_thread;
use super::last_error;

/// The calling thread runs at the lowest priority until this is dropped, on the same thread.
#[derive(Debug)]
pub struct LoweredPriority {
    policy: libc::c_int,
    parameters: libc::sched_param,
    /// Must be dropped where it was made.
    not_send: std::marker::PhantomData<*const ()>,
}

impl LoweredPriority {
    /// Lowers the calling thread's priority, unless it is lowered already. Only where [`works`]
    /// says so.
    pub fn begin() -> Option<Self> {
        Self::lower().ok()
    }

    fn lower() -> Result<Self, String> {
        // SAFETY: no memory is involved; 0 is the calling thread.
        let policy = unsafe { libc::sched_getscheduler(0) };
        let mut parameters = libc::sched_param { sched_priority: 0 };
        // SAFETY: the kernel writes one `sched_param`, which is there.
        let known = unsafe { libc::sched_getparam(0, &raw mut parameters) };
        if policy < 0 || known < 0 {
            return Err(last_error());
        }
        if policy & !libc::SCHED_RESET_ON_FORK == libc::SCHED_IDLE {
            return Err("the thread runs at the lowest priority as it is".to_owned());
        }
        let lowest = libc::sched_param { sched_priority: 0 };
        set_policy(libc::SCHED_IDLE | policy & libc::SCHED_RESET_ON_FORK, &lowest)?;
        Ok(Self { policy, parameters, not_send: std::marker::PhantomData })
    }

    fn restore(&self) -> Result<(), String> {
        set_policy(self.policy, &self.parameters)
    }
}

impl Drop for LoweredPriority {
    fn drop(&mut self) {
        // It worked when it was probed. Where permission was taken away since, the worker stays
        // slow but correct.
        let _ = self.restore();
    }
}

fn set_policy(policy: libc::c_int, parameters: &libc::sched_param) -> Result<(), String> {
    // SAFETY: the kernel reads one `sched_param`, which is there.
    let answer = unsafe { libc::sched_setscheduler(0, policy, parameters) };
    if answer == 0 { Ok(()) } else { Err(last_error()) }
}

/// Whether priority can be lowered and restored here.
pub fn works() -> bool {
    probe().is_ok()
}

pub(crate) fn probe() -> Result<(), String> {
    static PROBE: OnceLock<Result<(), String>> = OnceLock::new();
    let probe = || {
        on_a_throwaway_thread(|| {
            let lowered = LoweredPriority::lower()?;
            let back = lowered.restore();
            std::mem::forget(lowered);
            back.map_err(|why| format!("it could not be restored: {why}"))
        })
    };
    PROBE.get_or_init(probe).clone()
}
