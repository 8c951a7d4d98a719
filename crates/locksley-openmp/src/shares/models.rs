//! Loom's model of stealing ranges.

use std::sync::Mutex;

use loom::sync::Arc;
use loom::thread;

use super::ranges::Ranges;

#[test]
fn loom_every_iteration_is_taken_once() {
    loom::model(|| {
        let mut ranges = Ranges::new(2);
        ranges.divide(4);
        let shared = Arc::new((ranges, Mutex::new(Vec::new())));
        let run = |shared: &(Ranges, Mutex<Vec<u32>>), thread| {
            while let Some((from, to)) = shared.0.take(thread, |_| 1) {
                shared.1.lock().unwrap().extend(from..to);
            }
        };
        let other = Arc::clone(&shared);
        let thread = thread::spawn(move || run(&other, 1));
        run(&shared, 0);
        thread.join().unwrap();
        let mut taken = shared.1.lock().unwrap().clone();
        taken.sort_unstable();
        assert_eq!(taken, [0, 1, 2, 3]);
    });
}
