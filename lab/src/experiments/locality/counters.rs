//! Hits and misses of caches, where the processor counts them and the system lets a program read
//! that.

use std::io;

use locksley::places::{Kind, Topology};

/// Something that processors count: reads of data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Event {
    /// That come to the first cache.
    First,
    /// That are not found there.
    FirstMissed,
    /// That come to the last cache.
    Last,
    /// That are not found there.
    LastMissed,
}

/// The reads that come to the caches of that kind, and those that are not found there; none if the
/// kernel has no name for them. It names the first cache and the last one: what misses the first
/// comes to the second, and what misses that comes to the third.
pub(super) fn events(kind: Kind, machine: &Topology) -> Option<[Event; 2]> {
    let has_after =
        |level| (level + 1..10).any(|level| machine.level(Kind::Cache { level }).is_some());
    match kind {
        Kind::L1 => Some([Event::First, Event::FirstMissed]),
        Kind::Cache { level } if !has_after(level) => Some([Event::Last, Event::LastMissed]),
        Kind::L2 if !has_after(3) => Some([Event::FirstMissed, Event::Last]),
        _ => None,
    }
}

/// What a counter says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reading {
    count: u64,
    /// The time in which it was to count, in nanoseconds of all threads together, ...
    wanted: u64,
    /// ... and in which it did: processors have few counters, which others may use.
    counted: u64,
}

/// Two counters.
pub(super) struct Counters([system::Counter; 2]);

impl Counters {
    /// Opens the counters of these events for this thread, and all threads that it will start; or
    /// says why not.
    pub(super) fn open(events: Option<[Event; 2]>) -> Result<Counters, String> {
        let [one, other] = events.ok_or("the system has no name for what such caches do")?;
        let open = |event| system::open(event).map_err(|error| reason(&error));
        Ok(Counters([open(one)?, open(other)?]))
    }

    /// What they say now; nothing if they cannot be read.
    pub(super) fn read(&mut self) -> Option<[Reading; 2]> {
        let [one, other] = &mut self.0;
        Some([system::read(one)?, system::read(other)?])
    }
}

fn reason(error: &io::Error) -> String {
    let why = match error.kind() {
        io::ErrorKind::PermissionDenied => "the system does not let a program read the counters",
        _ => "the processor counts nothing here, as in most virtual machines",
    };
    format!("{why} ({error})")
}

/// Hits and misses between two readings; nothing if a counter did not count at all, or more reads
/// were missed than came: then the two counted at different times.
pub(super) fn between(
    before: Option<[Reading; 2]>,
    after: Option<[Reading; 2]>,
) -> Option<[f64; 2]> {
    let (before, after) = before.zip(after)?;
    let of = |which: usize| {
        let (before, after) = (before[which], after[which]);
        let count = after.count.checked_sub(before.count)? as f64;
        let wanted = after.wanted.checked_sub(before.wanted)? as f64;
        let counted = after.counted.checked_sub(before.counted).filter(|&time| time > 0)? as f64;
        Some((count * wanted / counted).round())
    };
    let (reached, missed) = (of(0)?, of(1)?);
    (reached >= missed).then_some([reached - missed, missed])
}

/// Counters of Linux (`man 2 perf_event_open`).
#[cfg(target_os = "linux")]
mod system {
    use std::io;

    pub(super) use perf_event::Counter;
    use perf_event::events::{Cache, CacheId, CacheOp, CacheResult};

    use super::{Event, Reading};

    pub(super) fn open(event: Event) -> io::Result<Counter> {
        let (which, result) = match event {
            Event::First => (CacheId::L1D, CacheResult::ACCESS),
            Event::FirstMissed => (CacheId::L1D, CacheResult::MISS),
            Event::Last => (CacheId::LL, CacheResult::ACCESS),
            Event::LastMissed => (CacheId::LL, CacheResult::MISS),
        };
        let cache = Cache { which, operation: CacheOp::READ, result };
        perf_event::Builder::new(cache).inherit(true).enabled(true).build()
    }

    pub(super) fn read(counter: &mut Counter) -> Option<Reading> {
        let data = counter.read_full().ok()?;
        let [wanted, counted] =
            [data.time_enabled()?, data.time_running()?].map(|time| time.as_nanos() as u64);
        Some(Reading { count: data.count(), wanted, counted })
    }
}

/// Other systems are not asked.
#[cfg(not(target_os = "linux"))]
mod system {
    use std::io::{Error, ErrorKind, Result};

    pub(super) enum Counter {}

    pub(super) fn open(_: super::Event) -> Result<Counter> {
        Err(Error::new(ErrorKind::Unsupported, "this system is not asked for its counters"))
    }

    pub(super) fn read(counter: &mut Counter) -> Option<super::Reading> {
        match *counter {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use locksley::places::{ProcessorSet, Region};

    fn machine(levels: &[Kind]) -> Topology {
        let processors: ProcessorSet = (0..2).collect();
        let region = |kind: &Kind| Region::new(*kind, processors.clone());
        Topology::of(processors.clone(), levels.iter().map(region).collect::<Vec<_>>())
    }

    #[test]
    fn the_events_of_a_cache_depend_on_those_behind_it() {
        let l4 = Kind::Cache { level: 4 };
        let three = machine(&[Kind::L1, Kind::L2, Kind::L3]);
        let two = machine(&[Kind::L1, Kind::L2]);
        let four = machine(&[Kind::L2, Kind::L3, l4]);
        assert_eq!(events(Kind::L1, &three), Some([Event::First, Event::FirstMissed]));
        assert_eq!(events(Kind::L2, &three), Some([Event::FirstMissed, Event::Last]));
        assert_eq!(events(Kind::L3, &three), Some([Event::Last, Event::LastMissed]));
        assert_eq!(events(Kind::L2, &two), Some([Event::Last, Event::LastMissed]));
        assert_eq!(events(l4, &four), Some([Event::Last, Event::LastMissed]));
        assert_eq!(events(Kind::L3, &four), None, "what comes to it is not counted");
        assert_eq!(events(Kind::L2, &four), None);
        assert_eq!(events(Kind::Memory, &three), None);
    }

    fn reading(count: u64, wanted: u64, counted: u64) -> Reading {
        Reading { count, wanted, counted }
    }

    #[test]
    fn hits_are_what_came_and_was_not_missed() {
        let before = Some([reading(100, 10, 10), reading(0, 10, 10)]);
        // The second counted for half of the time.
        let after = Some([reading(1100, 20, 20), reading(150, 20, 15)]);
        assert_eq!(between(before, after), Some([700.0, 300.0]));
        assert_eq!(between(before, None), None);
        assert_eq!(between(after, before), None, "time does not go back");
        assert_eq!(between(before, before), None, "it has not counted");
    }

    #[test]
    fn counters_that_counted_at_different_times_say_nothing() {
        let none = Some([reading(0, 0, 0); 2]);
        let apart = |reached, missed| {
            between(none, Some([reading(reached, 20, 10), reading(missed, 20, 10)]))
        };
        assert_eq!(apart(100, 101), None, "it would be no hits at all");
        assert_eq!(apart(100, 100), Some([0.0, 200.0]));
    }

    #[test]
    fn where_nothing_is_counted_there_is_a_reason() {
        assert!(reason(&io::ErrorKind::NotFound.into()).contains("virtual machines"));
        assert!(reason(&io::ErrorKind::PermissionDenied.into()).contains("does not let"));
        assert!(Counters::open(None).err().unwrap().contains("no name"));
        // What this machine counts can be read, or there is a reason.
        match Counters::open(Some([Event::First, Event::FirstMissed])) {
            Err(why) => assert!(!why.is_empty()),
            Ok(mut counters) => {
                let before = counters.read();
                let sum: u64 = (0..100_000_u64).map(std::hint::black_box).sum();
                assert_eq!(sum, 4_999_950_000);
                // Other programs may have all counters for as long.
                let _ = between(before, counters.read());
            }
        }
    }
}
