//! Random networks over ranks, under every placement and capacity, against a sequential
//! interpreter: that of the tests of `locksley-kahn`.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use locksley::extend::{Event, Tracer};
use locksley::task::yield_now;
use locksley::{Pool, Spawn};
use locksley_kahn::{Receiver, Sender};
use locksley_mpi::{Error, Network, Ranks, Simulated, Simulation};

#[path = "../../locksley-kahn/tests/kahn_random/scripts.rs"]
mod scripts;

use scripts::{Choices, NOTHING, Scripts, Step, interpreted, mix};

struct Random(u64);

impl Choices for Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % end
    }
}

/// A script, carried out by a process.
async fn carry_out(
    process: usize,
    script: Vec<Step>,
    mut outputs: HashMap<usize, Sender<u64>>,
    mut inputs: HashMap<usize, Receiver<u64>>,
) -> u64 {
    let mut state = process as u64;
    for step in script {
        match step {
            Step::Send(channel) => {
                state = mix(state, channel as u64);
                outputs.get_mut(&channel).unwrap().send(state).await;
            }
            Step::Receive(channel) => {
                let message = inputs.get_mut(&channel).unwrap().recv().await;
                state = mix(state, message.unwrap_or(NOTHING));
            }
            Step::Yield => yield_now().await,
            Step::Drop(channel) => drop(inputs.remove(&channel)),
        }
    }
    state
}

/// The last states of the processes that this rank runs.
fn run(
    ranks: &mut Ranks<Simulated>,
    scripts: &Scripts,
    capacities: &[usize],
    places: &[usize],
) -> Result<Vec<Option<u64>>, Error> {
    let mut network = ranks.network();
    let processes = scripts.scripts.len();
    let mut outlets: Vec<Vec<_>> = (0..processes).map(|_| Vec::new()).collect();
    let mut inlets: Vec<Vec<_>> = (0..processes).map(|_| Vec::new()).collect();
    for (channel, &(from, to)) in scripts.channels.iter().enumerate() {
        let (outlet, inlet) = network.channel::<u64>(channel.to_string(), capacities[channel]);
        outlets[from].push((channel, outlet));
        inlets[to].push((channel, inlet));
    }
    let mut products = Vec::new();
    for (process, (outlets, inlets)) in outlets.into_iter().zip(inlets).enumerate() {
        let script = scripts.scripts[process].clone();
        let (out_numbers, outlets): (Vec<_>, Vec<_>) = outlets.into_iter().unzip();
        let (in_numbers, inlets): (Vec<_>, Vec<_>) = inlets.into_iter().unzip();
        network.place(process.to_string(), places[process]);
        let product = network.process(
            process.to_string(),
            (outlets, inlets),
            move |(outputs, inputs): (Vec<_>, Vec<_>)| {
                let outputs = out_numbers.into_iter().zip(outputs).collect();
                let inputs = in_numbers.into_iter().zip(inputs).collect();
                carry_out(process, script, outputs, inputs)
            },
        );
        products.push(product);
    }
    ranks.run_network(network, &Pool::new(1 + ranks.rank() % 2).unwrap())?;
    Ok(products.into_iter().map(|product| product.take()).collect())
}

#[test]
fn the_result_does_not_depend_on_placement() {
    let mut random = Random(0x5eed);
    let (mut ended, mut stuck) = (0, 0);
    for round in 0..32 {
        let mut scripts = Scripts::random(&mut random);
        for _ in 0..round % 4 {
            scripts.disturb(&mut random);
        }
        let size = 1 + random.below(4);
        let most = [1, 3, 12][random.below(3)];
        let capacities: Vec<_> = scripts.channels.iter().map(|_| 1 + random.below(most)).collect();
        let places: Vec<_> = scripts.scripts.iter().map(|_| random.below(size)).collect();
        let simulation =
            Simulation::new(size, round).delay(Duration::ZERO..Duration::from_micros(200));
        let outcomes: Vec<_> = thread::scope(|scope| {
            let (scripts, capacities, places) = (&scripts, &capacities, &places);
            let ranks: Vec<_> = simulation
                .ranks()
                .into_iter()
                .map(|transport| {
                    scope.spawn(move || {
                        run(&mut Ranks::connect(transport)?, scripts, capacities, places)
                    })
                })
                .collect();
            ranks.into_iter().map(|rank| rank.join().unwrap()).collect()
        });
        match interpreted(&scripts) {
            Ok(expected) => {
                ended += 1;
                for (rank, outcome) in outcomes.into_iter().enumerate() {
                    let expected = expected.states.iter().zip(&places);
                    let expected: Vec<_> =
                        expected.map(|(&state, &place)| (place == rank).then_some(state)).collect();
                    assert_eq!(outcome, Ok(expected), "{round}, rank {rank}: {scripts:?}");
                }
            }
            Err(expected) => {
                stuck += 1;
                let name = |&(process, _): &(usize, usize)| {
                    format!("{process} on rank {}", places[process])
                };
                let expected: BTreeSet<_> = expected.iter().map(name).collect();
                let Err(Error::Deadlock(found)) = &outcomes[0] else { panic!("{outcomes:?}") };
                assert_eq!(found.iter().cloned().collect::<BTreeSet<_>>(), expected);
                let is_told = |outcome: &Result<_, Error>| {
                    matches!(outcome, Err(Error::Remote { rank: 0, .. }))
                };
                assert!(outcomes[1..].iter().all(is_told), "{outcomes:?}");
            }
        }
    }
    assert!(ended > 10 && stuck > 0, "both kinds: {ended}, {stuck}");
}

/// Runs a network on two ranks. `make` gets the number of each.
fn on_two_ranks(make: impl Fn(usize, &mut Network) + Sync) -> Vec<Result<(), Error>> {
    thread::scope(|scope| {
        let ranks: Vec<_> = Simulation::new(2, 1)
            .ranks()
            .into_iter()
            .map(|transport| {
                let make = &make;
                scope.spawn(move || {
                    let mut ranks = Ranks::connect(transport)?;
                    let mut network = ranks.network();
                    make(ranks.rank(), &mut network);
                    ranks.run_network(network, &Pool::new(1).unwrap())
                })
            })
            .collect();
        ranks.into_iter().map(|rank| rank.join().unwrap()).collect()
    })
}

async fn forward((mut input, mut output): (Receiver<u64>, Sender<u64>)) {
    while let Some(number) = input.recv().await {
        output.send(number).await;
    }
}

#[test]
fn a_deadlock_across_ranks_is_found_and_named() {
    let outcomes = on_two_ranks(|_, network| {
        let (to_b, from_a) = network.channel("a to b", 1);
        let (to_a, from_b) = network.channel("b to a", 1);
        network.place("a", 0);
        network.place("b", 1);
        network.place("ends", 1);
        network.process("a", (from_b, to_b), forward);
        network.process("b", (from_a, to_a), forward);
        network.process("ends", (), async |()| {});
    });
    let names = ["a on rank 0", "b on rank 1"].map(String::from).to_vec();
    assert_eq!(outcomes[0], Err(Error::Deadlock(names)));
    assert!(
        matches!(&outcomes[1], Err(Error::Remote { rank: 0, reason })
            if reason == "processes wait for each other: a on rank 0, b on rank 1"),
        "{outcomes:?}"
    );
}

#[test]
fn a_full_channel_grows_if_the_whole_network_waits() {
    // `first` begins with the second channel, but `sends` fills the first one before.
    let outcomes = on_two_ranks(|_, network| {
        let (mut to_first, mut numbers) = (Vec::new(), Vec::new());
        for name in ["early", "late"] {
            let (outlet, inlet) = network.channel::<u64>(name, 1);
            to_first.push(outlet);
            numbers.push(inlet);
        }
        network.place("sends", 1);
        network.place("first", 0);
        network.process("sends", to_first, async |mut outlets| {
            for outlet in &mut outlets {
                for number in 0..100 {
                    outlet.send(number).await;
                }
            }
        });
        network.process("first", numbers, async |mut inlets| {
            for inlet in inlets.iter_mut().rev() {
                for number in 0..100 {
                    assert_eq!(inlet.recv().await, Some(number));
                }
            }
        });
    });
    assert_eq!(outcomes, [Ok(()), Ok(())]);
}

#[test]
fn a_sender_that_is_dropped_early_ends_its_stream_if_the_whole_network_waits() {
    for place in [0, 1] {
        let outcomes = on_two_ranks(|_, network| {
            let (numbers, all) = network.channel::<u64>("numbers", 1);
            let (answer, answers) = network.channel::<u64>("answer", 1);
            network.place("ask", 0);
            network.place("count", place);
            network.process("ask", (numbers, answers), async |(mut numbers, mut answers)| {
                for number in 0..5 {
                    numbers.send(number).await;
                }
                drop(numbers);
                assert_eq!(answers.recv().await, Some(5));
            });
            network.process("count", (all, answer), async |(mut all, mut answer)| {
                let mut count = 0;
                while all.recv().await.is_some() {
                    count += 1;
                }
                answer.send(count).await;
            });
        });
        assert_eq!(outcomes, [Ok(()), Ok(())]);
    }
}

async fn panics(_: Sender<u64>) {
    panic!("of its own");
}

#[test]
fn a_process_that_panics_ends_all_ranks() {
    let outcomes = on_two_ranks(|_, network| {
        let (outlet, inlet) = network.channel::<u64>("numbers", 1);
        network.place("panics", 1);
        network.place("waits", 0);
        network.process("panics", outlet, panics);
        network.process("waits", inlet, async |mut inlet| {
            while inlet.recv().await.is_some() {}
            std::future::pending::<()>().await;
        });
    });
    assert!(
        matches!(&outcomes[1], Err(Error::Network(reason)) if reason.contains("of its own")),
        "{outcomes:?}"
    );
    assert!(matches!(&outcomes[0], Err(Error::Remote { rank: 1, .. })), "{outcomes:?}");
}

#[test]
fn a_process_that_is_placed_but_not_added_is_an_error() {
    let outcomes = on_two_ranks(|_, network| {
        network.process("late", (), async |()| {});
        network.place("late", 1);
        network.place("unknown", 0);
    });
    let reason = "process 'late' was placed, but not added afterwards".to_owned();
    assert_eq!(outcomes, [Err(Error::Network(reason.clone())), Err(Error::Network(reason))]);
}

#[test]
fn networks_that_differ_are_an_error() {
    let outcomes = on_two_ranks(|rank, network| {
        let (outlet, inlet) = network.channel::<u64>("numbers", 1);
        network.place("sends", 0);
        network.place("receives", if rank == 0 { 1 } else { 0 });
        network.process("sends", outlet, async |mut outlet| outlet.send(1).await);
        network.process("receives", inlet, async |mut inlet| inlet.recv().await);
    });
    let Err(Error::Network(reason)) = &outcomes[1] else { panic!("{outcomes:?}") };
    assert_eq!(
        reason,
        "a packet of channel 0 came to a rank without that one: the ranks' networks differ"
    );
    assert!(matches!(&outcomes[0], Err(Error::Remote { rank: 1, .. })), "{outcomes:?}");
}

/// A rank alone: its network, on this pool.
fn alone(pool: &Pool, make: impl Fn(&mut Network)) -> Result<(), Error> {
    let mut ranks = Ranks::connect(Simulation::new(1, 1).ranks().remove(0)).unwrap();
    let mut network = ranks.network();
    make(&mut network);
    ranks.run_network(network, pool)
}

#[test]
fn a_deadlock_is_found_while_another_task_occupies_the_worker() {
    let pool = Arc::new(Pool::new(1).unwrap());
    let (end, ended) = channel::<()>();
    let ended = Arc::new(Mutex::new(ended));
    let outcome = alone(&pool, |network| {
        let (outlet, inlet) = network.channel::<u64>("to itself", 1);
        let ended = Arc::clone(&ended);
        network.process("waits", (outlet, inlet), async move |(_outlet, mut inlet)| {
            // It runs when this process waits.
            locksley::spawn(move || _ = ended.lock().unwrap().recv());
            inlet.recv().await
        });
    });
    drop(end);
    assert_eq!(outcome, Err(Error::Deadlock(vec!["waits on rank 0".to_owned()])));
}

/// Suspends a thread that has taken the process "late" and has not yet begun to run it.
#[derive(Debug, Default)]
struct Suspends(Arc<AtomicBool>);

impl Tracer for Suspends {
    fn record(&self, _: Event) {}

    fn begin_span(&self, name: &str) {
        if name == "late" {
            self.0.store(true, Ordering::Relaxed);
            thread::sleep(Duration::from_millis(300));
        }
    }
}

#[test]
fn a_process_that_a_suspended_thread_has_taken_is_no_deadlock() {
    let (tracer, other) = (Suspends::default(), Pool::new(1).unwrap());
    let is_taken = Arc::clone(&tracer.0);
    let pool = Pool::builder().workers(2).tracer(tracer).build().unwrap();
    let (end, ended) = channel::<()>();
    // One worker waits, so that a replacement takes the process. The other one is busy until then.
    pool.spawn_with(Spawn::At(0), move |_| _ = other.install(move |_| ended.recv()));
    pool.spawn_with(Spawn::At(1), move |_| {
        while !is_taken.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_millis(1));
        }
    });
    let outcome = alone(&pool, |network| _ = network.process("late", (), async |()| {}));
    drop(end);
    assert_eq!(outcome, Ok(()));
}
