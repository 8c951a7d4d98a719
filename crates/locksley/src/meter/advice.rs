//! What a report means, in words.

use std::time::Duration;

use super::grant::GrantBasis;
use super::report::{Report, ratio};
use super::stretch;

impl Report {
    /// Why work and critical path are less than they were, or may be.
    pub(super) fn missing(&self) -> Vec<String> {
        let mut reasons = Vec::new();
        if self.uncarried > 0 {
            reasons.push(format!(
                "{} waits and polls were for what the meter does not follow",
                self.uncarried
            ));
        }
        if self.under_way > 0 {
            reasons.push(match self.under_way {
                1 => "1 task had not ended".to_owned(),
                number => format!("{number} tasks had not ended"),
            });
        }
        if self.has_guest {
            reasons.push(
                "what a thread of the program's own did as a worker is missing, but for what it ran by `Pool::run`".to_owned(),
            );
        }
        reasons
    }

    /// By how much work and critical path may be too long, relative to themselves, since workers waited for a processor; `None` if that is not known.
    /// Some of these waits were in the middle of a strand, and all of them may have been in strands of one path.
    fn excess(&self) -> Option<(f64, f64)> {
        if self.taken.is_some() {
            return Some((0.0, 0.0)); // it has been taken out
        }
        // Those of several pools are not among these.
        let off = self.stats.total().off_processor.filter(|_| !self.is_mixed)?;
        let share = |time| if off.is_zero() { 0.0 } else { ratio(off, time).min(1.0) };
        Some((share(self.work), share(self.critical_path)))
    }

    /// What the figures mean, a sentence for each thing that stands out: whether there was too little parallelism, whether workers had to wait for processors, and whether
    /// time was lost that neither of these explains, which is the runtime's.
    ///
    /// # Examples
    /// ```
    /// use std::thread::sleep;
    /// use std::time::Duration;
    ///
    /// // Work that is all one strand.
    /// let ((), report) = locksley::Pool::new(4)?.metered(|_| sleep(Duration::from_millis(1)));
    /// assert!(report.advice()[0].starts_with("Parallelism 1.0 on 4 workers"));
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    #[must_use]
    pub fn advice(&self) -> Vec<String> {
        let (missing, excess) = (self.missing(), self.excess());
        let is_long = excess.is_none_or(|(work, path)| work.max(path) > 0.05);
        let losses = self.losses();
        let mut advice = vec![self.advice_on_parallelism(missing.is_empty(), losses.as_ref())];
        let why_long = match excess {
            None => "for how long workers waited for a processor is not known".to_owned(),
            Some((work, path)) => format!(
                "workers waited for a processor, perhaps for {:.0}% of T1 and {:.0}% of T∞",
                work * 100.0,
                path * 100.0
            ),
        };
        let why_short = missing.join(", and ");
        match (missing.is_empty(), is_long) {
            (true, false) => {}
            (true, true) => {
                advice.push(sentence(
                    &why_long,
                    "T1 and T∞ are upper bounds, and the parallelism is as measured",
                ));
            }
            (false, false) => {
                advice.push(sentence(
                    &why_short,
                    "T1 and T∞ are lower bounds, and the parallelism is that of what was followed",
                ));
            }
            (false, true) => {
                let both = format!("{why_short}; and {why_long}");
                advice.push(sentence(
                    &both,
                    "T1 and T∞ may be more or less than it says, and so may the parallelism",
                ));
            }
        }
        if self.is_path_longer() {
            advice.push("T∞ is longer than it took: its path comes from what was begun before, and was not a part of it.".to_owned());
        }
        if self.is_mixed {
            advice.push("Workers of other pools had a part in it, or these in what is metered for others: work and times are not of the same workers, and neither utilization nor bound can be told.".to_owned());
        }
        let losses = losses.as_ref();
        advice.extend(self.advice_on_a_quota(losses));
        advice.extend(losses.and_then(|losses| self.advice_on_processors(losses)));
        advice.extend(losses.and_then(|losses| self.advice_on_the_runtime(losses)));
        advice.extend(self.advice_on_what_was_asked());
        advice
    }

    fn advice_on_parallelism(&self, is_whole: bool, losses: Option<&Losses>) -> String {
        let workers = self.workers as f64;
        if self.work.is_zero() {
            return "Nothing has been metered.".to_owned();
        }
        let (parallelism, burdened) = (self.parallelism(), self.burdened_parallelism());
        let (most, cost) = (SLACK * workers, Self::BURDEN);
        if self.workers == 1 {
            return format!("Parallelism {parallelism:.1}, of which one worker has no use.");
        }
        let here = format!("Parallelism {parallelism:.1} on {workers} workers");
        if !is_whole {
            return format!("{here}, of what was followed.");
        }
        if parallelism < workers {
            let through = match stretch::in_words(&self.course, self.critical_path) {
                Some(places) => format!(", and runs through what was spawned {places}"),
                None => String::new(),
            };
            let lost = losses.filter(|lost| !self.is_of_pool && lost.beside >= 0.01);
            let beside = match lost {
                Some(lost) => format!(
                    " Beside it the workers had nothing to do for {:.0}% of their time.",
                    100.0 * lost.beside
                ),
                None => String::new(),
            };
            format!(
                "{here}: the critical path bounds the speedup{through}; more of the work along it has to be forked, or fewer workers do as well.{beside}"
            )
        } else if burdened < workers || (parallelism >= most && burdened < most) {
            format!(
                "{here}, but {burdened:.1} if each task that could be stolen costs {cost:?}: tasks are small for so many workers."
            )
        } else if parallelism < most {
            // T1/P + T∞: Brent's bound for who never idles while there is work.
            let part = 100.0 * parallelism / (parallelism + workers);
            format!("{here} allows at least {part:.0}% of the full speedup.")
        } else {
            format!("{here} is enough.")
        }
    }

    /// The workers' time that is explained: all of it, P·T, or in a pool's report what they had tasks for. The rest of that they may have slept or hunted since nobody asked
    /// the pool for anything.
    fn explained(&self) -> Duration {
        if self.is_of_pool { self.stats.total().working } else { self.all() }
    }

    /// P·T.
    fn all(&self) -> Duration {
        self.wall * u32::try_from(self.workers).unwrap_or(u32::MAX)
    }

    /// Of what time parts are told, where the sentence is about the workers.
    fn their_time(&self) -> &'static str {
        if self.is_of_pool { "of the time in which they had tasks" } else { "of their time" }
    }

    /// Whether that part of the workers' time is worth a word.
    fn is_much(&self, part: f64) -> bool {
        part >= MUCH && self.explained().mul_f64(part) >= SHORT
    }

    /// Where the workers' time went that was not work. `None` if nobody can say: where there was no time, and where work and times are not of the same workers, or of the
    /// same time.
    fn losses(&self) -> Option<Losses> {
        let all = self.explained().as_secs_f64();
        if self.is_mixed || self.work.is_zero() || all <= 0.0 || self.is_path_longer() {
            return None;
        }
        let (total, workers) = (self.stats.total(), self.workers as f64);
        let part = |time: Duration| time.as_secs_f64() / all;
        let throttled = self.throttled.map_or(0.0, part);
        // Where the system does not say for how long workers waited, it says what they had.
        let had = || (1.0 - self.grant.processors / workers).max(0.0);
        let off = total.off_processor.map_or_else(had, part);
        // Of who sleeps nobody knows that it wanted a processor, unless all that could have been waited for was followed.
        let is_wanted = !self.is_of_pool && self.missing().is_empty();
        let beyond =
            |most: f64| if is_wanted { (1.0 - most / workers).clamp(0.0, 1.0) } else { 0.0 };
        let (beyond, without_quota) =
            (beyond(self.grant.allowed), beyond(self.grant.affinity as f64));
        let shares = Shares {
            work: part(self.work),
            // Who idled beside the path had no tasks, so that is in no pool's report.
            path: if self.is_of_pool { 0.0 } else { part(self.critical_path) },
            off,
            throttled,
            beyond,
            beyond_quota: (beyond - without_quota).max(0.0),
            // Not the sum of all that hunted or slept: there are more than P who sleep.
            idle: (1.0 - part(total.working)).max(0.0),
        };
        Some(Losses::new(&shares, self.workers))
    }

    fn advice_on_a_quota(&self, losses: Option<&Losses>) -> Option<String> {
        if let Some(throttled) = self.throttled.filter(|&time| ratio(time, self.wall) > 0.01) {
            return Some(format!("A quota kept the process from running for {throttled:.1?}."));
        }
        let part = losses.filter(|_| !self.is_of_pool).map_or(0.0, |losses| losses.quota);
        self.is_much(part).then(|| {
            format!(
                "A quota allows {:.2} processors: that is {:.0}% of the workers' time less than without.",
                self.grant.allowed,
                100.0 * part,
            )
        })
    }

    fn advice_on_processors(&self, losses: &Losses) -> Option<String> {
        self.is_much(losses.processors).then(|| {
            let (part, had) = (100.0 * losses.processors, self.grant.processors);
            let most = match self.grant_basis {
                GrantBasis::WaitsOfTooMany => "at most ",
                _ => "",
            };
            format!(
                "Want of processors: its workers could have run and waited for a processor for {part:.0}% {}, or slept for lack of one: others have the machine, or there are more workers than processors; it had PA {most}{had:.2} processors of {}.",
                self.their_time(),
                self.workers
            )
        })
    }

    /// Only where there was parallelism, for certain; and where it took more than the model allows.
    fn advice_on_the_runtime(&self, losses: &Losses) -> Option<String> {
        let workers = self.workers as f64;
        let is_parallel = self.missing().is_empty() && self.parallelism() >= workers;
        // What workers lost to a processor that another one waited for cannot be told from what they lost to the runtime: so the larger of the two is named.
        let is_larger = losses.runtime > losses.processors.max(losses.quota);
        // A pool's bound is that of a program which asks it for something all the time.
        let is_slow = self.is_of_pool || self.of_bound() > NEAR;
        if !(is_parallel && self.is_much(losses.runtime) && is_larger && is_slow) {
            return None;
        }
        let (part, idle, burdened) =
            (100.0 * losses.runtime, 100.0 * losses.idle, self.burdened_parallelism());
        let their_time = self.their_time();
        let what = if losses.idle >= losses.runtime / 2.0 {
            format!(
                "its workers hunted or slept for {idle:.0}% {their_time} though there was parallelism"
            )
        } else {
            format!(
                "its workers neither worked nor hunted, slept or waited for {part:.0}% {their_time}: it went to forks, to what is between tasks, to tasks that were no part of this, or to a hypervisor"
            )
        };
        let why = if burdened < SLACK * workers && burdened < 0.5 * self.parallelism() {
            format!("; forks are small: the burdened parallelism is {burdened:.1}")
        } else {
            String::new()
        };
        Some(format!("The runtime: {what}{why}."))
    }

    /// A pool knows for how long its workers had tasks, and not whether the program could have given them more. No more of them than processors allowed were to have any.
    fn advice_on_what_was_asked(&self) -> Option<String> {
        let most = self.wall.mul_f64(self.grant.allowed);
        let without = most.saturating_sub(self.stats.total().working);
        let part = ratio(without, most);
        (self.is_of_pool && !self.is_mixed && part >= MUCH && without >= SHORT).then(|| {
            format!(
                "For {:.0}% of the time of the processors allowed no worker had a task: the program asked the pool for nothing then, or for too little at a time, or workers looked for tasks in vain.",
                100.0 * part
            )
        })
    }

    /// Than the time that it took.
    fn is_path_longer(&self) -> bool {
        ratio(self.critical_path, self.wall) > 1.01
    }
}

/// Parts of the workers' time, P·T.
struct Shares {
    work: f64,
    path: f64,
    /// In which they could have run and did not.
    off: f64,
    throttled: f64,
    /// That is more than all processors allowed have: in it they waited, or slept since a governor kept them from that.
    beyond: f64,
    /// What of that a quota did not allow.
    beyond_quota: f64,
    /// In which they had no tasks, on the clock of the wall.
    idle: f64,
}

/// What explains the part of the workers' time that was not work. All of them together are that part.
#[derive(Debug)]
struct Losses {
    /// Workers had nothing to do since the critical path was under way, which others cannot shorten.
    #[cfg_attr(
        any(not(test), loom),
        expect(dead_code, reason = "told as far as they did not wait")
    )]
    parallelism: f64,
    /// What of that they certainly hunted or slept, and did not wait.
    beside: f64,
    /// They could have run, and others had the processor, or there was none for so many.
    processors: f64,
    /// They could have run, and a quota was used up, or allowed fewer.
    quota: f64,
    /// The rest.
    runtime: f64,
    /// What of the rest they hunted or slept.
    idle: f64,
}

impl Losses {
    /// A scheduler that never leaves a processor idle while there is work lets the other P − 1 idle for T∞ at most (Brent; Graham). Where workers wait for
    /// processors, those on the path do, too, on average as often as those in other work, and so long the others have nothing to do either. The remainder is lost to
    /// processors as far as workers have waited or are too many for them, and the runtime's otherwise. So who hunts in vain beside a long path and waits when it yields wants no processor.
    fn new(shares: &Shares, workers: usize) -> Self {
        let rest = (1.0 - shares.work).max(0.0);
        // Whether the waits have those of a quota in them depends on the kernel.
        let off = shares.off.max(shares.throttled);
        let stretched = shares.path * (1.0 + off / shares.work.max(1e-12));
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

/// A tenth of the workers' time: what is lost below that nobody would look for, and the two ends of a stretch are not read in one moment either.
const MUCH: f64 = 0.1;

/// Less than this, summed over the workers, is what it takes to wake them and to put them to sleep, of which each takes the kernel some 50 µs.
const SHORT: Duration = Duration::from_millis(1);

/// So much longer than the bound may be noise: in Hood's measurements the constants are 1 and a few hundredths.
const NEAR: f64 = 1.1;

/// So many times as many as workers: from there on the work outweighs the critical path by far. (Cilkview's rule of thumb is 10.)
const SLACK: f64 = 10.0;

fn sentence(reason: &str, consequence: &str) -> String {
    let mut letters = reason.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    let reason: String = first.chain(letters).collect();
    format!("{reason}: {consequence}.")
}

#[cfg(all(test, not(loom)))]
mod tests;
