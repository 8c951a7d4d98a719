//! Recordings of programs that are started with `LOCKSLEY_TRACE`: regions, sleep, and stolen tasks.
//!
//! Without the variable, or the feature `trace`, nothing is recorded.

#[cfg(feature = "trace")]
mod recorded {
    use std::cell::Cell;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Arc, OnceLock};

    use locksley::extend::{Event, MAX_SLOTS, SleepRole, Tracer};

    /// The tracer. `None` if the variable is not set.
    static TRACER: OnceLock<Option<Arc<dyn Tracer>>> = OnceLock::new();

    const UNATTACHED: usize = usize::MAX;

    thread_local! {
        /// The number under which the thread is recorded.
        static SLOT: Cell<usize> = const { Cell::new(UNATTACHED) };
    }

    /// The tracer, once a region has begun.
    fn tracer() -> Option<&'static dyn Tracer> {
        let tracer = TRACER.get()?.as_deref()?;
        if SLOT.try_with(Cell::get) == Ok(UNATTACHED) {
            static SLOTS: AtomicUsize = AtomicUsize::new(0);
            let slot = SLOTS.fetch_add(1, Ordering::Relaxed).min(MAX_SLOTS - 1);
            SLOT.set(slot);
            tracer.record(Event::Attached { slot, place: 0 });
        }
        Some(tracer)
    }

    /// Returns the number under which the calling thread is recorded.
    pub(crate) fn begin_region() -> usize {
        TRACER.get_or_init(locksley_trace::library_tracer);
        if let Some(tracer) = tracer() {
            tracer.begin_span("parallel region");
        }
        SLOT.get()
    }

    /// The calling thread executes, by `execute`, a task that it has stolen from the thread of that
    /// number, which has so many tasks left.
    pub(crate) fn steal(victim: usize, left: usize, execute: impl FnOnce()) {
        let Some(tracer) = tracer() else { return execute() };
        tracer.record(Event::Steals { victim, left });
        tracer.record(Event::TaskBegins(victim));
        execute();
        tracer.record(Event::TaskEnds);
    }

    pub(crate) fn end_region() {
        if let Some(tracer) = tracer() {
            tracer.end_span();
        }
    }

    /// The calling thread sleeps during `sleep`.
    pub(crate) fn sleep(sleep: impl FnOnce()) {
        let Some(tracer) = tracer() else { return sleep() };
        tracer.record(Event::Parks(SleepRole::Ordinary));
        sleep();
        tracer.record(Event::Unparks);
    }
}

#[cfg(not(feature = "trace"))]
mod recorded {
    pub(crate) fn begin_region() -> usize {
        0
    }

    pub(crate) fn steal(_victim: usize, _left: usize, execute: impl FnOnce()) {
        execute();
    }

    pub(crate) fn end_region() {}

    pub(crate) fn sleep(sleep: impl FnOnce()) {
        sleep();
    }
}

pub(crate) use recorded::{begin_region, end_region, sleep, steal};
