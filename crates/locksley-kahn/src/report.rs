//! What a network has done.

use std::time::Duration;

use super::channel::Measures;
use super::graph::{Graph, NO_PROCESS};
use locksley_sys::primitive::{AtomicU64, Ordering};

/// What a network has done: returned by [`Network::run`](super::Network::run).
///
/// # Examples
/// ```
/// use locksley::Pool;
/// use locksley_kahn::Network;
///
/// let mut network = Network::new();
/// let (numbers, first) = network.channel("numbers", 4);
/// network.process("count", numbers, async |mut numbers| {
///     for n in 0..10 {
///         numbers.send(n).await;
///     }
/// });
/// network.process("first", first, async |mut first| first.recv().await);
/// let report = network.run(&Pool::new(2)?)?;
/// assert_eq!((report.channels[0].sent, report.channels[0].received), (10, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct NetworkReport {
    /// Its processes, in the order in which they were added.
    pub processes: Vec<ProcessReport>,
    /// Its channels, in the order in which they were added.
    pub channels: Vec<ChannelReport>,
    /// How often a channel has grown to end an artificial deadlock.
    pub times_grown: u64,
    /// How long it ran.
    pub time: Duration,
}

/// What a process has done.
///
/// # Examples
/// See [`Network::measured`](super::Network::measured).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ProcessReport {
    /// Its name.
    pub name: String,
    /// For how long it has run, if that was [measured](super::Network::measured).
    pub busy: Option<Duration>,
}

/// What went through a channel.
///
/// # Examples
/// See [`NetworkReport`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ChannelReport {
    /// Its name.
    pub name: String,
    /// The sending process, as an index of [`NetworkReport::processes`].
    pub from: Option<usize>,
    /// The receiving process.
    pub to: Option<usize>,
    /// How many messages were sent.
    pub sent: u64,
    /// How many of these were received. The others were discarded, as the receiver was dropped.
    /// Neither number depends on the schedule.
    pub received: u64,
    /// How many messages it could hold in the beginning.
    pub initial_capacity: u64,
    /// How many it could hold in the end.
    pub capacity: u64,
    /// How many it held at most, if that was [measured](super::Network::measured).
    pub high_water: Option<u64>,
    /// For how long its sender waited for room, if that was measured.
    pub sender_waited: Option<Duration>,
    /// For how long its receiver waited for messages, if that was measured.
    pub receiver_waited: Option<Duration>,
}

impl NetworkReport {
    /// All processes of the network have ended.
    pub(super) fn of(graph: &Graph) -> Self {
        let processes = graph.processes.iter().map(|process| ProcessReport {
            name: process.name.to_string(),
            busy: graph.is_measured.then(|| process.busy()),
        });
        let time = Duration::from_nanos;
        let number = |process: u32| (process != NO_PROCESS).then_some(process as usize);
        let channels = graph.cores().map(|core| {
            let link = graph.link(core.number);
            let (sent, received) = core.counts();
            let measured = |value: fn(&Measures) -> &AtomicU64| {
                core.measures().map(|measures| value(measures).load(Ordering::Relaxed))
            };
            ChannelReport {
                name: core.name.to_string(),
                from: number(link.producer),
                to: number(link.consumer),
                sent,
                received,
                initial_capacity: core.initial_capacity,
                capacity: core.capacity(),
                high_water: measured(|measures| &measures.high_water),
                sender_waited: measured(|measures| &measures.sender_waited).map(time),
                receiver_waited: measured(|measures| &measures.receiver_waited).map(time),
            }
        });
        let (processes, channels) = (processes.collect(), channels.collect());
        Self {
            processes,
            channels,
            times_grown: graph.grown.load(Ordering::Relaxed),
            time: graph.begun.elapsed(),
        }
    }
}
