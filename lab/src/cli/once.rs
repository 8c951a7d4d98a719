//! The hidden commands, by which an experiment has a process of its own measure something once.

use clap::Args;

use super::{seconds, workers};
use crate::experiments::turnkey::contestant::Contestant;
use crate::random::DEFAULT_SEED;

/// `locksley forkjoin-once`
#[derive(Debug, Args)]
pub struct ForkjoinOnce {
    /// The runtime
    #[arg(long, value_name = "R")]
    pub runtime: String,
    /// fib, tree or stuck
    pub kind: String,
    /// n, the tree's levels, or how the owner is stuck
    pub size: String,
    /// The number of workers
    #[arg(value_parser = workers)]
    pub workers: usize,
    /// What the tree's values follow from
    pub seed: u64,
}

/// `locksley wait-once`
#[derive(Debug, Args)]
pub struct WaitOnce {
    /// The runtime
    #[arg(long, value_name = "R")]
    pub runtime: String,
    /// spawn, ping-pong, waiting or fork
    pub kind: String,
    /// The number of workers
    #[arg(value_parser = workers)]
    pub workers: usize,
    /// How many tasks, round trips, or threads (NxROUNDS: again and again)
    pub size: String,
    /// What the tasks' values follow from
    #[arg(long, value_name = "N", default_value_t = DEFAULT_SEED)]
    pub seed: u64,
}

/// `locksley turnkey-once`
#[derive(Debug, Args)]
pub struct TurnkeyOnce {
    /// An application, phases, quota or moved
    pub kind: String,
    /// The application's parameters, or hundredths of a processor
    pub size: String,
    /// The runtime, and its number of workers; locksley:0 is the one to which nobody says it
    #[arg(long, value_name = "R:P", value_parser = contestant)]
    pub of: Contestant,
    /// These too, in turn: where it is an application
    #[arg(long, value_name = "R:P,..", value_delimiter = ',', value_parser = contestant)]
    pub against: Vec<Contestant>,
    /// For how long, in seconds
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub secs: std::time::Duration,
    /// What all random input follows from
    #[arg(long, value_name = "N", default_value_t = DEFAULT_SEED)]
    pub seed: u64,
    /// Which repetition this is: the order of turns, and what the cycler does, differ between them
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub repeat: u64,
}

fn contestant(text: &str) -> Result<Contestant, String> {
    Contestant::find(text).map_err(|fault| fault.to_string())
}

/// `locksley meter-once`
#[derive(Debug, Args)]
pub struct MeterOnce {
    /// fork, leaves, regions, or an application
    pub kind: String,
    /// n of fib, LEAVESxNANOSECONDS, how many regions, or the application's parameters
    pub size: String,
    /// The number of workers
    #[arg(value_parser = workers)]
    pub workers: usize,
    /// How many pairs of computations it makes at most
    #[arg(long, value_name = "N", default_value_t = 64)]
    pub pairs: usize,
    /// For how long, in seconds
    #[arg(long, value_name = "S", default_value = "1", value_parser = seconds)]
    pub secs: std::time::Duration,
    /// What all random input follows from
    #[arg(long, value_name = "N", default_value_t = DEFAULT_SEED)]
    pub seed: u64,
}

/// `locksley intervals-once`
#[derive(Debug, Args)]
pub struct IntervalsOnce {
    /// chain: the time of intervals; graph: their memory
    pub cost: String,
    /// How many intervals
    pub size: String,
}

/// `locksley channels-once`
#[derive(Debug, Args)]
pub struct ChannelsOnce {
    /// The runtime
    #[arg(long, value_name = "R")]
    pub runtime: String,
    /// stream, ring, pipeline, fan-out, fan-in or idle
    pub kind: String,
    /// How many messages or idle processes (PROCESSESxN: turns of a ring, messages through a pipeline)
    pub size: String,
    /// The number of workers
    #[arg(value_parser = workers)]
    pub workers: usize,
    /// What messages follow from
    #[arg(default_value_t = DEFAULT_SEED)]
    pub seed: u64,
}

/// `locksley scatter-once`
#[derive(Debug, Args)]
pub struct ScatterOnce {
    /// The runtime
    #[arg(long, value_name = "R")]
    pub runtime: String,
    /// The network: PROCESSESxROUNDSxNANOSECONDS, the last for each message
    pub size: String,
    /// The number of workers
    #[arg(value_parser = workers)]
    pub workers: usize,
    /// What messages follow from
    #[arg(default_value_t = DEFAULT_SEED)]
    pub seed: u64,
}

/// `locksley multiprogram-once`
#[derive(Debug, Args)]
pub struct MultiprogramOnce {
    /// The application; or calibration, of a cycler
    pub app: String,
    /// Its parameters
    pub size: String,
    /// The number of workers
    #[arg(value_parser = workers)]
    pub workers: usize,
    /// For how long it computes, in seconds
    #[arg(long, value_name = "S", default_value = "0.5", value_parser = seconds)]
    pub secs: std::time::Duration,
    /// What the input follows from
    #[arg(long, value_name = "N", default_value_t = DEFAULT_SEED)]
    pub seed: u64,
    /// p of a cycler beside it [default: none is beside it]
    #[arg(long, value_name = "P", value_parser = workers)]
    pub cycler: Option<usize>,
    /// w of the cycler
    #[arg(long, value_name = "W", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..))]
    pub increments: u64,
    /// What the cycler's choices follow from
    #[arg(long, value_name = "N", default_value_t = DEFAULT_SEED)]
    pub choices: u64,
}
