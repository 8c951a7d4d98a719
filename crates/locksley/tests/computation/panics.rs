//! Panics arrive when all have ended.

use std::future::pending;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicUsize;

use locksley::Pool;
use locksley::sync::Semaphore;

use crate::{Counted, pools};

#[test]
fn panics_arrive_when_all_have_ended() {
    for pool in pools() {
        let dropped = AtomicUsize::new(0);
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            pool.computation(|all| {
                let signal = all.own("signal", Semaphore::new(0));
                let counted = Counted(&dropped);
                all.spawn("waits for who panics", async move {
                    let _counted = counted;
                    drop(signal.acquire().await);
                });
                all.spawn("panics", async { std::panic::resume_unwind(Box::new("robin")) });
            })
        }));
        assert_eq!(*panicked.unwrap_err().downcast::<&str>().unwrap(), "robin");
        assert_eq!(dropped.into_inner(), 1);
    }
}

#[test]
fn a_panic_of_the_body_arrives_when_all_have_ended() {
    let (dropped, pool) = (AtomicUsize::new(0), Pool::new(2).unwrap());
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let _: Result<(), _> = pool.computation(|all| {
            let signal = all.own("signal", Semaphore::new(0));
            let counted = Counted(&dropped);
            all.spawn("waits for the body", async move {
                let _counted = counted;
                drop(signal.acquire().await);
            });
            std::panic::resume_unwind(Box::new("marian"))
        });
    }));
    assert_eq!(*panicked.unwrap_err().downcast::<&str>().unwrap(), "marian");
    assert_eq!(dropped.into_inner(), 1);
}

#[test]
fn a_future_that_panics_when_it_is_given_up() {
    struct Panics;
    impl Drop for Panics {
        fn drop(&mut self) {
            std::panic::resume_unwind(Box::new("tuck"));
        }
    }
    let pool = Pool::new(1).unwrap();
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        pool.computation(|all| {
            all.spawn("waits for ever", async {
                let _panics = Panics;
                pending::<()>().await;
            });
        })
    }));
    assert_eq!(*panicked.unwrap_err().downcast::<&str>().unwrap(), "tuck");
}
