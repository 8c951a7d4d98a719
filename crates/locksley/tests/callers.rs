//! A panic about an argument names the line of the call.

use std::panic::{catch_unwind, set_hook, take_hook};
use std::sync::Mutex;

use locksley::loops::par;
use locksley::{Pool, Spawn, spawn_with, task};

/// The only test of this binary, because of the hook.
#[test]
fn a_panic_about_an_argument_names_the_caller() {
    static FILES: Mutex<Vec<String>> = Mutex::new(Vec::new());
    let pool = Pool::new(1).unwrap();
    let before = take_hook();
    set_hook(Box::new(|panic| {
        FILES.lock().unwrap().push(panic.location().unwrap().file().to_owned());
    }));
    let calls: [fn(&Pool); 7] = [
        |pool| pool.spawn_with(Spawn::At(1), |_| ()),
        |pool| pool.spawn_with(Spawn::Near(1), |_| ()),
        |pool| drop(pool.spawn_future_with(Spawn::At(1), async {})),
        |_| spawn_with(Spawn::At(usize::MAX), || ()),
        |_| par(0..1).grain(0).for_each(|_| ()),
        |_| par(0..1).chunks(0).for_each(|_| ()),
        |_| {
            let endless = task::spawn(std::future::pending::<()>());
            endless.abort();
            _ = endless.join().unwrap_err().into_panic();
        },
    ];
    let panicked = calls.map(|call| catch_unwind(|| call(&pool)).is_err());
    set_hook(before);
    assert_eq!(panicked, [true; 7]);
    assert_eq!(*FILES.lock().unwrap(), [file!(); 7]);
}
