//! A panic about an argument names the line of the program that passed it.

#![cfg(not(loom))]

use std::panic::{self, AssertUnwindSafe};
use std::sync::Mutex;

use locksley_kahn::{Network, Over};

static PLACE: Mutex<Option<(String, u32)>> = Mutex::new(None);

/// Calls `misuse`, which panics. Returns the line of the panic in this file.
fn line_of(misuse: impl FnOnce()) -> u32 {
    assert!(panic::catch_unwind(AssertUnwindSafe(misuse)).is_err());
    let (file, line) = PLACE.lock().unwrap().take().unwrap();
    assert_eq!(file, file!());
    line
}

// The only test of this file: panic hooks are the process's.
#[test]
fn panics_about_arguments_are_at_the_caller() {
    panic::set_hook(Box::new(|info| {
        let place = info.location().map(|place| (place.file().to_owned(), place.line()));
        *PLACE.lock().unwrap() = place;
    }));
    let (mut one, mut other) = (Network::new(), Network::new());
    other.channel::<u8>("other", 1);

    let line = line_of(|| drop(one.channel::<u8>("none", 0)));
    assert_eq!(line, line!() - 1);

    let (output, input) = one.channel::<u8>("one", 1);
    let line = line_of(|| drop(other.process("thief", input, async |_| {})));
    assert_eq!(line, line!() - 1);

    let line = line_of(|| {
        drop(other.process_blocking("thief", (vec![output],), |_| Ok::<_, Over>(())));
    });
    assert_eq!(line, line!() - 2);
    let _ = panic::take_hook();
}
