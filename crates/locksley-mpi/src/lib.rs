//! Beyond one machine: bags of tasks, and process networks, on the ranks of an MPI program. Each
//! rank has a Locksley pool.
//!
//! Use it when a computation of independent tasks outgrows a machine. A rank is a process, usually
//! one for each machine. Inside of a rank, the pool's workers share its tasks. A rank that has none
//! left steals from others: from random ones first, and then it waits at its *lifelines* until one
//! of a few others has tasks to give. An idle rank uses less than 1% of a processor.
//!
//! | to | use |
//! |---|---|
//! | process tasks that create tasks | [`Bag`], [`Ranks::run`] |
//! | map and reduce a range | [`Ranks::par_map_reduce`] |
//! | survive the death of a rank | [`Ranks::set_resilient`] |
//! | run processes that communicate by channels | [`Network`], [`Ranks::run_network`] |
//! | run on MPI | [`Mpi`]: the feature `mpi`, on by default, which needs `libopenmpi-dev` |
//! | test without MPI, under delays and failures | [`Simulation`] |
//! | see how a bag scales, in virtual time | [`Cluster`] |
//! | run on another engine | [`Transport`] |
//!
//! # Examples
//! Three ranks within one process; messages take up to a millisecond:
//! ```
//! use locksley::Pool;
//! use locksley_mpi::{Ranks, Simulation};
//! use std::time::Duration;
//!
//! let simulation = Simulation::new(3, 42).delay(Duration::ZERO..Duration::from_millis(1));
//! let ranks = simulation.ranks().into_iter().map(|transport| {
//!     std::thread::spawn(move || {
//!         let pool = Pool::new(1).unwrap();
//!         let mut ranks = Ranks::connect(transport)?;
//!         ranks.par_map_reduce(&pool, 1..1001, |n| n, |a, b| a + b)
//!     })
//! });
//! let ranks: Vec<_> = ranks.collect();
//! let sums = ranks.into_iter().map(|rank| rank.join().unwrap());
//! assert_eq!(sums.collect::<Result<Vec<_>, _>>()?, [Some(500_500), None, None]);
//! # Ok::<(), locksley_mpi::Error>(())
//! ```

mod bag;
mod chunk;
mod cluster;
mod error;
mod heartbeat;
mod lifelines;
mod local;
mod message;
mod nap;
mod network;
mod protocol;
mod random;
mod range;
mod ranks;
mod steal;
mod supervision;
mod termination;
#[cfg(test)]
mod tests;
mod transport;
mod tree;

pub use bag::Bag;
pub use cluster::{Cluster, Counted, Report};
pub use error::Error;
pub use network::{Inlet, Network, Outlet, Ports, Product};
pub use ranks::Ranks;
pub use transport::Transport;
#[cfg(feature = "mpi")]
pub use transport::mpi::Mpi;
pub use transport::simulated::{Simulated, Simulation};
