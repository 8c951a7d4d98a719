//! Whether a pool's workers have to wait for processors, since other programs want them, too.

use std::time::Duration;

/// Whoever looks asks for the first few workers, who are woken first: a file for each.
pub(super) const ASKED: usize = 4;

/// They are in company if they have waited, all together, for one part of so many of the time. A thread that sleeps and is woken, or gives way to one that wakes for
/// a moment, waits for less than that on a machine that is its own; beside a thread that never sleeps, for several times as much.
const PARTS: u32 = 10;

/// What was seen last.
#[derive(Debug, Default)]
pub(super) struct Company {
    /// When, and for how long they had waited until then.
    last: Option<(Duration, Duration)>,
}

impl Company {
    /// Whether they have waited much since the last look. Not, where the system does not tell.
    pub(super) fn look(&mut self, now: Duration, waited: Option<Duration>) -> bool {
        let last = std::mem::replace(&mut self.last, waited.map(|waited| (now, waited)));
        last.zip(waited).is_some_and(|((before, had_waited), waited)| {
            now > before && waited.saturating_sub(had_waited) * PARTS >= now - before
        })
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn it_is_seen_by_what_was_waited_since_the_last_look() {
        let ms = Duration::from_millis;
        let mut company = Company::default();
        assert!(!company.look(ms(100), Some(ms(5000))), "nobody knows since when");
        assert!(!company.look(ms(200), Some(ms(5009))));
        assert!(company.look(ms(300), Some(ms(5019))));
        assert!(company.look(ms(400), Some(ms(5400))));
        assert!(!company.look(ms(400), Some(ms(5500))), "no time has passed");
        assert!(!company.look(ms(500), None));
        assert!(!company.look(ms(600), Some(ms(6000))), "nobody told before");
        assert!(!company.look(ms(700), Some(ms(10))), "one of them is another thread");
        assert!(!company.look(ms(10_700), Some(ms(500))), "after a pause");
    }
}
