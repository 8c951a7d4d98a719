//! Ranks within one process, for tests and for programs without MPI.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::Transport;
use crate::error::Error;
use crate::random::Random;

/// A network within one process: it delays and reorders messages, and can kill ranks.
///
/// Use it to test a program without MPI. With a [manual clock](Self::manual_clock) and all ranks on
/// one thread, the seed determines the run.
///
/// # Examples
/// ```
/// use locksley_mpi::{Simulation, Transport};
/// use std::time::Duration;
///
/// let ms = Duration::from_millis;
/// let simulation = Simulation::new(2, 42).delay(ms(1)..ms(2)).manual_clock();
/// let mut ranks = simulation.ranks();
/// ranks[0].send(1, b"hello".to_vec())?;
/// assert_eq!(ranks[1].try_receive()?, None);
/// simulation.advance(ms(2));
/// assert_eq!(ranks[1].try_receive()?, Some((0, b"hello".to_vec())));
/// # Ok::<(), locksley_mpi::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Simulation {
    size: usize,
    start: Instant,
    delay: Range<Duration>,
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    random: Random,
    /// The time by the manual clock.
    manual: Option<Duration>,
    sent: u64,
    inboxes: Vec<BinaryHeap<Reverse<Letter>>>,
    /// How many more messages each rank sends before it dies. 0: it is dead.
    lives: Vec<u64>,
}

/// A message on its way: ordered by when it arrives, then by when it was sent.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Letter {
    arrival: Duration,
    number: u64,
    from: usize,
    message: Vec<u8>,
}

impl Simulation {
    /// A network of `size` ranks without delays.
    ///
    /// # Panics
    /// If `size` is 0.
    #[must_use]
    pub fn new(size: usize, seed: u64) -> Self {
        assert!(size > 0, "there is a rank at least");
        let state = State {
            random: Random::new(seed),
            manual: None,
            sent: 0,
            inboxes: (0..size).map(|_| BinaryHeap::new()).collect(),
            lives: vec![u64::MAX; size],
        };
        let state = Arc::new(Mutex::new(state));
        Self { size, start: Instant::now(), delay: Duration::ZERO..Duration::ZERO, state }
    }

    /// Delays each message by a random time in this range. Messages overtake each other, those of
    /// one pair of ranks, too.
    #[must_use]
    pub fn delay(self, delay: Range<Duration>) -> Self {
        Self { delay, ..self }
    }

    /// Has time pass by [`advance`](Self::advance) only.
    #[must_use]
    pub fn manual_clock(self) -> Self {
        self.lock().manual = Some(Duration::ZERO);
        self
    }

    /// Advances the manual clock.
    ///
    /// # Panics
    /// If there is none.
    pub fn advance(&self, time: Duration) {
        *self.lock().manual.as_mut().expect("the clock is manual") += time;
    }

    /// Kills a rank: what it sends, and what is sent to it, is lost from now on. Its own calls
    /// fail.
    ///
    /// # Panics
    /// If there is no such rank.
    pub fn kill(&self, rank: usize) {
        self.kill_after(rank, 0);
    }

    /// Kills a rank as soon as it has sent so many messages more. Use it to test each moment at
    /// which others may notice a death.
    ///
    /// # Panics
    /// If there is no such rank.
    pub fn kill_after(&self, rank: usize, messages: u64) {
        self.lock().lives[rank] = messages;
    }

    /// The transports of all ranks.
    #[must_use]
    pub fn ranks(&self) -> Vec<Simulated> {
        (0..self.size).map(|rank| Simulated { rank, network: self.clone() }).collect()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self, state: &State) -> Duration {
        state.manual.unwrap_or_else(|| self.start.elapsed())
    }

    /// The state, unless this rank was killed.
    fn alive(&self, rank: usize) -> Result<MutexGuard<'_, State>, Error> {
        let state = self.lock();
        if state.lives[rank] == 0 {
            return Err(Error::Transport("this rank was killed".to_owned()));
        }
        Ok(state)
    }
}

/// One rank of a [`Simulation`].
#[derive(Debug)]
pub struct Simulated {
    rank: usize,
    network: Simulation,
}

impl Transport for Simulated {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.network.size
    }

    fn now(&self) -> Duration {
        self.network.now(&self.network.lock())
    }

    fn survives_deaths(&self) -> Result<(), &'static str> {
        Ok(())
    }

    fn send(&mut self, to: usize, message: Vec<u8>) -> Result<(), Error> {
        let mut state = self.network.alive(self.rank)?;
        let Range { start, end } = self.network.delay;
        let spread = (end.saturating_sub(start).as_nanos() as u64).max(1);
        let delay = start + Duration::from_nanos(state.random.below(spread));
        let arrival = self.network.now(&state) + delay;
        state.sent += 1;
        let letter = Letter { arrival, number: state.sent, from: self.rank, message };
        state.lives[self.rank] -= 1;
        if state.lives[to] > 0 {
            state.inboxes[to].push(Reverse(letter));
        }
        Ok(())
    }

    fn try_receive(&mut self) -> Result<Option<(usize, Vec<u8>)>, Error> {
        let mut state = self.network.alive(self.rank)?;
        let now = self.network.now(&state);
        let inbox = &mut state.inboxes[self.rank];
        if inbox.peek().is_none_or(|Reverse(first)| first.arrival > now) {
            return Ok(None);
        }
        Ok(inbox.pop().map(|Reverse(letter)| (letter.from, letter.message)))
    }
}
