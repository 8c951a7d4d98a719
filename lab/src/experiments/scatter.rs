//! Scatter and gather on process networks, with both placements of unblocked processes, in Locksley
//! and as in Nornir: the four experiments of Nornir's study (Vrba, Halvorsen and Griwodz, "A simple
//! improvement of the work-stealing scheduling algorithm", 2010, section 4) with fewer rounds, and
//! the utilization.

mod networks;
mod once;
#[cfg(test)]
mod tests;

use networks::{DIVISION_KEEPS, Network, networks, place, runtimes};
use once::{DIVISIONS, FAILED, POOLS, RUNNING, STATIC, STEALS};

use crate::experiment::prelude::*;

const DIVISION: &str = "1";
const MESSAGES: &str = "3";
const UTILIZATION: &str = "utilization";
const ATTEMPTS: &str = "10³ steal attempts/s";

/// The experiments: name, what is seen in the study, and the horizontal axis of its figures.
const PARTS: [Part; 5] = [
    (DIVISION, "Figure 3: the same work in smaller and smaller messages.", "d = 1 s / w"),
    ("2", "Figure 4: more and more processes.", "n, processes"),
    (MESSAGES, "Figure 5: more and more work for a message.", "w, µs"),
    ("4", "Figure 6: the number of workers does not always divide n.", "n, processes"),
    (UTILIZATION, "Ts/(PA·TP). The ceiling is that of equal shares without messages.", "w, µs"),
];
type Part = (&'static str, &'static str, &'static str);

/// `locksley scatter`
#[derive(Debug, Args)]
pub struct Scatter {
    /// Only these experiments: 1 to 4 as the study has them, and utilization [default: all]
    #[arg(long, value_name = "E,..", value_delimiter = ',')]
    experiments: Vec<String>,
    /// The study's rounds are divided by this [default: 125, or 1250 if quick]
    #[arg(long, value_name = "N")]
    divisor: Option<u64>,
}

impl Experiment for Scatter {
    const NAME: &'static str = "scatter";

    fn plan(&self, course: &Course) -> Outcome<Plan> {
        let quick = course.quick;
        let repeats = course.repeats(9)?;
        let divisor = self.divisor.unwrap_or(if quick { 1250 } else { 125 });
        if divisor == 0 {
            return Err(Fault::input("rounds cannot be divided by 0"));
        }
        let names = PARTS.map(|part| part.0);
        let asked = chosen("experiment", &self.experiments, &names, &names)?;
        let all = Machine::here().processors.clamp(2, MOST_WORKERS);
        let mut plan = Plan::of(course, if quick { 45.0 } else { 3300.0 }, 300.0);
        for (name, about) in once::RUNTIMES {
            plan.compare(name, env!("CARGO_PKG_VERSION"), about);
        }
        for part in names.into_iter().filter(|part| asked.contains(part)) {
            let networks = networks(part, quick, divisor).into_iter();
            let names: Vec<String> = networks.map(|network| network.to_string()).collect();
            for subject in &names {
                for &(runtime, is_parallel) in runtimes(part) {
                    let workers = if is_parallel { all } else { 1 };
                    // What several experiments have is measured once.
                    plan.add_once(subject, runtime, workers, repeats);
                }
            }
            plan.parameters.insert(parameter(part), names.join(" "));
        }
        if plan.cells.is_empty() {
            return Err(Fault::input(format!("1/{divisor} of the work is less than a round")));
        }
        plan.notes.push(format!(
            "As in the study, but with 1/{divisor} of its rounds (at least one; in experiment 1 \
             with 1/{}, without the networks where whole rounds have other work), and {all} \
             workers instead of 8",
            divisor as f64 / DIVISION_KEEPS
        ));
        plan.quick_subset("some of the networks");
        Ok(plan)
    }

    fn once(cell: &Cell, seed: u64) -> Outcome<Readings> {
        once::measure(cell, seed)
    }

    fn report(record: &Record) -> Report {
        let workers = record.plan.cells.iter().map(|cell| cell.workers).max().unwrap_or(1);
        let figures = Figures { record, workers };
        let sections = PARTS.map(|part| figures.section(part)).to_vec();
        let headline = "Scatter and gather with both placements".to_owned();
        Report::new("scatter and gather", headline, sections, include_str!("scatter/method.txt"))
    }
}

/// The parameter of the plan that holds the networks of an experiment.
fn parameter(part: &str) -> String {
    format!("experiment {part}")
}

/// What is derived from a record.
struct Figures<'a> {
    record: &'a Record,
    /// The workers that are compared with one.
    workers: usize,
}

impl Figures<'_> {
    /// The networks of an experiment that were measured.
    fn networks(&self, part: &str) -> Vec<Network> {
        let names = self.record.plan.parameters.get(&parameter(part));
        let names = names.into_iter().flat_map(|names| names.split(' '));
        let networks = names.filter_map(|name| Network::find(name).ok());
        networks.filter(|it| self.seconds(it, runtimes(part)[0].0, 1).is_some()).collect()
    }

    /// The median of what is computed from the metrics of each repetition.
    fn median(
        &self,
        network: &Network,
        (runtime, workers): (&str, usize),
        of: impl Fn(&dyn Fn(&str) -> Option<f64>) -> Option<f64>,
    ) -> Option<f64> {
        let subject = network.to_string();
        let all = self.record.by_repetition(&subject, runtime, workers, SECONDS);
        let values = all.filter_map(|(repeat, _)| {
            of(&|metric| {
                let mut found = self.record.by_repetition(&subject, runtime, workers, metric);
                Some(found.find(|found| found.0 == repeat)?.1)
            })
        });
        median(values)
    }

    /// The time in seconds, if each process had found the same number of divisions to take w.
    fn seconds(&self, network: &Network, runtime: &str, workers: usize) -> Option<f64> {
        let subject = network.to_string();
        let is_its = |metric: &str, of: &str| metric == DIVISIONS && of == subject;
        let samples = self.record.samples.iter().filter(|it| is_its(&it.metric, &it.subject));
        let all = median(samples.map(|sample| sample.value))?;
        self.median(network, (runtime, workers), |read| {
            Some(read(SECONDS)? * all / read(DIVISIONS)?)
        })
    }

    /// Thousands of steal attempts in a second, by all workers.
    fn attempts(&self, network: &Network, runtime: &str) -> Option<f64> {
        self.median(network, (runtime, self.workers), |read| {
            Some((read(STEALS)? + read(FAILED)?) / read(RUNNING)? / 1e3)
        })
    }

    /// The time with one worker over that with all; of the utilization, Ts/(PA·TP).
    fn speedup(&self, part: &str, network: &Network, runtime: &str) -> Option<f64> {
        let work = self.seconds(network, runtimes(part)[0].0, 1)?;
        let is_share = part == UTILIZATION;
        let processors = if is_share { self.record.machine.granted(self.workers) } else { 1.0 };
        Some(work / (processors * self.seconds(network, runtime, self.workers)?))
    }

    /// The time under WS-LAST over that under WS-CUR.
    fn ratio(&self, network: &Network, pools: &[&str]) -> Option<f64> {
        let seconds = |pool: &str| self.seconds(network, pool, self.workers);
        Some(seconds(pools[0])? / seconds(pools[1])?)
    }

    fn section(&self, (part, about, across): Part) -> Section {
        let (networks, title) = (self.networks(part), parameter(part));
        let unit = if part == UTILIZATION { "utilization" } else { "speedup" };
        let of_pools =
            POOLS.iter().flat_map(|pool| [(*pool).to_owned(), format!("{pool}: attempts")]);
        let columns = ["n, w, m", "T1, s"].map(str::to_owned).into_iter().chain(of_pools);
        let columns = columns.chain(["LAST/CUR", "Nornir's", "ceiling"].map(str::to_owned));
        let head = format!("{title}: {unit} of {} workers, and 10³ steal attempts/s", self.workers);
        let mut table = Table::new(&head, columns);
        let text = |value: Option<f64>| value.map_or_else(String::new, |it| format!("{it:.3}"));
        for network in &networks {
            let mut row = vec![format!("{}, m = {}", network.about(), network.rounds)];
            row.push(text(self.seconds(network, runtimes(part)[0].0, 1)));
            for runtime in POOLS {
                row.push(text(self.speedup(part, network, runtime)));
                row.push(known(self.attempts(network, runtime)));
            }
            let ceiling = self.speedup(part, network, STATIC);
            row.extend(POOLS.chunks(2).map(|pools| text(self.ratio(network, pools))));
            row.push(text(ceiling));
            table.row(row);
        }
        let mut groups: Vec<String> = networks.iter().map(|it| place(part, it).1).collect();
        groups.dedup();
        let chart = |group: &str, unit: &str, of: &dyn Fn(&Network, &str) -> Option<f64>| {
            let line = |runtime: &str| {
                let own = networks.iter().filter(|it| place(part, it).1 == group);
                let points = own.filter_map(|it| Some((place(part, it).0, of(it, runtime)?)));
                (runtime.to_owned(), points.collect::<Vec<_>>())
            };
            Chart {
                title: group.to_owned(),
                across: across.to_owned(),
                unit: unit.to_owned(),
                is_logarithmic: part != "4",
                lines: POOLS.map(line).to_vec(),
                ..Chart::default()
            }
        };
        let all = |group: &String| {
            let speedup = |network: &Network, runtime: &str| self.speedup(part, network, runtime);
            let attempts = |network: &Network, runtime: &str| self.attempts(network, runtime);
            let time = |network: &Network, runtime: &str| {
                Some((self.seconds(network, runtime, self.workers)? * 1e6).log2())
            };
            let time = (part == MESSAGES).then(|| chart(group, "log₂ of microseconds", &time));
            let others = [(unit, &speedup as &dyn Fn(&_, &_) -> _), (ATTEMPTS, &attempts)];
            let others = others.map(|(unit, of)| chart(group, unit, of));
            time.into_iter().chain(others).collect::<Vec<_>>()
        };
        Section::new(title, about, [table]).with_charts(groups.iter().flat_map(all))
    }
}
