//! What is measured on a crew: an application with its input, or the co-run unit.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::apps::{self, App, Instance};
use crate::experiments::bound;
use crate::fault::{Fault, Outcome};
use crate::record::{Input, Plan, RoundsPlan};
use crate::runtimes::{self, Crew};

use super::plan::{BESIDE, ROUNDS};

/// The threads beside which [`Subject::Beside`] is measured.
pub(in crate::experiments) const BUSY_THREADS: usize = 2;

/// A time, and what a meter said around it.
pub(in crate::experiments) struct Metered<M> {
    /// The time of the computation, or of one round.
    pub(in crate::experiments) seconds: f64,
    /// The time of all that lies between `before` and `after`.
    pub(in crate::experiments) wall: f64,
    pub(in crate::experiments) before: M,
    pub(in crate::experiments) after: M,
}

/// Something that takes a time on a crew.
pub(in crate::experiments) enum Subject {
    /// An application: the time is that of the computation.
    App { app: &'static dyn App, bytes: u128, instance: Box<dyn Instance> },
    /// Rounds: the time is that of one round.
    Rounds(RoundsPlan),
    /// The same, beside two busy threads.
    Beside(RoundsPlan),
}

impl Subject {
    /// The subject that `input` names, its input filled in.
    pub(in crate::experiments) fn prepare(input: &Input, plan: &Plan) -> Outcome<Subject> {
        if let (ROUNDS, Some(rounds)) = (input.app.as_str(), plan.rounds) {
            return Ok(Subject::Rounds(rounds));
        }
        if let (BESIDE, Some(rounds)) = (input.app.as_str(), plan.beside) {
            return Ok(Subject::Beside(rounds));
        }
        let app = apps::find(&input.app)?;
        let problem = apps::problem(app, &input.size)?;
        let instance = problem.prepare(plan.seed);
        Ok(Subject::App { app, bytes: problem.bytes(), instance })
    }

    /// Its time on `crew`, in seconds. A wrong answer is a fault.
    pub(super) fn time_on(&mut self, crew: &Crew) -> Outcome<f64> {
        Ok(self.metered_on(crew, || ())?.seconds)
    }

    /// Its time on `crew`, and what `meter` says right before and after the computation.
    pub(in crate::experiments) fn metered_on<M>(
        &mut self,
        crew: &Crew,
        meter: impl Fn() -> M,
    ) -> Outcome<Metered<M>> {
        match self {
            Subject::App { app, instance, .. } => {
                instance.reset();
                let before = meter();
                let seconds = crew.time(instance.as_mut()).as_secs_f64();
                let after = meter();
                checked(*app, instance.as_ref())?;
                Ok(Metered { seconds, wall: seconds, before, after })
            }
            Subject::Rounds(rounds) => {
                let before = meter();
                let rate = rounds.round.repeat_on(crew, Duration::from_secs_f64(rounds.seconds))?;
                let after = meter();
                let (seconds, wall) = (rate.per_second().recip(), rate.time.as_secs_f64());
                Ok(Metered { seconds, wall, before, after })
            }
            Subject::Beside(rounds) => {
                let alone = Subject::Rounds(*rounds);
                beside_busy_threads(|| { alone }.metered_on(crew, meter))
            }
        }
    }

    /// The harmonic mean of the times of `number` serial copies that run side by side: the serial time divided by it is
    /// the mean speed of a copy among its peers, which no parallel program can beat on this machine.
    pub(super) fn time_of_copies(&mut self, number: usize) -> Outcome<f64> {
        let mut copies = Vec::with_capacity(number);
        for _ in 0..number {
            copies.push(self.copy());
        }
        let together = Barrier::new(number);
        let times: Vec<Outcome<f64>> = thread::scope(|scope| {
            let threads: Vec<_> = copies
                .iter_mut()
                .map(|copy| {
                    scope.spawn(|| {
                        together.wait();
                        copy.time_on(&Crew::Serial)
                    })
                })
                .collect();
            threads
                .into_iter()
                .map(|thread| thread.join().expect("a serial copy panicked"))
                .collect()
        });
        let mut speed = 0.0;
        for time in times {
            speed += time?.recip();
        }
        Ok(number as f64 / speed)
    }

    /// Work and critical path with one worker: then nothing is stolen, and no other worker needs
    /// the processor.
    pub(super) fn critical_path(&mut self) -> Outcome<bound::Metered> {
        let Subject::App { app, instance, .. } = self else {
            return Err(Fault::run("rounds have no critical path".to_owned()));
        };
        let profiled = runtimes::find("locksley")?.start_profiled(1)?;
        // Once for the caches.
        profiled.compute(instance.as_mut());
        let report = profiled.compute(instance.as_mut());
        checked(*app, instance.as_ref())?;
        Ok(bound::Metered::new(&report))
    }

    /// The memory that one copy needs, in bytes.
    pub(super) fn bytes(&self) -> u128 {
        match self {
            Subject::App { bytes, .. } => *bytes,
            Subject::Rounds(_) | Subject::Beside(_) => 0,
        }
    }

    fn copy(&self) -> Subject {
        match self {
            Subject::App { app, bytes, instance } => {
                Subject::App { app: *app, bytes: *bytes, instance: instance.copy() }
            }
            Subject::Rounds(rounds) => Subject::Rounds(*rounds),
            Subject::Beside(rounds) => Subject::Beside(*rounds),
        }
    }
}

/// Runs `measured` while [`BUSY_THREADS`] other threads of this process never stop.
fn beside_busy_threads<R>(measured: impl FnOnce() -> R) -> R {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..BUSY_THREADS {
            scope.spawn(|| {
                // Relaxed: nothing else is read because of it.
                while !is_over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let result = measured();
        is_over.store(true, Ordering::Relaxed);
        result
    })
}

fn checked(app: &dyn App, instance: &dyn Instance) -> Outcome<()> {
    instance
        .check()
        .map_err(|wrong| Fault::run(format!("{}'s answer is wrong: {wrong}", app.name())))
}
