//! Recordings of programs that are started with `LOCKSLEY_TRACE`: regions, and sleep.
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

    thread_local! {
        static IS_ATTACHED: Cell<bool> = const { Cell::new(false) };
    }

    /// The tracer, once a region has begun.
    fn tracer() -> Option<&'static dyn Tracer> {
        let tracer = TRACER.get()?.as_deref()?;
        if IS_ATTACHED.try_with(|it| !it.replace(true)).unwrap_or(false) {
            static SLOTS: AtomicUsize = AtomicUsize::new(0);
            let slot = SLOTS.fetch_add(1, Ordering::Relaxed).min(MAX_SLOTS - 1);
            tracer.record(Event::Attached { slot, place: 0 });
        }
        Some(tracer)
    }

    pub(crate) fn begin_region() {
        TRACER.get_or_init(locksley_trace::library_tracer);
        if let Some(tracer) = tracer() {
            tracer.begin_span("parallel region");
        }
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
    pub(crate) fn begin_region() {}

    pub(crate) fn end_region() {}

    pub(crate) fn sleep(sleep: impl FnOnce()) {
        sleep();
    }
}

pub(crate) use recorded::{begin_region, end_region, sleep};
