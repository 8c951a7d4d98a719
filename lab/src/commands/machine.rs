//! `locksley machine`: what this machine gives to programs that share it.

use std::fmt::Write;

use locksley::places::{Places, ProcessorSet, Topology};
use serde::Serialize;

use crate::apps::size::in_bytes;
use crate::cli;
use crate::fault::{Fault, Outcome};
use crate::machine::Machine;
use crate::output::say;
use crate::topology::{Shape, allowed};

/// What `--json` prints.
#[derive(Serialize)]
struct Answer {
    #[serde(flatten)]
    machine: Machine,
    #[serde(flatten)]
    shape: Shape,
}

pub(super) fn execute(arguments: &cli::Machine) -> Outcome<()> {
    let (machine, topology, allowed) = (Machine::here(), Topology::of_this_machine(), allowed());
    if arguments.json {
        let answer = Answer { machine, shape: Shape::of(&topology, &allowed) };
        return say(&serde_json::to_string(&answer).map_err(|error| Fault::run(error.to_string()))?);
    }
    say(text(&machine, &topology, &allowed).trim_end())
}

fn text(machine: &Machine, topology: &Topology, allowed: &ProcessorSet) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: &str| {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{name:<12}{value}");
    };
    line("processors", &format!("{} allowed ({})", machine.processors, machine.processor));
    line(
        "quota",
        &machine.quota.map_or("none".to_owned(), |quota| format!("{quota:.2} processors")),
    );
    line(
        "memory",
        &machine.memory.map_or("unknown".to_owned(), |bytes| in_bytes(u128::from(bytes))),
    );
    line("kernel", &machine.kernel);
    line("", "");
    line("topology", "what processors have in common; in parentheses, those that are not allowed");
    for drawn in topology.drawing(allowed).to_string().lines() {
        line("", drawn);
    }
    line("", "");
    let places = Places::found(topology, allowed);
    line("places", &format!("{}, {}", places.count(), places.reason()));
    for place in places.to_string().lines() {
        line("", place);
    }
    line("", "");
    line("assists", "what the operating system does for the scheduler");
    let width = machine.assists.iter().map(|assist| assist.name.len()).max().unwrap_or(0);
    for assist in &machine.assists {
        let state = match &assist.reason {
            None => "works".to_owned(),
            Some(reason) => format!("missing ({reason}); instead: {}", assist.fallback),
        };
        line("", &format!("{:<width$}  {}: {state}", assist.name, assist.purpose));
    }
    text.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}
