//! The groups of this process for who asks often: their files stay open.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::process;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::{Limits, QuotaWatch, mounts};

/// What the process's control groups allow now.
pub(crate) fn limits_now() -> Limits {
    with_groups(QuotaWatch::limits)
}

/// For how long quotas have kept all of this process's control group, together, from running. `None` where there are none, or the kernel
/// does not tell.
pub(crate) fn throttled() -> Option<Duration> {
    with_groups(QuotaWatch::longest_throttling)
}

#[derive(Debug)]
struct Kept {
    groups: QuotaWatch,
    /// By which the kernel says that something was mounted.
    mounts: File,
    read: Instant,
    /// The process whose groups these are.
    owner: u32,
}

/// Where hierarchies are mounted is read again after so long a time, whatever the kernel says: not each does, nor of a process that has gone to
/// another namespace.
const FOR_SO_LONG: Duration = Duration::from_secs(1);

/// It does not wait: who comes while another one asks has the files opened anew.
fn with_groups<R>(ask: impl FnOnce(&mut QuotaWatch) -> R) -> R {
    static KEPT: Mutex<Option<Kept>> = Mutex::new(None);
    // A child of the process may find it locked by a thread that is not there.
    let Ok(mut kept) = KEPT.try_lock() else { return ask(&mut QuotaWatch::of_this_process()) };
    if !kept.as_mut().is_some_and(|kept| kept.is_true()) {
        *kept = Kept::open();
    }
    match &mut *kept {
        Some(kept) => ask(&mut kept.groups),
        None => ask(&mut QuotaWatch::of_this_process()),
    }
}

impl Kept {
    fn open() -> Option<Self> {
        // In this order: what is mounted meanwhile will be said.
        let mounts = File::open(mounts::FILE).ok()?;
        let groups = QuotaWatch::of_this_process();
        Some(Self { groups, mounts, read: Instant::now(), owner: process::id() })
    }

    fn is_true(&self) -> bool {
        self.owner == process::id() && self.read.elapsed() < FOR_SO_LONG && !self.was_mounted()
    }

    /// Whether anything was mounted, or was no more, since that was asked last (`man 5 proc_pid_mountinfo`).
    fn was_mounted(&self) -> bool {
        const NO_TIME: libc::c_int = 0;
        let mut asked =
            libc::pollfd { fd: self.mounts.as_raw_fd(), events: libc::POLLPRI, revents: 0 };
        // SAFETY: the kernel reads and writes one `pollfd`, which is there.
        let answers = unsafe { libc::poll(&raw mut asked, 1, NO_TIME) };
        answers != 0
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::Groups;
    use super::*;

    /// As who opens them anew sees them, before or after; and so does a second one who asks meanwhile.
    #[test]
    fn what_is_kept_is_what_is_there() {
        for _ in 0..20 {
            let (before, kept, after) = (
                Groups::of_this_process().limits(),
                limits_now(),
                Groups::of_this_process().limits(),
            );
            assert!(kept == before || kept == after, "{kept:?}");
            let anew = || QuotaWatch::of_this_process().longest_throttling();
            let (before, kept, after) = (anew(), throttled(), anew());
            assert!(before <= kept && kept <= after, "{before:?} {kept:?} {after:?}");
            let seen = with_groups(|_| throttled());
            assert!(kept <= seen, "{kept:?} {seen:?}");
        }
    }

    #[test]
    fn it_is_true_for_a_while_if_nothing_is_mounted() {
        // Something may be mounted just then, elsewhere on the machine.
        let mut kept = (0..1000).map_while(|_| Kept::open());
        let Some(mut kept) = kept.find(Kept::is_true) else {
            assert!(Kept::open().is_none(), "never true");
            return;
        };
        kept.owner += 1;
        assert!(!kept.is_true(), "of another process");
        kept.owner -= 1;
        let Some(long_ago) = Instant::now().checked_sub(2 * FOR_SO_LONG) else { return };
        kept.read = long_ago;
        assert!(!kept.is_true());
    }
}
