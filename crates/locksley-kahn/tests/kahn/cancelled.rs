//! Networks that are cancelled from another thread.

use std::future::pending;
use std::sync::mpsc;
use std::thread;

use locksley::Pool;
use locksley_kahn::{CancelHandle, Network, NetworkError, Over};

use crate::common::{in_time, pools};

const fn may_be_shared<T: Send + Sync + Clone>() {}
const _: () = may_be_shared::<CancelHandle>();

#[test]
fn a_join_that_blocks_is_cancelled_from_another_thread() {
    in_time(|| {
        for pool in pools() {
            let (say, said) = mpsc::channel();
            let says = say.clone();
            let mut network = Network::new();
            let (output, input) = network.channel::<u8>("bytes", 1);
            network.process("idle", output, async move |_output| {
                say.send(()).unwrap();
                pending::<()>().await;
            });
            network.process_blocking("waits", input, move |mut input| {
                says.send(()).unwrap();
                assert_eq!(input.recv_blocking(), Err(Over));
                Err::<(), _>(Over)
            });
            let running = network.start(&pool).unwrap();
            let handle = running.cancel_handle();
            let canceller = thread::spawn(move || {
                (0..2).for_each(|_| said.recv().unwrap());
                handle.clone().cancel();
                handle.cancel();
            });
            assert!(matches!(running.join(), Err(NetworkError::Cancelled)));
            canceller.join().unwrap();
        }
    });
}

#[test]
fn a_handle_does_nothing_after_the_end() {
    let pool = Pool::new(1).unwrap();
    let mut network = Network::new();
    let answer = network.process("answer", (), async |()| 42);
    let running = network.start(&pool).unwrap();
    let handle = running.cancel_handle();
    running.join().unwrap();
    handle.cancel();
    assert_eq!(answer.take(), Some(42));
}
