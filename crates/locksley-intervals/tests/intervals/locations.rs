//! Panics about arguments name the caller's file, and say in plain words what is wrong.

use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::sync::Once;

use locksley::Pool;
use locksley_intervals::{Context, Guarded, IntervalLock, Root};

use crate::common::message;

thread_local! {
    /// The file of the last panic of the thread.
    static FILE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Asserts that this panics on the calling thread with this text, and that the panic names this
/// file.
#[track_caller]
fn panics_here<R>(text: &str, action: impl FnOnce() -> R) {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let other = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let file = info.location().map(|location| location.file().to_owned());
            FILE.set(file.unwrap_or_default());
            other(info);
        }));
    });
    let end = catch_unwind(AssertUnwindSafe(|| drop(action())));
    assert_eq!(message(&*end.expect_err("it panics")), text);
    assert_eq!(FILE.take(), file!());
}

/// Runs a root on a pool of one worker, which is in `body`.
fn root<'env>(is_checked: bool, body: impl for<'g> FnOnce(&Context<'g, 'env>) + Send) {
    let pool = Pool::builder().workers(1).own_threads_only().build().unwrap();
    assert_eq!(Root::new("root").on(&pool).checked(is_checked).run(body), Ok(()));
}

#[test]
fn a_refused_interval() {
    root(false, |root| {
        let text = "an edge from the end of `root` to the start of `child` would close the cycle \
                    `child -> root -> child`";
        panics_here(text, || root.interval("child").after(root.end()).spawn(|_| ()));
    });
}

#[test]
fn an_early_get() {
    root(false, |root| {
        let child = root.interval("child").spawn(|_| 1);
        let text = "`child` has no result yet, because it has not ended";
        panics_here(text, || *child.get(root));
    });
}

#[test]
fn a_get_that_nothing_orders() {
    root(true, |root| {
        let child = root.interval("child").spawn(|_| 1);
        panics_here("nothing orders `root` after the end of `child`", || *child.get(root));
    });
}

#[test]
fn a_key_of_another_interval() {
    let lock = IntervalLock::new(0);
    root(false, |root| {
        let mut child = root.interval("child");
        let mut key = child.lock(&lock);
        let text = "`root` does not name the lock of this key";
        panics_here(text, || *key.get_mut(root));
    });
}

#[test]
fn accesses_to_guarded_data() {
    let data = Guarded::new(0);
    root(false, |root| {
        let reader = data.read(root);
        panics_here("`root` changes guarded data that is being used", || drop(data.write(root)));
        drop(reader);
        let _writer = data.write(root);
        panics_here("`root` reads guarded data that is being changed", || drop(data.read(root)));
    });
    // In a checked root, also when the other access has ended.
    let end = Root::new("root").on(&Pool::new(2).unwrap()).checked(true).run(|root| {
        let child = root.interval("child").spawn(|cx| *data.write(cx) += 1);
        while !child.end().has_occurred() {
            std::thread::yield_now();
        }
        let text = "`child` and `root` use the same guarded data, and nothing orders them";
        panics_here(text, || drop(data.write(root)));
        panics_here(text, || drop(data.read(root)));
    });
    assert_eq!(end, Ok(()));
}

#[test]
fn a_place_that_is_not_there() {
    root(false, |root| {
        let text = "there is no place 7 in a pool of 1";
        panics_here(text, || root.interval("child").near(7));
    });
}

#[test]
fn an_interval_of_another_draft() {
    root(false, |root| {
        let (mut draft, mut other) = (root.draft(), root.draft());
        let one = draft.declare("one", |_| ());
        let text = "`one` is not declared in this draft, or was started";
        panics_here(text, || other.connect(one, one));
        panics_here(text, || other.disconnect(one, one));
        draft.start().unwrap();
        panics_here(text, || draft.connect(one, one));
        panics_here(text, || draft.disconnect(one, one));
    });
}
