//! Pools that are dropped while blocking processes run, or wait.

use std::sync::mpsc;

use locksley::Pool;
use locksley_kahn::{Network, NetworkError, Over};

use crate::common::in_time;

#[test]
fn a_dropped_pool_ends_waits_at_channels() {
    for workers in [1, 3] {
        in_time(move || {
            let pool = Pool::new(workers).unwrap();
            let (say, said) = mpsc::channel();
            let mut network = Network::new();
            let (output, input) = network.channel::<u8>("nothing", 2);
            network.process("holds", output, async |_output| std::future::pending::<()>().await);
            network.process_blocking("waits", input, move |mut input| {
                say.send(None).unwrap();
                say.send(Some(input.recv_blocking())).unwrap();
                Ok::<_, Over>(())
            });
            let running = network.start(&pool).unwrap();
            assert_eq!(said.recv(), Ok(None));
            drop(pool);
            assert!(matches!(running.join(), Err(NetworkError::Cancelled)));
            assert_eq!(said.recv(), Ok(Some(Err(Over))));
        });
    }
}

/// No process is a future that could be cancelled.
#[test]
fn a_dropped_pool_cancels_a_network_of_blocking_processes() {
    for workers in [1, 3] {
        in_time(move || {
            let pool = Pool::builder().workers(workers).replacements(4).build().unwrap();
            let (say, said) = mpsc::channel();
            let other = say.clone();
            let mut network = Network::new();
            let (output, input) = network.channel::<u8>("nothing", 2);
            let (unwanted, end) = network.channel::<u8>("unwanted", 2);
            drop(end);
            let ends = (output, unwanted);
            network.process_blocking("goes on", ends, move |(_output, mut unwanted)| {
                other.send("goes on").unwrap();
                while unwanted.send_blocking(0).is_ok() {}
                other.send("over").unwrap();
                Ok::<_, Over>(())
            });
            network.process_blocking("waits", input, move |mut input| {
                say.send("waits").unwrap();
                assert_eq!(input.recv_blocking(), Err(Over));
                say.send("over").unwrap();
                Ok::<_, Over>(())
            });
            let running = network.start(&pool).unwrap();
            (0..2).for_each(|_| assert_ne!(said.recv(), Ok("over")));
            drop(pool);
            assert!(matches!(running.join(), Err(NetworkError::Cancelled)));
            assert_eq!(said.iter().collect::<Vec<_>>(), ["over"; 2]);
        });
    }
}

/// The pool waits for the closure, and the closure for the network.
#[test]
fn a_dropped_pool_finishes_the_network_that_a_closure_waits_for() {
    for workers in [1, 3] {
        in_time(move || {
            let pool = Pool::builder().workers(workers).replacements(4).build().unwrap();
            let mut network = Network::new();
            let (output, input) = network.channel::<u32>("numbers", 1);
            network.process_blocking("count", output, |mut output| {
                (0..100).try_for_each(|n| output.send_blocking(n))
            });
            let sum = network.process_blocking("sum", input, |mut input| {
                let mut sum = 0;
                while let Some(n) = input.recv_blocking()? {
                    sum += n;
                }
                Ok::<_, Over>(sum)
            });
            let running = network.start(&pool).unwrap();
            pool.spawn(move |_| drop(running.join().unwrap()));
            drop(pool);
            assert_eq!(sum.take(), Some(4950));
        });
    }
}

/// A process waits for a task of the pool: that is cancelled, and the wait ends.
#[test]
fn a_dropped_pool_cancels_the_task_that_a_process_waits_for() {
    for workers in [1, 3] {
        in_time(move || {
            let pool = Pool::new(workers).unwrap();
            let (say, said) = mpsc::channel();
            let mut network = Network::new();
            network.process_blocking("waits", (), move |()| {
                let task = locksley::task::spawn(std::future::pending::<()>());
                say.send(()).unwrap();
                assert!(locksley::block_on(task).unwrap_err().is_cancelled());
                Ok::<_, Over>(())
            });
            let running = network.start(&pool).unwrap();
            said.recv().unwrap();
            drop(pool);
            assert!(matches!(running.join(), Err(NetworkError::Cancelled)));
        });
    }
}
