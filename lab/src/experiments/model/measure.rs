//! Going through the plan, rotation by rotation: each input profiled on one worker, and then timed
//! on each number of workers.

use locksley_profile::GrantMeter;

use super::Header;
use super::plan::{self, Plan};
use super::record::Sample;
use crate::apps;
use crate::experiments::bound::Metered;
use crate::experiments::course::{Rotations, Turn};
use crate::experiments::journal::Journal;
use crate::fault::{Fault, Outcome};
use crate::runtimes;

/// One thing to measure in each rotation.
struct Run {
    app: String,
    size: String,
    /// `None`: with the profiler, on one worker.
    workers: Option<usize>,
    repeats: usize,
}

impl Turn<Sample> for Run {
    fn name(&self) -> String {
        let how = self.workers.map_or("metered".to_owned(), |workers| format!("P = {workers}"));
        format!("{} {}, {how}", self.app, self.size)
    }

    fn repeats(&self) -> usize {
        self.repeats
    }

    fn has_made(&self, sample: &Sample, rotation: usize) -> bool {
        (&sample.app, &sample.size, sample.repeat) == (&self.app, &self.size, rotation)
            && match self.workers {
                Some(workers) => sample.metered.is_none() && sample.workers == workers,
                None => sample.metered.is_some(),
            }
    }
}

/// Takes all measurements that `journal` does not have yet, until they are complete or the plan's time is over. Returns the processors that others
/// had meanwhile, if the system tells.
pub(super) fn all(header: &Header, journal: &mut Journal<Sample>) -> Outcome<Option<f64>> {
    let plan = &header.plan;
    let subset = plan.quick.then(|| plan::subset(plan));
    let rotations = Rotations::of("model", subset, plan.budget_seconds);
    // Single measurements are too short for the clock ticks that the system counts in.
    let meter = GrantMeter::start();
    rotations.go(&runs(plan), journal, |run, rotation| take(run, rotation, plan.seed))?;
    let grant = meter.finish(header.machine.processors);
    Ok(grant.others.map(|others| others.as_secs_f64() / grant.wall.as_secs_f64()))
}

fn runs(plan: &Plan) -> Vec<Run> {
    let run = |(app, size): &(String, String), workers| Run {
        app: app.clone(),
        size: size.clone(),
        workers,
        repeats: plan.repeats,
    };
    let of_input = |input| {
        let timed = plan.workers.iter().map(move |&workers| run(input, Some(workers)));
        std::iter::once(run(input, None)).chain(timed)
    };
    plan.inputs.iter().flat_map(of_input).collect()
}

fn take(run: &Run, repeat: usize, seed: u64) -> Outcome<Sample> {
    let problem = apps::problem(apps::find(&run.app)?, &run.size)?;
    let mut instance = problem.prepare(seed);
    let runtime = runtimes::find("locksley")?;
    // Each computes once for the caches, as all that is compared has had it.
    let (seconds, metered) = match run.workers {
        Some(workers) => {
            let crew = runtime.start(workers)?;
            crew.compute(instance.as_mut());
            (crew.compute(instance.as_mut()).as_secs_f64(), None)
        }
        None => {
            let profiled = runtime.start_profiled(1)?;
            profiled.compute(instance.as_mut());
            let report = profiled.compute(instance.as_mut());
            (report.wall.as_secs_f64(), Some(Metered::new(&report)))
        }
    };
    instance.check().map_err(|wrong| Fault::run(format!("the answer is wrong: {wrong}")))?;
    let (app, size, workers) = (run.app.clone(), run.size.clone(), run.workers.unwrap_or(1));
    Ok(Sample { app, size, workers, repeat, seconds, metered })
}
