//! Names of processes and channels on a traced pool.

use std::sync::{Arc, Mutex};

use locksley::Pool;
use locksley::extend::{Event, Queues, Tracer};
use locksley_kahn::Network;

#[derive(Clone, Debug, Default)]
struct Log(Arc<Mutex<Vec<String>>>, Arc<Mutex<Option<Arc<dyn Queues>>>>);

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

    fn attach_queues(&self, queues: Arc<dyn Queues>) {
        *self.1.lock().unwrap() = Some(queues);
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

#[test]
fn the_lengths_of_channels_can_be_read_until_the_network_ends() {
    let log = Log::default();
    let pool = Pool::builder().workers(1).tracer(log.clone()).build().unwrap();
    let mut network = Network::new();
    let (output, input) = network.channel("numbers", 8);
    let lengths = log.clone();
    let lengths = move || {
        let mut found = Vec::new();
        let queues = lengths.1.lock().unwrap().clone().unwrap();
        let goes_on = queues.read(&mut |name, length| found.push((name.to_owned(), length)));
        (goes_on, found)
    };
    let seen = lengths.clone();
    network.process("sends", output, async move |mut output| {
        for n in 0..3 {
            output.send(n).await;
        }
        assert_eq!(seen(), (true, vec![("channel numbers".to_owned(), 3)]));
    });
    network.process("receives", input, async |mut input| while input.recv().await.is_some() {});
    network.start(&pool).unwrap().join().unwrap();
    drop(pool);
    assert_eq!(lengths(), (false, vec![]));
}
