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
pub(crate) fn tell(pool: u8, event: Event) {
    match event {
        Event::Attached { slot, place } => tracing::debug!(pool, slot, place, "a worker starts"),
        Event::Allows(workers) => tracing::debug!(pool, workers, "so many workers may be awake"),
        _ => {}
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use tracing_subscriber::layer::SubscriberExt;

    use super::*;
    use crate::{Recorder, Timeline, Trace};

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
