//! Context switches of a thread, with their times and processors.

use super::perf_ring::{Attributes, PerfRing};
use super::switches::read_record;
use crate::os::LoggedSwitch;

const SAMPLE_THREAD: u64 = 1 << 1;
const SAMPLE_TIME: u64 = 1 << 2;
const SAMPLE_PROCESSOR: u64 = 1 << 7;
const SAMPLE_ALL: u64 = 1 << 18;
const USE_CLOCK: u64 = 1 << 25;

/// A record: its header, the thread, the time, the processor. The size is a power of two, so no
/// record lies across the end of the ring.
const RECORD_BYTES: u64 = 32;
const PAGES: usize = 8;

/// The last context switches of the thread that made it, some thousand. Only that thread reads it.
#[derive(Debug)]
pub struct SwitchLog {
    ring: PerfRing,
    /// Up to here the log has been read.
    read: u64,
}

impl SwitchLog {
    /// Begins to log. The error says why the kernel does not.
    pub fn of_this_thread() -> Result<Self, String> {
        let mut attributes = Attributes::of_switches().with_all_fields();
        attributes.sample_type = SAMPLE_THREAD | SAMPLE_TIME | SAMPLE_PROCESSOR;
        attributes.flags |= SAMPLE_ALL | USE_CLOCK;
        attributes.clock = libc::CLOCK_MONOTONIC;
        let ring = PerfRing::of_this_thread(&attributes, PAGES)?;
        Ok(Self { ring, read: 0 })
    }

    /// The switches since the last call, oldest first. Those that the kernel has overwritten are
    /// left out.
    pub fn new_switches(&mut self) -> impl Iterator<Item = LoggedSwitch> + '_ {
        let head = self.ring.head();
        // The kernel writes no record while this thread runs. If it is switched out and comes back
        // meanwhile, two are overwritten.
        let oldest = head.saturating_sub(self.ring.bytes() - 4 * RECORD_BYTES);
        let first = std::mem::replace(&mut self.read, head).max(oldest);
        let positions = (first..head).step_by(RECORD_BYTES as usize);
        positions.filter_map(|position| self.read_at(position))
    }

    /// True if there are new switches.
    #[inline]
    pub fn has_new(&self) -> bool {
        self.ring.head() != self.read
    }

    fn read_at(&self, position: u64) -> Option<LoggedSwitch> {
        let [header, _thread, at, processor] =
            [0, 8, 16, 24].map(|offset| self.ring.word(position + offset));
        let switch = read_record(header, RECORD_BYTES)?;
        Some(LoggedSwitch { switch, at, processor: processor as u32 })
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::os::Switch;

    #[test]
    fn sleeps_are_logged_with_times_in_order() {
        let mut log = match SwitchLog::of_this_thread() {
            Ok(log) => log,
            Err(why) => return crate::skip_test(why),
        };
        let (mut seen, began) = (Vec::new(), Instant::now());
        while seen.len() < 20 && began.elapsed() < Duration::from_secs(10) {
            std::thread::sleep(Duration::from_micros(100));
            seen.extend(log.new_switches());
        }
        assert!(seen.len() >= 20 && seen.is_sorted_by_key(|it| it.at), "{seen:?}");
        assert!(!log.has_new() || log.new_switches().count() > 0);
        // A thread leaves and comes back in turn.
        let is_in = |it: &LoggedSwitch| it.switch == Switch::In;
        assert!(seen.windows(2).all(|pair| is_in(&pair[0]) != is_in(&pair[1])), "{seen:?}");
        assert!(seen.iter().any(|it| it.switch == Switch::Blocked));
    }

    #[test]
    fn the_oldest_are_left_out_when_there_are_too_many() {
        let mut log = match SwitchLog::of_this_thread() {
            Ok(log) => log,
            Err(why) => return crate::skip_test(why),
        };
        let (most, began) = (log.ring.bytes() / RECORD_BYTES, Instant::now());
        while log.ring.head() < log.ring.bytes() + 64 && began.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(Duration::from_micros(1));
        }
        let seen: Vec<_> = log.new_switches().collect();
        assert!(seen.len() as u64 <= most && seen.len() as u64 >= most - 8, "{}", seen.len());
        assert!(seen.is_sorted_by_key(|it| it.at));
    }
}
