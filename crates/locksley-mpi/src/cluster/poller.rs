//! When the thread that polls the transport looks for messages.

use std::time::Duration;

use super::events::Time;
use crate::nap::Pace;

/// The time between two polls of a thread that is awake.
const POLL: Time = 1000;

/// The polls of one rank, which naps between them.
#[derive(Clone, Debug)]
pub(super) struct Poller {
    /// `None`: each message is noticed when it arrives.
    pace: Option<Pace>,
    /// When the last message was exchanged.
    last_message: Time,
    /// The last poll.
    last: Time,
    /// Whether the rank had tasks then.
    pub(super) is_busy: bool,
}

impl Poller {
    pub(super) fn new(has_naps: bool) -> Self {
        Self { pace: has_naps.then(Pace::new), last_message: 0, last: 0, is_busy: false }
    }

    /// The rank has polled.
    pub(super) fn polled(&mut self, now: Time, has_exchanged: bool, is_busy: bool) {
        if has_exchanged {
            self.pace = self.pace.take().map(|_| Pace::new());
            self.last_message = now;
        }
        self.last = now;
        self.is_busy = is_busy;
    }

    /// The time of the first poll at or after `time`, if the thread is not unparked before. Silent
    /// polls before it have no effect.
    pub(super) fn first_from(&self, time: Time) -> Time {
        self.clone().skip_to(time)
    }

    /// The thread is unparked at `now`, or that is the time of a poll.
    pub(super) fn wake(&mut self, now: Time) {
        self.skip_to(now);
    }

    fn skip_to(&mut self, time: Time) -> Time {
        let Some(pace) = &mut self.pace else { return time.max(self.last) };
        let awake = self.last_message + Pace::awake(self.is_busy).as_nanos() as Time;
        let polls = awake.min(time).saturating_sub(self.last).div_ceil(POLL);
        self.last += polls * POLL;
        let mut last_length = 0;
        while self.last < time {
            let quiet = Duration::from_nanos(self.last.saturating_sub(self.last_message));
            let length = (pace.next(self.is_busy, quiet).as_nanos() as Time).max(POLL);
            self.last += length;
            if length == last_length && length > POLL {
                // The longest one: so are all that follow.
                self.last += (time.saturating_sub(self.last)).div_ceil(length) * length;
            }
            last_length = length;
        }
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Polls one by one, as `Ranks::run` does.
    fn polls(pace: &mut Pace, busy: bool, until: Time) -> Vec<Time> {
        let mut all = vec![0];
        while all[all.len() - 1] < until {
            let last = all[all.len() - 1];
            let length = pace.next(busy, Duration::from_nanos(last)).as_nanos() as Time;
            all.push(last + length.max(POLL));
        }
        all
    }

    #[test]
    fn polls_are_those_of_naps() {
        for busy in [false, true] {
            let mut poller = Poller::new(true);
            poller.polled(0, true, busy);
            let all = polls(&mut Pace::new(), busy, 100_000_000);
            for time in (0..all[all.len() - 1]).step_by(7919) {
                let expected = *all.iter().find(|&&poll| poll >= time).unwrap();
                assert_eq!(poller.first_from(time), expected, "at {time}");
            }
            // Within the longest nap.
            let step = all[all.len() - 1] - all[all.len() - 2];
            assert_eq!(step, if busy { 2_000_000 } else { 5_000_000 });
        }
    }

    #[test]
    fn without_naps_a_message_is_noticed_at_once() {
        assert_eq!(Poller::new(false).first_from(12_345), 12_345);
    }
}
