//! When a thread was last switched in or out, and whether it wanted to run on (`man 2
//! perf_event_open`, `context_switch`).
//!
//! The kernel writes a record into a ring of the thread's own with every context switch; others
//! look at the newest record, which takes two loads and no system call.

use std::sync::OnceLock;

use super::affinity::on_a_throwaway_thread;
use super::perf_ring::{Attributes, PerfRing};
use crate::os::Switch;

/// A record is nothing but its header: type, flags and size.
const RECORD_BYTES: u64 = 8;
const RECORD_SWITCH: u64 = 14;
const SWITCH_OUT: u64 = 1 << (32 + 13);
const PREEMPTED: u64 = 1 << (32 + 14);

/// A thread's ring. It may be read by any thread.
#[derive(Debug)]
pub(super) struct SwitchRing(PerfRing);

impl SwitchRing {
    pub(super) fn of_this_thread() -> Result<Self, String> {
        PerfRing::of_this_thread(&Attributes::of_switches(), 1).map(Self)
    }

    /// The last context switch; `None` if the record is not understood.
    pub(super) fn latest(&self) -> Option<Switch> {
        let head = self.0.head();
        let Some(newest) = head.checked_sub(RECORD_BYTES) else { return Some(Switch::In) };
        read_record(self.0.word(newest), RECORD_BYTES)
    }

    /// How often the thread has left its processor and come back since the ring was made.
    pub(super) fn completed(&self) -> u64 {
        // A record for each way.
        self.0.head() / (2 * RECORD_BYTES)
    }
}

/// Reads the header of a record that has so many bytes.
pub(super) fn read_record(record: u64, bytes: u64) -> Option<Switch> {
    if record as u32 as u64 != RECORD_SWITCH || record >> 48 != bytes {
        return None;
    }
    Some(match (record & SWITCH_OUT != 0, record & PREEMPTED != 0) {
        (false, _) => Switch::In,
        (true, true) => Switch::Preempted,
        (true, false) => Switch::Blocked,
    })
}

pub(super) fn probe() -> Result<(), String> {
    static PROBE: OnceLock<Result<(), String>> = OnceLock::new();
    let probe = || {
        on_a_throwaway_thread(|| {
            let ring = SwitchRing::of_this_thread()?;
            let readable = ring.latest() == Some(Switch::In);
            readable.then_some(()).ok_or_else(|| "the ring is not as expected".to_owned())
        })
    };
    PROBE.get_or_init(probe).clone()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::mpsc::channel;
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn a_record_says_how_a_thread_left() {
        let out = RECORD_BYTES << 48 | SWITCH_OUT | RECORD_SWITCH;
        assert_eq!(read_record(out, RECORD_BYTES), Some(Switch::Blocked));
        assert_eq!(read_record(out | PREEMPTED, RECORD_BYTES), Some(Switch::Preempted));
        assert_eq!(read_record(RECORD_BYTES << 48 | RECORD_SWITCH, RECORD_BYTES), Some(Switch::In));
        assert_eq!(read_record(RECORD_BYTES << 48 | 9, RECORD_BYTES), None);
        assert_eq!(read_record(16 << 48 | RECORD_SWITCH, RECORD_BYTES), None);
    }

    #[test]
    fn a_switch_is_counted_when_it_is_over() {
        if let Err(why) = probe() {
            return crate::skip_test(why);
        }
        std::thread::spawn(|| {
            let ring = SwitchRing::of_this_thread().unwrap();
            let began = Instant::now();
            for least in 1..100 {
                // More, where another program wanted the processor; none, where a sleep was over
                // before it had begun.
                while ring.completed() < least {
                    assert!(
                        began.elapsed() < Duration::from_secs(10),
                        "{} of {least}",
                        ring.completed()
                    );
                    std::thread::sleep(Duration::from_micros(10));
                }
            }
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_thread_that_waits_is_seen_to_be_blocked() {
        if let Err(why) = probe() {
            return crate::skip_test(why);
        }
        let (send_ring, rings) = channel();
        let (end, wait_for_end) = channel::<()>();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let _ = send_ring.send(SwitchRing::of_this_thread());
                let _ = wait_for_end.recv();
            });
            let ring = rings.recv().unwrap().unwrap();
            let soon = Instant::now() + Duration::from_secs(20);
            while ring.latest() != Some(Switch::Blocked) {
                assert!(Instant::now() < soon, "{:?}", ring.latest());
                std::thread::yield_now();
            }
            drop(end);
        });
    }
}
