//! What this experiment writes down.

use serde::{Deserialize, Serialize};

use super::contestant::Contestant;
use super::once::{Setting, Subject};
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
    /// How often the phases and the move are, which say nothing about a few percent.
    #[serde(default)]
    pub fewer: usize,
    /// For how long it goes on, in seconds: an application that nothing disturbs, with all contestants together; one beside a cycler, too; and all else,
    /// with each of them. (The first records do not tell the second from the third.)
    pub seconds: Vec<f64>,
    /// The numbers of workers that somebody might choose.
    pub workers: Vec<usize>,
    /// Who else there is under a quota.
    #[serde(default)]
    pub rivals: Vec<Contestant>,
    /// The subjects, by their names.
    pub inputs: Vec<(String, String)>,
    /// Why there are no control groups to be measured in, if so; else of which version they are.
    pub groups: Result<u8, String>,
}

/// One measurement; `app` and `size` name the subject, `runtime` and `workers` the contestant: the first one, if all had their turns.
pub type Measurement = series::Measurement<Reading>;

/// What was read. Every answer has been checked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reading {
    /// The mean times of a computation with several contestants, which had their turns.
    Turns {
        /// The pool to which nobody said a number among them.
        turns: Vec<Turn>,
    },
    /// The mean time of a computation under a quota with one of them, in the first records.
    Time {
        /// The time.
        seconds: f64,
        /// How the quota was kept.
        throttling: Throttling,
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

/// What one of them takes, in all of its turns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    /// Which.
    #[serde(flatten)]
    pub contestant: Contestant,
    /// The mean time of a computation.
    pub seconds: f64,
    /// How many it is the mean of. (The first records do not say; there all took turns computation by computation.)
    #[serde(default)]
    pub computations: usize,
    /// Under a quota: how that was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttling: Option<Throttling>,
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
    /// Processors that the process used, on average; or, in the first records, its workers.
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

    /// Who is measured: the pool to which nobody says a number first, then ours of each number that somebody might choose, then others.
    pub fn contestants(&self, subject: &Subject) -> Vec<Contestant> {
        let mut chosen = self.workers.iter().map(|&workers| Contestant::fixed(workers));
        let chosen: Vec<Contestant> = match subject {
            Subject::App { .. } | Subject::Quota { .. } => chosen.collect(),
            // The phases take long: in a quick run only beside the most that somebody might choose.
            Subject::Phases if self.quick => chosen.next_back().into_iter().collect(),
            Subject::Phases => chosen.collect(),
            Subject::Moved => Vec::new(),
        };
        let rivals = subject.is_under().then_some(&self.rivals).into_iter().flatten().cloned();
        std::iter::once(Contestant::turnkey()).chain(chosen).chain(rivals).collect()
    }
}

impl Reading {
    /// Whether this can be read of `subject`, where all of these have their turns.
    pub(super) fn is_of(&self, subject: &Subject, all: &[Contestant]) -> bool {
        let is_positive = |number: f64| number.is_finite() && number > 0.0;
        let is_none_or_more = |number: f64| number.is_finite() && number >= 0.0;
        match (self, subject) {
            (Reading::Turns { turns }, Subject::App { setting, .. }) => {
                let is_under = matches!(setting, Setting::Under(_));
                let is_sound = |turn: &Turn| {
                    is_positive(turn.seconds)
                        && turn.throttling.is_some() == is_under
                        && turn.throttling.iter().all(Throttling::is_sound)
                };
                turns.iter().map(|turn| &turn.contestant).eq(all) && turns.iter().all(is_sound)
            }
            (Reading::Time { seconds, throttling }, subject) => {
                let is_under = matches!(subject, Subject::App { setting: Setting::Under(_), .. });
                is_under && is_positive(*seconds) && throttling.is_sound()
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

/// What is wrong with a record whose measurements should be `sound`.
pub(super) fn flaw(
    record: &Record,
    is_sound: impl Fn(&Measurement, &Subject) -> bool,
) -> Option<String> {
    let plan = &record.header.plan;
    if record.header.machine.processors == 0 || plan.workers.contains(&0) {
        return Some("it speaks of no workers or no processors".to_owned());
    }
    if plan.seconds.is_empty() || !plan.rivals.iter().all(Contestant::is_one) {
        return Some("its plan is none".to_owned());
    }
    if let Err(Fault::Input(flaw) | Fault::Run(flaw)) = plan.subjects() {
        return Some(flaw);
    }
    let is_sound = |found: &Measurement| {
        let Cell { app, size, runtime, workers } = &found.cell;
        let of = Contestant::on(runtime, *workers);
        of.is_one() && Subject::find(app, size).is_ok_and(|subject| is_sound(found, &subject))
    };
    let all_are_sound = record.measurements.iter().all(is_sound);
    (!all_are_sound).then(|| "it has a measurement that is none".to_owned())
}

impl Document for Record {
    /// Those before: [`super::earlier`].
    const FORMAT: &'static str = "locksley-turnkey/3";

    fn format(&self) -> &str {
        &self.format
    }

    fn flaw(&self) -> Option<String> {
        let plan = &self.header.plan;
        flaw(self, |found, subject| {
            let is_of_now = !matches!(found.reading, Reading::Time { .. });
            is_of_now && found.reading.is_of(subject, &plan.contestants(subject))
        })
    }
}
