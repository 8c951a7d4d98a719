//! MPI as the transport.

use std::fmt;
use std::ptr::NonNull;
use std::time::{Duration, Instant};
use std::{env, process, thread};

use mpi::Threading;
use mpi::datatype::Equivalence;
use mpi::environment::Universe;
use mpi::request::{Request, StaticScope};
use mpi::topology::{Communicator, SimpleCommunicator};
use mpi::traits::{Destination, Source};

use super::Transport;
use crate::error::Error;

/// How long the messages of a rank that ends may take to leave it.
const LINGER: Duration = Duration::from_secs(1);

/// The processes that `mpirun` or a cluster's scheduler has started, as ranks.
///
/// Only the thread that has made it calls MPI. Drop it at the end of `main`: this waits for all
/// ranks. If it is dropped by a panic, it ends all of them. After an error, dropping it leaves MPI
/// as it is: the launcher ends the other ranks when this process ends.
///
/// # Examples
/// ```no_run
/// use locksley_mpi::{Mpi, Ranks};
///
/// let ranks = Ranks::connect(Mpi::new()?)?;
/// println!("rank {} of {}", ranks.rank(), ranks.size());
/// # Ok::<(), locksley_mpi::Error>(())
/// ```
pub struct Mpi {
    outgoing: Vec<Transfer>,
    incoming: Option<(usize, Transfer)>,
    start: Instant,
    world: SimpleCommunicator,
    has_failed: bool,
    /// Dropped last: this ends MPI.
    universe: Option<Universe>,
}

impl Mpi {
    /// Initializes MPI.
    ///
    /// # Errors
    /// If this process has initialized MPI before, or if MPI admits no other threads.
    pub fn new() -> Result<Self, Error> {
        let (universe, threading) = mpi::initialize_with_threading(Threading::Funneled)
            .ok_or_else(|| Error::Transport("MPI was initialized before".to_owned()))?;
        if threading < Threading::Funneled {
            return Err(Error::Transport("this MPI admits no other threads".to_owned()));
        }
        Ok(Self {
            outgoing: Vec::new(),
            incoming: None,
            start: Instant::now(),
            // A communicator of its own keeps the program's messages apart.
            world: universe.world().duplicate(),
            has_failed: false,
            universe: Some(universe),
        })
    }

    /// Ends all ranks with exit code 2; with `mpirun --enable-recovery`, this one only. The rank
    /// with the cause prints it first: the others wait for half a second.
    pub fn abort(mut self, error: &Error) -> ! {
        if let Error::Remote { .. } = error {
            thread::sleep(LINGER / 2);
        }
        // One write: the launcher mixes those of several ranks.
        let line = format!("rank {}: {error}\n", self.world.rank());
        eprint!("{line}");
        if self.survives_deaths().is_ok() {
            // The launcher would end one rank after the other, and each takes it a second. The
            // others have been told: this waits until those messages have left.
            self.has_failed = true;
            drop(self);
            process::exit(2);
        }
        self.world.abort(2)
    }

    fn retire_sends(&mut self) {
        self.outgoing = std::mem::take(&mut self.outgoing)
            .into_iter()
            .filter_map(|transfer| transfer.test().err())
            .collect();
    }
}

impl Transport for Mpi {
    fn rank(&self) -> usize {
        self.world.rank() as usize
    }

    fn size(&self) -> usize {
        self.world.size() as usize
    }

    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    /// Open MPI's launcher tells ranks by a variable whether it leaves the others alone.
    fn survives_deaths(&self) -> Result<(), &'static str> {
        let has_recovery = env::var("OMPI_MCA_orte_enable_recovery").is_ok_and(|it| it == "1");
        let reason = "it ends all ranks when one dies, without `mpirun --enable-recovery`";
        if has_recovery { Ok(()) } else { Err(reason) }
    }

    fn send(&mut self, to: usize, message: Vec<u8>) -> Result<(), Error> {
        let receiver = self.world.process_at_rank(to as i32);
        let sending = Transfer::new(message, |data| receiver.immediate_send(StaticScope, data));
        self.outgoing.extend(sending.test().err());
        Ok(())
    }

    fn try_receive(&mut self) -> Result<Option<(usize, Vec<u8>)>, Error> {
        self.retire_sends();
        if self.incoming.is_none() {
            // Open MPI looks for messages before it fetches what has arrived.
            let probe = || self.world.any_process().immediate_matched_probe();
            let Some((message, status)) = probe().or_else(probe) else { return Ok(None) };
            let bytes = status.count(u8::equivalent_datatype()) as usize;
            let receiving = Transfer::new(vec![0; bytes], |data| {
                message.immediate_matched_receive_into(StaticScope, data)
            });
            self.incoming = Some((status.source_rank() as usize, receiving));
        }
        let Some((from, receiving)) = self.incoming.take() else { return Ok(None) };
        match receiving.test() {
            Ok(message) => Ok(Some((from, message))),
            Err(receiving) => {
                self.incoming = Some((from, receiving));
                Ok(None)
            }
        }
    }

    fn fail(&mut self) {
        self.has_failed = true;
    }
}

impl Drop for Mpi {
    fn drop(&mut self) {
        if thread::panicking() {
            // To finalize MPI would wait for the other ranks, which may wait for this one.
            self.world.abort(101);
        }
        let end = Instant::now() + LINGER;
        while !self.outgoing.is_empty() && Instant::now() < end {
            self.retire_sends();
            thread::sleep(Duration::from_micros(100));
        }
        // MPI may still use the buffers of the others.
        std::mem::forget(std::mem::take(&mut self.outgoing));
        std::mem::forget(self.incoming.take());
        if self.has_failed {
            // To finalize MPI would wait for a rank that has died.
            std::mem::forget(self.universe.take());
        }
    }
}

impl fmt::Debug for Mpi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mpi").field("rank", &self.world.rank()).finish_non_exhaustive()
    }
}

/// A buffer that MPI reads or writes until its request has completed. To drop it before panics.
struct Transfer {
    request: Request<'static, [u8], StaticScope>,
    data: NonNull<[u8]>,
}

impl Transfer {
    fn new(
        data: Vec<u8>,
        start: impl FnOnce(&'static mut [u8]) -> Request<'static, [u8], StaticScope>,
    ) -> Self {
        let mut data = NonNull::from(Box::leak(data.into_boxed_slice()));
        // SAFETY: the slice was leaked, and only the request uses it until `test` has found that it
        // has completed.
        let request = start(unsafe { data.as_mut() });
        Self { request, data }
    }

    /// Returns the data if the transfer has completed.
    fn test(self) -> Result<Vec<u8>, Self> {
        let Self { request, data } = self;
        match request.test() {
            // SAFETY: `new` has leaked it from such a box. The request was the only reference to
            // it, and is gone.
            Ok(_) => Ok(unsafe { Box::from_raw(data.as_ptr()) }.into_vec()),
            Err(request) => Err(Self { request, data }),
        }
    }
}
