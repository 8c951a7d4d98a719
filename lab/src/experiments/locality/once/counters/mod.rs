//! Hits and misses of the caches that divide the places, where the processor counts them and the system lets a program read that.

use std::io;

use locksley::places::{Kind, Topology};
use serde::{Deserialize, Serialize};

#[cfg(not(target_os = "linux"))]
mod none;
#[cfg(target_os = "linux")]
mod perf;

#[cfg(not(target_os = "linux"))]
use none as system;
#[cfg(target_os = "linux")]
use perf as system;

/// What was counted, of reads of data by all workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// They found what they wanted.
    pub hits: u64,
    /// They did not.
    pub misses: u64,
}

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

/// What tells the hits and misses of a cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Watched {
    /// A read comes to it.
    reached: Event,
    /// What it wants is not there.
    missed: Event,
}

impl Watched {
    /// Of the caches of that kind on that machine; none if its kernel has no name for what they do. It names the first cache and the last
    /// one: what misses the first comes to the second, and what misses that comes to the third.
    pub(super) fn of(kind: Kind, machine: &Topology) -> Option<Watched> {
        let beyond =
            |level| (level + 1..10).any(|level| machine.level(Kind::Cache { level }).is_some());
        match kind {
            Kind::L1 => Some(Watched { reached: Event::First, missed: Event::FirstMissed }),
            Kind::Cache { level } if !beyond(level) => {
                Some(Watched { reached: Event::Last, missed: Event::LastMissed })
            }
            Kind::L2 if !beyond(3) => {
                Some(Watched { reached: Event::FirstMissed, missed: Event::Last })
            }
            _ => None,
        }
    }
}

/// One counter.
pub(super) trait Count: Send {
    /// What it says now.
    fn read(&mut self) -> io::Result<Reading>;
}

/// What a counter says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reading {
    /// So many times it happened while it counted.
    pub(super) count: u64,
    /// For how long it was to count, in nanoseconds of all threads together, ...
    pub(super) wanted: u64,
    /// ... and for how long it did: processors have few counters, which may be wanted by others.
    pub(super) counted: u64,
}

/// The counters of a cache.
pub(super) struct Counters {
    reached: Box<dyn Count>,
    missed: Box<dyn Count>,
}

impl Counters {
    /// Opens them for this thread, and all threads that it will start. Otherwise says why not.
    pub(super) fn open(watched: Option<Watched>) -> Result<Counters, String> {
        Counters::open_by(watched, system::open)
    }

    fn open_by(
        watched: Option<Watched>,
        open: impl Fn(Event) -> io::Result<Box<dyn Count>>,
    ) -> Result<Counters, String> {
        let none = || "the system has no name for what such caches do".to_owned();
        let Watched { reached, missed } = watched.ok_or_else(none)?;
        let open = |event| open(event).map_err(|error| reason(&error));
        Ok(Counters { reached: open(reached)?, missed: open(missed)? })
    }

    /// What they say now; nothing if they cannot be read.
    pub(super) fn read(&mut self) -> Option<[Reading; 2]> {
        Some([self.reached.read().ok()?, self.missed.read().ok()?])
    }
}

fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            format!("the system does not let a program read what the processor counts ({error})")
        }
        _ => format!("the processor counts nothing here, as in most virtual machines ({error})"),
    }
}

/// What was counted between two readings; nothing if a counter did not count at all, or more was missed than came: then they counted at different
/// times, and what each would have counted all the while is not known.
pub(super) fn between(before: Option<[Reading; 2]>, after: Option<[Reading; 2]>) -> Option<Counts> {
    let (before, after) = before.zip(after)?;
    let of = |which: usize| {
        let (before, after) = (before[which], after[which]);
        let count = after.count.checked_sub(before.count)? as f64;
        let wanted = after.wanted.checked_sub(before.wanted)? as f64;
        let counted = after.counted.checked_sub(before.counted).filter(|&time| time > 0)? as f64;
        Some((count * wanted / counted).round() as u64)
    };
    let (reached, misses) = (of(0)?, of(1)?);
    Some(Counts { hits: reached.checked_sub(misses)?, misses })
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
    fn what_tells_the_hits_of_a_cache_depends_on_those_behind_it() {
        let l4 = Kind::Cache { level: 4 };
        let three = machine(&[Kind::L1, Kind::L2, Kind::L3]);
        let two = machine(&[Kind::L1, Kind::L2]);
        let four = machine(&[Kind::L2, Kind::L3, l4]);
        let of = |kind, machine| Watched::of(kind, machine).map(|it| (it.reached, it.missed));
        assert_eq!(of(Kind::L1, &three), Some((Event::First, Event::FirstMissed)));
        assert_eq!(of(Kind::L2, &three), Some((Event::FirstMissed, Event::Last)));
        assert_eq!(of(Kind::L3, &three), Some((Event::Last, Event::LastMissed)));
        assert_eq!(of(Kind::L2, &two), Some((Event::Last, Event::LastMissed)));
        assert_eq!(of(l4, &four), Some((Event::Last, Event::LastMissed)));
        assert_eq!(of(Kind::L3, &four), None, "nobody counts what comes to it");
        assert_eq!(of(Kind::L2, &four), None);
        assert_eq!(of(Kind::Memory, &three), None);
    }

    /// Says one reading after the other, and then fails.
    struct Made(Vec<Reading>);

    impl Count for Made {
        fn read(&mut self) -> io::Result<Reading> {
            if self.0.is_empty() { Err(io::Error::other("broken")) } else { Ok(self.0.remove(0)) }
        }
    }

    fn reading(count: u64, wanted: u64, counted: u64) -> Reading {
        Reading { count, wanted, counted }
    }

    const WATCHED: Watched = Watched { reached: Event::FirstMissed, missed: Event::Last };

    #[test]
    fn hits_are_what_came_and_was_not_missed() {
        let made = |event| -> io::Result<Box<dyn Count>> {
            let readings = match event {
                Event::FirstMissed => vec![reading(100, 10, 10), reading(1100, 20, 20)],
                // It counted for half of the time.
                Event::Last => vec![reading(0, 10, 10), reading(150, 20, 15)],
                other => panic!("{other:?} was not wanted"),
            };
            Ok(Box::new(Made(readings)))
        };
        let mut counters = Counters::open_by(Some(WATCHED), made).unwrap();
        let (before, after) = (counters.read(), counters.read());
        assert_eq!(between(before, after), Some(Counts { hits: 700, misses: 300 }));
        assert_eq!(counters.read(), None, "it is broken");
        assert_eq!(between(before, None), None);
        assert_eq!(between(after, before), None, "time does not go back");
        assert_eq!(between(before, before), None, "it has not counted");
    }

    #[test]
    fn those_that_counted_at_different_times_say_nothing() {
        let none = Some([reading(0, 0, 0); 2]);
        let apart = |reached, missed| {
            between(none, Some([reading(reached, 20, 10), reading(missed, 20, 10)]))
        };
        assert_eq!(apart(100, 101), None, "it would be no hits at all");
        assert_eq!(apart(100, 100), Some(Counts { hits: 0, misses: 200 }));
    }

    #[test]
    fn where_nothing_is_counted_that_is_said() {
        let open = |kind: io::ErrorKind| {
            Counters::open_by(Some(WATCHED), |_| Err(kind.into())).err().unwrap()
        };
        assert!(open(io::ErrorKind::NotFound).contains("virtual machines"));
        assert!(open(io::ErrorKind::PermissionDenied).contains("does not let"));
        let one_is_there = Counters::open_by(Some(WATCHED), |event| match event {
            Event::FirstMissed => Ok(Box::new(Made(Vec::new()))),
            _ => Err(io::ErrorKind::Unsupported.into()),
        });
        assert!(one_is_there.is_err());
        assert!(Counters::open(None).err().unwrap().contains("no name"));
    }

    /// Whatever this machine has: what it counts can be had, or there is a reason.
    #[test]
    fn this_machine_counts_or_says_why_not() {
        match Counters::open(Some(Watched { reached: Event::First, missed: Event::FirstMissed })) {
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
