//! Processes that return errors.

use std::error::Error;
use std::future::pending;
use std::num::ParseIntError;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use locksley::Pool;
use locksley_kahn::{Network, NetworkError, Product};

use crate::common::{message, pools};
use crate::{Counted, panic_of};

/// Parses words, and adds the numbers.
fn sum(network: &mut Network, words: &'static [&'static str]) -> (Product<usize>, Product<u32>) {
    let (numbers, all) = network.channel::<u32>("numbers", 2);
    let parsed = network.try_process("parse", numbers, async move |mut numbers| {
        for word in words {
            numbers.send(word.parse()?).await;
        }
        Ok::<_, ParseIntError>(words.len())
    });
    let sum = network.process("sum", all, async |mut all| {
        let mut sum = 0;
        while let Some(n) = all.recv().await {
            sum += n;
        }
        sum
    });
    (parsed, sum)
}

#[test]
fn a_process_that_does_not_fail_has_a_product() {
    for pool in pools() {
        let mut network = Network::new();
        let (parsed, sum) = sum(&mut network, &["1", "2", "3"]);
        network.run(&pool).unwrap();
        assert_eq!((parsed.take(), sum.take()), (Some(3), Some(6)));
    }
}

#[test]
fn an_error_is_the_result_of_the_network() {
    for pool in pools() {
        let mut network = Network::new();
        let (parsed, _) = sum(&mut network, &["1", "two", "3"]);
        let error = network.run(&pool).unwrap_err();
        assert_eq!(error.to_string(), "process 'parse': invalid digit found in string");
        assert!(error.source().unwrap().is::<ParseIntError>());
        match error {
            NetworkError::Process { process, error } => {
                assert_eq!(process, "parse");
                assert!(error.is::<ParseIntError>());
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(parsed.take(), None);
    }
}

#[test]
fn an_error_ends_the_other_processes() {
    for pool in pools() {
        let count = Arc::new(AtomicUsize::new(0));
        let counted = Counted::new(&count);
        let mut network = Network::new();
        network.process("waits", (), async move |()| {
            let _counted = counted;
            pending::<()>().await;
        });
        network.try_process("fails", (), async |()| Err::<(), _>("no more arrows"));
        let error = network.run(&pool).unwrap_err();
        assert_eq!(error.to_string(), "process 'fails': no more arrows");
        assert_eq!(count.load(Ordering::Relaxed), 0);
    }
}

#[test]
fn a_process_that_may_fail_may_panic() {
    let mut network = Network::new();
    let product = network.try_process("panics", (), async |()| {
        assert!(std::hint::black_box(false), "no more arrows");
        Ok::<_, ParseIntError>(())
    });
    let error = network.run(&Pool::new(1).unwrap()).unwrap_err();
    assert_eq!(message(&*panic_of(error)), "no more arrows");
    assert_eq!(product.take(), None);
}
