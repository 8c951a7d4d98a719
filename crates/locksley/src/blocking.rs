//! Code that blocks its thread: while it does, somebody stands in for the worker.

use crate::kahn::ForeignWait;
use crate::latch::Flag;
use crate::strand::Aside;
use crate::worker::Worker;

/// Calls `call`, which may block: while it runs, another thread works in the place of the calling worker, so that as many as the
/// pool has workers stay at work. On a thread that is no worker it is just called.
///
/// It is meant for system calls and the like that take more than about a tenth of a millisecond: for less, to call a
/// stand-in costs more than the time that is lost. `call` should not fork or wait for tasks: then the worker would be at work
/// beside its stand-in. See [`Worker::blocking`] for the details.
///
/// # Panics
/// If `call` panics, with its payload.
///
/// # Examples
/// ```
/// let (text, sum) = locksley::join(
///     || locksley::blocking(|| std::fs::read_to_string("Cargo.toml")),
///     || (1..=1000).sum::<u32>(),
/// );
/// assert!(text.unwrap().contains("locksley"));
/// assert_eq!(sum, 500_500);
/// ```
pub fn blocking<R>(call: impl FnOnce() -> R) -> R {
    Worker::with_current(|current| match current {
        Some(worker) => worker.blocking(call),
        None => call(),
    })
}

/// While it lives, somebody stands in.
struct Absence<'w> {
    worker: &'w Worker,
    stand_in: Option<usize>,
    /// By which the stand-in was called. A worker that is a stand-in itself, and leaves its stack during the call, may have got
    /// another one meanwhile.
    number: usize,
    /// What it runs, if that is metered.
    aside: Option<Aside<'w>>,
    /// Whether its time was none of the pool's before.
    is_elsewhere: bool,
}

impl Drop for Absence<'_> {
    fn drop(&mut self) {
        self.worker.is_back(self.is_elsewhere);
        if let Some(stand_in) = self.stand_in {
            self.worker.shared().release_stand_in(stand_in, self.number);
        }
        if let Some(aside) = self.aside.take() {
            // SAFETY: put aside in the frame that this lies in; it goes on where it was, and what it stood on lies in frames below.
            unsafe { self.worker.take_up(aside) };
        }
    }
}

impl Worker {
    /// Calls `call`, which may block: while it runs, a stand-in works in the place of this worker, so that as many as the
    /// pool has workers stay at work. [`blocking`] on a known worker.
    ///
    /// - The stand-in steps down when `call` has returned and it has ended what it is about, joins and scopes included; until then one
    ///   more is at work. This worker does not wait for that.
    /// - Tasks that wait at this worker are within the others' reach, as ever. Those that only this worker may run
    ///   ([`Pool::spawn_at`](crate::Pool::spawn_at), broadcasts) wait until `call` has returned.
    /// - Tasks that the stand-in runs see this worker's number as their [`index`](Worker::index). So an index is
    ///   always less than [`workers`](Worker::workers), but for the time of a blocking call, and until the stand-in steps down, two
    ///   threads have it. [`Worker::data`] is the stand-in's own: made with the number that it had first, and kept, as its
    ///   thread is, until the pool is dropped. Start and exit hooks are called on its thread, too; their panics go to the panic handler.
    /// - There are at most so many stand-ins as [`PoolBuilder::stand_ins`](crate::PoolBuilder::stand_ins) says. If all are busy, or
    ///   the system has no thread, or the pool does not make its threads itself
    ///   ([`build_with`](crate::PoolBuilder::build_with)), `call` is called all the same, and nobody stands in.
    /// - Code of this worker's that [waits on a stack](crate::PoolBuilder::waiting_stacks), and could go on, waits until `call` has
    ///   returned.
    /// - Of calls inside one another the outermost counts.
    ///
    /// # Panics
    /// If `call` panics, with its payload.
    ///
    /// # Examples
    /// The only worker waits for something that another task does:
    /// ```
    /// use std::sync::mpsc::channel;
    ///
    /// let (sender, receiver) = channel();
    /// let received = locksley::Pool::new(1)?.run(move |worker| {
    ///     worker.spawn(move |_| sender.send("by the stand-in").unwrap());
    ///     worker.blocking(|| receiver.recv())
    /// });
    /// assert_eq!(received, Ok("by the stand-in"));
    /// # Ok::<(), locksley::BuildError>(())
    /// ```
    pub fn blocking<R>(&self, call: impl FnOnce() -> R) -> R {
        let _foreign = ForeignWait::begin(self);
        let _away = self.may_come_back();
        let is_elsewhere = self.seat().is_elsewhere();
        if !self.goes_away(is_elsewhere) {
            return call();
        }
        // A wait for what the meter does not follow.
        self.has_uncarried();
        let aside = self.put_aside();
        let number = self.index();
        let stand_in = self.shared().call_stand_in(number);
        let _absence = Absence { worker: self, stand_in, number, aside, is_elsewhere };
        call()
    }

    /// This one, a stand-in, works for the worker whose number is that of the `caller`, until it is `released`. It may be let go and
    /// called by another one before it looks.
    pub(crate) fn stand_in_for(&self, caller: impl Fn() -> Option<usize>, released: &Flag) {
        self.begins_to_stand_in();
        self.work_on(released, || {
            caller().into_iter().for_each(|number| self.takes_number(number));
        });
        self.ends_to_stand_in();
        self.steps_down();
    }

    /// This one, a stand-in that nobody wants, goes on with its stacks that waited and are ready: nobody else can.
    pub(crate) fn resume_all(&self) {
        while self.resume_one() {
            // There may always be one that is ready.
            self.doubts().executed();
        }
        self.steps_down();
    }
}
