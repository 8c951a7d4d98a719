//! How networks, processes and channels end: errors, panics, cancelling, dropping.

use std::future::pending;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use locksley::Pool;
use locksley::task::yield_now;
use locksley_kahn::{
    CancelHandle, Inlet, Network, NetworkError, Outlet, Receiver, Running, Sender,
};

use crate::common::{message, pools};
use crate::{Counted, ends, panic_of};

#[test]
fn an_end_that_is_dropped_before_the_run_belongs_to_no_process() {
    let pool = Pool::new(2).unwrap();
    let mut network = Network::new();
    let (output, input) = network.channel::<u8>("dropped", 1);
    drop(input);
    let (never, nothing) = network.channel::<u8>("never", 1);
    drop(never);
    network.process("sends", output, async |mut output| {
        for n in 0..9 {
            output.send(n).await;
        }
    });
    let nothing = network.process("receives", nothing, async |mut input| input.recv().await);
    let report = network.run(&pool).unwrap();
    assert_eq!(nothing.take(), Some(None));
    let dropped = &report.channels[0];
    assert_eq!((dropped.sent, dropped.received, dropped.to), (9, 0, None));
}

#[test]
fn an_end_without_a_process_is_an_error() {
    let pool = Pool::new(1).unwrap();
    for keep_outlet in [true, false] {
        let mut network = Network::new();
        let (output, input) = network.channel::<u8>("loose", 1);
        let keep: Box<dyn std::any::Any> = if keep_outlet {
            network.process("end", input, async |_input| {});
            Box::new(output)
        } else {
            network.process("begin", output, async |_output| {});
            Box::new(input)
        };
        match network.run(&pool) {
            Err(NetworkError::Unowned { channel }) => assert_eq!(channel, "loose"),
            other => panic!("{other:?}"),
        }
        drop(keep);
    }
}

#[test]
fn ends_of_another_network_are_not_accepted() {
    let (mut one, mut other) = (Network::new(), Network::new());
    let (_, input) = one.channel::<u8>("one", 1);
    other.channel::<u8>("other", 1);
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        other.process("thief", input, async |_| {});
    }));
    assert!(message(&*caught.unwrap_err()).contains("belongs to another network"));
}

#[test]
#[should_panic(expected = "holds a message at least")]
fn a_channel_without_room_is_refused() {
    let _ = Network::new().channel::<u8>("none", 0);
}

#[test]
fn a_panic_arrives_and_the_others_are_dropped() {
    for pool in pools() {
        let count = Arc::new(AtomicUsize::new(0));
        let mut network = Network::new();
        let (_, input) = network.channel::<u8>("nothing", 1);
        let (held, wanted) = network.channel::<u8>("held", 1);
        let counted = Counted::new(&count);
        network.process("holds", held, async move |_held| {
            let _counted = counted;
            pending::<()>().await;
        });
        let counted = Counted::new(&count);
        network.process("waits", wanted, async move |mut wanted| {
            let _counted = counted;
            wanted.recv().await;
        });
        network.process("panics", input, async |mut input| {
            yield_now().await;
            input.recv().await;
            panic!("no more arrows");
        });
        let error = network.run(&pool).unwrap_err();
        assert_eq!(error.to_string(), "process 'panics': the task panicked: no more arrows");
        assert_eq!(message(&*panic_of(error)), "no more arrows");
        assert_eq!(count.load(Ordering::Relaxed), 0);
    }
}

/// Panics when it is dropped, and counts that.
struct Bomb(Arc<AtomicUsize>);

impl Drop for Bomb {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
        panic!("dropped");
    }
}

#[test]
fn a_panic_while_a_process_is_made_or_dropped_arrives() {
    let pool = Pool::new(2).unwrap();
    let mut network = Network::new();
    network.process("made", (), |()| {
        assert!(std::hint::black_box(false), "made");
        pending::<()>()
    });
    network.process("waits", (), async |()| pending::<()>().await);
    let error = network.run(&pool).unwrap_err();
    assert_eq!(error.to_string(), "process 'made': the task panicked: made");

    // A product that is not wanted is dropped where the process ends.
    let count = Arc::new(AtomicUsize::new(0));
    let bomb = Bomb(Arc::clone(&count));
    let mut network = Network::new();
    drop(network.process("returns", (), async move |()| bomb));
    let error = network.run(&pool).unwrap_err();
    assert_eq!(error.to_string(), "process 'returns': the task panicked: dropped");
    assert_eq!(count.load(Ordering::Relaxed), 1);
}

#[test]
fn messages_that_panic_when_they_are_dropped_are_all_dropped() {
    let pool = Pool::new(2).unwrap();
    // With the receiver, and after it.
    for is_left_over in [false, true] {
        let count = Arc::new(AtomicUsize::new(0));
        let (say, said) = tokio::sync::oneshot::channel();
        let mut network = Network::new();
        let (output, input) = network.channel("bombs", 4);
        let mut bombs = [0; 3].map(|_| Some(Bomb(Arc::clone(&count))));
        if is_left_over {
            network.process("sends", output, async move |mut output| {
                output.send(None).await;
                said.await.unwrap();
                // It has seen that there is room, and does not look again.
                for bomb in &mut bombs {
                    output.send(bomb.take()).await;
                }
            });
            network.process("drops", input, async move |mut input: Receiver<Option<Bomb>>| {
                assert!(input.recv().await.unwrap().is_none());
                drop(input);
                say.send(()).unwrap();
            });
        } else {
            network.process("sends", output, async move |mut output| {
                for bomb in &mut bombs {
                    output.send(bomb.take()).await;
                }
                say.send(()).unwrap();
            });
            network.process("drops", input, async move |input: Receiver<Option<Bomb>>| {
                said.await.unwrap();
                drop(input);
            });
        }
        let place = if is_left_over { "at the end" } else { "process 'drops'" };
        let error = network.run(&pool).unwrap_err();
        assert_eq!(error.to_string(), format!("{place}: the task panicked: dropped"));
        assert_eq!(count.load(Ordering::Relaxed), 3);
    }
}

#[test]
fn a_panic_of_a_detached_network_goes_to_the_handler() {
    for drops_first in [true, false] {
        let (tell, told) = std::sync::mpsc::channel();
        let handler = move |payload: Box<dyn std::any::Any + Send>| {
            tell.send(message(&*payload).to_owned()).unwrap();
        };
        let pool = Pool::builder().workers(2).panic_handler(handler).build().unwrap();
        let (go, goes) = tokio::sync::oneshot::channel();
        let mut network = Network::new();
        network.process("panics", (), async move |()| {
            goes.await.unwrap();
            panic!("no more arrows");
        });
        let running = network.start(&pool).unwrap();
        if drops_first {
            drop(running);
            go.send(()).unwrap();
        } else {
            go.send(()).unwrap();
            drop(running);
        }
        let found = told.recv_timeout(Duration::from_secs(20)).unwrap();
        assert_eq!(found, "no more arrows");
    }
}

#[test]
fn an_end_that_outlives_its_process_is_an_error() {
    type Keep<E> = fn(E) -> Option<E>;
    let keeps: [Keep<Box<dyn std::any::Any + Send + Sync>>; 3] = [
        Some,
        |end| {
            std::mem::forget(end);
            None
        },
        |end| {
            drop(locksley::task::spawn(async move {
                let _end = end;
                pending::<()>().await;
            }));
            None
        },
    ];
    for pool in pools() {
        for keep in keeps {
            for is_sender in [true, false] {
                let mut network = Network::new();
                let (output, input) = network.channel::<u32>("numbers", 1);
                let product = if is_sender {
                    network.process(
                        "waits",
                        input,
                        async |mut input| {
                            while input.recv().await.is_some() {}
                        },
                    );
                    network.process("keeps", output, async move |mut output| {
                        output.send(1).await;
                        keep(Box::new(output))
                    })
                } else {
                    network.process("waits", output, async |mut output| {
                        loop {
                            output.send(1).await;
                        }
                    });
                    network.process("keeps", input, async move |mut input| {
                        input.recv().await;
                        keep(Box::new(input))
                    })
                };
                match ends(network.start(&pool).unwrap()) {
                    Err(NetworkError::Kept { process, channel }) => {
                        assert_eq!((&*process, &*channel), ("keeps", "numbers"));
                    }
                    other => panic!("{other:?}"),
                }
                drop(product);
            }
        }
    }
}

/// It never waits, and still does not keep the only worker.
#[test]
fn a_process_that_is_its_own_partner_gives_way_and_can_be_cancelled() {
    let pool = Pool::new(1).unwrap();
    let mut network = Network::new();
    let (output, input) = network.channel("itself", 2);
    let (say, said) = tokio::sync::oneshot::channel();
    network.process("endless", (output, input), async |(mut output, mut input)| {
        for n in 0_u64.. {
            output.send(n).await;
            assert_eq!(input.recv().await, Some(n));
        }
    });
    network.process("other", (), async move |()| say.send(()).unwrap());
    let running = network.start(&pool).unwrap();
    said.blocking_recv().unwrap();
    running.cancel();
    assert!(matches!(ends(running), Err(NetworkError::Cancelled)));
}

#[test]
fn cancelling_drops_all() {
    for pool in pools() {
        let count = Arc::new(AtomicUsize::new(0));
        let (say, said) = tokio::sync::oneshot::channel();
        let mut network = Network::new();
        let (output, input) = network.channel("numbers", 2);
        let (counted, other) = (Counted::new(&count), Counted::new(&count));
        network.process("sends", output, async move |mut output| {
            let _counted = counted;
            loop {
                output.send(0).await;
            }
        });
        network.process("receives", input, async move |mut input| {
            let _other = other;
            input.recv().await;
            say.send(()).unwrap();
            while input.recv().await.is_some() {}
        });
        let running = network.start(&pool).unwrap();
        said.blocking_recv().unwrap();
        running.cancel();
        assert!(matches!(running.join(), Err(NetworkError::Cancelled)));
        assert_eq!(count.load(Ordering::Relaxed), 0);
    }
}

/// It never waits, and still does not keep the only worker.
#[test]
fn a_sender_without_receiver_gives_way_and_can_be_cancelled() {
    let pool = Pool::new(1).unwrap();
    let mut network = Network::new();
    let (output, input) = network.channel("unwanted", 2);
    drop(input);
    let (say, said) = tokio::sync::oneshot::channel();
    network.process("endless", output, async |mut output| {
        loop {
            output.send(0).await;
        }
    });
    network.process("other", (), async move |()| say.send(()).unwrap());
    let running = network.start(&pool).unwrap();
    said.blocking_recv().unwrap();
    running.cancel();
    assert!(matches!(running.join(), Err(NetworkError::Cancelled)));
}

#[test]
fn a_dropped_pool_cancels() {
    for workers in [1, 3] {
        let pool = Pool::new(workers).unwrap();
        let count = Arc::new(AtomicUsize::new(0));
        let mut network = Network::new();
        let (output, input) = network.channel::<u8>("nothing", 2);
        let (counted, other) = (Counted::new(&count), Counted::new(&count));
        network.process("holds", output, async move |_output| {
            let _counted = counted;
            pending::<()>().await;
        });
        network.process("receives", input, async move |mut input| {
            let _other = other;
            input.recv().await;
        });
        let running = network.start(&pool).unwrap();
        drop(pool);
        assert!(matches!(running.join(), Err(NetworkError::Cancelled)));
        assert_eq!(count.load(Ordering::Relaxed), 0);
    }
}

#[test]
fn a_network_that_is_not_run_is_dropped() {
    let count = Arc::new(AtomicUsize::new(0));
    let mut network = Network::new();
    let (output, input): (Outlet<u8>, Inlet<u8>) = network.channel("numbers", 2);
    let counted = Counted::new(&count);
    let product = network.process("sends", (output, input), async move |_ends| drop(counted));
    drop(network);
    assert_eq!(count.load(Ordering::Relaxed), 0);
    assert_eq!(product.take(), None);
}

/// As the channels of std and tokio, and as a pool's handles.
#[test]
fn ends_and_handles_are_unwind_safe() {
    fn assert_safe<T: UnwindSafe + RefUnwindSafe>() {}
    assert_safe::<Sender<Box<dyn Fn() + Send>>>();
    assert_safe::<Receiver<Box<dyn Fn() + Send>>>();
    assert_safe::<Running>();
    assert_safe::<CancelHandle>();
}
