//! The join counter.

use std::sync::Arc;

use loom::thread;

use super::{Watched, block_on, model};
use crate::JoinCounter;

#[test]
fn loom_join_counter_two_signals() {
    model(3, || {
        let counter = Arc::new(JoinCounter::new(2));
        let number = Arc::new([Watched::new(), Watched::new()]);
        let signals: Vec<_> = (0..2)
            .map(|n| {
                let (counter, number) = (Arc::clone(&counter), Arc::clone(&number));
                thread::spawn(move || {
                    number[n].add_one();
                    counter.signal();
                })
            })
            .collect();
        block_on(counter.wait());
        assert_eq!(number[0].get() + number[1].get(), 2);
        signals.into_iter().for_each(|signal| signal.join().unwrap());
    });
}
