//! Programs side by side: figures 2 to 4 of "BWS: Balanced Work Stealing for Time-Sharing
//! Multicores" (Ding, Wang, Gibbons and Zhang, EuroSys 2012), and on six of its pairs figures 5 and
//! 6; what idle policies cost programs that are alone (its section 5.5), and what the kernel's
//! assists are worth.
//!
//! A cell is one of three: one of [`pairs`] on a runtime; one of its programs alone; or one busy
//! thread alone, for the time of a leaf. A *round* is some leaves in a row, and then leaves in
//! parallel; rounds are repeated for a fixed time.
//!
//! Every program is a process of its own: this executable (`rounds`, `repeat`), or one of a *peer*
//! (another runtime, built by `peers/build`). Each program prepares itself and waits at a *start
//! gate*, so that all begin at the same time.

mod choice;
pub mod effects;
pub mod figures;
pub(super) mod measure;
pub mod metrics;
pub mod pairs;
pub(super) mod process;
mod sections;

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use crate::experiment::child::this_program;
use crate::experiment::prelude::*;
use crate::rounds::busy::LOOP;
use choice::{PEERS, Run, repeats};
use figures::{ABP, FORMER_ABP};
use measure::Extent;
use pairs::{Job, Pair, Part, Program, Size};

/// `locksley corun`
#[derive(Debug, Clone, Default, Args)]
pub struct Corun {
    /// Only these pairs, such as par+loop or clip+mm; or parts: targets, solo, assists, others,
    /// applications [default: all]
    #[arg(long, value_name = "PAIR,..", value_delimiter = ',')]
    pairs: Vec<String>,
    /// The sizes of applications: short, or those of the paper, which take hours [default: short,
    /// or quick]
    #[arg(long, value_enum, conflicts_with = "quick")]
    size: Option<Size>,
    /// Compare only these runtimes [default: those of the plan that are there]
    #[arg(long, value_name = "R,..", value_delimiter = ',')]
    runtimes: Vec<String>,
    /// For how many seconds rounds run side by side, and applications at least; rounds alone run as
    /// long, but at most 1 s [default: 3, 1.5 and 1; 1, 0.5 and 0.4 if quick]
    #[arg(long, value_name = "S", value_parser = seconds)]
    secs: Option<Duration>,
    /// The folder with the programs of other runtimes, which peers/build makes
    #[arg(long, value_name = "DIR", default_value = "peers/bin", value_parser = folder_of_peers)]
    peers: PathBuf,
}

/// For how long programs run, in seconds.
struct Times {
    beside: f64,
    alone: f64,
    applications: Extent,
}

impl Experiment for Corun {
    const NAME: &'static str = "corun";

    fn plan(&self, course: &Course) -> Outcome<Plan> {
        let quick = course.quick;
        let mut plan = Plan::of(course, if quick { 50.0 } else { 2900.0 }, 300.0);
        course.repeats(1)?;
        if self.size == Some(Size::Paper) {
            plan.parameters.insert(Size::PARAMETER.to_owned(), "paper".to_owned());
        }
        let all = pairs::all(Machine::here().processors, Size::of(&plan));
        let pairs = self.chosen(&all, quick)?;
        let runs = self.runs(&pairs, course, &mut plan)?;
        let solo_repeats = if quick { 2 } else { 5 };
        for (part, later) in Part::ALL.into_iter().flat_map(|part| [(part, false), (part, true)]) {
            let of_it = || runs.iter().filter(|it| it.pair.part == part && it.is_later == later);
            let of_part = course.repeats(repeats(part, quick))?;
            let repeats = |run: &Run<'_>| if run.is_later { of_part.div_ceil(2) } else { of_part };
            for run in of_it() {
                for program in &run.pair.programs {
                    plan.parameters.insert(program.name.clone(), program.about()?);
                    let on = program.on(&run.runtime);
                    let repeats = repeats(run).min(solo_repeats);
                    if let Some(round) = program.round() {
                        // The time of a leaf.
                        plan.add_once(&pairs::busy(round.leaf, 1).name, LOOP, 1, repeats);
                    }
                    plan.add_once(&program.name, on, program.workers, repeats);
                }
            }
            for run in of_it() {
                let Pair { name, programs, .. } = run.pair;
                plan.add_once(name, &run.runtime, programs[0].workers, repeats(run));
            }
        }
        let Times { beside, alone, applications } = self.times(quick);
        let Extent { seconds, computations } = applications;
        let times = format!("rounds {beside} side by side, {alone} alone; applications {seconds}");
        plan.parameters.insert("seconds".to_owned(), times);
        plan.parameters.insert("computations".to_owned(), format!("at least {computations}"));
        let names = pairs.iter().map(|pair| &pair.name).join(", ");
        plan.quick_subset(&format!("the pairs {names} only"));
        Ok(plan)
    }

    fn measure(&mut self, plan: &Plan, cell: &Cell, _repeat: usize) -> Outcome<Readings> {
        let machine = Machine::here();
        let pairs = pairs::all(machine.processors, Size::of(plan));
        let programs = pairs::programs(&pairs, &cell.subject, cell.workers)
            .ok_or_else(|| Fault::input(format!("there is no pair '{}'", cell.subject)))?;
        let Times { beside, alone, applications } = self.times(plan.quick);
        let seconds = if programs.len() == 1 { alone } else { beside };
        let command = |program: &Program| {
            let command = self.command(program, &cell.runtime, seconds, plan.seed)?;
            Ok((format!("{} on {}", program.name, program.on(&cell.runtime)), command))
        };
        let commands = programs.iter().map(command).collect::<Outcome<_>>()?;
        let extent = programs[0].round().is_none().then_some(applications);
        measure::run(commands, extent)
    }

    fn report(record: &Record) -> Report {
        let found = figures::found(record);
        let most = sections::most_useful(record).map(|most| {
            format!("Useful is {most:.2} at most: with one busy thread for each processor, alone.")
        });
        let definitions = "Of a program, Tc is the time beside the others, Ts the time alone on \
                           the same runtime, and Tb the best time alone on any runtime. Slowdown: \
                           Tc/Ts - 1. Unfairness: the largest slowdown minus the smallest, in \
                           percentage points. Speedup: the weighted speedup, the sum of Tb/Tc; 1 \
                           is what the programs reach one after the other.";
        let notes = [definitions.to_owned()].into_iter().chain(most);
        let of_part = |part, texts| sections::of_part(&found, part, texts);
        let rounds = "Small parallel rounds for a fixed time. Useful: the share of all processors' \
                      time that went into leaves.";
        let others = "Other leaves, numbers of workers and programs, and three programs at once.";
        let without = "The default idle policy with one of the kernel's assists switched off at a \
                       time, and with all.";
        let apps = "Each is computed again and again. Only computations count during which the \
                    other one computed from beginning to end.";
        let sections: Vec<Section> = vec![
            of_part(Part::Targets, ["Rounds side by side", rounds]),
            sections::alone(record),
            of_part(Part::Assists, ["Without the kernel's assists", without]),
            of_part(Part::Others, ["Other rounds side by side", others]),
            of_part(Part::Applications, ["Applications side by side", apps]),
            sections::of_applications(record, &found),
        ];
        let method = include_str!("corun/method.txt");
        let report = Report::new("programs side by side", headline(&found), sections, method);
        Report { notes: notes.collect(), ..report }
    }
}

impl Corun {
    fn times(&self, quick: bool) -> Times {
        let secs = self.secs.map(|time| time.as_secs_f64());
        let or = |full, small| secs.unwrap_or(if quick { small } else { full });
        let applications =
            Extent { seconds: or(1.5, 0.5), computations: if quick { 2 } else { 3 } };
        Times { beside: or(3.0, 1.0), alone: or(1.0, 0.4).min(1.0), applications }
    }

    /// The command that runs `program` behind a start gate; rounds for so many seconds.
    fn command(&self, program: &Program, on: &str, seconds: f64, seed: u64) -> Outcome<Command> {
        let on = program.on(on);
        let mut command = Command::new(this_program()?);
        match program.job {
            Job::App(size) => {
                command.args(["repeat", &program.name, "--size", size, "--runtime", on]);
                command.args(["--seed", &seed.to_string()]);
            }
            Job::Rounds(round) => {
                if PEERS.contains(&on) {
                    command = Command::new(self.peers.join(program_of(on)));
                } else {
                    command.args(["rounds", "--runtime", on]);
                }
                let [leaf, chunks, serial] =
                    [round.leaf, round.chunks, round.serial].map(|number| number.to_string());
                command.args(["--gate", "--secs", &seconds.to_string(), "--leaf", &leaf]);
                command.args(["--chunks", &chunks, "--serial", &serial]);
            }
        }
        command.args(["--workers", &program.workers_beside.to_string()]);
        Ok(command)
    }
}

fn program_of(peer: &str) -> String {
    format!("rounds-{peer}")
}

/// Over the pairs of the target table, or else over applications: Locksley's mean and another's.
fn headline(found: &[figures::Found]) -> String {
    let published = [ABP].into_iter().chain(FORMER_ABP).map(|it| (Part::Applications, it));
    for (part, other) in [(Part::Targets, "rayon")].into_iter().chain(published) {
        let of_part = figures::part(found, part);
        let (averages, pairs) = figures::averages(&of_part, &["locksley", other]);
        if let [(_, ours), (_, theirs)] = &averages[..] {
            return format!(
                "Side by side, the slowdowns of two programs differ by {:.0} points with Locksley, \
                 by {:.0} with {other} (mean of {} pairs)",
                100.0 * ours.unfairness,
                100.0 * theirs.unfairness,
                pairs
            );
        }
    }
    "Programs side by side".to_owned()
}

#[cfg(test)]
mod tests;
