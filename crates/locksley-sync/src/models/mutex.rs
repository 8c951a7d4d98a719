//! The mutex.

use std::sync::Arc;

use loom::thread;

use super::{Watched, block_on, model};
use crate::Mutex;

#[test]
fn loom_mutex_handed_over() {
    model(3, || {
        let mutex = Arc::new(Mutex::new(Watched::new()));
        let other = Arc::clone(&mutex);
        let other = thread::spawn(move || block_on(other.lock()).add_one());
        block_on(mutex.lock()).add_one();
        other.join().unwrap();
        assert_eq!(mutex.try_lock().unwrap().get(), 2);
    });
}
