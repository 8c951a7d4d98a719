//! The process that the adversary disturbs: it runs all activities in cycles.

use std::any::Any;
use std::fs::File;
use std::io::Write;
use std::panic::{self, AssertUnwindSafe};
use std::process;
use std::sync::RwLock;
use std::thread;
use std::time::{Duration, Instant};

use locksley::idle::{Abp, Balanced, Bws};
use locksley::{BuildError, Pool};
use serde::{Deserialize, Serialize};

use super::activities::{self, Checked, Checks};
use super::resources::Resources;
use super::violent::{Injected, refused};
use crate::fault::{Fault, Outcome};
use crate::random::{Random, mix};

/// Threads that run activities on one pool at a time.
const DRIVERS: usize = 3;

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
        let pool = pool(workers, cycle).map_err(Fault::run)?;
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

/// The pool of a cycle: each policy in turn.
pub(super) fn pool(workers: usize, turn: u64) -> Result<Pool, BuildError> {
    let builder = Pool::builder().workers(workers);
    match turn % 3 {
        0 => builder.idle_policy(Balanced::default()),
        1 => builder.idle_policy(Bws::default()),
        _ => builder.idle_policy(Abp::default()),
    }
    .build()
}

/// Locked by a fork, which runs alone. The standard library holds a lock where a thread starts or
/// ends. If a fork comes between, the threads of the child wait for that lock for ever.
static ALONE: RwLock<()> = RwLock::new(());

/// Runs all activities in a random order.
fn drive(driver: usize, cycle: u64, pool: &Pool, mut random: Random) {
    let mut order = activities::ALL;
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
