//! Locksley: its tasks, the semaphores of `locksley-sync`, and process networks.

use std::future::Future;

use locksley::Pool;
use locksley::task::{self, Placement};
use locksley_kahn::{Inlet, Network, Outlet, Receiver, Sender};
use locksley_sync::Semaphore;

use super::runtime::Runtime;
use crate::fault::{Fault, Outcome};

pub(super) struct Locksley(Pool);

impl Locksley {
    pub(super) fn start(workers: usize, placement: Placement) -> Outcome<Locksley> {
        let pool = Pool::builder().workers(workers).placement(placement).build();
        pool.map(Locksley).map_err(Fault::input)
    }
}

impl Runtime for Locksley {
    type Semaphore = Semaphore;

    fn run<T: Send + 'static>(&self, main: impl Future<Output = T> + Send + 'static) -> T {
        self.0.spawn_future(main).join().expect("the task returns")
    }

    fn spawn<T: Send + 'static>(
        future: impl Future<Output = T> + Send + 'static,
    ) -> impl Future<Output = T> + Send {
        let task = task::spawn(future);
        async move { task.await.expect("the task returns") }
    }

    fn semaphore() -> Semaphore {
        Semaphore::new(0)
    }

    async fn acquire(semaphore: &Semaphore) {
        semaphore.acquire().await.expect("it stays open").forget();
    }

    fn add_permits(semaphore: &Semaphore, number: usize) {
        semaphore.add_permits(number);
    }
    type Network = Network;
    type Outlet = Outlet<u64>;
    type Inlet = Inlet<u64>;
    type Output = Sender<u64>;
    type Input = Receiver<u64>;

    fn channel(network: &mut Network, capacity: usize) -> (Outlet<u64>, Inlet<u64>) {
        network.channel("", capacity)
    }

    fn process<const O: usize, const I: usize, F: Future<Output = ()> + Send + 'static>(
        &self,
        network: &mut Network,
        (outputs, inputs): ([Outlet<u64>; O], [Inlet<u64>; I]),
        body: impl FnOnce([Sender<u64>; O], [Receiver<u64>; I]) -> F + Send + 'static,
    ) -> usize {
        let ends = (Vec::from(outputs), Vec::from(inputs));
        drop(
            network.process("", ends, move |(outputs, inputs)| {
                body(as_array(outputs), as_array(inputs))
            }),
        );
        size_of::<F>()
    }

    fn complete(&self, network: Network) -> Outcome<()> {
        network.run(&self.0).map(drop).map_err(Fault::input)
    }

    fn send(output: &mut Sender<u64>, number: u64) -> impl Future<Output = ()> + Send {
        output.send(number)
    }

    fn receive(input: &mut Receiver<u64>) -> impl Future<Output = Option<u64>> + Send {
        input.recv()
    }
}

/// The ends as they were given: ports are vectors.
fn as_array<T, const N: usize>(ends: Vec<T>) -> [T; N] {
    ends.try_into().ok().expect("as many as were given")
}
