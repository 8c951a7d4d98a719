//! A pool with nothing to do uses no processor time.

use std::time::{Duration, Instant};

use locksley::Pool;

#[test]
fn an_idle_pool_sleeps() {
    // More workers than processors, so that there is a lookout while it works.
    for workers in [1, 4, 24] {
        falls_silent(workers);
    }
}

fn falls_silent(workers: usize) {
    let pool = Pool::new(workers).unwrap();
    pool.run(|w| w.join(|_| (), |_| ()));
    // Hunters give up after a while; on a busy machine that while is long.
    let patience = Instant::now() + Duration::from_secs(30);
    let mut before = pool.stats().total();
    loop {
        std::thread::sleep(Duration::from_millis(300));
        let now = pool.stats().total();
        if now == before {
            break; // not one attempt, yield or sleep, and no processor time, in 300 ms
        }
        assert!(Instant::now() < patience, "still awake: {before:?} {now:?}");
        before = now;
    }
    assert_eq!(before.sleeps, before.wakeups + workers as u64, "all of them sleep");
}
