//! tokio: its tasks, semaphores, and bounded channels for several senders.

use std::future::Future;

use tokio::runtime::Builder;
use tokio::sync::Semaphore;
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::task::JoinHandle;

use super::runtime::Runtime;
use crate::fault::{Fault, Outcome};

pub(super) struct Tokio(tokio::runtime::Runtime);

impl Tokio {
    /// The scheduler for several threads, or if `workers` is `None` that for one, the calling one.
    pub(super) fn start(workers: Option<usize>) -> Outcome<Tokio> {
        let built = match workers {
            Some(workers) => Builder::new_multi_thread().worker_threads(workers).build(),
            None => Builder::new_current_thread().build(),
        };
        built.map(Tokio).map_err(Fault::input)
    }
}

impl Runtime for Tokio {
    type Semaphore = Semaphore;

    fn run<T: Send + 'static>(&self, main: impl Future<Output = T> + Send + 'static) -> T {
        self.0.block_on(self.0.spawn(main)).expect("the task returns")
    }

    fn spawn<T: Send + 'static>(
        future: impl Future<Output = T> + Send + 'static,
    ) -> impl Future<Output = T> + Send {
        let task = tokio::spawn(future);
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
    /// The processes, which are tasks.
    type Network = Vec<JoinHandle<()>>;
    type Outlet = Sender<u64>;
    type Inlet = Receiver<u64>;
    type Output = Sender<u64>;
    type Input = Receiver<u64>;

    fn channel(_: &mut Self::Network, capacity: usize) -> (Sender<u64>, Receiver<u64>) {
        mpsc::channel(capacity)
    }

    fn process<const O: usize, const I: usize, F: Future<Output = ()> + Send + 'static>(
        &self,
        network: &mut Self::Network,
        (outputs, inputs): ([Sender<u64>; O], [Receiver<u64>; I]),
        body: impl FnOnce([Sender<u64>; O], [Receiver<u64>; I]) -> F + Send + 'static,
    ) -> usize {
        network.push(self.0.spawn(body(outputs, inputs)));
        size_of::<F>()
    }

    fn complete(&self, network: Self::Network) -> Outcome<()> {
        self.0.block_on(async {
            for task in network {
                task.await.map_err(Fault::input)?;
            }
            Ok(())
        })
    }

    async fn send(output: &mut Sender<u64>, number: u64) {
        // The receiver exists until the last number.
        let _ = output.send(number).await;
    }

    fn receive(input: &mut Receiver<u64>) -> impl Future<Output = Option<u64>> + Send {
        input.recv()
    }
}
