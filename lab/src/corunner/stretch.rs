//! A stretch of a program's life: when it was, and what the program used of the machine meanwhile.

use locksley_classic::Count;
use serde::{Deserialize, Serialize};

use crate::clock;
use crate::runtimes::Crew;
use crate::usage::Usage;

/// From when to when, and what all threads of the process used. What the system does not tell is
/// missing.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Stretch {
    /// Its beginning, by the machine's clock, in nanoseconds.
    pub begun: u64,
    /// Its end.
    pub ended: u64,
    /// Processor time, in seconds.
    pub processor_seconds: Option<f64>,
    /// Context switches because a thread waited.
    pub voluntary: Option<u64>,
    /// Context switches because the kernel preferred another thread, or one yielded.
    pub involuntary: Option<u64>,
    /// Of all of them, those that brought back a worker that looked for work, if the runtime has
    /// records.
    #[serde(default, skip_serializing_if = "Option::is_none", alias = "to_hunter")]
    pub to_thief: Option<u64>,
    /// Those that gave the processor to others although a worker had work, or because a thief
    /// yielded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external: Option<u64>,
}

impl Stretch {
    /// How long it was, in seconds.
    pub fn seconds(&self) -> f64 {
        clock::seconds(self.begun, self.ended)
    }
}

/// A stretch that goes on.
pub struct Watch<'a> {
    begun: u64,
    usage: Option<Usage>,
    crew: Option<&'a Crew>,
    split: Option<[u64; 2]>,
}

impl<'a> Watch<'a> {
    /// Begins a stretch. All threads of the process count, those of `crew` among them.
    pub fn start(crew: Option<&'a Crew>) -> Watch<'a> {
        let split = crew.and_then(split);
        Watch { usage: Usage::now(), crew, split, begun: clock::now() }
    }

    /// Ends it.
    pub fn stop(self) -> Stretch {
        let ended = clock::now();
        let usage = self.usage.zip(Usage::now());
        let split = self.split.zip(self.crew.and_then(split));
        // While a search goes on, switches to its thief may not have been accounted for.
        let split =
            split.map(|(before, now)| [0, 1].map(|kind| now[kind].saturating_sub(before[kind])));
        Stretch {
            begun: self.begun,
            ended,
            processor_seconds: usage.map(|(before, now)| now.seconds - before.seconds),
            voluntary: usage.map(|(before, now)| now.voluntary - before.voluntary),
            involuntary: usage.map(|(before, now)| now.involuntary - before.involuntary),
            to_thief: split.map(|split| split[0]),
            external: split.map(|split| split[1]),
        }
    }
}

/// The context switches of the workers since they were started: those that brought back a worker
/// that looked for work, and the others; `None` where they are not recorded.
fn split(crew: &Crew) -> Option<[u64; 2]> {
    let Crew::Classic(machine) = crew else { return None };
    let to_thief = machine.count(Count::SwitchesToThief);
    Some([to_thief, machine.switches()?.saturating_sub(to_thief)])
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::leaf;
    use crate::runtimes;

    #[test]
    fn work_is_processor_time() {
        let watch = Watch::start(None);
        while clock::seconds(watch.begun, clock::now()) < 0.02 {
            std::hint::black_box(leaf::run(10_000));
        }
        let stretch = watch.stop();
        let used = stretch.processor_seconds.unwrap();
        // Other tests of this process may run meanwhile, and others may have had the processor.
        assert!(used > 0.000_5 && stretch.seconds() >= 0.02, "{stretch:?}");
        assert!(stretch.voluntary.is_some() && stretch.involuntary.is_some());
        assert_eq!((stretch.to_thief, stretch.external), (None, None));
    }

    #[test]
    fn thieves_that_come_back_are_told_from_workers_that_lost_their_processor() {
        let crew = runtimes::find("classic-bws").unwrap().start(3).unwrap();
        let Crew::Classic(machine) = &crew else { panic!("a machine") };
        if machine.switches().is_none() {
            return locksley_sys::skip_test("there are no switch records");
        }
        let watch = Watch::start(Some(&crew));
        // Thieves sleep meanwhile, and come back when the work is done.
        while machine.count(Count::SwitchesToThief) < 5 {
            machine.run(|_| std::thread::sleep(std::time::Duration::from_millis(2)));
        }
        let stretch = watch.stop();
        let all = stretch.voluntary.unwrap() + stretch.involuntary.unwrap();
        let of_workers = stretch.to_thief.unwrap() + stretch.external.unwrap();
        assert!(stretch.to_thief.unwrap() >= 5, "{stretch:?}");
        // The account of the process is taken last, and has this thread too.
        assert!(of_workers <= all, "{stretch:?}");
    }
}
