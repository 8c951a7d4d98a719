//! Processes that wait for each other: found, named, and resolved where that can be.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use locksley::task::Placement;
use locksley::{Pool, Worker, block_on};
use locksley_kahn::{Network, NetworkError, Receiver, Sender};

use crate::common::idle_policies::RESTLESS;
use crate::common::{in_time, pools};
use crate::{EMPTY, FULL, crossed, cycle, ends, of, ring};

/// Calls `task` with the worker that the calling thread is.
fn on_worker<R>(task: impl FnOnce(&Worker) -> R) -> R {
    Worker::with_current(|current| task(current.expect("a worker's thread")))
}

#[test]
fn a_ring_without_a_token_is_a_deadlock_and_all_of_it_is_named() {
    for pool in pools() {
        for size in [1, 2, 3, 50] {
            let mut network = Network::new();
            ring(&mut network, size, 0, 1);
            match network.run(&pool) {
                Err(NetworkError::Deadlock(found)) => {
                    let mut expected: Vec<_> = (0..size)
                        .map(|n| (format!("p{n}"), format!("{}", (n + size - 1) % size), EMPTY))
                        .collect();
                    expected.sort_by(|a, b| a.0.cmp(&b.0));
                    assert_eq!(cycle(&found), expected);
                    // Each waits for the next one.
                    for (wait, next) in found.iter().zip(found.iter().cycle().skip(1)) {
                        assert_eq!(format!("p{}", wait.channel), next.process);
                    }
                }
                other => panic!("{other:?}"),
            }
        }
    }
}

#[test]
fn a_full_ring_grows() {
    for pool in pools() {
        let mut network = Network::new();
        ring(&mut network, 5, 12, 30); // more tokens than there is room for
        let report = network.run(&pool).unwrap();
        assert!(report.times_grown >= 1);
        let sent: u64 = report.channels.iter().map(|channel| channel.sent).sum();
        assert_eq!(sent, 5 * 30 + 12);
    }
}

#[test]
fn an_artificial_deadlock_is_resolved_up_to_the_limit() {
    for pool in pools() {
        let mut network = Network::new();
        let sum = crossed(&mut network, 3, 100);
        let report = network.run(&pool).unwrap();
        assert_eq!(sum.take(), Some(4950));
        assert_eq!(report.channels[0].capacity, 192, "3, doubled until there is room for 100");
        assert_eq!(report.times_grown, 6);
        assert_eq!(report.channels[1].capacity, 1);

        let mut network = Network::new().limit(100);
        let sum = crossed(&mut network, 3, 100);
        assert_eq!(network.run(&pool).unwrap().channels[0].capacity, 100);
        assert_eq!(sum.take(), Some(4950));

        let mut network = Network::new().limit(99);
        let sum = crossed(&mut network, 3, 100);
        match network.run(&pool) {
            Err(NetworkError::Limit { channel, capacity, cycle: found }) => {
                assert_eq!((channel.as_str(), capacity), ("numbers", 99));
                let expected = [("first", "numbers", FULL), ("second", "signal", EMPTY)];
                assert_eq!(cycle(&found), of(&expected));
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(sum.take(), None);
    }
}

#[test]
fn a_channel_grows_to_65536_messages_by_default() {
    let pool = Pool::new(2).unwrap();
    let mut network = Network::new();
    let _ = crossed(&mut network, 3, 1 << 16);
    assert_eq!(network.run(&pool).unwrap().channels[0].capacity, 1 << 16);

    let mut network = Network::new();
    let _ = crossed(&mut network, 3, (1 << 16) + 1);
    match network.run(&pool) {
        Err(NetworkError::Limit { channel, capacity, .. }) => {
            assert_eq!((channel.as_str(), capacity), ("numbers", 1 << 16));
        }
        other => panic!("{other:?}"),
    }

    let mut network = Network::new().limit(usize::MAX);
    let sum = crossed(&mut network, 3, (1 << 16) + 1);
    network.run(&pool).unwrap();
    assert!(sum.take().is_some());
}

#[test]
fn the_smallest_full_channel_grows() {
    for pool in pools() {
        let mut network = Network::new();
        let [a, b, c] =
            [("large", 100), ("small", 2), ("signal", 1)].map(|(n, c)| network.channel(n, c));
        network.process("a", (a.0, c.1), async |(mut output, mut signal)| {
            for n in 0..200 {
                output.send(n).await;
            }
            while signal.recv().await.is_some() {}
        });
        network.process("b", (a.1, b.0), async |(mut input, mut output)| {
            // Sends twice as many as it receives.
            while let Some(n) = input.recv().await {
                output.send(n).await;
                output.send(n).await;
            }
        });
        network.process(
            "c",
            (b.1, c.0),
            async |(mut input, mut signal): (Receiver<i32>, Sender<i32>)| {
                // Nothing is received before the signal is sent, and that is not received before
                // all is sent.
                for n in 0..20 {
                    signal.send(n).await;
                }
                drop(signal);
                while input.recv().await.is_some() {}
            },
        );
        // All three wait for room, until there is some for all signals: the smallest grows, and of
        // two the first.
        let report = network.run(&pool).unwrap();
        let capacities: Vec<u64> = report.channels.iter().map(|channel| channel.capacity).collect();
        assert_eq!(capacities, [100, 32, 32]);
        assert_eq!(report.times_grown, 4 + 5);
    }
}

#[test]
fn a_local_deadlock_is_found_while_others_go_on() {
    for workers in [1, 2, 4] {
        let pool = Pool::new(workers).unwrap();
        let mut network = Network::new();
        // Two that never end, and a pair that needs room.
        let (ping, pinged) = network.channel("ping", 1);
        let (pong, ponged) = network.channel("pong", 1);
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        network.process("a", (ping, ponged), async move |(mut ping, mut ponged)| {
            while !stopped.load(Ordering::Relaxed) {
                ping.send(()).await;
                ponged.recv().await;
            }
        });
        network.process("b", (pinged, pong), async |(mut pinged, mut pong)| {
            while pinged.recv().await.is_some() {
                pong.send(()).await;
            }
        });
        let (end, ended) = network.channel("end", 1);
        let (numbers, last) = network.channel("numbers", 1);
        let (signal, done) = network.channel("signal", 1);
        network.process("first", (numbers, signal), async move |(mut numbers, mut signal)| {
            for n in 0..50 {
                numbers.send(n).await;
            }
            signal.send(()).await;
        });
        network.process("second", (last, done, end), async |(mut last, mut done, mut end)| {
            done.recv().await;
            while last.recv().await.is_some() {}
            end.send(()).await;
        });
        network.process("stop", ended, async move |mut ended| {
            ended.recv().await;
            stop.store(true, Ordering::Relaxed);
        });
        network.run(&pool).unwrap();
    }
}

/// As above, with a chain so long that it is not followed at once.
#[test]
fn a_long_local_deadlock_is_found_while_others_go_on() {
    for workers in [1, 2, 4] {
        let pool = Pool::new(workers).unwrap();
        let mut network = Network::new();
        let (ping, pinged) = network.channel::<()>("ping", 1);
        let (pong, ponged) = network.channel("pong", 1);
        network.process("a", (ping, ponged), async move |(mut ping, mut ponged)| {
            loop {
                ping.send(()).await;
                ponged.recv().await;
            }
        });
        network.process("b", (pinged, pong), async |(mut pinged, mut pong)| {
            while pinged.recv().await.is_some() {
                pong.send(()).await;
            }
        });
        ring(&mut network, 300, 0, 1);
        match network.run(&pool) {
            Err(NetworkError::Deadlock(cycle)) => assert_eq!(cycle.len(), 300),
            other => panic!("{other:?}"),
        }
    }
}

/// A borrowed thread closes a long cycle, and then does something else for good.
#[test]
fn a_borrowed_thread_checks_for_deadlocks_before_it_leaves() {
    const SIZE: usize = 50;
    let guest = std::thread::spawn(|| {
        let pool = Pool::builder().workers(2).with_current_thread().build().unwrap();
        // The other worker is kept away from the network.
        let (say, said) = std::sync::mpsc::channel();
        let (let_go, wait) = std::sync::mpsc::channel::<()>();
        pool.spawn(move |_| {
            say.send(()).unwrap();
            let _ = wait.recv();
        });
        said.recv().unwrap();
        let mut network = Network::new();
        ring(&mut network, SIZE, 0, 1);
        let running = network.start(&pool).unwrap();
        Worker::with_current(|guest| {
            // The task that begins the processes, and these.
            (0..=SIZE).for_each(|_| assert!(guest.unwrap().run_one()));
        });
        drop(let_go);
        match ends(running) {
            Err(NetworkError::Deadlock(found)) => assert_eq!(found.len(), SIZE),
            other => panic!("{other:?}"),
        }
    });
    guest.join().unwrap();
}

/// Closures that spawn each other: their worker never searches.
#[test]
fn closures_without_end_do_not_put_off_deadlock_checks() {
    fn again(_: &Worker, is_over: Arc<AtomicBool>) {
        if !is_over.load(Ordering::Acquire) {
            locksley::spawn(move || on_worker(|worker| again(worker, is_over)));
        }
    }
    for placement in [Placement::Last, Placement::Current] {
        let pool = Pool::builder().workers(1).placement(placement).build().unwrap();
        let pool: &'static Pool = Box::leak(Box::new(pool));
        let is_over = Arc::new(AtomicBool::new(false));
        let closures = Arc::clone(&is_over);
        let (tell, told) = std::sync::mpsc::channel();
        // On the pool's own worker, which takes nothing from others while it has tasks.
        pool.spawn(move |_| {
            locksley::spawn(move || on_worker(|worker| again(worker, closures)));
            let mut network = Network::new();
            ring(&mut network, 50, 0, 1);
            tell.send(network.start(pool).unwrap()).unwrap();
        });
        let running = told.recv().unwrap();
        let patience = std::time::Instant::now() + Duration::from_secs(20);
        let is_found = || format!("{running:?}").contains("has_failed: true");
        while !is_found() && std::time::Instant::now() < patience {
            std::thread::yield_now();
        }
        let is_in_time = is_found();
        is_over.store(true, Ordering::Release);
        assert!(matches!(running.join(), Err(NetworkError::Deadlock(_))));
        assert!(is_in_time);
    }
}

/// The worker has noted a network, and would check it when it searches.
#[test]
fn a_worker_checks_for_deadlocks_before_it_blocks() {
    let pool = Pool::builder().workers(1).idle_policy(RESTLESS).build().unwrap();
    let pool: &'static Pool = Box::leak(Box::new(pool));
    let (tell, told) = std::sync::mpsc::channel();
    let (say, said) = std::sync::mpsc::channel();
    let (go, goes) = std::sync::mpsc::channel::<()>();
    let (is_over, over) = std::sync::mpsc::channel();
    pool.spawn(move |_| {
        let mut network = Network::new();
        ring(&mut network, 6, 0, 1);
        let running = network.start(pool).unwrap();
        let found = pool.spawn_future(async move { tell.send(running.await.is_err()).unwrap() });
        drop(found);
        say.send(()).unwrap();
        let _ = goes.recv();
    });
    said.recv().unwrap();
    // It is found when the processes wait.
    pool.spawn(move |_| {
        is_over.send(locksley::blocking(|| told.recv_timeout(Duration::from_secs(20)))).unwrap();
    });
    go.send(()).unwrap();
    assert_eq!(over.recv().unwrap(), Ok(true));
}

/// A worker runs processes, and then waits for a task that another worker has stolen.
#[test]
fn a_worker_that_waits_for_a_task_checks_for_deadlocks_first() {
    type Run = fn(&Worker, &(dyn Fn(&Worker) + Sync), &(dyn Fn() + Sync));
    let runs: [Run; 2] = [
        |w, first, second| _ = w.join(first, |_| second()),
        |w, first, second| {
            locksley::in_place_scope(|scope| {
                scope.spawn(|_| second());
                first(w);
            });
        },
    ];
    for run in runs {
        in_time(move || {
            let pool = Pool::new(2).unwrap();
            let (is_stolen, is_noted) = (AtomicBool::new(false), AtomicBool::new(false));
            let network = Mutex::new(None);
            let wait_until = |flag: &AtomicBool| {
                while !flag.load(Ordering::Acquire) {
                    std::thread::yield_now();
                }
            };
            let first = |w: &Worker| {
                wait_until(&is_stolen);
                let mut ring_of_six = Network::new();
                ring(&mut ring_of_six, 6, 0, 1);
                *network.lock().unwrap() = Some(ring_of_six.start(&pool).unwrap());
                while w.run_local() {}
                is_noted.store(true, Ordering::Release);
            };
            let second = || {
                is_stolen.store(true, Ordering::Release);
                wait_until(&is_noted);
                let running = network.lock().unwrap().take().unwrap();
                assert!(matches!(block_on(running), Err(NetworkError::Deadlock(_))));
            };
            pool.install(|w| run(w, &first, &second));
        });
    }
}

/// Its worker runs what it has, and never searches.
#[test]
fn a_worker_that_never_searches_finds_a_long_cycle() {
    in_time(|| {
        let pool = Pool::new(1).unwrap();
        let has_ended = pool.install(|worker| {
            let mut network = Network::new();
            ring(&mut network, 50, 0, 1);
            let running = network.start(&pool).unwrap();
            let has_ended = Arc::new(AtomicBool::new(false));
            let says = Arc::clone(&has_ended);
            drop(pool.spawn_future(async move {
                assert!(matches!(running.await, Err(NetworkError::Deadlock(_))));
                says.store(true, Ordering::Release);
            }));
            // More than enough, and far from an eternity.
            (0..100_000).any(|_| {
                worker.run_local();
                has_ended.load(Ordering::Acquire)
            })
        });
        assert!(has_ended);
    });
}
