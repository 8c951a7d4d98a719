//! Locksley.

use std::future::Future;
use std::panic::resume_unwind;

use locksley::Pool;
use locksley::task::{self, JoinError, Placement};
use locksley_sync::{JoinCounter, Semaphore};

use super::runtime::{Countdown, Permits, Runtime, Tasks};

pub(super) struct Locksley(Pool);

impl Locksley {
    pub(super) fn start(workers: usize, placement: Placement) -> Result<Locksley, String> {
        let pool = Pool::builder().workers(workers).placement(placement).build();
        pool.map(Locksley).map_err(|error| error.to_string())
    }
}

impl Runtime for Locksley {
    type Tasks = OnLocksley;

    fn tasks(&self) -> OnLocksley {
        OnLocksley
    }

    fn run<T: Send + 'static>(&self, main: impl Future<Output = T> + Send + 'static) -> T {
        finished(self.0.spawn_future(main).join())
    }
}

pub(super) struct OnLocksley;

impl Tasks for OnLocksley {
    type Countdown = JoinCounter;
    type Permits = Semaphore;

    fn spawn<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> impl Future<Output = T> + Send {
        let task = task::spawn(future);
        async move { finished(task.await) }
    }

    fn detach(&self, future: impl Future<Output = ()> + Send + 'static) {
        task::spawn(future).detach();
    }
}

/// What a task has returned. No task is cancelled, so one that has returned nothing has panicked.
fn finished<T>(end: Result<T, JoinError>) -> T {
    end.unwrap_or_else(|error| resume_unwind(error.into_panic()))
}

impl Permits for Semaphore {
    fn none() -> Semaphore {
        Semaphore::new(0)
    }

    async fn take(&self) {
        self.acquire().await.expect("nobody closes it").forget();
    }

    fn give(&self, number: usize) {
        self.add_permits(number);
    }
}

impl Countdown for JoinCounter {
    fn of(signals: usize) -> JoinCounter {
        JoinCounter::new(signals)
    }

    fn signal(&self) {
        JoinCounter::signal(self);
    }

    async fn all(&self) {
        self.wait().await;
    }
}
