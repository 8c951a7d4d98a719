//! Threads on every scheduler: joins, signals, semaphores, channels, panics; and starts that are
//! refused.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use locksley_classic::deque::{AbpArray, BlockingLock, Deque, Locked, SpinningLock};
use locksley_classic::stealing::{
    Abp, BusyWakes, Bws, Delayed, GlobalInformation, Hood, Lassi, Naive, Nornir, Selective,
};
use locksley_classic::{
    Context, Count, Machine, PerWorker, Placement, Queues, Ready, Scheduler, Semaphore, StartError,
    Stealing, channel,
};

fn machine(workers: usize, scheduler: Scheduler) -> Machine {
    // SAFETY: no thread of these tests holds something that is not `Send`.
    unsafe { Machine::start(workers, scheduler) }.unwrap()
}

type MakesDeque = fn() -> Box<dyn Deque<Ready>>;

const BLOCKING: MakesDeque = || Box::new(Locked::<Ready, BlockingLock>::new());
const SPINNING: MakesDeque = || Box::new(Locked::<Ready, SpinningLock>::new());

fn policies() -> Vec<Box<dyn Stealing>> {
    vec![
        Box::new(Abp),
        Box::new(BusyWakes),
        Box::new(Bws::default()),
        Box::new(Bws::with_threshold(0)),
        Box::new(Delayed),
        Box::new(GlobalInformation::default()),
        Box::new(Hood),
        Box::new(Lassi),
        Box::new(Naive),
        Box::new(Nornir),
        Box::new(Selective),
    ]
}

/// A scheduler of each kind, for four workers.
fn schedulers() -> Vec<Scheduler> {
    let deques: [MakesDeque; 3] = [|| Box::new(AbpArray::new()), SPINNING, BLOCKING];
    let mut all: Vec<_> = policies()
        .into_iter()
        .zip(deques.into_iter().cycle())
        .map(|(stealing, deque)| Scheduler { deque, stealing, ..Scheduler::default() })
        .collect();
    let nornir =
        || Scheduler { deque: BLOCKING, stealing: Box::new(Nornir), ..Scheduler::default() };
    all.push(Scheduler { placement: Placement::Last, ..nornir() });
    all.push(Scheduler { queues: Queues::WithMailboxes, ..nornir() });
    all.push(Scheduler {
        queues: Queues::OfPlaces(vec![0, 0, 1, 1]),
        stealing: Box::new(Lassi),
        ..nornir()
    });
    all
}

fn fib(context: &Context<'_>, n: u32) -> u64 {
    if n < 2 {
        return n.into();
    }
    let (one, other) = context.join(|context| fib(context, n - 1), |context| fib(context, n - 2));
    one + other
}

#[test]
fn joins_compute_on_every_scheduler() {
    for scheduler in schedulers() {
        let machine = machine(4, scheduler);
        let attempts = || machine.count(Count::Steals) + machine.count(Count::FailedSteals);
        // Short work may be done before a thief gets a processor.
        for _ in (0..).take_while(|&runs| runs < 3 || attempts() == 0) {
            assert_eq!(machine.run(|context| fib(context, 18)), 2584);
        }
    }
}

#[test]
fn one_worker_computes_alone() {
    for stealing in policies() {
        let machine = machine(1, Scheduler { stealing, ..Scheduler::default() });
        assert_eq!(machine.run(|context| fib(context, 15)), 610);
        assert_eq!(machine.count(Count::Steals), 0);
    }
}

#[test]
fn a_deque_that_is_full_loses_nothing() {
    const THREADS: usize = 100_000;
    let machine = machine(2, Scheduler::default());
    let ended = AtomicUsize::new(0);
    machine.run(|context| {
        for _ in 0..THREADS {
            context.create(|_| _ = ended.fetch_add(1, Ordering::Relaxed));
        }
    });
    assert_eq!(ended.into_inner(), THREADS);
}

#[test]
fn a_thread_waits_for_its_signals() {
    for scheduler in schedulers() {
        let machine = machine(4, scheduler);
        let done = AtomicUsize::new(0);
        for children in [1, 3, 200] {
            done.store(0, Ordering::Relaxed);
            let seen = machine.run(|context| {
                let parent = context.itself();
                for place in 0..children {
                    let (parent, done) = (parent.clone(), &done);
                    let place = (place % 3 == 0).then_some(place as usize % 2);
                    context.create_at(place, move |context| {
                        context.yield_now();
                        done.fetch_add(1, Ordering::Relaxed);
                        context.signal(&parent);
                    });
                }
                // In two waits: signals that come early are kept.
                context.wait(children / 2);
                context.wait(children - children / 2);
                done.load(Ordering::Relaxed)
            });
            assert_eq!(seen, children as usize);
        }
    }
}

#[test]
fn a_thread_is_sent_a_signal_by_its_parent() {
    let machine = machine(2, Scheduler::default());
    let order = Mutex::new(Vec::new());
    machine.run(|context| {
        let order = &order;
        let child = context.create(move |context| {
            context.wait(1);
            order.lock().unwrap().push("child");
        });
        context.yield_now();
        order.lock().unwrap().push("parent");
        context.signal(&child);
    });
    assert_eq!(*order.lock().unwrap(), ["parent", "child"]);
}

#[test]
fn a_thread_that_yields_lets_all_others_run() {
    for scheduler in schedulers() {
        let Scheduler { deque, .. } = scheduler;
        let machine = machine(1, Scheduler { deque, ..Scheduler::default() });
        let steps = AtomicUsize::new(0);
        machine.run(|context| {
            context.create(|context| {
                while steps.load(Ordering::Relaxed) < 3 {
                    context.yield_now();
                }
            });
            context.create(|context| {
                for _ in 0..3 {
                    context.yield_now();
                    steps.fetch_add(1, Ordering::Relaxed);
                }
            });
        });
    }
}

#[test]
fn a_semaphore_admits_as_many_threads_as_it_has_units() {
    for scheduler in schedulers() {
        let machine = machine(4, scheduler);
        let (semaphore, inside) = (Semaphore::new(2), AtomicUsize::new(0));
        let most = AtomicUsize::new(0);
        machine.run(|context| {
            for _ in 0..200 {
                let (semaphore, inside, most) = (&semaphore, &inside, &most);
                context.create(move |context| {
                    semaphore.acquire(context);
                    most.fetch_max(inside.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    context.yield_now();
                    inside.fetch_sub(1, Ordering::SeqCst);
                    semaphore.release(context);
                });
            }
        });
        assert!((1..=2).contains(&most.into_inner()));
        assert_eq!(inside.into_inner(), 0);
    }
}

#[test]
fn messages_arrive_once_and_in_order() {
    for capacity in [1, 3] {
        for scheduler in schedulers() {
            let machine = machine(4, scheduler);
            let sum = machine.run(|context| {
                let (mut source, mut stage) = channel::<u64>(capacity);
                let (mut last, mut sink) = channel::<u64>(capacity);
                context.create(move |context| (0..500).for_each(|n| source.send(context, n)));
                context.create(move |context| {
                    (0..500).for_each(|n| {
                        assert_eq!(stage.receive(context), n);
                        last.send(context, n);
                    });
                });
                (0..500).map(|_| sink.receive(context)).sum::<u64>()
            });
            assert_eq!(sum, 499 * 500 / 2);
        }
    }
}

#[test]
fn each_worker_has_its_data() {
    let machine = machine(3, Scheduler::default());
    let counters = [(); 3].map(|()| AtomicUsize::new(0));
    let counts = PerWorker::new(3, |worker| &counters[worker]);
    machine.run(|context| {
        for _ in 0..1000 {
            context.create(|context| _ = counts.get(context).fetch_add(1, Ordering::Relaxed));
        }
    });
    assert_eq!(counters.map(AtomicUsize::into_inner).iter().sum::<usize>(), 1000);
}

#[test]
fn threads_without_a_place_take_turns() {
    let queues = Queues::OfPlaces(vec![0, 1]);
    let lassi =
        Scheduler { deque: BLOCKING, queues, stealing: Box::new(Lassi), ..Scheduler::default() };
    let machine = machine(2, lassi);
    let ran = AtomicUsize::new(0);
    machine.run(|context| {
        (0..100).for_each(|_| drop(context.create(|_| _ = ran.fetch_add(1, Ordering::Relaxed))));
        (0..100).for_each(|place| {
            context.create_at(place % 2, |_| _ = ran.fetch_add(1, Ordering::Relaxed));
        });
    });
    assert_eq!(ran.into_inner(), 200);
    assert!(machine.count(Count::OutOfPlace) <= 100);
}

type Body<'b> = &'b (dyn Fn(&Context<'_>) + Sync);

#[test]
fn a_place_that_is_not_there_is_refused() {
    let (deque, stealing) = (BLOCKING, Box::new(Lassi));
    let lassi =
        Scheduler { deque, queues: Queues::OfPlaces(vec![0, 1]), stealing, ..Scheduler::default() };
    let machine = machine(2, lassi);
    let create = || machine.run(|context| drop(context.create_at(2, |_| {})));
    let panic = catch_unwind(AssertUnwindSafe(create)).unwrap_err();
    assert_eq!(*panic.downcast::<String>().unwrap(), "the last place is 1");
}

#[test]
fn a_panic_reaches_the_caller_and_the_machine_goes_on() {
    for scheduler in schedulers() {
        let machine = machine(4, scheduler);
        let message = |run: Body<'_>| {
            let panic = catch_unwind(AssertUnwindSafe(|| machine.run(run)));
            *panic.unwrap_err().downcast::<&str>().unwrap()
        };
        let joined: Body<'_> = &|context| {
            context.join(|context| fib(context, 10), |_| panic!("other"));
        };
        assert_eq!(message(joined), "other");
        let first: Body<'_> = &|context| {
            context.join(|_| panic!("one"), |context| fib(context, 10));
        };
        assert_eq!(message(first), "one");
        let created: Body<'_> = &|context| {
            context.create(|_| panic!("created"));
        };
        assert_eq!(message(created), "created");
        assert_eq!(machine.run(|context| fib(context, 12)), 144);
    }
}

#[test]
fn parts_that_do_not_fit_together_are_refused() {
    let nornir =
        || Scheduler { deque: BLOCKING, stealing: Box::new(Nornir), ..Scheduler::default() };
    let bws = Scheduler {
        stealing: Box::new(Bws::default()),
        queues: Queues::OfPlaces(vec![0, 0]),
        ..nornir()
    };
    for (workers, scheduler) in [
        (0, Scheduler::default()),
        (2, Scheduler { placement: Placement::Last, ..Scheduler::default() }),
        (2, Scheduler { queues: Queues::OfPlaces(vec![0, 1]), ..Scheduler::default() }),
        (3, Scheduler { queues: Queues::OfPlaces(vec![0, 1]), ..nornir() }),
        (2, Scheduler { queues: Queues::OfPlaces(vec![0, 2]), ..nornir() }),
        (2, Scheduler { processors: vec![vec![0]], ..nornir() }),
        (2, bws),
        (2, Scheduler { placement: Placement::Last, stealing: Box::new(Hood), ..nornir() }),
        (2, Scheduler { queues: Queues::WithMailboxes, stealing: Box::new(BusyWakes), ..nornir() }),
    ] {
        // SAFETY: no thread is run.
        let refused = unsafe { Machine::start(workers, scheduler) };
        assert!(matches!(refused, Err(StartError::Unsuitable(_))));
    }
}

#[test]
fn a_new_run_finds_thieves_that_are_awake() {
    // Of two workers, one is a thief. If the watchdog of one run worked in the next, it would
    // sleep.
    let machine = machine(
        2,
        Scheduler { stealing: Box::new(Bws::with_threshold(0)), ..Scheduler::default() },
    );
    for _ in 0..200 {
        let (one, other) = (AtomicUsize::new(0), AtomicUsize::new(0));
        machine.run(|context| {
            // Each half waits for the other one to begin, so both workers are needed.
            let meet = |mine: &AtomicUsize, theirs: &AtomicUsize| {
                mine.store(1, Ordering::SeqCst);
                while theirs.load(Ordering::SeqCst) == 0 {
                    std::thread::yield_now();
                }
            };
            context.join(|_| meet(&one, &other), |_| meet(&other, &one));
        });
    }
}

#[test]
fn thieves_of_bws_sleep_while_there_is_nothing_to_steal() {
    let machine =
        machine(4, Scheduler { stealing: Box::new(Bws::default()), ..Scheduler::default() });
    machine.run(|context| {
        // All thieves but the watchdog sleep soon.
        while machine.count(Count::Sleeps) < 2 {
            std::thread::yield_now();
        }
        fib(context, 20)
    });
    assert!(machine.count(Count::Sleeps) >= 2);
}
