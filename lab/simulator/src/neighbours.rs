//! Other programs by name.

use std::cell::RefCell;
use std::num::NonZeroUsize;
use std::rc::Rc;
use std::str::FromStr;
use std::time::Duration;

use manycore::Program;

use crate::computation::Computation;
use crate::runtimes::{Runtime, Stretch};

/// Another program on the machine. Times are in nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Neighbour {
    /// Threads that compute without an end.
    Loops(u64),
    /// A thread that sleeps and then computes.
    Interactive(u64, u64),
    /// A thread that computes and then sleeps.
    Sleeper(u64, u64),
    /// A team with a spinning barrier.
    Team(u64, u64),
    /// A runtime with so many workers, or one for each processor, which computes again and again.
    Runs(Runtime, Option<usize>, Computation),
}

/// The computations that a neighbour has done.
pub type Done = Rc<RefCell<Vec<Stretch>>>;

impl Neighbour {
    /// The program, on this number of processors. A runtime lists what it has computed.
    pub fn program(&self, processors: usize, done: &Done) -> Program {
        let time = Duration::from_nanos;
        match *self {
            Self::Runs(ref runtime, workers, computation) => {
                let (runtime, done) = (runtime.clone(), Rc::clone(done));
                let workers = workers.unwrap_or(processors);
                Program::new("runtime", move || {
                    let note = |stretch| done.borrow_mut().push(stretch);
                    runtime.repeat(workers, computation, note).expect("the neighbour computes");
                })
            }
            Self::Loops(threads) => Program::busy_loops(threads as usize),
            Self::Interactive(pause, work) => Program::interactive(time(pause), time(work)),
            Self::Sleeper(work, pause) => Program::sleeper(time(work), time(pause)),
            Self::Team(threads, work) => Program::static_team(threads as usize, time(work)),
        }
    }
}

impl FromStr for Neighbour {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some((runtime, computation)) = text.split_once('=') {
            let computation = computation.parse::<Computation>().map_err(|it| it.to_string())?;
            let (runtime, workers) = match runtime.split_once('@') {
                Some((runtime, workers)) => {
                    let workers = workers.parse::<NonZeroUsize>();
                    let workers =
                        workers.map_err(|error| format!("workers of '{text}': {error}"))?;
                    (runtime, Some(workers.get()))
                }
                None => (runtime, None),
            };
            return Ok(Self::Runs(runtime.parse()?, workers, computation));
        }
        let known = "loops:THREADS, interactive:PAUSE:WORK, sleeper:WORK:PAUSE, team:THREADS:NS, \
                     RUNTIME[@WORKERS]=COMPUTATION";
        let unknown = || format!("unknown neighbour '{text}'; there are {known}, in nanoseconds");
        let mut words = text.split(':');
        let name = words.next().unwrap_or_default();
        let numbers: Result<Vec<u64>, _> = words.map(str::parse).collect();
        match (name, numbers.map_err(|_| unknown())?.as_slice()) {
            ("loops", &[threads]) => Ok(Self::Loops(threads)),
            ("interactive", &[pause, work]) => Ok(Self::Interactive(pause, work)),
            ("sleeper", &[work, pause]) => Ok(Self::Sleeper(work, pause)),
            ("team", &[threads, work]) if threads > 0 => Ok(Self::Team(threads, work)),
            _ => Err(unknown()),
        }
    }
}

/// The mean time of those computations that lie within a stretch, in nanoseconds; 0 if there is
/// none.
pub fn mean_within((start, end): Stretch, done: &[Stretch]) -> u64 {
    let within = done.iter().filter(|it| start <= it.0 && it.1 <= end);
    let times = within.map(|(start, end)| (*end - *start).as_nanos() as u64);
    let (sum, count) = times.fold((0, 0), |(sum, count), time| (sum + time, count + 1));
    u64::checked_div(sum, count).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use manycore::Machine;
    use manycore::time::Instant;

    #[test]
    fn a_text_names_a_neighbour_or_is_refused() {
        assert_eq!("loops:3".parse(), Ok(Neighbour::Loops(3)));
        let tree = "tree:8:100".parse().unwrap();
        let locksley = |workers| Ok(Neighbour::Runs(Runtime::Locksley, workers, tree));
        assert_eq!("locksley=tree:8:100".parse(), locksley(None));
        assert_eq!("locksley@3=tree:8:100".parse(), locksley(Some(3)));
        let wrong_workers = ["locksley@0=tree:8:100", "locksley@=tree:8:100"];
        let others = ["", "loops", "team:0:1", "locksley=bush:1", "hood=tree:8:100"];
        for wrong in wrong_workers.into_iter().chain(others) {
            assert!(wrong.parse::<Neighbour>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn only_what_lies_within_counts() {
        Machine::builder().run(|| {
            let start = Instant::now();
            let at = |nanos| start + Duration::from_nanos(nanos);
            let done = [(at(0), at(20)), (at(20), at(40)), (at(40), at(80)), (at(80), at(101))];
            assert_eq!(mean_within((at(10), at(100)), &done), 30);
            assert_eq!(mean_within((at(90), at(100)), &done), 0);
        });
    }
}
