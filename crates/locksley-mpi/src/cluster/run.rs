//! The loop over all events.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

use super::events::{Event, Events, Kind, Time};
use super::poller::Poller;
use super::port::{Letter, Network, Port};
use super::watched::{Counts, Watched};
use super::workers::Workers;
use super::{Cluster, Counted, Report};
use crate::error::Error;
use crate::protocol::{Machine, Protocol};
use crate::ranks::Ranks;
use crate::steal::Local;

struct Rank<B: Counted> {
    ranks: Ranks<Port>,
    protocol: Watched<B::Output>,
    workers: Workers<B>,
    poller: Poller,
    /// The poll that counts.
    next_poll: Option<Time>,
    /// Until then, the thread that polls is busy with messages.
    free: Time,
}

pub(super) struct World<B: Counted> {
    ranks: Vec<Rank<B>>,
    network: Rc<RefCell<Network>>,
    events: Events,
    workers: u64,
    task: Time,
    output: Option<(B::Output, Time)>,
    remaining: usize,
}

fn nanoseconds(duration: Duration) -> Time {
    duration.as_nanos() as Time
}

impl<B: Counted> World<B> {
    pub(super) fn new(cluster: &Cluster, bag: B, tasks: B::Tasks) -> Result<Self, Error> {
        let (size, task) = (cluster.ranks, nanoseconds(cluster.task));
        let network = Rc::new(RefCell::new(Network {
            size,
            now: 0,
            inboxes: (0..size).map(|_| VecDeque::new()).collect(),
            sent: Vec::new(),
            spent: 0,
            latency: nanoseconds(cluster.latency),
            bandwidth: cluster.bandwidth,
            overhead: nanoseconds(cluster.overhead),
            slow: cluster.slow.map(|(number, delay)| (number, nanoseconds(delay))),
            messages: 0,
            bytes: 0,
        }));
        let bag = Rc::new(bag);
        let begin = |rank| {
            network.borrow_mut().spent = 0;
            let mut ranks = Ranks::unconnected(Port { rank, network: Rc::clone(&network) });
            ranks.begin::<B::Output>()?;
            let protocol = Protocol::new(rank, size, cluster.seed);
            Ok(Rank {
                ranks,
                protocol: Watched { protocol, counts: Counts::default() },
                workers: Workers::new(Rc::clone(&bag), cluster.workers, task),
                poller: Poller::new(cluster.has_naps),
                next_poll: None,
                free: 0,
            })
        };
        let ranks = (0..size).map(begin).collect::<Result<Vec<_>, Error>>()?;
        let mut world = Self {
            ranks,
            events: Events::new(),
            workers: size as u64 * cluster.workers as u64,
            task,
            output: None,
            remaining: size,
            network,
        };
        world.deliver();
        world.ranks[0].workers.give(tasks);
        for rank in 0..size {
            world.schedule(rank, 0);
            world.events.push(1, rank, Kind::Beat);
        }
        Ok(world)
    }

    pub(super) fn run(mut self) -> Result<Report<B::Output>, Error> {
        while self.remaining > 0 {
            let event = self.events.pop().expect("ranks that have not left poll again");
            self.handle(event)?;
        }
        Ok(self.report())
    }

    fn handle(&mut self, Event { time, rank, kind, .. }: Event) -> Result<(), Error> {
        let this = &mut self.ranks[rank];
        if Machine::<Workers<B>>::has_left(&this.protocol) {
            return Ok(());
        }
        match kind {
            Kind::Work { worker } => {
                this.workers.now = time;
                if this.workers.on_end(worker) {
                    self.events.record(time, rank, [1, this.workers.done]);
                }
                self.schedule_work(rank);
            }
            Kind::Arrival { from, message } => {
                self.events.record(time, rank, [2 + from as u64, message.len() as u64]);
                self.network.borrow_mut().inboxes[rank].push_back((from, message));
                let poll = this.poller.first_from(time);
                self.schedule(rank, poll);
            }
            Kind::Beat => {
                let due = nanoseconds(this.ranks.next_beat());
                if due > time {
                    self.events.push(due, rank, Kind::Beat);
                } else {
                    let poll = this.poller.first_from(time);
                    self.events.push(poll.max(time + 1), rank, Kind::Beat);
                    self.schedule(rank, poll);
                }
            }
            Kind::Poll if this.next_poll == Some(time) => {
                self.events.record(time, rank, [0, 0]);
                self.poll(rank, time)?;
            }
            Kind::Poll => {}
        }
        Ok(())
    }

    /// One turn of `Ranks::run`.
    fn poll(&mut self, rank: usize, now: Time) -> Result<(), Error> {
        let is_alone = self.ranks.len() == 1;
        let this = &mut self.ranks[rank];
        {
            let mut network = self.network.borrow_mut();
            network.now = now;
            network.spent = 0;
        }
        this.next_poll = None;
        this.poller.wake(now);
        this.workers.now = now;
        let is_active = this.ranks.turn(&mut this.protocol, &mut this.workers)?;
        let spent = self.network.borrow().spent;
        this.workers.delay(spent);
        this.free = now + spent;
        let is_idle = this.workers.is_idle();
        // A poll without news has an effect on the root only, which begins the next wave after one
        // that has ended.
        let is_next = rank == 0 && (is_active || this.poller.is_busy || is_alone);
        this.poller.polled(this.free, is_active, !is_idle);
        if let Some(output) = Machine::<Workers<B>>::left(&mut this.protocol) {
            self.remaining -= 1;
            if let Some(output) = output {
                self.output = Some((output, this.free));
            }
            self.network.borrow_mut().inboxes[rank] = VecDeque::new();
        } else {
            if is_next && is_idle {
                let poll = this.poller.first_from(this.free + 1);
                self.schedule(rank, poll);
            }
            self.schedule_work(rank);
        }
        self.deliver();
        Ok(())
    }

    /// Puts what was sent on its way.
    fn deliver(&mut self) {
        for Letter { arrival, from, to, message } in self.network.borrow_mut().sent.drain(..) {
            self.events.push(arrival, to, Kind::Arrival { from, message });
        }
    }

    fn schedule(&mut self, rank: usize, time: Time) {
        let this = &mut self.ranks[rank];
        let time = time.max(this.free);
        if this.next_poll.is_none_or(|poll| time < poll) {
            this.next_poll = Some(time);
            self.events.push(time, rank, Kind::Poll);
        }
    }

    fn schedule_work(&mut self, rank: usize) {
        let workers = &mut self.ranks[rank].workers;
        for (worker, end) in workers.changes() {
            self.events.push(end, rank, Kind::Work { worker });
        }
        if workers.take_unparked() {
            self.schedule(rank, self.ranks[rank].workers.now);
        }
    }

    fn report(self) -> Report<B::Output> {
        let (output, end) = self.output.expect("rank 0 has left");
        let mut started: Vec<_> =
            self.ranks.iter().filter_map(|rank| rank.workers.started).collect();
        started.sort_unstable();
        let sum = |count: fn(&Counts) -> u64| {
            self.ranks.iter().map(|rank| count(&rank.protocol.counts)).sum::<u64>()
        };
        let tasks = self.ranks.iter().map(|rank| rank.workers.done).sum::<u64>();
        let network = self.network.borrow();
        Report {
            output,
            ranks: self.ranks.len() as u64,
            workers: self.workers,
            tasks,
            work: tasks * self.task,
            end,
            last_task: self.ranks.iter().map(|rank| rank.workers.finished).max().unwrap_or(0),
            half_started: started.get(self.ranks.len().div_ceil(2) - 1).copied().unwrap_or(end),
            last_started: started.last().copied().unwrap_or(0),
            never_started: (self.ranks.len() - started.len()) as u64,
            random_requests: sum(|counts| counts.random_requests),
            random_steals: sum(|counts| counts.random_steals),
            lifeline_requests: sum(|counts| counts.lifeline_requests),
            lifeline_steals: sum(|counts| counts.lifeline_steals),
            // The last rank of the tree takes part in each.
            waves: self.ranks.last().map_or(0, |rank| rank.protocol.counts.waves),
            messages: network.messages,
            bytes: network.bytes,
            events: self.events.popped,
            hash: self.events.hash,
        }
    }
}
