//! One measurement, in a process of its own. The readings of several contestants begin with their
//! names.

use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::groups::{Ground, Group};
use super::subject::{Contestant, Setting, Subject};
use crate::experiment::prepared::Prepared;
use crate::experiment::scaling::SECONDS;
use crate::experiment::{Readings, child};
use crate::fault::{Fault, Outcome};
use crate::machine::Machine;
use crate::random::Random;
use crate::runtimes::Crew;

/// How long a short turn is, at least.
const SHORT: Duration = Duration::from_millis(10);
/// For how long the cycler runs before anything is timed.
const HEAD_START: Duration = Duration::from_millis(50);
/// Nothing runs for so long before a long turn, more than a period: the quota is whole again.
const REST: Duration = Duration::from_millis(110);
/// For how long a pool computes under a quota before it is timed: it has found the quota then.
const WARM_UP: Duration = Duration::from_millis(200);

/// Measures all contestants for so long together; under a quota, for so long each.
pub(super) fn measure(
    subject: Subject<'_>,
    contestants: &[Contestant<'_>],
    time: Duration,
    seed: u64,
) -> Outcome<Readings> {
    let mut prepared = Prepared::new(subject.app, seed)?;
    let mut random = Random::new(seed);
    let all = match subject.setting {
        Setting::Alone => short_turns(contestants, &mut prepared, time, &mut random),
        Setting::Beside => {
            let _cycler = Cycler::start(seed)?;
            thread::sleep(HEAD_START);
            short_turns(contestants, &mut prepared, time, &mut random)
        }
        Setting::Under(hundredths) => {
            let ground = Ground::find().map_err(Fault::run)?;
            let group = ground.group("app", Some(hundredths))?;
            long_turns(contestants, &mut prepared, &group, time, &mut random)
        }
    };
    let mut named = Readings::new();
    for (of, readings) in contestants.iter().zip(all?) {
        named.extend(readings.into_iter().map(|(name, value)| (format!("{of} {name}"), value)));
    }
    Ok(named)
}

/// The numbers below `number`, in random order.
fn shuffled(number: usize, random: &mut Random) -> Vec<usize> {
    let mut order: Vec<usize> = (0..number).collect();
    order.sort_by_cached_key(|_| random.next_u64());
    order
}

/// Many turns for each, in random order: the speed of a host changes within a second by more than
/// what is looked for. The pools are there all the while; they sleep between their turns, so a turn
/// begins with a computation that does not count.
fn short_turns(
    contestants: &[Contestant<'_>],
    prepared: &mut Prepared,
    time: Duration,
    random: &mut Random,
) -> Outcome<Vec<Readings>> {
    let crews: Vec<Crew> = contestants.iter().map(|one| one.start()).collect::<Outcome<_>>()?;
    let mut times: Vec<Vec<f64>> = vec![Vec::new(); crews.len()];
    let begun = Instant::now();
    loop {
        for place in shuffled(crews.len(), random) {
            let mut compute = || prepared.seconds(&crews[place]);
            compute()?;
            times[place].extend(repeat(&mut compute, SHORT, None)?);
        }
        if begun.elapsed() >= time {
            return Ok(times.iter().map(|times| of_times(times)).collect());
        }
    }
}

/// One turn for each, in random order, of whole periods: a short one would depend on where in a
/// period it began. Only its own pool is there, since not all pools sleep.
fn long_turns(
    contestants: &[Contestant<'_>],
    prepared: &mut Prepared,
    group: &Group<'_>,
    time: Duration,
    random: &mut Random,
) -> Outcome<Vec<Readings>> {
    let mut all = vec![Readings::new(); contestants.len()];
    for place in shuffled(contestants.len(), random) {
        thread::sleep(REST);
        let crew = contestants[place].start()?;
        let mut compute = || prepared.seconds(&crew);
        repeat(&mut compute, WARM_UP, Some(group))?;
        let (times, kept) = group.watch(|| repeat(&mut compute, time, Some(group)))?;
        all[place] = of_times(&times);
        all[place].extend(kept);
    }
    Ok(all)
}

fn of_times(times: &[f64]) -> Readings {
    let number = times.len() as f64;
    let mean = times.iter().sum::<f64>() / number;
    [(SECONDS.to_owned(), mean), ("computations".to_owned(), number)].into()
}

/// How long each computation took that began within the time, and at least one. In a group it goes
/// on until a period of the kernel has ended.
fn repeat(
    compute: &mut dyn FnMut() -> Outcome<f64>,
    time: Duration,
    group: Option<&Group<'_>>,
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

/// Another process that takes processors away until this is dropped.
struct Cycler(Child);

impl Cycler {
    fn start(seed: u64) -> Outcome<Cycler> {
        let mut command = Command::new(child::this_program()?);
        let workers = Machine::here().processors.to_string();
        // Some hundred milliseconds at a time; it ends by itself if this process is killed.
        command.args(["cycler", "--workers", &workers, "--increments", "500"]);
        command.args(["--secs", "120", "--seed", &seed.to_string()]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let fault = |error| Fault::run(format!("the cycler cannot be started: {error}"));
        command.spawn().map(Cycler).map_err(fault)
    }
}

impl Drop for Cycler {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::super::subject::{TURNKEY, fixed};
    use super::*;

    #[test]
    fn every_order_is_drawn_sooner_or_later() {
        let mut random = Random::new(3);
        let orders: std::collections::BTreeSet<Vec<usize>> =
            (0..200).map(|_| shuffled(3, &mut random)).collect();
        assert_eq!(orders.len(), 6);
        let [one, other] = [7, 7].map(|seed| shuffled(12, &mut Random::new(seed)));
        assert_eq!(one, other);
    }

    #[test]
    fn each_has_its_turns_and_its_name() {
        let all = [TURNKEY, fixed(3), Contestant { runtime: "rayon", workers: 2 }];
        let of = |app| measure(Subject { app, setting: Setting::Alone }, &all, Duration::ZERO, 1);
        let found = of("msort 5K").unwrap();
        let names: Vec<&str> = found.keys().map(String::as_str).collect();
        let each = ["locksley:0", "locksley:3", "rayon:2"].into_iter();
        let both = each.flat_map(|one| [format!("{one} computations"), format!("{one} seconds")]);
        assert_eq!(names, both.collect::<Vec<_>>());
        assert!(found.values().all(|&value| value > 0.0), "{found:?}");
        assert!(of("msort x").is_err());
        let times = of_times(&[1.0, 3.0, 8.0]);
        assert_eq!([times["seconds"], times["computations"]], [4.0, 3.0]);
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
