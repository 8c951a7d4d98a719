//! What happened, as a hash always and as a list on demand.

use crate::ids::{Cpu, Nanos, ThreadId};

/// What a thread did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceKind {
    /// It was made ready.
    Wake,
    /// A processor switched to it.
    Run,
    /// It blocked.
    Block,
    /// It ended.
    Exit,
}

/// One entry of the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceEvent {
    /// The virtual time.
    pub time: Nanos,
    /// The processor; for a wake-up, the one whose queue got the thread.
    pub cpu: Cpu,
    /// The thread.
    pub thread: ThreadId,
    /// The kind of event.
    pub kind: TraceKind,
}

pub(crate) struct Trace {
    hash: u64,
    events: Option<Vec<TraceEvent>>,
}

impl Trace {
    pub(crate) fn new(seed: u64, keeps_events: bool) -> Self {
        Self { hash: seed, events: keeps_events.then(Vec::new) }
    }

    #[inline(always)]
    pub(crate) fn mix(&mut self, value: u64) {
        self.hash = (self.hash.rotate_left(5) ^ value).wrapping_mul(0x517c_c1b7_2722_0a95);
    }

    pub(crate) fn note(&mut self, time: Nanos, cpu: Cpu, thread: ThreadId, kind: TraceKind) {
        self.mix(time ^ u64::from(thread.0) << 32 ^ u64::from(cpu.0) << 52 ^ kind as u64);
        if let Some(events) = &mut self.events {
            events.push(TraceEvent { time, cpu, thread, kind });
        }
    }

    pub(crate) fn take(&mut self) -> (u64, Vec<TraceEvent>) {
        (self.hash, self.events.take().unwrap_or_default())
    }
}
