//! Names of processes and channels on a traced pool.

use std::sync::{Arc, Mutex};

use locksley::Pool;
use locksley::extend::{Event, Tracer};
use locksley_kahn::Network;

#[derive(Clone, Debug, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    fn add(&self, what: String) {
        self.0.lock().unwrap().push(what);
    }
}

impl Tracer for Log {
    fn record(&self, _: Event) {}

    fn begin_span(&self, name: &str) {
        self.add(format!("begin {name}"));
    }

    fn end_span(&self) {
        self.add("end".to_owned());
    }

    fn mark(&self, name: &str) {
        self.add(name.to_owned());
    }
}

#[test]
fn a_process_is_named_while_it_runs_and_its_channel_when_it_waits() {
    let log = Log::default();
    // One worker runs one poll after the other.
    let builder = Pool::builder().workers(1).own_threads_only();
    let pool = builder.tracer(log.clone()).build().unwrap();
    let mut network = Network::new();
    let (output, input) = network.channel("numbers", 1);
    network.process("receives", input, async |mut input| while input.recv().await.is_some() {});
    network.process("sends", output, async |mut output| {
        for n in 0..3 {
            output.send(n).await;
        }
    });
    network.start(&pool).unwrap().join().unwrap();
    drop(pool);
    let log = log.0.lock().unwrap();
    let count = |what: &str| log.iter().filter(|it| *it == what).count();
    assert!(
        count("channel numbers is empty") + count("channel numbers has no room") > 0,
        "{log:?}"
    );
    assert!(count("begin sends") > 0 && count("begin receives") > 0, "{log:?}");
    assert_eq!(count("end"), count("begin sends") + count("begin receives"), "{log:?}");
}
