//! Polls that tell what they come after, and those that do not; and that a path is there when its signal is.

use super::*;

/// A poll that has found what tells, and waits for what does not, counts; and one that is a part of another does not tell for that.
#[test]
fn polls_that_tell_and_polls_that_do_not() {
    let pool = Pool::new(1).unwrap();
    let counted = |begin: &(dyn Fn(Arc<JoinCounter>, Arc<Semaphore>) -> task::Task<()> + Sync)| {
        let ((), figures) = pool.metered_by(Clock::Virtual, |_| {
            let (complete, permits) = (Arc::new(JoinCounter::new(0)), Arc::new(Semaphore::new(1)));
            begin(complete, permits).join().unwrap();
        });
        figures.uncarried
    };
    let found = counted(&|complete, _| task::spawn(async move { complete.wait().await }));
    assert_eq!(found, 0);
    let foreign = counted(&|_, permits| task::spawn(async move { drop(permits.acquire().await) }));
    assert_eq!(foreign, 1);
    let both = counted(&|complete, _| {
        task::spawn(async move {
            complete.wait().await;
            task::yield_now().await;
            complete.wait().await;
        })
    });
    assert_eq!(both, 1, "the first poll waits for something else");
    let full = counted(&|_, _| {
        let cell = OnceCell::from(1);
        task::spawn(async move {
            assert_eq!(cell.get_or_init(async || 2).await, &1);
        })
    });
    assert_eq!(full, 0, "a cell that has its value");
    let waits_and_finds = counted(&|complete, _| {
        task::spawn(async move {
            let last = Arc::new(JoinCounter::new(1));
            let (mut wait, mut signal) = (pin!(last.wait()), Some(Arc::clone(&last)));
            poll_fn(|context| {
                let polled = wait.as_mut().poll(context);
                assert!(pin!(complete.wait()).poll(context).is_ready());
                if let Some(signal) = signal.take() {
                    assert!(polled.is_pending());
                    let worker = |worker: Option<&Worker>| {
                        worker.expect("a task").spawn(move |_| signal.signal());
                    };
                    Worker::with_current(worker);
                }
                polled
            })
            .await;
        })
    });
    assert_eq!(
        waits_and_finds, 0,
        "what it waits for has told, and so has what it found meanwhile"
    );
    let inside = counted(&|complete, permits| {
        task::spawn(async move {
            complete.wait().await;
            block_on(async { drop(permits.acquire().await) });
        })
    });
    assert_eq!(inside, 1, "the wait inside");
    let inside = counted(&|complete, permits| {
        task::spawn(async move {
            drop(permits.acquire().await);
            block_on(complete.wait());
        })
    });
    assert_eq!(inside, 1, "the poll around it");
}

/// Polls a future when it is woken, at once, as a strand that has nothing to come after but what it waits for.
struct AtOnce {
    region: Arc<Region>,
    future: Mutex<Option<Waiting<'static>>>,
    end: OnceLock<i64>,
}

type Waiting<'f> = Pin<Box<dyn Future<Output = ()> + Send + 'f>>;

impl AtOnce {
    fn poll(self: &Arc<Self>) {
        let Some(mut future) = self.future.lock().unwrap().take() else { return };
        let waker = Waker::from(Arc::clone(self));
        Worker::with_current(|current| {
            let worker = current.expect("a strand signals");
            let (polled, path) = worker.as_strand(&self.region, &Path::default(), || {
                future.as_mut().poll(&mut Context::from_waker(&waker))
            });
            match polled.unwrap_or_else(|payload| unwind::resume(payload)) {
                Poll::Ready(()) => self.end.set(path.span).unwrap(),
                Poll::Pending => *self.future.lock().unwrap() = Some(future),
            }
        });
    }
}

impl Wake for AtOnce {
    fn wake(self: Arc<Self>) {
        self.poll();
    }
}

/// However soon somebody goes on whom a signal lets go, the path is there: it arrives before that. (If it is the other way round, this fails.)
#[test]
fn a_path_is_there_when_the_signal_is() {
    fn check<S: Send + Sync + 'static>(
        make: impl Fn() -> S + Sync,
        wait: impl Fn(Arc<S>) -> Waiting<'static> + Sync,
        signal: impl Fn(&S) + Sync,
    ) {
        let pool = Pool::new(1).unwrap();
        let ((), figures) = pool.metered_by(Clock::Virtual, |worker| {
            let signals = Arc::new(make());
            let future = Mutex::new(Some(wait(Arc::clone(&signals))));
            let region = Arc::clone(worker.region().unwrap());
            let waiter = Arc::new(AtOnce { region, future, end: OnceLock::new() });
            waiter.poll();
            assert_eq!(waiter.end.get(), None, "it waits");
            spend(50);
            signal(&signals);
            assert_eq!(waiter.end.get(), Some(&50));
        });
        assert_eq!((figures.work, figures.path.span, figures.uncarried), (50, 50, 0));
    }
    check(
        || JoinCounter::new(1),
        |counter| Box::pin(async move { counter.wait().await }),
        JoinCounter::signal,
    );
    check(
        || Received::new(None),
        |received| Box::pin(async move { received.wait(1).await }),
        Received::give,
    );
    check(
        || Barrier::new(2),
        |barrier| Box::pin(async move { _ = barrier.wait().await }),
        |barrier| {
            let mut arrives = pin!(barrier.wait());
            let polled = arrives.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            assert!(polled.is_ready(), "it comes last");
        },
    );
    // One has its turn to make the value, and waits for the second permit; whoever gives that lets it go on.
    for succeeds in [true, false] {
        check(
            || (OnceCell::new(), JoinCounter::new(1), Mutex::new(None)),
            move |shared| {
                let maker = Arc::clone(&shared);
                let mut make: Waiting<'static> = Box::pin(async move {
                    let (cell, begin, _) = &*maker;
                    let made = cell.get_or_try_init(async || {
                        begin.wait().await;
                        if succeeds { Ok(()) } else { Err(()) }
                    });
                    assert_eq!(made.await.is_ok(), succeeds);
                });
                let polled = make.as_mut().poll(&mut Context::from_waker(Waker::noop()));
                assert!(polled.is_pending());
                *shared.2.lock().unwrap() = Some(make);
                Box::pin(async move { _ = shared.0.get_or_init(async || ()).await })
            },
            |(_, begin, make)| {
                begin.signal();
                let mut make = make.lock().unwrap().take().unwrap();
                let polled = make.as_mut().poll(&mut Context::from_waker(Waker::noop()));
                assert!(polled.is_ready());
            },
        );
    }
}
