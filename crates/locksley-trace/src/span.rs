//! Spans: what a program names.

use std::marker::PhantomData;

/// A span, which ends when this is dropped. It stays on its thread.
#[derive(Debug)]
#[must_use = "it ends at once"]
pub struct Span {
    is_recorded: bool,
    of_its_thread: PhantomData<*const ()>,
}

/// Begins a span on the calling thread: a name for what it does.
///
/// Spans nest. Without a recording this takes a load. With one, it takes an event for the begin and
/// one for the end, so it is for tasks of microseconds and more.
///
/// # Examples
/// ```
/// fn sort(items: &mut [u64]) {
///     let _span = locksley_trace::span("sort");
///     items.sort_unstable();
/// }
/// sort(&mut [3, 1, 2]);
/// ```
#[inline]
pub fn span(name: &'static str) -> Span {
    Span { is_recorded: begin(name), of_its_thread: PhantomData }
}

/// Begins a span. Returns false if nothing is recorded.
#[inline]
pub(crate) fn begin(name: &'static str) -> bool {
    #[cfg(target_os = "linux")]
    {
        crate::thread::begin_span(name)
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = name;
        false
    }
}

/// Ends the span that began last.
#[inline]
pub(crate) fn end() {
    #[cfg(target_os = "linux")]
    crate::thread::record(crate::record::Kind::SpanEnds, 0, 0);
}

impl Drop for Span {
    #[inline]
    fn drop(&mut self) {
        if self.is_recorded {
            end();
        }
    }
}
