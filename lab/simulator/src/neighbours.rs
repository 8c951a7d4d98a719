//! Other programs by name.

use std::str::FromStr;
use std::time::Duration;

use manycore::Program;

/// Another program on the machine. Times are in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Neighbour {
    /// Threads that compute without an end.
    Loops(u64),
    /// A thread that sleeps and then computes.
    Interactive(u64, u64),
    /// A thread that computes and then sleeps.
    Sleeper(u64, u64),
    /// A team with a spinning barrier.
    Team(u64, u64),
}

impl Neighbour {
    /// The program.
    pub fn program(&self) -> Program {
        let time = Duration::from_nanos;
        match *self {
            Self::Loops(threads) => Program::busy_loops(threads as usize),
            Self::Interactive(period, work) => Program::interactive(time(period), time(work)),
            Self::Sleeper(work, pause) => Program::sleeper(time(work), time(pause)),
            Self::Team(threads, work) => Program::static_team(threads as usize, time(work)),
        }
    }
}

impl FromStr for Neighbour {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = "loops:THREADS, interactive:PAUSE:WORK, sleeper:WORK:PAUSE, team:THREADS:NS";
        let unknown = || format!("unknown neighbour '{text}'; there are {known}, in nanoseconds");
        let mut words = text.split(':');
        let name = words.next().unwrap_or_default();
        let numbers: Result<Vec<u64>, _> = words.map(str::parse).collect();
        match (name, numbers.map_err(|_| unknown())?.as_slice()) {
            ("loops", &[threads]) => Ok(Self::Loops(threads)),
            ("interactive", &[period, work]) => Ok(Self::Interactive(period, work)),
            ("sleeper", &[work, pause]) => Ok(Self::Sleeper(work, pause)),
            ("team", &[threads, work]) if threads > 0 => Ok(Self::Team(threads, work)),
            _ => Err(unknown()),
        }
    }
}
