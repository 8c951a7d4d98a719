//! An application with its input, which is computed again and again on different runtimes.

use std::sync::Barrier;
use std::thread;

use crate::apps::{self, App, Instance};
use crate::fault::{Fault, Outcome};
use crate::runtimes::{self, Crew};

use super::{Readings, named};

/// An application with its input filled in.
pub struct Prepared {
    subject: String,
    app: &'static App,
    /// The memory that one copy needs.
    pub bytes: u128,
    instance: Box<dyn Instance>,
}

/// The application that was computed last: the next runtime computes with the same input.
#[derive(Default)]
pub struct Latest(Option<Prepared>);

/// The name of an application with its size, as records have it.
pub fn name(app: &str, size: &str) -> String {
    format!("{app} {size}")
}

/// The application and the size that a subject names.
///
/// # Errors
///
/// [`Fault::Input`] if it names none.
pub fn app_and_size(subject: &str) -> Outcome<(&'static App, &str)> {
    let (app, size) = subject
        .split_once(' ')
        .ok_or_else(|| Fault::input(format!("'{subject}' has no application and size")))?;
    Ok((apps::find(app)?, size))
}

impl Latest {
    /// The subject with its input, which is filled in unless it was the last one.
    ///
    /// # Errors
    ///
    /// [`Fault::Input`] if there is no such application, or no memory for this size.
    pub fn of(&mut self, subject: &str, seed: u64) -> Outcome<&mut Prepared> {
        if self.0.as_ref().is_none_or(|latest| latest.subject != subject) {
            // The memory of one at a time.
            self.0 = None;
            self.0 = Some(Prepared::new(subject, seed)?);
        }
        Ok(self.0.as_mut().expect("it was prepared"))
    }
}

impl Prepared {
    /// The application and size that `subject` names, with an input that follows from `seed`.
    ///
    /// # Errors
    ///
    /// [`Fault::Input`] if there is no such application, or no memory for this size.
    pub fn new(subject: &str, seed: u64) -> Outcome<Prepared> {
        let (app, size) = app_and_size(subject)?;
        let problem = apps::problem(app, size)?;
        let (bytes, instance) = (problem.bytes, problem.prepare(seed));
        Ok(Prepared { subject: subject.to_owned(), app, bytes, instance })
    }

    /// The time of the computation on `crew`, in seconds.
    ///
    /// # Errors
    ///
    /// [`Fault::Run`] if the answer is wrong.
    pub fn seconds(&mut self, crew: &Crew) -> Outcome<f64> {
        Ok(self.metered(crew, || ())?.0)
    }

    /// The time of the computation, and what `meter` returns right before and right after it.
    ///
    /// # Errors
    ///
    /// [`Fault::Run`] if the answer is wrong.
    pub fn metered<M>(&mut self, crew: &Crew, meter: impl Fn() -> M) -> Outcome<(f64, M, M)> {
        self.instance.reset();
        let before = meter();
        let seconds = crew.time(self.instance.as_mut()).as_secs_f64();
        let after = meter();
        self.check()?;
        Ok((seconds, before, after))
    }

    /// The harmonic mean of the times of `number` serial copies that run side by side: the serial
    /// time divided by it is the mean speed of a copy among the others, which no parallel program
    /// can exceed on this machine.
    ///
    /// # Errors
    ///
    /// [`Fault::Run`] if an answer is wrong.
    pub fn seconds_of_copies(&mut self, number: usize) -> Outcome<f64> {
        let copies: Vec<Prepared> = (0..number).map(|_| self.copy()).collect();
        harmonic_mean(copies, |mut copy| copy.seconds(&Crew::Serial))
    }

    /// Work and span as the profiler measures them with one worker, in seconds: then nothing is
    /// stolen, and no other worker needs the processor.
    ///
    /// # Errors
    ///
    /// [`Fault::Run`] if the answer is wrong.
    pub fn work_and_span(&mut self) -> Outcome<Readings> {
        let profiled = runtimes::find("locksley")?.start_profiled(1)?;
        // Once for the caches.
        profiled(self.instance.as_mut());
        let report = profiled(self.instance.as_mut());
        self.check()?;
        let readings = [
            ("work", report.work.as_secs_f64()),
            ("span", report.span.as_secs_f64()),
            ("burdened span", report.burdened_span.as_secs_f64()),
            ("forks", report.tasks as f64),
        ];
        Ok(named(readings))
    }

    /// The input and the answer.
    pub fn instance(&mut self) -> &mut dyn Instance {
        self.instance.as_mut()
    }

    /// Compares the answer with what it must be.
    ///
    /// # Errors
    ///
    /// [`Fault::Run`] if it is wrong.
    pub fn check(&self) -> Outcome<()> {
        self.instance.check().map_err(|wrong| {
            Fault::run(format!("the answer of {} is wrong: {wrong}", self.app.name))
        })
    }

    fn copy(&self) -> Prepared {
        let (subject, instance) = (self.subject.clone(), self.instance.copy());
        Prepared { subject, app: self.app, bytes: self.bytes, instance }
    }
}

/// The harmonic mean of the times of copies that run side by side, each on a thread of its own.
pub fn harmonic_mean<C: Send>(
    copies: Vec<C>,
    seconds: impl Fn(C) -> Outcome<f64> + Sync,
) -> Outcome<f64> {
    let (number, together, seconds) = (copies.len(), Barrier::new(copies.len()), &seconds);
    let start = |copy: C| {
        together.wait();
        seconds(copy)
    };
    let start = &start;
    let times: Outcome<Vec<f64>> = thread::scope(|scope| {
        let threads = copies.into_iter().map(|copy| scope.spawn(move || start(copy)));
        let threads: Vec<_> = threads.collect();
        threads.into_iter().map(|it| it.join().expect("a serial copy panicked")).collect()
    });
    Ok(number as f64 / times?.into_iter().map(f64::recip).sum::<f64>())
}

impl std::fmt::Debug for Latest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let subject = self.0.as_ref().map(|latest| &latest.subject);
        f.debug_tuple("Latest").field(&subject).finish()
    }
}
