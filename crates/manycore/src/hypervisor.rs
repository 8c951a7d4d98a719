//! What takes processors away: a hypervisor, or an adversary.
//!
//! Source of the adversaries: Arora, Blumofe and Plaxton, "Thread scheduling for multiprogrammed
//! multiprocessors", SPAA 1998, the analysis that Hood's study cites.
//!
//! The kernel's state does not change when a processor is taken away: its thread is still the
//! current one.

use crate::ids::{Nanos, ThreadId};

/// What a hypervisor may look at.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// The time.
    pub now: Nanos,
    /// The thread that each processor runs, whether or not the processor is taken away.
    pub running: &'a [Option<ThreadId>],
    /// For each processor, whether a thread has called `sched_yield` there since the last decision.
    pub yielded: &'a [bool],
}

/// Decides which processors are available.
pub trait Hypervisor {
    /// All flags are set when this is called. It clears those of the processors that are away until
    /// the next call, and returns when that comes, in nanoseconds from now; 0 counts as 1.
    fn decide(&mut self, view: &View<'_>, available: &mut [bool]) -> Nanos;
}

/// Advances the state, and returns the next random number (SplitMix64).
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

/// Leaves `count` flags set: first those of the lowest rank, and of equal ones random ones.
fn keep<R: Ord>(available: &mut [bool], count: usize, state: &mut u64, rank: impl Fn(usize) -> R) {
    let mut order: Vec<_> = (0..available.len()).collect();
    for at in (1..order.len()).rev() {
        order.swap(at, next(state) as usize % (at + 1));
    }
    order.sort_by_key(|&cpu| rank(cpu));
    for &cpu in order.iter().skip(count) {
        available[cpu] = false;
    }
}

/// The benign adversary: it decides how many processors run, and chance decides which.
#[derive(Clone, Debug)]
pub struct Benign {
    /// How many processors run in each quantum, again and again.
    pub counts: Vec<usize>,
    /// The length of a quantum.
    pub quantum: Nanos,
    /// Of the random choice.
    pub seed: u64,
    /// The number of the next quantum.
    pub step: usize,
}

impl Benign {
    /// Lets `counts` processors run, for a quantum each.
    ///
    /// # Panics
    /// If `counts` is empty.
    pub fn new(counts: Vec<usize>, quantum: Nanos, seed: u64) -> Self {
        assert!(!counts.is_empty(), "a benign adversary has counts");
        Self { counts, quantum, seed, step: 0 }
    }
}

impl Hypervisor for Benign {
    fn decide(&mut self, _: &View<'_>, available: &mut [bool]) -> Nanos {
        let count = self.counts[self.step % self.counts.len()];
        self.step += 1;
        keep(available, count, &mut self.seed, |_| ());
        self.quantum
    }
}

/// The oblivious adversary: it decides in advance which processors run.
#[derive(Clone, Debug)]
pub struct Oblivious {
    /// The processors that run in each quantum, again and again.
    pub schedule: Vec<Vec<bool>>,
    /// The length of a quantum.
    pub quantum: Nanos,
    /// The number of the next quantum.
    pub step: usize,
}

impl Oblivious {
    /// Lets these processors run, for a quantum each. Processors that a quantum does not list run.
    ///
    /// # Panics
    /// If `schedule` is empty.
    pub fn new(schedule: Vec<Vec<bool>>, quantum: Nanos) -> Self {
        assert!(!schedule.is_empty(), "an oblivious adversary has a schedule");
        Self { schedule, quantum, step: 0 }
    }
}

impl Hypervisor for Oblivious {
    fn decide(&mut self, _: &View<'_>, available: &mut [bool]) -> Nanos {
        let listed = &self.schedule[self.step % self.schedule.len()];
        self.step += 1;
        available.iter_mut().zip(listed).for_each(|(flag, &runs)| *flag = runs);
        self.quantum
    }
}

/// The adaptive adversary: it looks at what each processor does, and takes away those that it would
/// hurt most.
pub struct Adaptive<F> {
    count: usize,
    quantum: Nanos,
    seed: u64,
    is_spared: F,
    turns: Option<Turns>,
}

/// When processors ran and yielded, in numbers of decisions.
#[derive(Default)]
struct Turns {
    now: u64,
    ran: Vec<u64>,
    yielded: Vec<u64>,
}

impl Turns {
    fn note_yields(&mut self, view: &View<'_>) {
        self.ran.resize(view.yielded.len(), 0);
        self.yielded.resize(view.yielded.len(), 0);
        // A processor without a thread has nothing to run: it counts as one that yields.
        let yields = view.yielded.iter().zip(view.running).map(|it| *it.0 || it.1.is_none());
        let yielded = self.yielded.iter_mut().zip(yields);
        yielded.filter(|it| it.1).for_each(|(at, _)| *at = self.now);
        self.now += 1;
    }

    /// For each processor 0, but if it yielded when it ran last, and not all others have run since,
    /// the number of the decision by which it ran last.
    fn bars(&self) -> Vec<u64> {
        let bar = |cpu: usize| {
            let (ran, yielded) = (self.ran[cpu], self.yielded[cpu]);
            let mut others = (0..self.ran.len()).filter(|&other| other != cpu);
            let is_barred = yielded >= ran && others.any(|other| self.ran[other] <= yielded);
            if is_barred { ran } else { 0 }
        };
        (0..self.ran.len()).map(bar).collect()
    }
}

impl<F> std::fmt::Debug for Adaptive<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Adaptive").field("count", &self.count).finish_non_exhaustive()
    }
}

impl<F: FnMut(&View<'_>, usize) -> bool> Adaptive<F> {
    /// Lets `count` processors run; first those for which `is_spared` returns true, then others.
    pub fn new(count: usize, quantum: Nanos, seed: u64, is_spared: F) -> Self {
        Self { count, quantum, seed, is_spared, turns: None }
    }

    /// The same, but it obeys yields, as the analysis demands (`yieldToAll`): a processor whose
    /// thread has yielded runs again only after all others have run. If that leaves too few, those
    /// run that have not run for the longest time.
    #[must_use]
    pub fn obeying_yields(self) -> Self {
        Self { turns: Some(Turns::default()), ..self }
    }
}

impl<F: FnMut(&View<'_>, usize) -> bool> Hypervisor for Adaptive<F> {
    fn decide(&mut self, view: &View<'_>, available: &mut [bool]) -> Nanos {
        let spared: Vec<_> = (0..available.len()).map(|cpu| (self.is_spared)(view, cpu)).collect();
        let bars = self.turns.as_mut().map(|turns| {
            turns.note_yields(view);
            turns.bars()
        });
        let bar = |cpu: usize| bars.as_ref().map_or(0, |bars| bars[cpu]);
        keep(available, self.count, &mut self.seed, |cpu| (bar(cpu), !spared[cpu]));
        if let Some(Turns { now, ran, .. }) = &mut self.turns {
            ran.iter_mut().zip(&*available).filter(|it| *it.1).for_each(|(at, _)| *at = *now);
        }
        self.quantum
    }
}

/// A host that is shared: processors are taken away in turn, each for `away` of every `period`.
#[derive(Clone, Copy, Debug)]
pub struct Steal {
    /// How long a processor runs and is away, together.
    pub period: Nanos,
    /// How long it is away.
    pub away: Nanos,
    /// How many processors, the first ones, are taken away at all.
    pub processors: usize,
}

impl Hypervisor for Steal {
    fn decide(&mut self, view: &View<'_>, available: &mut [bool]) -> Nanos {
        let (period, count) = (self.period.max(1), available.len() as u64);
        let mut next_change = period;
        for (cpu, flag) in available.iter_mut().enumerate().take(self.processors) {
            let phase = (view.now + period * cpu as u64 / count) % period;
            *flag = phase >= self.away;
            let until = if *flag { period } else { self.away } - phase;
            next_change = next_change.min(until);
        }
        next_change
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decide(hypervisor: &mut dyn Hypervisor, now: Nanos, count: usize) -> (Vec<bool>, Nanos) {
        let mut available = vec![true; count];
        let (running, yielded) = (vec![None; count], vec![false; count]);
        let view = View { now, running: &running, yielded: &yielded };
        let next = hypervisor.decide(&view, &mut available);
        (available, next)
    }

    #[test]
    fn a_benign_adversary_keeps_the_counts_and_chooses_by_chance() {
        let mut benign = Benign::new(vec![2, 5], 100, 1);
        let kept = |it: Vec<bool>| it.iter().filter(|&&flag| flag).count();
        let first: Vec<_> = (0..20).map(|_| decide(&mut benign, 0, 8).0).collect();
        for (at, available) in first.iter().enumerate() {
            assert_eq!(kept(available.clone()), [2, 5][at % 2]);
        }
        let often = |cpu: usize| first.iter().filter(|it| it[cpu]).count();
        assert!((0..8).all(|cpu| (1..20).contains(&often(cpu))));
    }

    #[test]
    fn an_adaptive_adversary_spares_what_it_is_told_to() {
        let mut adaptive = Adaptive::new(3, 100, 1, |_, cpu| cpu >= 5);
        let (available, quantum) = decide(&mut adaptive, 0, 8);
        assert_eq!(available, [false, false, false, false, false, true, true, true]);
        assert_eq!(quantum, 100);
    }

    #[test]
    fn a_processor_that_yields_runs_after_all_others() {
        // It would let the first processor run for ever, whose thread yields whenever it runs.
        let mut adaptive = Adaptive::new(1, 100, 1, |_, cpu| cpu == 0).obeying_yields();
        let (mut yielded, mut since, mut turns) = ([false; 4], [true; 4], 0);
        for _ in 0..400 {
            let mut available = [true; 4];
            let running = [Some(ThreadId(0)); 4];
            let view = View { now: 0, running: &running, yielded: &yielded };
            adaptive.decide(&view, &mut available);
            let one = available.iter().position(|&it| it).unwrap();
            since[one] = true;
            if one == 0 {
                assert_eq!(since, [true; 4]);
                (since, turns) = ([false; 4], turns + 1);
            }
            yielded = std::array::from_fn(|cpu| cpu == 0 && one == 0);
        }
        // It spares the first one as soon as it may.
        assert!(turns > 400 / 10, "{turns}");
    }

    #[test]
    fn an_oblivious_adversary_repeats_its_schedule() {
        let mut oblivious = Oblivious::new(vec![vec![true, false], vec![false, true]], 7);
        assert_eq!(decide(&mut oblivious, 0, 3).0, [true, false, true]);
        assert_eq!(decide(&mut oblivious, 7, 3).0, [false, true, true]);
        assert_eq!(decide(&mut oblivious, 14, 3).0, [true, false, true]);
    }

    #[test]
    fn stolen_processors_are_away_in_turn() {
        let mut steal = Steal { period: 1000, away: 250, processors: usize::MAX };
        let mut away = [0; 4];
        let mut now = 0;
        while now < 4000 {
            let (available, next) = decide(&mut steal, now, 4);
            for (cpu, flag) in available.iter().enumerate() {
                away[cpu] += if *flag { 0 } else { next.min(4000 - now) };
            }
            now += next;
        }
        assert_eq!(away, [1000; 4]);
    }
}
