//! What this experiment writes down.

use serde::{Deserialize, Serialize};

use super::Header;
use super::plan::{Plan, What};
use crate::experiments::bound::{Metered, is_time};
use crate::experiments::series;
use crate::record::Document;

/// The record of a run.
pub type Record = series::Record<Plan, Measurement>;

/// One measurement.
pub type Measurement = series::Measurement<Reading>;

/// What was read. Times are in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reading {
    /// A cycler with one worker that is alone.
    Rate {
        /// Increments in a second.
        per_second: f64,
        /// Those in the best few milliseconds: much more means that the machine was not idle.
        best: Option<f64>,
    },
    /// A program that is alone.
    Alone(Alone),
    /// A program beside a cycler.
    Beside(Shared),
}

/// A program that is alone.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Alone {
    /// The median time of a computation, without a meter.
    pub seconds: f64,
    /// How many there were, and as many with the meter.
    pub computations: usize,
    /// What the meter said: medians.
    pub metered: Metered,
}

/// A program beside a cycler, while it computed again and again.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Shared {
    /// The time of all computations.
    pub seconds: f64,
    /// How many there were.
    pub computations: usize,
    /// From the beginning of the first to the end of the last: what follows is of this time.
    pub wall: f64,
    /// What the cycler counted.
    pub increments: f64,
    /// Processor time of others, the cycler among them, as the meter has it; `None` where the system does not tell.
    pub others: Option<f64>,
    /// PA as the meter has it; where the system does not tell, as if there were no others.
    pub granted: f64,
    /// The cycler's whole life.
    pub life: Life,
}

/// A cycler from beginning to end, by its counter, and by the system's account of its process.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Life {
    /// How long it was.
    pub seconds: f64,
    /// What it counted.
    pub increments: f64,
    /// Its processor time; `None` where the system does not tell.
    pub processor_seconds: Option<f64>,
}

impl Reading {
    /// Whether this can have been read where that was to be measured.
    pub(super) fn is_sound(&self, what: What) -> bool {
        let is_count = |count: f64| count.is_finite() && count >= 0.0;
        match (self, what) {
            (Reading::Rate { per_second, best }, What::Rate) => {
                is_time(*per_second) && best.is_none_or(is_time)
            }
            (Reading::Alone(alone), What::Alone) => {
                is_time(alone.seconds) && alone.computations > 0 && alone.metered.is_sound()
            }
            (Reading::Beside(shared), What::Beside(_)) => {
                let Shared { seconds, wall, granted, life, .. } = *shared;
                [seconds, wall, granted, life.seconds].into_iter().all(is_time)
                    && shared.computations > 0
                    && seconds <= wall
                    && [shared.increments, life.increments].into_iter().all(is_count)
                    && [shared.others, life.processor_seconds].into_iter().flatten().all(is_count)
            }
            _ => false,
        }
    }
}

impl Document for Record {
    const FORMAT: &'static str = "locksley-multiprogram/1";

    fn format(&self) -> &str {
        &self.format
    }

    fn flaw(&self) -> Option<String> {
        let Header { plan, machine, .. } = &self.header;
        if machine.processors == 0 || plan.workers.contains(&0) {
            return Some("it speaks of no workers or no processors".to_owned());
        }
        let is_sound = |found: &Measurement| {
            plan.what(&found.cell).is_some_and(|what| found.reading.is_sound(what))
        };
        let all_are_sound = self.measurements.iter().all(is_sound);
        (!all_are_sound).then(|| "it has a measurement that is none".to_owned())
    }
}
