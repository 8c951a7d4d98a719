//! Pools that are dropped while processes on stacks of their own run, or wait at channels.

use locksley::Pool;
use locksley::kahn::{Network, NetworkError, Over};

use crate::common::in_time;

#[test]
fn a_dropped_pool_cancels_what_waits_at_channels_on_stacks() {
    for workers in [1, 3] {
        in_time(move || {
            let pool = Pool::new(workers).unwrap();
            let (say, said) = std::sync::mpsc::channel();
            let mut network = Network::new();
            let (output, input) = network.channel::<u8>("nothing", 2);
            network.process("holds", output, async |_output| std::future::pending::<()>().await);
            let told = network.process_on_stack("waits", input, move |mut input| {
                say.send(()).unwrap();
                input.recv_blocking()
            });
            let running = network.start(&pool).unwrap();
            said.recv().unwrap();
            drop(pool);
            assert!(matches!(running.join(), Err(NetworkError::Cancelled)));
            assert_eq!(told.take(), Some(Err(Over)));
        });
    }
}

/// No future of the network's is there to be cancelled.
#[test]
fn a_dropped_pool_cancels_a_network_of_stacks() {
    for workers in [1, 3] {
        in_time(move || {
            let pool = Pool::new(workers).unwrap();
            let (say, said) = std::sync::mpsc::channel();
            let begun = say.clone();
            let mut network = Network::new();
            let (output, input) = network.channel::<u8>("nothing", 2);
            let (unwanted, nobody) = network.channel::<u8>("unwanted", 2);
            drop(nobody);
            let ends = (output, unwanted);
            let told = network.process_on_stack("goes on", ends, move |(output, mut unwanted)| {
                begun.send(()).unwrap();
                while unwanted.send_blocking(0).is_ok() {}
                drop(output);
            });
            let other = network.process_on_stack("waits", input, move |mut input| {
                say.send(()).unwrap();
                input.recv_blocking()
            });
            let running = network.start(&pool).unwrap();
            (0..2).for_each(|_| said.recv().unwrap());
            drop(pool);
            assert!(matches!(running.join(), Err(NetworkError::Cancelled)));
            assert_eq!((told.take(), other.take()), (Some(()), Some(Err(Over))));
        });
    }
}

/// What is owed an end gets it first, and a network that it waits for.
#[test]
fn a_dropped_pool_finishes_the_network_that_a_closure_waits_for() {
    for workers in [1, 3] {
        in_time(move || {
            let pool = Pool::new(workers).unwrap();
            let mut network = Network::new();
            let (output, input) = network.channel::<u32>("numbers", 1);
            network.process_on_stack("count", output, |mut output| {
                (0..100).try_for_each(|n| output.send_blocking(n))
            });
            let sum = network.process_on_stack("sum", input, |mut input| {
                let mut sum = 0;
                while let Some(n) = input.recv_blocking()? {
                    sum += n;
                }
                Ok::<_, Over>(sum)
            });
            let running = network.start(&pool).unwrap();
            pool.spawn(move |_| drop(running.join().unwrap()));
            drop(pool);
            assert_eq!(sum.take(), Some(Ok(4950)));
        });
    }
}
