//! The wake-up counter under the model checker.

use std::iter;
use std::sync::Arc;

use loom::thread;

use crate::wake_ups::WakeUpCounter;

#[test]
fn loom_wake_ups_are_taken_once() {
    loom::model(|| {
        let [victim, one, other] = [(); 3].map(|()| Arc::new(WakeUpCounter::default()));
        // Line 13, beside two thieves at lines 21 to 23 and at line 37.
        victim.add(1);
        let thieves = [&one, &other].map(|own| {
            let (victim, own) = (victim.clone(), own.clone());
            thread::spawn(move || {
                if victim.take_one() {
                    own.add(1);
                }
            })
        });
        victim.add(2);
        let cancelled = victim.take_one();
        thieves.into_iter().for_each(|thief| thief.join().unwrap());
        let left = [victim, one, other]
            .map(|it| iter::from_fn(move || it.take_one().then_some(())).count());
        assert_eq!(left.iter().sum::<usize>() + usize::from(cancelled), 3);
    });
}
