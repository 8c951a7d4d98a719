//! The tracer of a pool.

use std::ffi::OsString;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Once};

use locksley::extend::{Event, Tracer, trace_pools};
#[cfg(target_os = "linux")]
use locksley::extend::{PoolHandle, Queues, SleepRole};

use crate::error::Error;
#[cfg(target_os = "linux")]
use crate::lengths;
use crate::record::MOST_DETAIL;
#[cfg(target_os = "linux")]
use crate::record::{Kind, role};
use crate::recorder::{Recorder, Recording};
#[cfg(target_os = "linux")]
use crate::thread::{self, Identity};

/// The environment variable that names the file of a recording.
const VARIABLE: &str = "LOCKSLEY_TRACE";

/// The tracer of one pool. It records events while a recording is active.
#[derive(Debug)]
struct PoolTracer {
    /// The number of the pool, by which, with a slot, events identify a worker. Many pools may have
    /// the last number.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "nothing is recorded"))]
    pool: u32,
}

/// A tracer for one pool, set by [`PoolBuilder::tracer`](locksley::PoolBuilder::tracer).
///
/// # Examples
/// ```
/// let pool = locksley::Pool::builder().workers(2).tracer(locksley_trace::tracer()).build()?;
/// # Ok::<(), locksley::BuildError>(())
/// ```
#[must_use]
pub fn tracer() -> impl Tracer {
    new_tracer()
}

fn new_tracer() -> PoolTracer {
    static POOLS: AtomicU32 = AtomicU32::new(0);
    let next = |pool: u32| (pool < MOST_DETAIL).then_some(pool + 1);
    let pool = POOLS.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
    PoolTracer { pool: pool.unwrap_or(MOST_DETAIL) }
}

/// Gives each pool that is later built a tracer, unless it has one.
pub fn trace_all_pools() {
    trace_pools(|| Arc::new(new_tracer()));
}

/// Traces all pools that are built later, and begins a recording if the environment variable
/// `LOCKSLEY_TRACE` names a file. `%p` in the name becomes the process ID. The value `live` means
/// [`record_live`](Recorder::record_live). Call it at the start of `main`, and keep the result:
/// dropping it ends the recording.
///
/// # Errors
/// Those of [`Recorder::record_to`].
///
/// # Examples
/// ```
/// let _recording = locksley_trace::init()?;
/// assert_eq!(locksley::join(|| 1, || 2), (1, 2));
/// # Ok::<(), locksley_trace::Error>(())
/// ```
pub fn init() -> Result<Option<Recording>, Error> {
    trace_all_pools();
    match std::env::var_os(VARIABLE).filter(|file| !file.is_empty()) {
        Some(live) if live == "live" => Recorder::new().record_live().map(Some),
        Some(file) => Recorder::new().record_to(with_process(file)).map(Some),
        None => Ok(None),
    }
}

/// As [`init`], for a library, which has no `main`. Call it before the first pool is built. If the
/// variable is set, the recording begins with that pool, and ends when the program exits.
///
/// A failure is told on the standard error, and the program runs unrecorded. The variable is
/// ignored in a program with the rights of another user.
///
/// # Examples
/// ```
/// locksley_trace::init_library();
/// assert_eq!(locksley::join(|| 1, || 2), (1, 2));
/// ```
pub fn init_library() {
    if is_wanted() {
        trace_pools(|| library_tracer().unwrap_or_else(|| Arc::new(new_tracer())));
    }
}

/// A tracer for a library with a scheduler of its own. `None` if the variable `LOCKSLEY_TRACE` is
/// not set, or ignored. The recording begins with the first call, as [`init_library`] describes it.
///
/// # Examples
/// ```
/// let is_set = std::env::var_os("LOCKSLEY_TRACE").is_some_and(|file| !file.is_empty());
/// assert_eq!(locksley_trace::library_tracer().is_some(), is_set);
/// ```
pub fn library_tracer() -> Option<Arc<dyn Tracer>> {
    static BEGIN: Once = Once::new();
    is_wanted().then(|| {
        BEGIN.call_once(|| match init() {
            Ok(Some(recording)) => recording.end_at_exit(),
            // The program records itself.
            Ok(None) | Err(Error::AlreadyRecording) => {}
            Err(error) => eprintln!("locksley: {VARIABLE}: {error}"),
        });
        Arc::new(new_tracer()) as Arc<dyn Tracer>
    })
}

/// True if the variable is set, and this user may have the program write files.
fn is_wanted() -> bool {
    std::env::var_os(VARIABLE).is_some_and(|file| !file.is_empty()) && !has_rights_of_others()
}

/// True if the program runs with the rights of another user than the one that has started it.
#[cfg(target_os = "linux")]
fn has_rights_of_others() -> bool {
    use rustix::process::{getegid, geteuid, getgid, getuid};
    getuid() != geteuid() || getgid() != getegid()
}

#[cfg(not(target_os = "linux"))]
fn has_rights_of_others() -> bool {
    false
}

/// Replaces `%p` by the process ID. A name that is not UTF-8 is left unchanged.
fn with_process(file: OsString) -> OsString {
    match file.to_str() {
        Some(name) => name.replace("%p", &std::process::id().to_string()).into(),
        None => file,
    }
}

#[cfg(not(target_os = "linux"))]
impl Tracer for PoolTracer {
    fn record(&self, _event: Event) {}
}

#[cfg(target_os = "linux")]
impl Tracer for PoolTracer {
    fn record(&self, event: Event) {
        use thread::record;
        #[cfg(feature = "tracing")]
        crate::bridge::tell(self.pool, event);
        let slot = |slot: usize| slot as u32;
        match event {
            Event::Attached { slot, place } => {
                let place = u8::try_from(place).unwrap_or(u8::MAX);
                thread::attach(Identity { pool: self.pool, slot: slot as u64, place });
            }
            Event::Detached => thread::detach(),
            Event::TaskBegins(from) => record(Kind::TaskBegins, 0, slot(from)),
            Event::TaskEnds => record(Kind::TaskEnds, 0, 0),
            Event::SearchBegins => record(Kind::SearchBegins, 0, 0),
            Event::SearchEnds => record(Kind::SearchEnds, 0, 0),
            Event::Steals { victim, left } => {
                record(Kind::Steals, left.min(u8::MAX.into()) as u32, slot(victim));
            }
            Event::Parks(role) => record(Kind::Parks, code_of(role), 0),
            Event::Blocks => record(Kind::Blocks, 0, 0),
            Event::Unparks => record(Kind::Unparks, 0, 0),
            Event::Wakes(sleeper) => record(Kind::Wakes, self.pool, slot(sleeper)),
            Event::Waits => record(Kind::Waits, 0, 0),
            Event::Resumes => record(Kind::Resumes, 0, 0),
            Event::Signals(waiter) => record(Kind::Signals, self.pool, slot(waiter)),
            Event::HandsOver(peer) => record(Kind::HandsOver, self.pool, slot(peer)),
            Event::Allows(workers) => {
                record(Kind::Allows, self.pool, slot(workers.min(u16::MAX.into())));
            }
            Event::LosesAssist => record(Kind::LosesAssist, 0, 0),
            // An event of a later version.
            _ => {}
        }
    }

    fn attach(&self, pool: Arc<dyn PoolHandle>) {
        lengths::add_pool(self.pool, pool);
    }

    fn attach_queues(&self, queues: Arc<dyn Queues>) {
        lengths::add_queues(queues);
    }

    fn begin_span(&self, name: &str) {
        thread::record_named(Kind::SpanBegins, name);
    }

    fn end_span(&self) {
        thread::record(Kind::SpanEnds, 0, 0);
    }

    fn mark(&self, name: &str) {
        thread::record_named(Kind::Mark, name);
    }
}

#[cfg(target_os = "linux")]
fn code_of(role: SleepRole) -> u32 {
    match role {
        SleepRole::OverLimit => role::OVER_LIMIT,
        SleepRole::Monitor => role::MONITOR,
        _ => role::ORDINARY,
    }
}
