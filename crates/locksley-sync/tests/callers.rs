//! A panic about an argument names the line of the call.

use std::panic::{catch_unwind, set_hook, take_hook};
use std::sync::Mutex;

use locksley_sync::{Barrier, Semaphore};

/// The only test of this binary, because of the hook.
#[test]
fn a_panic_about_an_argument_names_the_caller() {
    static FILES: Mutex<Vec<String>> = Mutex::new(Vec::new());
    let too_many = Semaphore::MAX_PERMITS + 1;
    let before = take_hook();
    set_hook(Box::new(|panic| {
        FILES.lock().unwrap().push(panic.location().unwrap().file().to_owned());
    }));
    let calls: [fn(usize); 6] = [
        |_| drop(Barrier::new(usize::MAX)),
        |too_many| drop(Semaphore::new(too_many)),
        |too_many| drop(Semaphore::new(0).acquire_many(too_many)),
        |too_many| _ = Semaphore::new(0).try_acquire_many(too_many),
        |too_many| Semaphore::new(0).add_permits(too_many),
        |_| Semaphore::new(1).add_permits(Semaphore::MAX_PERMITS),
    ];
    let panicked = calls.map(|call| catch_unwind(|| call(too_many)).is_err());
    set_hook(before);
    assert_eq!(panicked, [true; 6]);
    assert_eq!(*FILES.lock().unwrap(), [file!(); 6]);
}
