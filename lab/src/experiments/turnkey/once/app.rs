//! An application: alone, beside a cycler, or under a quota. All contestants are measured in one process, with the same input in the same place of its
//! memory.
//!
//! Alone and beside a cycler they have many short turns each: the speed of a host changes within a second by more than what is looked for, and so does
//! what a cycler takes. A turn begins with a computation that does not count: the contestant has slept while the others had theirs, and a pool to which
//! nobody says a number has more to do when it wakes. (It looks at what is allowed, ten times a second, for a fifth of a millisecond or so; so of that some is
//! not in the figures, less than 2 in a thousand.)
//!
//! Under a quota each has one long turn, of whole periods: whatever it does, the quota is used up within a period or is not, and a short
//! turn would say where in a period it began.

use std::time::{Duration, Instant};

use super::Seeds;
use super::account::Account;
use super::beside::Cycler;
use super::groups::{Ground, Group};
use super::subject::Setting;
use crate::apps::{self, Instance};
use crate::experiments::turnkey::contestant::Contestant;
use crate::experiments::turnkey::record::{Reading, Turn};
use crate::fault::{Fault, Outcome};
use crate::random::Random;
use crate::runtimes::Crew;

/// How long a short turn is, at least.
const SHORT: Duration = Duration::from_millis(10);
/// So long the cycler has had before anything is timed.
const HEAD_START: Duration = Duration::from_millis(50);
/// Before a long turn so long nothing runs, more than a period: what the one before has used is there again.
const REST: Duration = Duration::from_millis(110);
/// And so long it computes before anything is timed: a pool has found out by then what it may use.
const WARM_UP: Duration = Duration::from_millis(200);

/// Each of them, for so long together; or under a quota for so long each.
pub(super) fn measure(
    app: &str,
    size: &str,
    setting: Setting,
    contestants: &[Contestant],
    time: Duration,
    seeds: Seeds,
) -> Outcome<Reading> {
    let problem = apps::problem(apps::find(app)?, size)?;
    let mut instance = problem.prepare(seeds.input);
    let seed = seeds.of_repetition();
    let turns = match setting {
        Setting::Alone => short_turns(contestants, instance.as_mut(), time, seed)?,
        Setting::Beside => {
            let _cycler = Cycler::start(seed)?;
            std::thread::sleep(HEAD_START);
            short_turns(contestants, instance.as_mut(), time, seed)?
        }
        Setting::Under(hundredths) => {
            let ground = Ground::find().map_err(Fault::run)?;
            let group = ground.group("app", Some(hundredths))?;
            long_turns(contestants, instance.as_mut(), &group, time, seed)?
        }
    };
    Ok(Reading::Turns { turns })
}

/// The numbers below `number`, in an order that is drawn.
fn drawn(number: usize, random: &mut Random) -> Vec<usize> {
    let mut order: Vec<usize> = (0..number).collect();
    order.sort_by_cached_key(|_| random.next_u64());
    order
}

/// Many for each, in an order that is drawn each time. All have their workers all the while; they sleep when it is not their turn, so this is for
/// those that do.
fn short_turns(
    contestants: &[Contestant],
    instance: &mut dyn Instance,
    time: Duration,
    seed: u64,
) -> Outcome<Vec<Turn>> {
    let crews: Vec<Crew> = contestants.iter().map(Contestant::start).collect::<Outcome<_>>()?;
    let mut turns: Vec<Turn> = contestants.iter().map(Turn::none_of).collect();
    let (mut random, begun) = (Random::new(seed), Instant::now());
    loop {
        for place in drawn(crews.len(), &mut random) {
            let mut compute = || computed(&crews[place], instance);
            compute()?;
            turns[place].add(&repeat(&mut compute, SHORT, None)?);
        }
        if begun.elapsed() >= time {
            return Ok(turns);
        }
    }
}

/// One for each, in an order that is drawn.
fn long_turns(
    contestants: &[Contestant],
    instance: &mut dyn Instance,
    group: &Group,
    time: Duration,
    seed: u64,
) -> Outcome<Vec<Turn>> {
    let mut turns: Vec<Turn> = contestants.iter().map(Turn::none_of).collect();
    for place in drawn(contestants.len(), &mut Random::new(seed)) {
        std::thread::sleep(REST);
        // Alone: not all of them sleep when they have nothing to do.
        let crew = contestants[place].start()?;
        let mut compute = || computed(&crew, instance);
        repeat(&mut compute, WARM_UP, Some(group))?;
        let account = Account::begin(group)?;
        turns[place].add(&repeat(&mut compute, time, Some(group))?);
        turns[place].throttling = Some(account.end()?);
    }
    Ok(turns)
}

impl Turn {
    /// One that has not begun.
    fn none_of(contestant: &Contestant) -> Turn {
        let contestant = contestant.clone();
        Turn { contestant, seconds: 0.0, computations: 0, throttling: None }
    }

    /// So long computations took more.
    fn add(&mut self, seconds: &[f64]) {
        let before = self.seconds * self.computations as f64;
        self.computations += seconds.len();
        self.seconds = (before + seconds.iter().sum::<f64>()) / self.computations as f64;
    }
}

/// How long each computation took that began within the time, and at least one. Under a quota the time is prolonged until one of the kernel's
/// periods has ended: from the end of such a time to that of another lie whole periods, but for part of a computation.
fn repeat(
    compute: &mut dyn FnMut() -> Outcome<f64>,
    time: Duration,
    group: Option<&Group>,
) -> Outcome<Vec<f64>> {
    let periods = || group.map(|group| Ok(group.kept()?.periods)).transpose();
    let (begun, mut before, mut seconds) = (Instant::now(), periods()?, Vec::new());
    loop {
        seconds.push(compute()?);
        let now = periods()?;
        if begun.elapsed() >= time && (group.is_none() || now != before) {
            return Ok(seconds);
        }
        before = now;
    }
}

/// The seconds that it took, if the answer is right.
fn computed(crew: &Crew, instance: &mut dyn Instance) -> Outcome<f64> {
    let time = crew.compute(instance);
    instance.check().map_err(|wrong| Fault::run(format!("the answer is wrong: {wrong}")))?;
    Ok(time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_order_is_drawn_sooner_or_later() {
        let mut random = Random::new(3);
        let orders: std::collections::BTreeSet<Vec<usize>> =
            (0..200).map(|_| drawn(3, &mut random)).collect();
        assert_eq!(orders.len(), 6);
        let [one, other] = [7, 7].map(|seed| drawn(12, &mut Random::new(seed)));
        assert_eq!(one, other);
    }

    #[test]
    fn a_turn_has_the_mean_of_all() {
        let mut turn = Turn::none_of(&Contestant::turnkey());
        turn.add(&[1.0, 3.0]);
        turn.add(&[8.0]);
        assert_eq!((turn.seconds, turn.computations), (4.0, 3));
    }

    #[test]
    fn each_has_its_turns_and_its_name() {
        let contestants = [Contestant::turnkey(), Contestant::fixed(3), Contestant::on("rayon", 2)];
        let seeds = Seeds { input: 1, repeat: 2 };
        let time = Duration::from_millis(1);
        let found = measure("msort", "5K", Setting::Alone, &contestants, time, seeds).unwrap();
        let Reading::Turns { turns } = found else { panic!("{found:?}") };
        let of: Vec<Contestant> = turns.iter().map(|turn| turn.contestant.clone()).collect();
        assert_eq!(of, contestants);
        assert!(turns.iter().all(|turn| turn.seconds > 0.0 && turn.computations > 0));
        let unknown = measure("msort", "x", Setting::Alone, &contestants, time, seeds);
        assert!(unknown.is_err());
    }

    #[test]
    fn there_is_a_computation_however_short_the_time_and_more_if_it_is_longer() {
        let mut number = 0.0;
        let mut compute = || {
            number += 1.0;
            Ok(number)
        };
        assert_eq!(repeat(&mut compute, Duration::ZERO, None).unwrap(), [1.0]);
        let begun = Instant::now();
        let time = Duration::from_millis(2);
        let found = repeat(&mut compute, time, None).unwrap();
        assert!(begun.elapsed() >= time && found[0] == 2.0);
        let mut wrong = || Err(Fault::run("wrong"));
        assert!(repeat(&mut wrong, time, None).is_err());
    }
}
