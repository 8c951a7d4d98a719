//! `locksley machine`: what this machine gives to programs that share it.

use itertools::Itertools;
use locksley::Pool;
use locksley::os::Processors;
use locksley::places::{Places, ProcessorSet, Topology};
use serde::Serialize;
use serde_json::Value;

use crate::apps::size::in_bytes;
use crate::cli;
use crate::fault::{Fault, Outcome};
use crate::machine::Machine;
use crate::output::{say, say_line};
use crate::topology::{allowed, shape};

/// What `--json` prints.
#[derive(Serialize)]
struct Answer {
    #[serde(flatten)]
    machine: Machine,
    #[serde(flatten)]
    shape: Value,
    #[serde(flatten)]
    allowance: Allowance,
}

/// How many workers a pool has by default.
#[derive(Serialize)]
struct Allowance {
    /// The file that sets the quota.
    quota_set_in: Option<String>,
    /// What could not be read of control groups.
    quota_faults: Vec<String>,
    /// Those that may be active.
    workers: usize,
    /// Those that there are.
    most_workers: usize,
    /// What decides it, in words.
    workers_because: String,
}

impl Allowance {
    fn here() -> Outcome<Allowance> {
        let pool = Pool::builder().build().map_err(Fault::run)?;
        Ok(Allowance::of(&Processors::allowed(), pool.size(), pool.workers()))
    }

    fn of(allowed: &Processors, workers: usize, most_workers: usize) -> Allowance {
        let variable = "LOCKSLEY_WORKERS";
        let by_quota = allowed.capacity() < allowed.ids().len() as f64;
        let because = if std::env::var_os(variable).is_some_and(|value| !value.is_empty()) {
            format!("by {variable}")
        } else if by_quota {
            "the quota, rounded up".to_owned()
        } else {
            "one for each processor allowed".to_owned()
        };
        Allowance {
            quota_set_in: allowed.quota().map(|quota| quota.file.display().to_string()),
            quota_faults: allowed.faults().iter().map(ToString::to_string).collect(),
            workers,
            most_workers,
            workers_because: because,
        }
    }

    fn line(&self) -> String {
        let Allowance { workers, most_workers, workers_because, .. } = self;
        let beyond = match most_workers - workers {
            0 => String::new(),
            1 => "; one more sleeps, for when more are allowed or these are stuck".to_owned(),
            beyond => {
                format!("; {beyond} more sleep, for when more are allowed or these are stuck")
            }
        };
        format!("{workers} by default ({workers_because}){beyond}")
    }
}

pub(super) fn execute(arguments: &cli::Machine) -> Outcome<()> {
    let (machine, topology, allowed) = (Machine::here(), Topology::of_this_machine(), allowed());
    let allowance = Allowance::here()?;
    if arguments.json {
        let answer = Answer { machine, shape: shape(&topology, &allowed), allowance };
        return say_line(&answer);
    }
    say(text(&machine, &topology, &allowed, &allowance).trim_end())
}

fn text(
    machine: &Machine,
    topology: &Topology,
    allowed: &ProcessorSet,
    allowance: &Allowance,
) -> String {
    let set_in = allowance.quota_set_in.as_ref();
    let set_in = set_in.map_or(String::new(), |file| format!(" (set in {file})"));
    let quota = machine.quota.map(|quota| format!("{quota:.2} processors{set_in}"));
    let faults = allowance.quota_faults.iter().map(|fault| format!("\nnot known: {fault}"));
    let memory = machine.memory.map(|bytes| in_bytes(u128::from(bytes)));
    let places = Places::found(topology, allowed);
    let width = machine.assists.iter().map(|assist| assist.name.len()).max().unwrap_or(0);
    let assists = machine.assists.iter().map(|assist| {
        let state = match &assist.reason {
            None => "works".to_owned(),
            Some(reason) => format!("missing ({reason}); instead: {}", assist.fallback),
        };
        format!("\n{:<width$}  {}: {state}", assist.name, assist.purpose)
    });
    let topology = format!("what processors have in common; allowed are {allowed}\n{topology}");
    let found = format!("{}, {}\n{places}", places.count(), places.reason());
    let assists = format!("what the operating system does for the scheduler{}", assists.format(""));
    let parts = [
        ("processors", format!("{} allowed ({})", machine.processors, machine.processor)),
        ("quota", quota.unwrap_or("none".to_owned()) + &faults.collect::<String>()),
        ("workers", allowance.line()),
        ("memory", memory.unwrap_or("unknown".to_owned())),
        ("kernel", machine.kernel.clone()),
        ("", String::new()),
        ("topology", topology),
        ("", String::new()),
        ("places", found),
        ("", String::new()),
        ("assists", assists),
    ];
    let mut text = String::new();
    for (mut name, content) in parts {
        for line in content.trim_end().split('\n') {
            text += &format!("{}\n", format!("{name:<12}{line}").trim_end());
            name = "";
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_says_how_many_workers_there_are_and_why() {
        let allowance = |workers, most_workers, because: &str| Allowance {
            quota_set_in: None,
            quota_faults: Vec::new(),
            workers,
            most_workers,
            workers_because: because.to_owned(),
        };
        let line = allowance(2, 2, "why").line();
        assert_eq!(line, "2 by default (why)");
        let line = allowance(2, 8, "why").line();
        assert!(
            line.ends_with("(why); 6 more sleep, for when more are allowed or these are stuck"),
            "{line}"
        );
    }

    #[test]
    fn what_is_not_known_is_told() {
        let topology = Topology::of_this_machine();
        let allowed = allowed();
        let mut machine = Machine::here();
        machine.quota = Some(1.5);
        let allowance = Allowance {
            quota_set_in: Some("/sys/fs/cgroup/job/cpu.max".to_owned()),
            quota_faults: vec!["/proc/self/cgroup: odd".to_owned()],
            ..Allowance::of(&Processors::allowed(), 2, 2)
        };
        let text = text(&machine, &topology, &allowed, &allowance);
        assert!(text.contains("quota       1.50 processors (set in /sys/fs/cgroup/job/cpu.max)"));
        assert!(text.contains("not known: /proc/self/cgroup: odd"), "{text}");
        assert!(text.contains("workers     2 by default"), "{text}");
    }
}
