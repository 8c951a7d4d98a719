//! Names of intervals on a traced pool.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use locksley::Pool;
use locksley::extend::{Event, Tracer};
use locksley_intervals::Root;

#[derive(Clone, Debug, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl Tracer for Log {
    fn record(&self, _: Event) {}

    fn begin_span(&self, name: &str) {
        self.0.lock().unwrap().push(name.to_owned());
    }

    fn end_span(&self) {
        self.0.lock().unwrap().push("end".to_owned());
    }
}

#[test]
fn an_interval_with_a_name_is_named_while_it_runs() {
    let log = Log::default();
    let builder = Pool::builder().workers(1).own_threads_only();
    let pool = builder.tracer(log.clone()).build().unwrap();
    let run = catch_unwind(AssertUnwindSafe(|| {
        Root::new("root").on(&pool).run(|root| {
            let first = root.interval("first").spawn(|_| ());
            let panics = root.interval("panics").after(first).spawn(|_| panic!("so it ends"));
            root.interval("abandoned").after(panics).spawn(|_| unreachable!());
            root.interval("").spawn(|_| ());
        })
    }));
    assert!(run.is_err());
    drop(pool);
    // The intervals run after the body of the root, one after the other.
    let expected = ["root", "end", "first", "end", "panics", "end", "abandoned", "end"];
    assert_eq!(*log.0.lock().unwrap(), expected);
}
