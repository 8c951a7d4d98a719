//! tokio: its tasks, and its bounded channels for several senders.

use std::future::Future;

use tokio::runtime::Builder;
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::task::JoinHandle;

use super::network::{Input, Network, Output, Runtime};

pub(super) struct Tokio(tokio::runtime::Runtime);

impl Tokio {
    /// The scheduler for one thread, which is the calling one.
    pub(super) fn of_one() -> Result<Tokio, String> {
        Tokio::built(&mut Builder::new_current_thread())
    }

    /// The scheduler for several threads.
    pub(super) fn of_several(workers: usize) -> Result<Tokio, String> {
        Tokio::built(Builder::new_multi_thread().worker_threads(workers))
    }

    fn built(builder: &mut Builder) -> Result<Tokio, String> {
        builder.build().map(Tokio).map_err(|error| error.to_string())
    }
}

impl Runtime for Tokio {
    type Network<'r> = OnTokio<'r>;

    fn network(&self) -> OnTokio<'_> {
        OnTokio { runtime: &self.0, tasks: Vec::new() }
    }
}

pub(super) struct OnTokio<'r> {
    runtime: &'r tokio::runtime::Runtime,
    tasks: Vec<JoinHandle<()>>,
}

impl Network for OnTokio<'_> {
    type Outlet = Sender<u64>;
    type Inlet = Receiver<u64>;
    type Output = Sender<u64>;
    type Input = Receiver<u64>;

    fn channel(&mut self, capacity: usize) -> (Sender<u64>, Receiver<u64>) {
        mpsc::channel(capacity)
    }

    fn process<const O: usize, const I: usize, R>(
        &mut self,
        outputs: [Sender<u64>; O],
        inputs: [Receiver<u64>; I],
        body: impl FnOnce([Sender<u64>; O], [Receiver<u64>; I]) -> R + Send + 'static,
    ) -> u64
    where
        R: Future<Output = ()> + Send + 'static,
    {
        self.tasks.push(self.runtime.spawn(body(outputs, inputs)));
        size_of::<R>() as u64
    }

    fn run(self) -> Result<(), String> {
        let all = async move {
            for task in self.tasks {
                task.await.map_err(|error| error.to_string())?;
            }
            Ok(())
        };
        self.runtime.block_on(all)
    }
}

impl Output for Sender<u64> {
    async fn send(&mut self, number: u64) {
        // Whoever receives is there until the last number.
        let _ = Sender::send(self, number).await;
    }
}

impl Input for Receiver<u64> {
    fn receive(&mut self) -> impl Future<Output = Option<u64>> + Send {
        self.recv()
    }
}
