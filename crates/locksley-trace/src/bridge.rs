//! The crate `tracing`: its spans are recorded, and it is told of a pool's life.

use locksley::extend::Event;
use tracing::Subscriber;
use tracing::span::Id;
use tracing_subscriber::layer::{Context, Layer};
use tracing_subscriber::registry::LookupSpan;

use crate::span;

/// Records the spans of `tracing` as [`span`](crate::span()) does: a layer of its subscriber.
///
/// # Examples
/// ```
/// use tracing_subscriber::layer::SubscriberExt;
///
/// let subscriber = tracing_subscriber::registry().with(locksley_trace::SpanLayer);
/// tracing::subscriber::with_default(subscriber, || {
///     let _entered = tracing::info_span!("request").entered();
/// });
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct SpanLayer;

impl<S: Subscriber + for<'s> LookupSpan<'s>> Layer<S> for SpanLayer {
    fn on_enter(&self, id: &Id, context: Context<'_, S>) {
        if let Some(entered) = context.span(id) {
            span::begin(entered.name());
        }
    }

    fn on_exit(&self, _: &Id, _: Context<'_, S>) {
        span::end();
    }
}

/// Tells of what is rare in the life of a pool, at the level `DEBUG`.
pub(crate) fn tell(pool: u32, event: Event) {
    match event {
        Event::Attached { slot, place } => tracing::debug!(pool, slot, place, "a worker starts"),
        Event::Allows(workers) => {
            tracing::debug!(pool, workers, "from now on so many workers may be active");
        }
        Event::LosesAssist => tracing::debug!(pool, "the system forbids an assist"),
        _ => {}
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fmt::{Debug, Write};
    use std::sync::{Arc, Mutex};

    use tracing::field::{Field, Visit};
    use tracing_subscriber::layer::SubscriberExt;

    use super::*;
    use crate::{Recorder, Timeline, Trace};

    /// Writes each event as text.
    #[derive(Clone, Default)]
    struct Told(Arc<Mutex<Vec<String>>>);

    impl<S: Subscriber> Layer<S> for Told {
        fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
            struct Text<'t>(&'t mut String);
            impl Visit for Text<'_> {
                fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
                    write!(self.0, "{}={value:?} ", field.name()).unwrap();
                }
            }
            let mut text = String::new();
            event.record(&mut Text(&mut text));
            assert_eq!(*event.metadata().level(), tracing::Level::DEBUG);
            self.0.lock().unwrap().push(text);
        }
    }

    #[test]
    fn the_life_of_a_pool_is_told() {
        let told = Told::default();
        let subscriber = tracing_subscriber::registry().with(told.clone());
        tracing::subscriber::with_default(subscriber, || {
            let builder = locksley::Pool::builder().workers(2).tracer(crate::tracer());
            let pool = builder.with_current_thread().build().unwrap();
            pool.resize(1).unwrap();
            tell(7, Event::LosesAssist);
            tell(7, Event::SearchBegins);
        });
        let told = told.0.lock().unwrap();
        let has = |text: &str| told.iter().any(|it| it.contains(text));
        assert!(has("a worker starts") && has("workers=") && has("forbids an assist"), "{told:?}");
        assert!(told.iter().filter(|it| it.contains("pool=7")).count() == 1);
    }

    #[test]
    fn spans_of_tracing_are_recorded() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("x.trace");
        let recording = Recorder::new().events(256).record_to(&file).unwrap();
        tracing::subscriber::with_default(tracing_subscriber::registry().with(SpanLayer), || {
            let _outer = tracing::info_span!("outer").entered();
            tracing::info_span!("inner").in_scope(|| ());
        });
        drop(recording);
        let timeline = Timeline::new(&Trace::read(&file).unwrap());
        let slices = timeline.tracks.iter().flat_map(|it| &it.slices);
        let names: Vec<_> = slices.map(|it| (timeline.name_of(it), it.depth)).collect();
        assert_eq!(names, [("outer".to_owned(), 0), ("inner".to_owned(), 1)]);
    }
}
