//! Locksley's process networks.

use std::future::Future;

use locksley::Pool;
use locksley::task::Placement;
use locksley_kahn::{self as kahn, Inlet, Outlet, Receiver, Sender};

use super::network::{Input, Network, Output, Runtime};

pub(super) struct Locksley(Pool);

impl Locksley {
    pub(super) fn start(workers: usize, placement: Placement) -> Result<Locksley, String> {
        let pool = Pool::builder().workers(workers).placement(placement).build();
        pool.map(Locksley).map_err(|error| error.to_string())
    }
}

impl Runtime for Locksley {
    type Network<'r> = OnPool<'r>;

    fn network(&self) -> OnPool<'_> {
        OnPool { pool: &self.0, network: kahn::Network::new() }
    }
}

pub(super) struct OnPool<'r> {
    pool: &'r Pool,
    network: kahn::Network,
}

impl Network for OnPool<'_> {
    type Outlet = Outlet<u64>;
    type Inlet = Inlet<u64>;
    type Output = Sender<u64>;
    type Input = Receiver<u64>;

    fn channel(&mut self, capacity: usize) -> (Outlet<u64>, Inlet<u64>) {
        self.network.channel("", capacity)
    }

    fn process<const O: usize, const I: usize, R>(
        &mut self,
        outputs: [Outlet<u64>; O],
        inputs: [Inlet<u64>; I],
        body: impl FnOnce([Sender<u64>; O], [Receiver<u64>; I]) -> R + Send + 'static,
    ) -> u64
    where
        R: Future<Output = ()> + Send + 'static,
    {
        let ends = (Vec::from(outputs), Vec::from(inputs));
        drop(
            self.network.process("", ends, move |(outputs, inputs)| {
                body(as_array(outputs), as_array(inputs))
            }),
        );
        size_of::<R>() as u64
    }

    fn run(self) -> Result<(), String> {
        self.network.run(self.pool).map(drop).map_err(|error| error.to_string())
    }
}

/// The ends as they were given: ports are vectors.
fn as_array<T, const N: usize>(ends: Vec<T>) -> [T; N] {
    ends.try_into().ok().expect("as many as were given")
}

impl Output for Sender<u64> {
    fn send(&mut self, number: u64) -> impl Future<Output = ()> + Send {
        Sender::send(self, number)
    }
}

impl Input for Receiver<u64> {
    fn receive(&mut self) -> impl Future<Output = Option<u64>> + Send {
        self.recv()
    }
}
