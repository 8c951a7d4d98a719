//! What an event costs: a span is two of them.
#![allow(missing_docs, reason = "criterion's macros define what has none")]

use criterion::{Criterion, criterion_group, criterion_main};
use locksley_trace::{Recorder, span};

fn spans(criterion: &mut Criterion) {
    criterion.bench_function("span, not recorded", |it| it.iter(|| drop(span("bench"))));
    let _recording = Recorder::new().record_in_memory().unwrap();
    #[cfg(target_arch = "x86_64")]
    criterion.bench_function("reading of the clock", |it| it.iter(locksley_sys::counter::read));
    criterion.bench_function("span, recorded", |it| it.iter(|| drop(span("bench"))));
}

criterion_group!(benches, spans);
criterion_main!(benches);
