//! The tracer of a pool.

use std::ffi::OsString;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use locksley::extend::{Event, SleepRole, Tracer, trace_pools};

use crate::error::Error;
#[cfg(target_os = "linux")]
use crate::record::{Kind, role};
use crate::recorder::{Recorder, Recording};
#[cfg(target_os = "linux")]
use crate::thread::{self, Identity};
#[cfg(target_os = "linux")]
use crate::watch;

/// The environment variable that names the file of a recording.
const VARIABLE: &str = "LOCKSLEY_TRACE";

/// The tracer of one pool. It records events while a recording is active.
#[derive(Debug)]
struct PoolTracer {
    /// The number of the pool, modulo 256. Events identify a worker by this and its slot.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "nothing is recorded"))]
    pool: u8,
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
    static POOLS: AtomicU8 = AtomicU8::new(0);
    PoolTracer { pool: POOLS.fetch_add(1, Ordering::Relaxed) }
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
                record(Kind::Steals, left.min(u8::MAX.into()) as u8, slot(victim));
            }
            Event::Parks(role) => record(Kind::Parks, code_of(role), 0),
            Event::Blocks => record(Kind::Blocks, 0, 0),
            Event::Unparks => record(Kind::Unparks, 0, 0),
            Event::Wakes(sleeper) => record(Kind::Wakes, self.pool, slot(sleeper)),
            Event::Waits => record(Kind::Waits, 0, 0),
            Event::Resumes => record(Kind::Resumes, 0, 0),
            Event::Signals(waiter) => record(Kind::Signals, self.pool, slot(waiter)),
            Event::HandsOver(peer) => record(Kind::HandsOver, self.pool, slot(peer)),
            Event::Allows(workers) => record(Kind::Allows, self.pool, slot(workers)),
            Event::LosesAssist => record(Kind::LosesAssist, 0, 0),
        }
    }

    fn attach(&self, pool: Arc<dyn locksley::extend::PoolSize>) {
        watch::note_pool(self.pool, pool);
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
fn code_of(role: SleepRole) -> u8 {
    match role {
        SleepRole::Ordinary => role::ORDINARY,
        SleepRole::Spare => role::SPARE,
        SleepRole::Sentinel | SleepRole::ReserveSentinel => role::SENTINEL,
    }
}
