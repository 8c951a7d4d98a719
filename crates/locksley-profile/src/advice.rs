//! The meaning of a report, in sentences.

use std::time::Duration;

use crate::grant::GrantBasis;
use crate::report::{Report, ratio};
use crate::slots::burden;

impl Report {
    /// The meaning of the figures: a sentence about parallelism, and one for each large loss, by
    /// waits for processors, by a quota, or by the runtime.
    ///
    /// # Examples
    /// ```
    /// use std::thread::sleep;
    /// use std::time::Duration;
    ///
    /// let profiler = locksley_profile::Profiler::new();
    /// let pool = locksley::Pool::builder().workers(4).observer(profiler.clone()).build()?;
    /// // All of the work is one task.
    /// let ((), report) = profiler.measure(&pool, |_| sleep(Duration::from_millis(10)));
    /// let advice = &report.advice()[0]; // "Parallelism 1.0 on 4 workers ..."
    /// assert!(advice.starts_with("Parallelism 1."), "{advice}");
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    #[must_use]
    pub fn advice(&self) -> Vec<String> {
        let losses = self.losses();
        let losses = losses.as_ref();
        let mut advice = vec![self.advice_on_parallelism(losses)];
        if self.taken.is_none() {
            advice.push(
                "The system does not tell for how long the workers waited for a processor: T1 and \
                 T∞ are upper bounds."
                    .to_owned(),
            );
        }
        if self.is_span_longer() {
            advice.push("T∞ is longer than the elapsed time: its path began before.".to_owned());
        }
        advice.extend(self.advice_on_a_quota(losses));
        advice.extend(losses.and_then(|losses| self.advice_on_processors(losses)));
        advice.extend(losses.and_then(|losses| self.advice_on_the_runtime(losses)));
        advice.extend(self.advice_on_what_was_asked());
        advice
    }

    fn advice_on_parallelism(&self, losses: Option<&Losses>) -> String {
        let workers = self.workers as f64;
        if self.work.is_zero() {
            return "Nothing was measured: is the profiler the observer of this pool?".to_owned();
        }
        let (parallelism, burdened) = (self.parallelism(), self.burdened_parallelism());
        let (most, cost) = (SLACK * workers, burden());
        if self.workers == 1 {
            return format!("Parallelism {parallelism:.1}, of which one worker has no use.");
        }
        let here = format!("Parallelism {parallelism:.1} on {workers} workers");
        if parallelism < workers {
            let lost = losses.filter(|lost| !self.is_of_pool && lost.beside >= 0.01);
            let beside = lost.map_or(String::new(), |lost| {
                let part = 100.0 * lost.beside;
                format!(" Beside it the workers had nothing to do for {part:.0}% of their time.")
            });
            format!(
                "{here}: the span bounds the speedup. Fork more of the work along it, or use fewer \
                 workers.{beside}"
            )
        } else if burdened < workers || (parallelism >= most && burdened < most) {
            format!(
                "{here}, but {burdened:.1} if each task that could be stolen costs {cost:?}: tasks \
                 are small for so many workers."
            )
        } else if parallelism < most {
            // T1/P + T∞: Brent's bound for a scheduler that never idles while there is work.
            let part = 100.0 * parallelism / (parallelism + workers);
            format!("{here} allows at least {part:.0}% of the full speedup.")
        } else {
            format!("{here} is enough.")
        }
    }

    /// The workers' time that is explained: P·T, or in a pool's report the time in which they had
    /// tasks. In the rest of it the program may have had no tasks for the pool.
    fn explained(&self) -> Duration {
        if self.is_of_pool {
            return self.stats.total().working;
        }
        self.wall * u32::try_from(self.workers).unwrap_or(u32::MAX)
    }

    /// The time of which percentages are parts.
    fn their_time(&self) -> &'static str {
        if self.is_of_pool { "of the time in which they had tasks" } else { "of their time" }
    }

    /// True if this part of the workers' time is worth a sentence.
    fn is_much(&self, part: f64) -> bool {
        part >= MUCH && self.explained().mul_f64(part) >= SHORT
    }

    /// Divides the workers' time without work by causes. `None` if there was no time or no work, or
    /// if the path of the span began earlier.
    fn losses(&self) -> Option<Losses> {
        let all = self.explained().as_secs_f64();
        if self.work.is_zero() || all <= 0.0 || self.is_span_longer() {
            return None;
        }
        let (total, workers) = (self.stats.total(), self.workers as f64);
        let part = |time: Duration| time.as_secs_f64() / all;
        let throttled = self.throttled.map_or(0.0, part);
        // If the waits are unknown, they follow from the granted processors.
        let had = || (1.0 - self.grant.processors / workers).max(0.0);
        let off = total.off_processor.map_or_else(had, part);
        // A pool's workers may also sleep because they have no tasks.
        let beyond = |most: f64| {
            if self.is_of_pool { 0.0 } else { (1.0 - most / workers).clamp(0.0, 1.0) }
        };
        let (beyond, without_quota) =
            (beyond(self.grant.allowed), beyond(self.grant.affinity as f64));
        let shares = Shares {
            work: part(self.work),
            // Workers that idled beside the span had no tasks, so a pool's report excludes that
            // time.
            span: if self.is_of_pool { 0.0 } else { part(self.span) },
            off,
            throttled,
            beyond,
            beyond_quota: (beyond - without_quota).max(0.0),
            // Not the sum of searching and sleeping times: more than P workers may sleep.
            idle: (1.0 - part(total.working)).max(0.0),
        };
        Some(Losses::new(&shares, self.workers))
    }

    fn advice_on_a_quota(&self, losses: Option<&Losses>) -> Option<String> {
        if let Some(throttled) = self.throttled.filter(|&time| ratio(time, self.wall) > 0.01) {
            return Some(format!("A quota kept the process from running for {throttled:.1?}."));
        }
        let part = losses.filter(|_| !self.is_of_pool).map_or(0.0, |losses| losses.quota);
        let (allowed, percent) = (self.grant.allowed, 100.0 * part);
        self.is_much(part).then(|| {
            format!("A quota allows {allowed:.2} processors: {percent:.0}% less time than without.")
        })
    }

    fn advice_on_processors(&self, losses: &Losses) -> Option<String> {
        self.is_much(losses.processors).then(|| {
            let (part, had) = (100.0 * losses.processors, self.grant.processors);
            let (their_time, workers) = (self.their_time(), self.workers);
            let most = match self.grant_basis {
                GrantBasis::WaitsOfTooMany => "at most ",
                _ => "",
            };
            format!(
                "Lack of processors: for {part:.0}% {their_time} the workers waited for a \
                 processor or slept for lack of one. Other programs use the machine, or there are \
                 more workers than processors. PA was {most}{had:.2} processors of {workers}."
            )
        })
    }

    /// Only if there was parallelism, and if it took longer than the model allows.
    fn advice_on_the_runtime(&self, losses: &Losses) -> Option<String> {
        let workers = self.workers as f64;
        let is_parallel = self.parallelism() >= workers;
        // Time lost because another worker waited for a processor looks like time lost to the
        // runtime. So only the larger of the two is named.
        let is_larger = losses.runtime > losses.processors.max(losses.quota);
        // The bound of a pool holds only if the pool always had tasks.
        let is_slow = self.is_of_pool || self.of_bound() > NEAR;
        if !(is_parallel && self.is_much(losses.runtime) && is_larger && is_slow) {
            return None;
        }
        let (part, idle) = (100.0 * losses.runtime, 100.0 * losses.idle);
        let (burdened, their_time) = (self.burdened_parallelism(), self.their_time());
        let what = if losses.idle >= losses.runtime / 2.0 {
            format!(
                "its workers searched or slept for {idle:.0}% {their_time} though there was \
                 parallelism"
            )
        } else {
            format!(
                "for {part:.0}% {their_time} its workers neither worked nor searched, slept or \
                 waited: forks, the time between tasks, or a hypervisor took it"
            )
        };
        let why = if burdened < SLACK * workers && burdened < 0.5 * self.parallelism() {
            format!("; tasks are small: the burdened parallelism is {burdened:.1}")
        } else {
            String::new()
        };
        Some(format!("The runtime: {what}{why}."))
    }

    /// The part of the allowed processors' time without tasks. A pool cannot tell if the program
    /// had more tasks for it.
    fn advice_on_what_was_asked(&self) -> Option<String> {
        let most = self.wall.mul_f64(self.grant.allowed);
        let without = most.saturating_sub(self.stats.total().working);
        let part = ratio(without, most);
        (self.is_of_pool && part >= MUCH && without >= SHORT).then(|| {
            format!(
                "For {:.0}% of the time of the processors allowed no worker had a task: the \
                 program asked for nothing then, or for too little at a time, or workers searched \
                 in vain.",
                100.0 * part
            )
        })
    }

    /// True if the span is longer than the elapsed time.
    fn is_span_longer(&self) -> bool {
        ratio(self.span, self.wall) > 1.01
    }
}

/// Parts of the workers' time, P·T.
struct Shares {
    work: f64,
    span: f64,
    /// Runnable without a processor.
    off: f64,
    throttled: f64,
    /// Beyond the time of all processors allowed: the workers waited, or the pool kept them asleep.
    beyond: f64,
    /// The part of that which a quota did not allow.
    beyond_quota: f64,
    /// Without tasks.
    idle: f64,
}

/// The workers' time without work, by causes. It is the sum of parallelism, processors, quota and
/// runtime.
#[derive(Debug)]
struct Losses {
    /// Workers idled beside the span.
    #[cfg_attr(not(test), expect(dead_code, reason = "only `beside` is reported"))]
    parallelism: f64,
    /// The part of that in which they certainly searched or slept, and did not wait.
    beside: f64,
    /// Other programs had the processors, or there were more workers than processors.
    processors: f64,
    /// A quota was used up, or allowed fewer processors.
    quota: f64,
    /// The rest.
    runtime: f64,
    /// The part of the rest in which they searched or slept.
    idle: f64,
}

impl Losses {
    /// A scheduler that never leaves a processor idle while there is work lets the other P − 1
    /// workers idle for T∞ at most (Brent; Graham). Workers on the span wait for processors as
    /// often as others, on average, and the others idle for that long, too. The remainder is lost
    /// to processors as far as workers waited or are too many, and otherwise to the runtime.
    fn new(shares: &Shares, workers: usize) -> Self {
        let rest = (1.0 - shares.work).max(0.0);
        // Some kernels include the waits of a quota in the others.
        let off = shares.off.max(shares.throttled);
        let stretched = shares.span * (1.0 + off / shares.work.max(1e-12));
        let parallelism = ((workers as f64 - 1.0) * stretched).min(rest);
        let rest = rest - parallelism;
        let off = off.max(shares.beyond).min(rest);
        let quota = shares.throttled.max(shares.beyond_quota).min(off);
        let runtime = rest - off;
        Self {
            parallelism,
            beside: parallelism.min(shares.idle),
            processors: off - quota,
            quota,
            runtime,
            idle: (shares.idle - parallelism - off).clamp(0.0, runtime),
        }
    }
}

/// A tenth of the workers' time. Less is not worth a sentence, and not exact.
const MUCH: f64 = 0.1;

/// Losses in less time may be those of waking and parking all workers, some 50 µs each.
const SHORT: Duration = Duration::from_millis(1);

/// Up to this factor of the bound is noise: Hood measured constants slightly above 1.
const NEAR: f64 = 1.1;

/// From this many times the workers on, parallelism is ample (Cilkview's rule: 10).
const SLACK: f64 = 10.0;

#[cfg(test)]
mod tests;
