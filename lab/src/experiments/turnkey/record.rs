//! What this experiment writes down.

use serde::{Deserialize, Serialize};

use super::once::{Setting, Subject, TURNKEY};
use crate::experiments::series;
use crate::fault::{Fault, Outcome};
use crate::record::{Cell, Document};

/// The record of a run.
pub type Record = series::Record<Plan, Measurement>;

/// What is measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The experiment's name.
    pub experiment: String,
    /// Whether it is the quick subset.
    pub quick: bool,
    /// What all random input follows from.
    pub seed: u64,
    /// How often each is measured, if the time suffices.
    pub repeats: usize,
    /// After how many seconds no further measurement is begun, except to measure each once.
    pub budget_seconds: f64,
    /// After how many seconds one measurement has failed.
    pub limit_seconds: f64,
    /// For how long an application is computed again and again, if nothing disturbs it, and for how long all else goes on, in seconds.
    pub seconds: [f64; 2],
    /// The numbers of workers that somebody might choose.
    pub workers: Vec<usize>,
    /// The subjects, by their names.
    pub inputs: Vec<(String, String)>,
    /// Why there are no control groups to be measured in, if so; else of which version they are.
    pub groups: Result<u8, String>,
}

/// One measurement; `app` and `size` name the subject, and no workers stand for those that nobody chose.
pub type Measurement = series::Measurement<Reading>;

/// What was read. Every answer has been checked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reading {
    /// The mean time of a computation.
    Time {
        /// The time.
        seconds: f64,
        /// Under a quota: how that was kept.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        throttling: Option<Throttling>,
    },
    /// The mean times of a computation on several numbers of workers, which took turns.
    Turns {
        /// The number that nobody chose among them.
        turns: Vec<Turn>,
    },
    /// The phases of a program.
    Phases {
        /// One after the other.
        phases: Vec<Phase>,
        /// Workers that the pool has.
        workers: usize,
    },
    /// Rounds under a quota.
    Quota {
        /// Their rate.
        rounds_per_s: f64,
        /// How late a thread wakes that sleeps for a millisecond: the median, in milliseconds.
        median_late_ms: f64,
        /// All but one in a hundred times.
        p99_late_ms: f64,
        /// At worst.
        worst_late_ms: f64,
        /// Periods in a second in which the quota was used up.
        throttled_per_s: f64,
        /// How else it was kept. (The first records do not say, nor how long the rounds took.)
        #[serde(default, skip_serializing_if = "Option::is_none")]
        throttling: Option<Throttling>,
        /// How long a round took, in milliseconds: the median, all but one in a hundred, and the longest.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        round_ms: Option<[f64; 3]>,
    },
    /// A move to a group with a quota of one processor, and back.
    Moved {
        /// How many workers may be awake without a quota.
        workers: usize,
        /// So long after the move one could.
        lowered_after_s: f64,
        /// So long after the other move all could.
        raised_after_s: f64,
        /// The rate of rounds without a quota.
        free_rounds_per_s: f64,
        /// And with it.
        tight_rounds_per_s: f64,
    },
}

/// What one number of workers takes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    /// How many.
    pub workers: usize,
    /// The mean time of a computation.
    pub seconds: f64,
}

/// How a quota was kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Throttling {
    /// Periods in a second in which it was used up.
    pub used_up_per_s: f64,
    /// The part of all periods that these are.
    pub share_of_periods: f64,
    /// How many processors were kept, on average, from running what there was.
    pub stopped: f64,
    /// Processors that the workers used, on average.
    pub worked: f64,
}

impl Throttling {
    fn is_sound(&self) -> bool {
        let Throttling { used_up_per_s, share_of_periods, stopped, worked } = *self;
        let all = [used_up_per_s, share_of_periods, stopped, worked];
        all.into_iter().all(|number| number.is_finite() && number >= 0.0)
    }
}

/// A phase of a program.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Phase {
    /// How many tasks there are at a time.
    pub parallelism: u64,
    /// Workers that work, on average.
    pub working: f64,
    /// Workers that work or hunt.
    pub awake: f64,
    /// The rate of rounds, each of so many tasks.
    pub rounds_per_s: f64,
}

impl Plan {
    /// What is measured.
    pub fn subjects(&self) -> Outcome<Vec<Subject>> {
        self.inputs.iter().map(|(kind, size)| Subject::find(kind, size)).collect()
    }
}

impl Reading {
    /// Whether this can be read of `subject`, where somebody might choose these numbers of workers.
    pub(super) fn is_of(&self, subject: &Subject, workers: &[usize]) -> bool {
        let is_positive = |number: f64| number.is_finite() && number > 0.0;
        let is_none_or_more = |number: f64| number.is_finite() && number >= 0.0;
        match (self, subject) {
            (Reading::Time { seconds, throttling }, Subject::App { setting, .. }) => {
                let is_under = matches!(setting, Setting::Under(_));
                is_positive(*seconds)
                    && !subject.is_measured_in_turn()
                    && throttling.is_some() == is_under
                    && throttling.iter().all(Throttling::is_sound)
            }
            (Reading::Turns { turns }, subject) => {
                let all = std::iter::once(&TURNKEY).chain(workers);
                subject.is_measured_in_turn()
                    && turns.iter().map(|turn| &turn.workers).eq(all)
                    && turns.iter().all(|turn| is_positive(turn.seconds))
            }
            (Reading::Phases { phases, workers }, Subject::Phases) => {
                let is_sound = |phase: &Phase| {
                    is_none_or_more(phase.working)
                        && is_none_or_more(phase.awake)
                        && is_positive(phase.rounds_per_s)
                };
                *workers > 0 && !phases.is_empty() && phases.iter().all(is_sound)
            }
            (
                &Reading::Quota {
                    rounds_per_s,
                    median_late_ms,
                    p99_late_ms,
                    worst_late_ms,
                    throttled_per_s,
                    throttling,
                    round_ms,
                },
                Subject::Quota { .. },
            ) => {
                let late = [median_late_ms, p99_late_ms, worst_late_ms, throttled_per_s];
                is_positive(rounds_per_s)
                    && late.into_iter().all(is_none_or_more)
                    && throttling.iter().all(Throttling::is_sound)
                    && round_ms.iter().flatten().all(|&ms| is_positive(ms))
            }
            (
                &Reading::Moved {
                    workers,
                    lowered_after_s,
                    raised_after_s,
                    free_rounds_per_s,
                    tight_rounds_per_s,
                },
                Subject::Moved,
            ) => {
                workers > 0
                    && [lowered_after_s, raised_after_s].into_iter().all(is_none_or_more)
                    && [free_rounds_per_s, tight_rounds_per_s].into_iter().all(is_positive)
            }
            _ => false,
        }
    }
}

/// Whether this is something that can be read of its subject, by that plan.
fn is_sound(found: &Measurement, plan: &Plan) -> bool {
    let Cell { app, size, .. } = &found.cell;
    Subject::find(app, size).is_ok_and(|subject| found.reading.is_of(&subject, &plan.workers))
}

impl Document for Record {
    /// In the first one each number of workers was measured alone in its process.
    const FORMAT: &'static str = "locksley-turnkey/2";

    fn format(&self) -> &str {
        &self.format
    }

    fn flaw(&self) -> Option<String> {
        let plan = &self.header.plan;
        if self.header.machine.processors == 0 || plan.workers.contains(&0) {
            return Some("it speaks of no workers or no processors".to_owned());
        }
        if let Err(Fault::Input(flaw) | Fault::Run(flaw)) = plan.subjects() {
            return Some(flaw);
        }
        let all_are_sound = self.measurements.iter().all(|found| is_sound(found, plan));
        (!all_are_sound).then(|| "it has a measurement that is none".to_owned())
    }
}
