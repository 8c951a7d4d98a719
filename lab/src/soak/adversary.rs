//! What disturbs the subject from outside: moments in which it is stopped, frozen, throttled, or
//! has one processor.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::thread::sleep;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::control_group::Group;
use crate::random::Random;

const KINDS: [&str; 4] = ["stop", "squeeze", "quota", "freeze"];

/// In hundredths of a processor, while a quota is changed.
const QUOTA: u64 = 30;

pub(super) struct Adversary {
    random: Random,
    strikes: usize,
    quota: Result<Group, String>,
    freezer: Result<Group, String>,
    pub(super) struck: BTreeMap<&'static str, u64>,
    pub(super) skipped: BTreeMap<&'static str, String>,
}

impl Adversary {
    pub(super) fn new(seed: u64) -> Adversary {
        let quota = Group::of_controller("cpu", "soak");
        // In version 2, a process is in one group for all controllers.
        let is_one = quota.as_ref().is_ok_and(|it| it.version == 2);
        let freezer = if is_one { quota.clone() } else { Group::of_controller("freezer", "soak") };
        Adversary {
            random: Random::new(seed),
            strikes: 0,
            quota,
            freezer,
            struck: BTreeMap::new(),
            skipped: BTreeMap::new(),
        }
    }

    /// Moves the process into the control groups.
    pub(super) fn admit(&mut self, process: Pid) {
        for group in [&mut self.quota, &mut self.freezer] {
            let admitted = |it: &Group| it.admit(process.as_raw_nonzero().get().cast_unsigned());
            if let Some(Err(why)) = group.as_ref().ok().map(admitted) {
                *group = Err(why);
            }
        }
    }

    /// Disturbs the process once, by each kind in turn, and returns the time until the next one.
    pub(super) fn strike(&mut self, process: Pid) -> Duration {
        let kind = KINDS[self.strikes % KINDS.len()];
        self.strikes += 1;
        let moment = self.up_to(100);
        let done = match kind {
            "stop" => stop(process, moment),
            "squeeze" => squeeze(process, moment),
            "quota" => self.quota.as_ref().map_err(String::clone).and_then(|group| {
                group.set_quota(Some(QUOTA))?;
                // A quota counts in periods of 100 ms.
                sleep(3 * moment);
                group.set_quota(None)
            }),
            _ => self.freezer.as_ref().map_err(String::clone).and_then(|group| {
                group.freeze(true)?;
                sleep(moment);
                group.freeze(false)
            }),
        };
        match done {
            Ok(()) => *self.struck.entry(kind).or_default() += 1,
            Err(why) => drop(self.skipped.insert(kind, why)),
        }
        self.up_to(200)
    }

    fn up_to(&mut self, milliseconds: u64) -> Duration {
        Duration::from_micros(self.random.next_u64() % (milliseconds * 1000))
    }
}

fn stop(process: Pid, moment: Duration) -> Result<(), String> {
    kill_process_group(process, Signal::STOP).map_err(|error| error.to_string())?;
    sleep(moment);
    kill_process_group(process, Signal::CONT).map_err(|error| error.to_string())
}

/// Gives all threads one processor for a moment.
fn squeeze(process: Pid, moment: Duration) -> Result<(), String> {
    let all = sched_getaffinity(None).map_err(|error| error.to_string())?;
    let first = (0..CpuSet::MAX_CPU).find(|&it| all.is_set(it)).ok_or("no processor")?;
    if all.count() == 1 {
        return Err("this process may use one processor only".to_owned());
    }
    let mut one = CpuSet::new();
    one.set(first);
    bind(process, &one);
    sleep(moment);
    bind(process, &all);
    Ok(())
}

/// Sets the affinity of all threads, and of those that these start meanwhile.
fn bind(process: Pid, processors: &CpuSet) {
    let mut bound = BTreeSet::new();
    loop {
        let tasks = fs::read_dir(format!("/proc/{}/task", process.as_raw_nonzero()));
        let names = tasks.into_iter().flatten().flatten().map(|entry| entry.file_name());
        let ids = names.filter_map(|name| name.to_str()?.parse().ok());
        let new: Vec<i32> = ids.filter(|&id| bound.insert(id)).collect();
        if new.is_empty() {
            return;
        }
        for id in new {
            // A thread may have ended.
            let _ = sched_setaffinity(Pid::from_raw(id), processors);
        }
    }
}
