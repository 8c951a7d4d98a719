//! What takes processors away, by name.

use std::cell::{Cell, RefCell};
use std::str::FromStr;

use manycore::hypervisor::{Adaptive, Benign, Hypervisor, Oblivious, Steal, View};
use manycore::{ThreadId, thread};

/// Takes processors away. Times are in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Adversary {
    /// A number of processors run in each quantum, chosen at random.
    Benign(usize, u64),
    /// The same, but the next ones in turn.
    Oblivious(usize, u64),
    /// The same, but first those whose threads do no work of a computation. It obeys yields.
    Adaptive(usize, u64),
    /// Of each period, each of so many processors is away for a time.
    Steal(u64, u64, usize),
}

thread_local! {
    /// The threads that do work of a computation. All virtual threads are on one host thread.
    static WORKING: RefCell<Vec<bool>> = const { RefCell::new(Vec::new()) };
    /// Whether the measured computation has begun.
    static HAS_BEGUN: Cell<bool> = const { Cell::new(false) };
}

/// Lets adversaries begin: the kernel has spread the workers.
pub fn begin() {
    HAS_BEGUN.set(true);
}

/// Takes nothing away before [`begin`].
struct Later(Box<dyn Hypervisor>);

/// How often [`Later`] looks, in nanoseconds.
const LOOK: u64 = 20_000;

impl Hypervisor for Later {
    fn decide(&mut self, view: &View<'_>, available: &mut [bool]) -> u64 {
        if HAS_BEGUN.get() { self.0.decide(view, available) } else { LOOK }
    }
}

fn is_working(thread: ThreadId) -> bool {
    WORKING.with_borrow(|all| all.get(thread.index()).copied().unwrap_or(false))
}

/// Says whether this thread does work of a computation.
pub fn set_working(is_working: bool) {
    let index = thread::current().id().index();
    WORKING.with_borrow_mut(|all| {
        if all.len() <= index {
            all.resize(index + 1, false);
        }
        all[index] = is_working;
    });
}

impl Adversary {
    /// For a machine with this number of processors, which is the only one of this host thread.
    pub fn hypervisor(self, processors: usize, seed: u64) -> impl Hypervisor + 'static {
        HAS_BEGUN.set(false);
        WORKING.take();
        // It obeys yields, and an idle processor would never yield.
        let is_useless = |view: &View<'_>, cpu: usize| {
            view.running[cpu].is_some_and(|thread| !is_working(thread))
        };
        let hypervisor: Box<dyn Hypervisor> = match self {
            Self::Benign(count, quantum) => Box::new(Benign::new(vec![count], quantum, seed)),
            Self::Oblivious(count, quantum) => {
                let turns = (0..processors).map(|turn| {
                    let is_on = |cpu: usize| (cpu + processors - turn) % processors < count;
                    (0..processors).map(is_on).collect()
                });
                // So that each turn has other processors.
                Box::new(Oblivious::new(turns.step_by(count).collect(), quantum))
            }
            Self::Adaptive(count, quantum) => {
                Box::new(Adaptive::new(count, quantum, seed, is_useless).obeying_yields())
            }
            Self::Steal(period, away, processors) => Box::new(Steal { period, away, processors }),
        };
        Later(hypervisor)
    }
}

impl FromStr for Adversary {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = "benign:COUNT:QUANTUM, oblivious:COUNT:QUANTUM, adaptive:COUNT:QUANTUM, \
                     steal:PERIOD:AWAY[:PROCESSORS]";
        let unknown = || format!("unknown adversary '{text}'; there are {known}, in nanoseconds");
        let mut words = text.split(':');
        let name = words.next().unwrap_or_default();
        let numbers: Result<Vec<u64>, _> = words.map(str::parse).collect();
        let (first, second, third) = match *numbers.map_err(|_| unknown())? {
            [first, second] => (first, second, usize::MAX),
            [first, second, third] if name == "steal" => (first, second, third as usize),
            _ => return Err(unknown()),
        };
        match name {
            "steal" if second < first => Ok(Self::Steal(first, second, third)),
            _ if first == 0 || second == 0 => Err(unknown()),
            "benign" => Ok(Self::Benign(first as usize, second)),
            "oblivious" => Ok(Self::Oblivious(first as usize, second)),
            "adaptive" => Ok(Self::Adaptive(first as usize, second)),
            _ => Err(unknown()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_names_an_adversary_or_is_refused() {
        assert_eq!("benign:8:100".parse(), Ok(Adversary::Benign(8, 100)));
        assert_eq!("steal:1000:0".parse(), Ok(Adversary::Steal(1000, 0, usize::MAX)));
        assert_eq!("steal:1000:1:8".parse(), Ok(Adversary::Steal(1000, 1, 8)));
        let wrong = ["", "benign", "benign:8", "benign:0:1", "benign:8:1:1", "steal:5:5", "x:1:1"];
        for wrong in wrong {
            assert!(wrong.parse::<Adversary>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_oblivious_adversary_gives_each_processor_its_turn() {
        let mut adversary = Adversary::Oblivious(2, 100).hypervisor(4, 1);
        let mut decide = || {
            let mut available = [true; 4];
            let view = View { now: 0, running: &[None; 4], yielded: &[false; 4] };
            adversary.decide(&view, &mut available);
            available
        };
        assert_eq!(decide(), [true; 4]);
        begin();
        assert_eq!(decide(), [true, true, false, false]);
        assert_eq!(decide(), [false, false, true, true]);
        assert_eq!(decide(), [true, true, false, false]);
    }
}
