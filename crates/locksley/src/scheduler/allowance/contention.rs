//! Whether a pool's workers have to wait for processors that other programs have.

use std::time::Duration;

/// Whoever looks asks for the first few workers, who are woken first: a file for each.
pub(super) const ASKED: usize = 4;

/// They have to wait if that was, all together, for one part of so many of the time. Threads that sleep and are woken, or give way to one that wakes for
/// a moment, wait on a machine that is their own, too: for up to a place of it in most programs, and more in one (the README has figures), which is told apart by what the process has used. Of two that are beside one which never sleeps each waits for a place of it at least.
const PARTS: u32 = 3;

/// Others have the processors if the process has not used so many hundredths of those that it may use. Else it is itself what its workers wait for: there are more
/// of them awake than processors, or it has other threads. (The process's clock may be some milliseconds for each processor behind.)
const ALL: u32 = 85;

/// What was seen last.
#[derive(Debug, Default)]
pub(super) struct Contention {
    last: Option<Seen>,
}

/// What was so when somebody looked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    pub(super) at: Duration,
    /// For how long the workers that are asked for had waited, all together.
    pub(super) waited: Duration,
    /// The processor time of the process.
    pub(super) used: Duration,
}

impl Contention {
    /// Whether workers have had to wait much for processors since the last look, and the process did not have them all. Not, where the system does not tell.
    pub(super) fn look(&mut self, now: Option<Seen>, processors: usize) -> bool {
        let last = std::mem::replace(&mut self.last, now);
        last.zip(now).is_some_and(|(last, now)| {
            let time = now.at.saturating_sub(last.at);
            let (waited, used) =
                (now.waited.saturating_sub(last.waited), now.used.saturating_sub(last.used));
            let all = time.saturating_mul(u32::try_from(processors).unwrap_or(u32::MAX));
            !time.is_zero()
                && waited.saturating_mul(PARTS) >= time
                && used.saturating_mul(100) < all.saturating_mul(ALL)
        })
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn it_is_seen_by_what_was_waited_and_used_since_the_last_look() {
        let ms = Duration::from_millis;
        let seen = |at, waited, used| Some(Seen { at: ms(at), waited: ms(waited), used: ms(used) });
        let mut contention = Contention::default();
        assert!(!contention.look(seen(100, 5000, 0), 2), "nobody knows since when");
        assert!(!contention.look(seen(200, 5033, 100), 2));
        assert!(contention.look(seen(300, 5067, 200), 2));
        assert!(contention.look(seen(400, 5400, 369), 2));
        assert!(!contention.look(seen(500, 5500, 539), 2), "it had all processors itself");
        assert!(contention.look(seen(600, 5600, 709), 3), "there was another one");
        assert!(!contention.look(seen(600, 5700, 709), 3), "no time has passed");
        assert!(!contention.look(None, 2));
        assert!(!contention.look(seen(700, 6000, 800), 2), "nobody told before");
        assert!(!contention.look(seen(800, 10, 900), 2), "one of them is another thread");
        assert!(!contention.look(seen(10_800, 500, 901), 2), "after a pause");
    }
}
