//! A computation whose work and critical path are known.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Metered;
use crate::experiments::times::Times;

/// An input of an application, with its points.
#[derive(Debug, Clone)]
pub struct Computation {
    /// The application.
    pub app: String,
    /// Its parameters.
    pub size: String,
    /// T1: the median time with one worker that is alone, without the meter.
    pub work: f64,
    /// T∞: the median of what the meter said.
    pub critical_path: f64,
    /// What the meter said of the work, relative to T1: what metering costs, among other things.
    pub metered: f64,
    /// Whether the meter followed all waits.
    pub is_whole: bool,
    /// What was measured of it.
    pub points: Vec<Point>,
}

/// What was measured with a number of workers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// P.
    pub workers: usize,
    /// What ran beside it, if anything did.
    pub beside: Option<Beside>,
    /// PA.
    pub processors: f64,
    /// P/(T1/T∞): the normalized number of processes.
    pub normalized: f64,
    /// T1/(PA·TP).
    pub utilization: f64,
}

/// cycler(p, w, W) of Hood, which takes processors away: [`Cycler`](crate::cycler::Cycler), without end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Beside {
    /// p: its workers.
    #[serde(rename = "p")]
    pub workers: usize,
    /// w: the most increments of a worker that was released.
    #[serde(rename = "w")]
    pub most: u64,
}

impl fmt::Display for Beside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cycler({}, {})", self.workers, self.most)
    }
}

impl Computation {
    /// The computation whose times with one worker are these, in seconds, and of which the meter said that; without a point yet. `None` if either is
    /// missing.
    pub fn of(
        app: &str,
        size: &str,
        seconds: Vec<f64>,
        metered: &[Metered],
    ) -> Option<Computation> {
        let median = |of: fn(&Metered) -> f64| Times::of(metered.iter().map(of).collect());
        let (work, metered_work) = (Times::of(seconds)?.median, median(|m| m.work)?.median);
        Some(Computation {
            app: app.to_owned(),
            size: size.to_owned(),
            work,
            critical_path: median(|m| m.critical_path)?.median,
            metered: metered_work / work,
            is_whole: metered.iter().all(|metered| metered.uncarried == 0),
            points: Vec::new(),
        })
    }

    /// The point where it took so many seconds with P workers on PA processors.
    pub fn point(
        &self,
        workers: usize,
        beside: Option<Beside>,
        processors: f64,
        seconds: f64,
    ) -> Point {
        Point {
            workers,
            beside,
            processors,
            normalized: workers as f64 / self.parallelism(),
            utilization: self.work / (processors * seconds),
        }
    }

    /// What was measured with so many workers beside this one, or beside nobody.
    pub fn at(&self, workers: usize, beside: Option<Beside>) -> Option<Point> {
        let is_it = |point: &&Point| point.workers == workers && point.beside == beside;
        self.points.iter().find(is_it).copied()
    }

    /// T1/T∞, both as the meter has them: what metering costs is in both.
    pub fn parallelism(&self) -> f64 {
        self.metered * self.work / self.critical_path
    }

    /// The points that say anything of the model: not that of one worker that is alone, whose utilization is 1 by definition; and none if a part of
    /// the critical path may be missing.
    pub fn telling(&self) -> impl Iterator<Item = Point> {
        let tells = |point: &Point| point.workers > 1 || point.beside.is_some();
        self.points.iter().copied().filter(move |point| self.is_whole && tells(point))
    }

    /// Application and parameters.
    pub fn name(&self) -> String {
        format!("{} {}", self.app, self.size)
    }
}
