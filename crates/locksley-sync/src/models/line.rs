//! The line by itself: what is swept while it is passed by, and passed by while somebody joins.

use std::sync::Arc;
use std::task::Waker;

use loom::thread;

use super::model;
use crate::line::{Place, Verdict, Waiters};

/// A line, in which so many stand; those of them that `left` names have left, and are not swept
/// yet.
fn line_of(count: usize, left: &[usize]) -> (Arc<Waiters>, Vec<Place<'static>>) {
    let line = Arc::new(Waiters::new());
    // SAFETY: the line outlives the places: whoever has places has a share in the line, and drops
    // it after them.
    let there: &'static Waiters = unsafe { &*Arc::as_ptr(&line) };
    let mut places: Vec<_> = (0..count).map(|_| there.join(0, Waker::noop())).collect();
    for &left in left {
        assert_eq!(places[left].leave(), Ok(()));
    }
    (line, places)
}

/// Lets all go who wait.
fn dismiss(line: &Waiters) {
    line.serve(|_| Some(Verdict::Dismissed));
}

/// One thread sweeps, another lets all go; what was passed by is freed under the first.
fn swept_and_passed(count: usize, left: usize) {
    model(2, move || {
        let (line, mut places) = line_of(count, &[left]);
        let left = places.remove(left);
        let there = Arc::clone(&line);
        let sweeps = thread::spawn(move || {
            drop(left);
            drop(there);
        });
        let there = Arc::clone(&line);
        let passes = thread::spawn(move || {
            dismiss(&there);
            let all_ready = places.iter().all(|place| place.verdict().is_ready());
            drop(places);
            drop(there);
            all_ready
        });
        sweeps.join().unwrap();
        assert!(passes.join().unwrap());
        assert!(line.is_empty());
    });
}

#[test]
fn loom_line_one_is_swept_and_passed() {
    swept_and_passed(3, 1);
}

#[test]
fn loom_line_passed_under_who_sweeps_behind() {
    swept_and_passed(4, 2);
}

#[test]
fn loom_line_passed_while_one_joins() {
    model(2, || {
        let (line, places) = line_of(1, &[]);
        // So that the first place is not the one in the line itself.
        dismiss(&line);
        drop(places);
        let there = Arc::clone(&line);
        let joins = thread::spawn(move || {
            let place = there.join(0, Waker::noop());
            dismiss(&there);
            let is_ready = place.verdict().is_ready();
            drop(place);
            is_ready
        });
        dismiss(&line);
        let place = line.join(0, Waker::noop());
        dismiss(&line);
        assert!(place.verdict().is_ready());
        drop(place);
        assert!(joins.join().unwrap());
    });
}
