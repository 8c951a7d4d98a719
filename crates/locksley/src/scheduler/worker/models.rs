//! Loom model: a parked worker loses no event.

use loom::sync::Arc;
use loom::thread;

use super::parker::WaitParker;
use crate::primitive::{AtomicUsize, Ordering};

/// The waiter sees both of two events.
#[test]
fn loom_parker_loses_no_event() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let shared = Arc::new((WaitParker::default(), AtomicUsize::new(0)));
        let events = shared.clone();
        let events = thread::spawn(move || {
            for event in 1..=2 {
                events.1.store(event, Ordering::Release);
                events.0.unpark(|| ());
            }
        });
        for event in 1..=2 {
            while shared.1.load(Ordering::Acquire) < event {
                shared.0.park(|| shared.1.load(Ordering::Acquire) >= event, None);
            }
        }
        events.join().unwrap();
    });
}
