//! Counters of Linux (`man 2 perf_event_open`).

use std::io;

use perf_event::events::{Cache, CacheId, CacheOp, CacheResult};
use perf_event::{Builder, Counter};

use super::{Count, Event, Reading};

/// A counter of reads by this thread and all that it will start, which counts from now on.
pub(super) fn open(event: Event) -> io::Result<Box<dyn Count>> {
    let (which, result) = match event {
        Event::First => (CacheId::L1D, CacheResult::ACCESS),
        Event::FirstMissed => (CacheId::L1D, CacheResult::MISS),
        Event::Last => (CacheId::LL, CacheResult::ACCESS),
        Event::LastMissed => (CacheId::LL, CacheResult::MISS),
    };
    let cache = Cache { which, operation: CacheOp::READ, result };
    let counter = Builder::new(cache).inherit(true).enabled(true).build()?;
    Ok(Box::new(Inherited(counter)))
}

struct Inherited(Counter);

impl Count for Inherited {
    fn read(&mut self) -> io::Result<Reading> {
        let data = self.0.read_full()?;
        let nanoseconds = |time: Option<std::time::Duration>| {
            let time = time.ok_or_else(|| io::Error::other("it does not say for how long"))?;
            u64::try_from(time.as_nanos()).map_err(io::Error::other)
        };
        Ok(Reading {
            count: data.count(),
            wanted: nanoseconds(data.time_enabled())?,
            counted: nanoseconds(data.time_running())?,
        })
    }
}
