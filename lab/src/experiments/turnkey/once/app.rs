//! An application: alone, beside a cycler, or under a quota.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::account::Account;
use super::groups::Ground;
use super::subject::Setting;
use super::{Seeds, pool};
use crate::apps::{self, Instance};
use crate::experiments::turnkey::record::{Reading, Turn};
use crate::fault::{Fault, Outcome};
use crate::machine::Machine;
use crate::random::Random;
use crate::runtimes::Crew;

/// w of the cycler: some hundred milliseconds at the most.
const INCREMENTS: &str = "500";
/// It ends by itself if nobody ends it.
const AT_MOST: &str = "120";
/// So long it has had before anything is timed.
const HEAD_START: Duration = Duration::from_millis(50);

/// On so many workers, alone in its process.
pub(super) fn measure(
    app: &str,
    size: &str,
    setting: Setting,
    workers: usize,
    time: Duration,
    seed: u64,
) -> Outcome<Reading> {
    let problem = apps::problem(apps::find(app)?, size)?;
    let mut instance = problem.prepare(seed);
    let ground = match setting {
        Setting::Under(hundredths) => Some((Ground::find().map_err(Fault::run)?, hundredths)),
        Setting::Alone | Setting::Beside => None,
    };
    let group = ground.as_ref().map(|(ground, hundredths)| ground.group("app", Some(*hundredths)));
    let group = group.transpose()?;
    let crew = Crew::Locksley(pool(workers)?);
    let Crew::Locksley(pool) = &crew else { unreachable!("it was made above") };
    // Once for the caches.
    crew.compute(instance.as_mut());
    let account = group.as_ref().map(|group| Account::begin(group, pool)).transpose()?;
    let begun = Instant::now();
    let mut seconds = Vec::new();
    while seconds.is_empty() || begun.elapsed() < time {
        seconds.push(computed(&crew, instance.as_mut())?);
    }
    let throttling = account.map(Account::end).transpose()?;
    let seconds = seconds.iter().sum::<f64>() / seconds.len() as f64;
    Ok(Reading::Time { seconds, throttling })
}

/// On each of these numbers of workers, by turns, in an order that changes.
pub(super) fn measure_in_turn(
    app: &str,
    size: &str,
    setting: Setting,
    numbers: &[usize],
    time: Duration,
    seeds: Seeds,
) -> Outcome<Reading> {
    let problem = apps::problem(apps::find(app)?, size)?;
    let mut instance = problem.prepare(seeds.input);
    let seed = seeds.of_repetition();
    let crews: Vec<Crew> = numbers
        .iter()
        .map(|&workers| Ok(Crew::Locksley(pool(workers)?)))
        .collect::<Outcome<_>>()?;
    for crew in &crews {
        crew.compute(instance.as_mut());
    }
    let cycler = (setting == Setting::Beside).then(|| Cycler::start(seed)).transpose()?;
    let mut turns: Vec<Turn> =
        numbers.iter().map(|&workers| Turn { workers, seconds: 0.0 }).collect();
    let mut order: Vec<usize> = (0..crews.len()).collect();
    let (mut random, mut rounds, begun) = (Random::new(seed), 0_u32, Instant::now());
    while rounds == 0 || begun.elapsed() < time {
        order.sort_by_cached_key(|_| random.next_u64());
        for &number in &order {
            turns[number].seconds += computed(&crews[number], instance.as_mut())?;
        }
        rounds += 1;
    }
    drop(cycler);
    turns.iter_mut().for_each(|turn| turn.seconds /= f64::from(rounds));
    Ok(Reading::Turns { turns })
}

/// The seconds that it took, if the answer is right.
fn computed(crew: &Crew, instance: &mut dyn Instance) -> Outcome<f64> {
    let time = crew.compute(instance);
    instance.check().map_err(|wrong| Fault::run(format!("the answer is wrong: {wrong}")))?;
    Ok(time.as_secs_f64())
}

/// Another process, which takes processors away until this is dropped.
struct Cycler(Child);

impl Cycler {
    fn start(seed: u64) -> Outcome<Cycler> {
        let fault = |error| Fault::run(format!("the cycler cannot be started: {error}"));
        let mut command = Command::new(std::env::current_exe().map_err(fault)?);
        let workers = Machine::here().processors.to_string();
        command.args(["cycler", "--workers", &workers, "--increments", INCREMENTS]);
        command.args(["--secs", AT_MOST, "--seed", &seed.to_string()]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let cycler = Cycler(command.spawn().map_err(fault)?);
        std::thread::sleep(HEAD_START);
        Ok(cycler)
    }
}

impl Drop for Cycler {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
