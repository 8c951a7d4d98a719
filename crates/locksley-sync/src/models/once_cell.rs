//! The once cell.

use std::sync::Arc;

use loom::thread;

use super::{Begun, Watched, block_on, model};
use crate::OnceCell;

#[test]
fn loom_once_cell_made_once() {
    model(4, || {
        let cell = Arc::new(OnceCell::new());
        let made = Arc::new(Watched::new());
        let other = (Arc::clone(&cell), Arc::clone(&made));
        let get = async |cell: &OnceCell<Watched>, made: &Watched| {
            let value = cell.get_or_init(async || {
                made.add_one();
                let value = Watched::new();
                value.add_one();
                value
            });
            value.await.get()
        };
        let other = thread::spawn(move || block_on(get(&other.0, &other.1)));
        assert_eq!(block_on(get(&cell, &made)), 1);
        assert_eq!(other.join().unwrap(), 1);
        assert_eq!(made.get(), 1);
    });
}

#[test]
fn loom_once_cell_maker_cancelled() {
    model(4, || {
        let cell = Arc::new(OnceCell::new());
        let maker = Arc::clone(&cell);
        let maker = Begun::new(async move { *maker.get_or_init(std::future::pending).await });
        let maker = thread::spawn(move || drop(maker));
        assert_eq!(*block_on(cell.get_or_init(async || 1)), 1);
        maker.join().unwrap();
        assert_eq!(cell.get(), Some(&1));
    });
}
