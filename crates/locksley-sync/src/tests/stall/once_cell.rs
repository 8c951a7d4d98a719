//! The once cell.

use std::sync::Arc;

use super::{Slot, Switch, assert_none_woken, finish_all, hold_at_each_step, slot, taken};
use crate::OnceCell;
use crate::tests::polled::Polled;

#[test]
fn a_held_cancellation_of_the_maker_keeps_no_task_waiting() {
    struct World {
        cell: Arc<OnceCell<u32>>,
        maker: Slot<u32>,
        waiting: Vec<Slot<u32>>,
    }
    let get = |cell: &Arc<OnceCell<u32>>, value: Option<u32>| {
        let cell = Arc::clone(cell);
        let mut get = Polled::new(async move {
            let make = async || match value {
                Some(value) => value,
                None => std::future::pending().await,
            };
            *cell.get_or_init(make).await
        });
        assert!(get.poll().is_pending());
        slot(get)
    };
    let get_late = |cell: &Arc<OnceCell<u32>>| get(cell, Some(3));
    let passes_on = Switch::default();
    let world = || {
        let cell = Arc::new(OnceCell::new());
        // This future never makes the value, and is dropped.
        let maker = get(&cell, None);
        let waiting = vec![get(&cell, Some(1)), get(&cell, Some(2))];
        World { cell, maker, waiting }
    };
    hold_at_each_step(
        3,
        world,
        |world| drop(taken(&world.maker)),
        |world, steps| {
            // Once the next waiter has the permit, it makes the value, and all get it. Until then
            // all wait. A newcomer serves the queue.
            let late = get_late(&world.cell);
            let mut first = taken(&world.waiting[0]);
            let has_permit = first.poll().is_ready();
            passes_on.record(has_permit, steps);
            if has_permit {
                finish_all(&world.waiting[1..], steps);
                finish_all(&[late], steps);
            } else {
                assert_eq!(world.cell.get(), None);
                assert!(!first.is_woken(), "{steps}");
                assert_none_woken(&world.waiting[1..], steps);
                *world.waiting[0].lock().unwrap() = Some(first);
            }
        },
        |world, ()| {
            finish_all(&world.waiting, "after the cancellation");
            assert_eq!(world.cell.get(), Some(&1));
        },
    );
    passes_on.assert_on();
}
