//! The workers of a rank in virtual time: a model of [`Pieces`](crate::local::Pieces).
//!
//! As there, a worker that processes a piece splits it at the end of a chunk if no other piece is
//! ready, and other ranks take ready pieces only. Two things differ: a worker starts at once, and
//! where a bag knows how much is left, chunks at whose end nothing happens are not simulated. With
//! several workers, this may decide otherwise which of two acts first at one moment.

use std::collections::VecDeque;
use std::mem;
use std::rc::Rc;
use std::time::Duration;

use super::Counted;
use super::events::Time;
use crate::chunk;
use crate::steal::{Local, Reduce};

pub(super) struct Workers<B: Counted> {
    bag: Rc<B>,
    /// The time of a task.
    task: Time,
    /// When the rank does what it is called for.
    pub(super) now: Time,
    workers: Box<[Worker<B::Tasks>]>,
    ready: VecDeque<B::Tasks>,
    output: B::Output,
    /// As many tasks as chunks have.
    grain: usize,
    is_wanted: bool,
    /// Whether the thread that polls was unparked.
    is_unparked: bool,
    /// Tasks that were processed.
    pub(super) done: u64,
    /// When the first piece was got.
    pub(super) started: Option<Time>,
    /// When the last piece was finished.
    pub(super) finished: Time,
}

struct Worker<T> {
    piece: Option<Piece<T>>,
    /// The event at which the end of its chunk is looked for: not after it.
    next_event: Option<Time>,
}

struct Piece<T> {
    tasks: T,
    grain: usize,
    chunk: Chunk,
    end: Time,
}

#[derive(Clone, Copy)]
enum Chunk {
    /// Processed when it began. Whether tasks are left.
    Short { is_more: bool },
    /// To be processed when it ends.
    Long { start: Time, tasks: u64 },
}

impl<B: Counted> Workers<B> {
    pub(super) fn new(bag: Rc<B>, workers: usize, task: Time) -> Self {
        let idle = || Worker { piece: None, next_event: None };
        Self {
            bag,
            task,
            now: 0,
            workers: (0..workers).map(|_| idle()).collect(),
            ready: VecDeque::new(),
            output: B::Output::default(),
            grain: 1,
            is_wanted: false,
            is_unparked: false,
            done: 0,
            started: None,
            finished: 0,
        }
    }

    /// What a worker does may have come to its end. Returns false if it has not.
    pub(super) fn on_end(&mut self, worker: usize) -> bool {
        let now = self.now;
        let this = &mut self.workers[worker];
        this.next_event.take_if(|event| *event <= now);
        let Some(mut piece) = this.piece.take_if(|piece| piece.end == now) else { return false };
        let is_more = match piece.chunk {
            Chunk::Short { is_more } => is_more,
            Chunk::Long { tasks, .. } => {
                let (_, last, next) = self.chunks(piece.grain, tasks);
                let (is_more, _) = self.process(&mut piece.tasks, tasks as usize);
                piece.grain = if is_more { next } else { last };
                is_more
            }
        };
        if is_more {
            let half = self.ready.is_empty().then(|| self.bag.split(&mut piece.tasks)).flatten();
            let (tasks, grain) = (piece.tasks, piece.grain);
            // First, so that the other half is not this worker's.
            self.workers[worker].piece =
                Some(Piece { tasks, grain, chunk: Chunk::Short { is_more }, end: 0 });
            half.into_iter().for_each(|half| self.publish(half));
            let piece = self.workers[worker].piece.take().expect("it was put there");
            self.begin(worker, piece.tasks, grain);
        } else {
            self.grain = piece.grain;
            self.finished = self.now;
            match self.ready.pop_front() {
                Some(tasks) => {
                    self.begin(worker, tasks, self.grain);
                    self.shorten();
                }
                None => self.is_unparked |= self.is_idle(),
            }
        }
        true
    }

    fn process(&mut self, tasks: &mut B::Tasks, items: usize) -> (bool, u64) {
        let before = self.bag.done(&self.output);
        let is_more = self.bag.process(tasks, items, &mut self.output);
        let done = self.bag.done(&self.output) - before;
        self.done += done;
        (is_more, done)
    }

    /// Begins a chunk.
    fn begin(&mut self, worker: usize, mut tasks: B::Tasks, grain: usize) {
        let left = self.bag.left(&tasks);
        let piece = if self.ready.is_empty() || left <= grain as u64 {
            let (is_more, done) = self.process(&mut tasks, grain);
            let time = done * self.task;
            let grain =
                if is_more { chunk::next_length(grain, Duration::from_nanos(time)) } else { grain };
            Piece { tasks, grain, chunk: Chunk::Short { is_more }, end: self.now + time }
        } else {
            let chunk = Chunk::Long { start: self.now, tasks: left };
            Piece { tasks, grain, chunk, end: self.now + left * self.task }
        };
        self.workers[worker].piece = Some(piece);
    }

    /// The chunk in which the last of `tasks` tasks is processed: its end, in tasks, its length, and
    /// that of the next one.
    fn chunks(&self, mut grain: usize, tasks: u64) -> (u64, usize, usize) {
        let mut end = 0;
        loop {
            end += grain as u64;
            let time = Duration::from_nanos(grain as u64 * self.task);
            let next = chunk::next_length(grain, time);
            if next == grain {
                end += tasks.saturating_sub(end).div_ceil(grain as u64) * grain as u64;
            }
            if end >= tasks {
                return (end, grain, next);
            }
            grain = next;
        }
    }

    /// No piece is ready any more: workers look for that at the ends of their next chunks.
    fn shorten(&mut self) {
        for index in 0..self.workers.len() {
            let Some(piece) = &self.workers[index].piece else { continue };
            let Chunk::Long { start, tasks } = piece.chunk else { continue };
            let done = self.now.saturating_sub(start) / self.task + 1;
            let (end, ..) = self.chunks(piece.grain, done);
            if end < tasks {
                let piece = self.workers[index].piece.as_mut().expect("it is there");
                piece.chunk = Chunk::Long { start, tasks: end };
                piece.end = start + end * self.task;
            }
        }
    }

    fn publish(&mut self, tasks: B::Tasks) {
        match self.workers.iter().position(|worker| worker.piece.is_none()) {
            Some(worker) => self.begin(worker, tasks, self.grain),
            None => self.ready.push_back(tasks),
        }
        self.is_unparked |= mem::take(&mut self.is_wanted);
    }

    /// The thread that polls has had the processor of a worker for so long.
    pub(super) fn delay(&mut self, time: Time) {
        let busy = self.workers.iter_mut().find(|worker| worker.piece.is_some());
        let Some(worker) = busy.filter(|_| time > 0) else { return };
        let piece = worker.piece.as_mut().expect("it is busy");
        piece.end += time;
        if let Chunk::Long { start, .. } = &mut piece.chunk {
            *start += time;
        }
    }

    /// The events to be added: worker and time.
    pub(super) fn changes(&mut self) -> impl Iterator<Item = (usize, Time)> {
        let event = |(index, worker): (usize, &mut Worker<B::Tasks>)| {
            let end = worker.piece.as_ref()?.end;
            let is_new = worker.next_event.is_none_or(|event| end < event);
            is_new.then(|| (index, *worker.next_event.insert(end)))
        };
        self.workers.iter_mut().enumerate().filter_map(event)
    }

    pub(super) fn take_unparked(&mut self) -> bool {
        mem::take(&mut self.is_unparked)
    }
}

impl<B: Counted> Local for Workers<B> {
    type Tasks = B::Tasks;
    type Output = B::Output;

    fn is_idle(&self) -> bool {
        // No piece is ready unless all workers have one.
        self.workers.iter().all(|worker| worker.piece.is_none())
    }

    fn take(&mut self, _thief: usize) -> Option<B::Tasks> {
        let tasks = self.ready.pop_front();
        match tasks {
            Some(_) => self.shorten(),
            None => self.is_wanted = true,
        }
        tasks
    }

    fn give(&mut self, tasks: B::Tasks) {
        self.started.get_or_insert(self.now);
        self.publish(tasks);
    }
}

impl<B: Counted> Reduce for Workers<B> {
    fn add(&mut self, other: B::Output) {
        self.bag.merge(&mut self.output, other);
    }

    fn output(&mut self) -> Option<B::Output> {
        Some(mem::take(&mut self.output))
    }
}
