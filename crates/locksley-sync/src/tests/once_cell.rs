//! The once cell against its oracle: one future makes the value, and the others wait in a queue.

use std::cell::Cell;
use std::future::poll_fn;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;

use super::Choices;
use super::polled::Polled;
use crate::{OnceCell, SetError};

/// What the future that makes the value does next.
const WAIT: usize = 0;
const FAIL: usize = 1;
const MAKE: usize = 2;

/// Makes `number`, as `order` says.
async fn get<'c>(
    cell: &'c OnceCell<usize>,
    number: usize,
    maker: &AtomicUsize,
    order: &AtomicUsize,
) -> Result<&'c usize, ()> {
    let make = || {
        poll_fn(|_| {
            maker.store(number, Ordering::Relaxed);
            match order.load(Ordering::Relaxed) {
                WAIT => Poll::Pending,
                FAIL => Poll::Ready(Err(())),
                _ => Poll::Ready(Ok(number)),
            }
        })
    };
    cell.get_or_try_init(make).await
}

#[test]
fn the_cell_agrees_with_its_oracle() {
    for seed in 0..400 {
        let mut choices = Choices(seed);
        let cell = OnceCell::new();
        let (maker, order) = (AtomicUsize::new(usize::MAX), AtomicUsize::new(WAIT));
        // The first makes the value.
        let mut queue: Vec<(usize, Polled<'_, Result<&usize, ()>>)> = Vec::new();
        for number in 0..40 {
            match choices.below(6) {
                0..3 => {
                    let wait = Polled::waiting(get(&cell, number, &maker, &order));
                    queue.push((number, wait));
                }
                3 if !queue.is_empty() => {
                    drop(queue.remove(choices.below(queue.len())));
                }
                4 if !queue.is_empty() => {
                    order.store(FAIL, Ordering::Relaxed);
                    let (number, mut first) = queue.remove(0);
                    assert_eq!(first.poll(), Poll::Ready(Err(())), "{number}");
                    order.store(WAIT, Ordering::Relaxed);
                }
                _ if !queue.is_empty() => assert_eq!(cell.set(7), Err(SetError::Initializing(7))),
                _ => {}
            }
            // Only the first makes the value.
            for (at, (number, wait)) in queue.iter_mut().enumerate() {
                maker.store(usize::MAX, Ordering::Relaxed);
                assert!(wait.poll().is_pending());
                let expected = if at == 0 { *number } else { usize::MAX };
                assert_eq!(maker.load(Ordering::Relaxed), expected);
            }
            assert_eq!(cell.get(), None);
        }
        let (first, mut wait) = if queue.is_empty() {
            (40, Polled::new(get(&cell, 40, &maker, &order)))
        } else {
            queue.remove(0)
        };
        order.store(MAKE, Ordering::Relaxed);
        assert_eq!(wait.poll(), Poll::Ready(Ok(&first)));
        for (_, wait) in &mut queue {
            assert_eq!(wait.finish(), Ok(&first));
        }
        assert_eq!(cell.set(7), Err(SetError::AlreadySet(7)));
        assert_eq!(cell.get(), Some(&first));
    }
}

#[test]
fn after_a_panic_the_next_makes_the_value() {
    let cell = OnceCell::new();
    let turns = Cell::new(0);
    for expected in [None, Some(&2)] {
        let made = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            pollster::block_on(cell.get_or_init(async || {
                turns.set(turns.get() + 1);
                if turns.get() == 1 {
                    std::panic::resume_unwind(Box::new("test"));
                }
                turns.get()
            }))
        }));
        assert_eq!(made.ok(), expected);
    }
}
