//! The process that the adversary disturbs: it runs all activities in cycles.

use std::any::Any;
use std::fs::File;
use std::io::Write;
use std::panic::{self, AssertUnwindSafe};
use std::process::{self, Command};
use std::sync::RwLock;
use std::thread;
use std::time::{Duration, Instant};

use locksley::Pool;
use serde::{Deserialize, Serialize};

use super::activities::{self, Checked, Checks, policy_pool};
use super::resources::Resources;
use super::satellites;
use super::violent::{self, Injected};
use crate::experiment::child::this_program;
use crate::fault::{Fault, Outcome};
use crate::random::{Random, mix};

/// Threads that run activities on one pool at a time.
const DRIVERS: usize = 3;

/// Runs an activity on a pool.
type Activity = fn(&Pool, &mut Random, &mut Checks) -> Checked;

/// All activities; `refused` is one more.
const ALL: [(&str, Activity); 16] = [
    ("join", activities::join),
    ("scope", activities::scope),
    ("spawn", activities::spawn),
    ("loops", activities::loops),
    ("broadcast", activities::broadcast),
    ("blocking", activities::block),
    ("cancel", activities::cancel),
    ("resize", activities::resize),
    ("futures", satellites::futures),
    ("sync", satellites::sync),
    ("kahn", satellites::kahn),
    ("intervals", satellites::intervals),
    ("profile", satellites::profile),
    ("panics", violent::panics),
    ("drop", violent::drop_pool),
    ("fork", violent::fork),
];

/// What the subject prints.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum Line {
    /// A driver begins an activity.
    Begun { driver: usize, activity: String },
    /// It has ended, with so many right results.
    Done { driver: usize, activity: String, checks: u64 },
    /// A result is wrong.
    Wrong { activity: String, what: String },
    /// What the process holds before the first cycle.
    Start(Resources),
    /// All drivers have ended and the pool was dropped: what the process still holds.
    Cycle(Resources),
}

/// A defect that the soak has to find: for tests of the soak.
fn defect(name: &str, checks: &mut Checks) -> Checked {
    match name {
        "wrong" => return checks.expect("one", 2, 1),
        "leak" => std::mem::forget([File::open("/dev/null"), File::open("/dev/null")]),
        _ => loop {
            thread::park();
        },
    }
    Ok(())
}

/// The arguments with which this program is the subject.
pub(super) fn arguments(workers: usize, time: Duration, seed: u64) -> Vec<String> {
    let secs = time.as_secs_f64();
    let options = format!("soak --subject {workers} --secs {secs} --seed {seed}");
    options.split(' ').map(str::to_owned).collect()
}

/// Runs cycles of all activities until the time is over, at least one.
///
/// # Errors
///
/// [`Fault::Run`] if a pool cannot be built or the process cannot be measured.
pub fn run(workers: usize, time: Duration, seed: u64, inject: Option<&str>) -> Outcome<()> {
    let default = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if !info.payload().is::<Injected>() {
            default(info);
        }
    }));
    let (begun, start) = (Instant::now(), Resources::now()?);
    say(&Line::Start(start));
    if let Some(name) = inject {
        activity(DRIVERS, "injected", |checks| defect(name, checks));
    }
    for cycle in 0.. {
        let pool = policy_pool(workers, cycle).map_err(Fault::run)?;
        thread::scope(|scope| {
            for driver in 0..DRIVERS {
                let (pool, random) = (&pool, Random::new(mix(seed ^ (cycle << 8)) ^ driver as u64));
                scope.spawn(move || drive(driver, cycle, pool, random));
            }
        });
        drop(pool);
        say(&Line::Cycle(start.after_return()?));
        if begun.elapsed() >= time {
            break;
        }
    }
    Ok(())
}

/// Locked by a fork, which runs alone. The standard library holds a lock where a thread starts or
/// ends. If a fork comes between, the threads of the child wait for that lock for ever.
static ALONE: RwLock<()> = RwLock::new(());

/// Runs all activities in a random order.
fn drive(driver: usize, cycle: u64, pool: &Pool, mut random: Random) {
    let mut order = ALL;
    random.shuffle(&mut order);
    for (name, run) in order {
        activity(driver, name, |checks| {
            let _fork = (name == "fork").then(|| ALONE.write());
            let _other = (name != "fork").then(|| ALONE.read());
            run(pool, &mut random, checks)
        });
    }
    // In the child there are no assists, and no further child.
    if driver == 0 && cycle.is_multiple_of(8) && std::env::var_os("LOCKSLEY_ASSISTS").is_none() {
        activity(driver, "refused", |checks| refused(pool, &mut random, checks));
    }
}

/// A cycle of all activities in a child process that refuses all assists.
fn refused(pool: &Pool, random: &mut Random, checks: &mut Checks) -> Checked {
    let mut child = Command::new(this_program()?);
    let time = Duration::from_millis(1);
    child.args(arguments(pool.workers(), time, random.next_u64()));
    let output = child.env("LOCKSLEY_ASSISTS", "none").output()?;
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    let last = said.lines().last().unwrap_or_default();
    let is_right = output.status.success() && last.contains("Cycle");
    checks.expect("the end of a child without assists", if is_right { "" } else { last }, "")
}

fn activity(driver: usize, name: &str, run: impl FnOnce(&mut Checks) -> Checked) {
    let (activity, mut checks) = (name.to_owned(), Checks::default());
    say(&Line::Begun { driver, activity: activity.clone() });
    let result = panic::catch_unwind(AssertUnwindSafe(|| run(&mut checks)));
    if let Err(what) = result.unwrap_or_else(|payload| Err(text_of(&*payload).into())) {
        say(&Line::Wrong { activity, what: what.to_string() });
        process::exit(1);
    }
    say(&Line::Done { driver, activity, checks: checks.0 });
}

fn text_of(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
    format!("it panicked: {}", text.unwrap_or_else(|| "with a value".to_owned()))
}

/// Prints a line, or ends if the supervisor has ended.
fn say(line: &Line) {
    let text = serde_json::to_string(line).expect("a line is text");
    let mut stdout = std::io::stdout().lock();
    if writeln!(stdout, "{text}").and_then(|()| stdout.flush()).is_err() {
        process::exit(1);
    }
}
