//! The machine as a whole: what programs compute, how long it takes, and that it repeats itself.

use std::time::Duration;

use manycore::kernel::{Bandwidth, KernelConfig};
use manycore::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::*};
use manycore::sync::{Arc, Barrier, Condvar, Mutex, OnceLock, RwLock, mpsc};
use manycore::time::Instant;
use manycore::{Machine, Program, RunError, os, thread};

#[global_allocator]
static ALLOCATOR: manycore::Allocator = manycore::Allocator;

const MS: u64 = 1_000_000;

fn work(ms: u64) {
    os::work(Duration::from_millis(ms));
}

/// Threads that add, lock, wait and compute in a way that the seed decides.
fn random_program(threads: u64, steps: u64) -> u64 {
    let shared = Arc::new((Mutex::new(0_u64), Condvar::new(), AtomicU64::new(0)));
    let run = |shared: Arc<(Mutex<u64>, Condvar, AtomicU64)>| {
        move || {
            for _ in 0..steps {
                match os::random() % 6 {
                    0 => drop(shared.2.fetch_add(1, Relaxed)),
                    1 => *shared.0.lock().unwrap() += 1,
                    2 => os::work(Duration::from_nanos(os::random() % 20_000)),
                    3 => thread::yield_now(),
                    4 => thread::sleep(Duration::from_nanos(os::random() % 50_000)),
                    _ => {
                        let guard = shared.0.lock().unwrap();
                        let time = Duration::from_micros(20);
                        drop(shared.1.wait_timeout(guard, time).unwrap());
                        shared.1.notify_one();
                    }
                }
            }
        }
    };
    let handles: Vec<_> = (0..threads).map(|_| thread::spawn(run(Arc::clone(&shared)))).collect();
    handles.into_iter().for_each(|handle| handle.join().unwrap());
    *shared.0.lock().unwrap() + shared.2.load(Relaxed)
}

#[test]
fn equal_seeds_give_equal_runs_and_others_do_not() {
    let run = |seed| {
        let outcome =
            Machine::builder().sockets(2).cores(4).seed(seed).run(|| random_program(12, 60));
        (outcome.value, outcome.statistics.hash, outcome.statistics.time)
    };
    let first = run(1);
    assert_eq!(run(1), first);
    assert_ne!(run(2).1, first.1);
}

#[test]
fn a_run_repeats_itself_in_one_process_also_where_atomics_lie_on_stacks() {
    let run = || {
        let outcome = Machine::builder().cores(4).run(|| {
            let word = AtomicU64::new(0);
            thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| (0..500).for_each(|_| _ = word.fetch_add(1, Relaxed)));
                }
            });
            word.into_inner()
        });
        (outcome.value, outcome.statistics.hash)
    };
    let first = run();
    assert!((0..5).all(|_| run() == first));
}

#[test]
fn a_panic_ends_the_thread_of_another_program_alone() {
    let panics = Program::new("panics", || panic!("of another program"));
    let outcome = Machine::builder().cores(2).program(panics).run(|| {
        work(5);
        (0..3).map(|n| thread::spawn(move || n).join().unwrap()).sum::<u64>()
    });
    assert_eq!(outcome.value, 3);
}

#[test]
fn a_hypervisor_may_look_at_atomics_of_the_program() {
    use manycore::hypervisor::Adaptive;
    let shared = Arc::new(AtomicU64::new(0));
    let seen = Arc::clone(&shared);
    let adaptive = Adaptive::new(1, MS, 1, move |view, cpu| {
        seen.fetch_add(1 << 32, SeqCst);
        view.now / MS % 2 == cpu as u64
    });
    let outcome = Machine::builder().cores(2).hypervisor(adaptive).run(move || {
        for _ in 0..10 {
            work(1);
            shared.fetch_add(1, SeqCst);
        }
        shared.load(SeqCst)
    });
    assert_eq!(outcome.value & 0xFFFF_FFFF, 10);
    assert!(outcome.value >> 32 >= 20, "it looks at both processors each millisecond");
}

#[test]
fn stolen_time_is_no_thread_s() {
    let steal = manycore::hypervisor::Steal { period: 10 * MS, away: 5 * MS, processors: 1000 };
    let machine = Machine::builder().hypervisor(steal).program(Program::busy_loops(1));
    let of = machine.run(|| work(200)).statistics;
    let share = of.programs[0].run as f64 / of.programs[1].run as f64;
    assert!((0.95..1.05).contains(&share), "{share}");
    assert!((780..=830).contains(&(of.time / MS)), "{}", of.time);
}

#[test]
fn a_membarrier_takes_a_moment_from_each_thread_that_runs() {
    let rounds = |barriers: u64| {
        let outcome = Machine::builder().cores(33).run(move || {
            let (is_over, all) = (AtomicBool::new(false), Barrier::new(33));
            thread::scope(|scope| {
                let count = || {
                    let word = AtomicU64::new(0);
                    all.wait();
                    while !is_over.load(Relaxed) {
                        word.fetch_add(1, Relaxed);
                    }
                    word.into_inner()
                };
                let threads: Vec<_> = (0..32).map(|_| scope.spawn(count)).collect();
                all.wait();
                let start = Instant::now();
                (0..barriers).for_each(|_| os::membarrier());
                os::work(Duration::from_millis(2).saturating_sub(start.elapsed()));
                is_over.store(true, Relaxed);
                threads.into_iter().map(|it| it.join().unwrap()).min().unwrap()
            })
        });
        outcome.value as f64
    };
    // Ten barriers take 10 µs of 2 ms from each thread, and not the 400 µs that the caller waits.
    let (without, with) = (rounds(0), rounds(10));
    assert!((0.95..1.0).contains(&(with / without)), "{with} of {without}");
}

#[test]
fn work_on_several_processors_takes_the_time_of_the_longest() {
    let time = |processors, threads: usize| {
        let machine = Machine::builder().cores(processors);
        let outcome = machine.run(move || {
            thread::scope(|scope| {
                (0..threads).for_each(|_| drop(scope.spawn(|| work(10))));
            });
        });
        outcome.statistics.time as f64 / (10 * MS) as f64
    };
    for (processors, threads, expected) in [(1, 1, 1.0), (4, 4, 1.0), (4, 8, 2.0), (1, 3, 3.0)] {
        let time = time(processors, threads);
        assert!((expected..expected * 1.1).contains(&time), "{processors} {threads}: {time}");
    }
}

#[test]
fn one_processor_runs_a_program_in_the_order_of_its_code() {
    let outcome = Machine::builder().run(|| {
        let log = Arc::new(Mutex::new(Vec::new()));
        for n in 0..5 {
            let log = Arc::clone(&log);
            thread::spawn(move || log.lock().unwrap().push(n)).join().unwrap();
        }
        Arc::into_inner(log).unwrap().into_inner().unwrap()
    });
    assert_eq!(outcome.value, [0, 1, 2, 3, 4]);
}

#[test]
fn processor_time_is_conserved() {
    for seed in 1..6 {
        for processors in [1, 2, 7] {
            let machine = Machine::builder().cores(processors).seed(seed);
            let machine = machine.program(Program::busy_loops(2));
            let outcome = machine.run(|| random_program(5, 40));
            let of = outcome.statistics;
            let run: u64 = of.programs.iter().map(|program| program.run).sum();
            let idle: u64 = of.processors.iter().map(|processor| processor.idle).sum();
            let all = of.time * processors as u64;
            // Clocks of processors differ by what a thread has computed ahead.
            let difference = (run + idle).abs_diff(all);
            assert!(difference < all / 50 + 100_000, "{run} + {idle} is not {all}");
        }
    }
}

#[test]
fn a_quota_of_one_and_a_half_gives_one_and_a_half_processors() {
    let bandwidth = Bandwidth { quota: 150 * MS, period: 100 * MS, slice: 5 * MS };
    let outcome = Machine::builder().cores(4).bandwidth(bandwidth).run(|| {
        thread::scope(|scope| {
            (0..4).for_each(|_| drop(scope.spawn(|| work(750))));
        });
    });
    let seconds = outcome.statistics.time as f64 / 1e9;
    assert!((1.85..2.15).contains(&seconds), "3 s of work at 1.5 processors took {seconds} s");
}

#[test]
fn two_loops_share_a_processor_evenly() {
    let machine = Machine::builder().program(Program::busy_loops(1));
    let outcome = machine.run(|| work(500));
    let programs = &outcome.statistics.programs;
    let share = programs[0].run as f64 / programs[1].run as f64;
    assert!((0.97..1.03).contains(&share), "{share}");
    assert!((499..=501).contains(&(programs[0].run / MS)));
    assert_eq!(programs[1].name, "busy loops");
}

#[test]
fn a_sleeper_wakes_in_time_beside_loops() {
    let machine = Machine::builder().cores(2).program(Program::busy_loops(2));
    let outcome = machine.run(|| {
        let mut late = Vec::new();
        for _ in 0..50 {
            let start = Instant::now();
            thread::sleep(Duration::from_millis(10));
            late.push(start.elapsed().as_micros() as u64 - 10_000);
        }
        late.into_iter().max().unwrap()
    });
    assert!(outcome.value < 1_000, "{} µs late", outcome.value);
}

#[test]
fn slower_processors_take_longer() {
    let outcome = Machine::builder().cores(2).speeds(&[500, 1000]).run(|| {
        let mut set = os::CpuSet::new();
        set.insert(manycore::Cpu(0));
        assert!(os::set_affinity(thread::current().id(), &set));
        let start = Instant::now();
        work(10);
        start.elapsed()
    });
    let ms = outcome.value.as_secs_f64() * 1e3;
    assert!((20.0..20.5).contains(&ms), "{ms}");
}

#[test]
fn hardware_threads_of_a_core_share_it() {
    let time = |smt, cores| {
        let machine = Machine::builder().cores(cores).smt(smt).smt_speed(600);
        let outcome = machine.run(|| {
            thread::scope(|scope| (0..2).for_each(|_| drop(scope.spawn(|| work(10)))));
        });
        outcome.statistics.time as f64 / (10 * MS) as f64
    };
    assert!((1.0..1.1).contains(&time(1, 2)));
    assert!((1.6..1.8).contains(&time(2, 1)), "{}", time(2, 1));
}

#[test]
fn stolen_time_slows_a_program_down_without_the_kernel_s_knowledge() {
    let steal = manycore::hypervisor::Steal { period: 10 * MS, away: 5 * MS, processors: 1000 };
    let outcome = Machine::builder().hypervisor(steal).run(|| {
        work(50);
        os::steal_time(manycore::Cpu(0))
    });
    let of = outcome.statistics;
    assert!((95..=105).contains(&(of.time / MS)), "{}", of.time);
    assert!(outcome.value.abs_diff(50 * MS) <= 5 * MS, "{}", outcome.value);
    assert!(of.programs[0].run.abs_diff(50 * MS) < 6 * MS, "{}", of.programs[0].run);
}

#[test]
fn a_spin_barrier_of_a_static_team_stands_still_beside_a_loop() {
    let rounds = |loops: usize| {
        let team = Program::static_team(2, Duration::from_micros(100));
        let machine = Machine::builder().cores(2).program(team);
        let machine = if loops > 0 { machine.program(Program::busy_loops(loops)) } else { machine };
        machine.run(|| thread::sleep(Duration::from_millis(200))).statistics.programs[1].count
    };
    // The sleeper that ends the run may wait for the end of a slice.
    let (alone, beside) = (rounds(0), rounds(1));
    assert!((1_900..2_040).contains(&alone), "{alone}");
    assert!(beside < alone / 2, "{beside} of {alone}");
}

#[test]
fn a_lost_wake_up_is_a_deadlock() {
    // The flag is set and the notification sent between the check and the wait.
    let run = |is_wrong: bool, seed| {
        Machine::builder().cores(2).seed(seed).noise(200).try_run(move || {
            let flag = Arc::new(AtomicBool::new(false));
            let theirs = Arc::clone(&flag);
            let word = Arc::new(manycore::atomic::AtomicU32::new(0));
            let their_word = Arc::clone(&word);
            let waiter = thread::spawn(move || {
                let seen = their_word.load(SeqCst);
                while !theirs.load(SeqCst) {
                    os::work(Duration::from_nanos(os::random() % 40_000));
                    os::futex_wait(&their_word, seen, None);
                }
            });
            os::work(Duration::from_nanos(os::random() % 40_000));
            flag.store(true, SeqCst);
            if !is_wrong {
                word.fetch_add(1, SeqCst);
            }
            os::futex_wake(&word, 1);
            waiter.join().unwrap();
        })
    };
    assert!((1..30).all(|seed| run(false, seed).is_ok()));
    let found = (1..30).filter(|&seed| matches!(run(true, seed), Err(RunError::Deadlock(_))));
    assert!(found.count() > 0);
}

#[test]
fn a_program_that_does_not_end_is_stopped() {
    let limit = Duration::from_millis(5);
    let run = Machine::builder().cores(2).time_limit(limit).try_run(|| {
        let never = AtomicBool::new(false);
        while !never.load(Relaxed) {}
    });
    assert!(matches!(run, Err(RunError::TimeLimit(time)) if time >= 5 * MS));
    let error = Machine::builder().cores(0).try_run(|| ()).unwrap_err();
    assert_eq!(error.to_string(), "0 processors, where 1 to 4096 are possible");
    assert_eq!(Machine::builder().speeds(&[0]).try_run(|| ()).unwrap_err(), RunError::Speeds);
}

#[test]
fn a_panic_of_the_program_reaches_the_caller_and_of_a_thread_its_joiner() {
    let run = || Machine::builder().run(|| -> () { std::panic::panic_any(7) });
    let payload = std::panic::catch_unwind(run).unwrap_err();
    assert_eq!(*payload.downcast::<i32>().unwrap(), 7);
    let outcome = Machine::builder().cores(2).run(|| {
        let mutex = Arc::new(Mutex::new(()));
        let theirs = Arc::clone(&mutex);
        let panics = thread::spawn(move || {
            let _guard = theirs.lock();
            work(1);
            std::panic::panic_any(8);
        });
        let healthy = thread::spawn(|| {
            (0..100).any(|_| {
                os::work(Duration::from_micros(20));
                thread::panicking()
            })
        });
        let payload = panics.join().unwrap_err();
        (*payload.downcast::<i32>().unwrap(), healthy.join().unwrap(), mutex.is_poisoned())
    });
    assert_eq!(outcome.value, (8, false, true));
}

#[test]
fn locks_and_channels_keep_their_promises() {
    let outcome = Machine::builder().cores(4).run(|| {
        let (sender, receiver) = mpsc::channel();
        let (lock, once) = (Arc::new(RwLock::new(0_u64)), Arc::new(OnceLock::new()));
        let (barrier, made) = (Arc::new(Barrier::new(4)), Arc::new(AtomicUsize::new(0)));
        let handles: Vec<_> = (0..4_u64)
            .map(|n| {
                let (sender, lock, once) = (sender.clone(), Arc::clone(&lock), Arc::clone(&once));
                let (barrier, made) = (Arc::clone(&barrier), Arc::clone(&made));
                thread::spawn(move || {
                    for _ in 0..100 {
                        *lock.write().unwrap() += 1;
                        os::work(Duration::from_nanos(os::random() % 3_000));
                        assert!(*lock.read().unwrap() > 0);
                    }
                    once.get_or_init(|| {
                        work(1);
                        made.fetch_add(1, Relaxed)
                    });
                    let leads = barrier.wait().is_leader();
                    sender.send((n, leads)).unwrap();
                })
            })
            .collect();
        drop(sender);
        let mut received: Vec<_> = receiver.into_iter().collect();
        handles.into_iter().for_each(|handle| handle.join().unwrap());
        received.sort_unstable();
        (received, *lock.read().unwrap(), made.load(Relaxed))
    });
    let (received, sum, made) = outcome.value;
    assert_eq!(received.iter().map(|&(n, _)| n).collect::<Vec<_>>(), [0, 1, 2, 3]);
    assert_eq!(received.iter().filter(|&&(_, leads)| leads).count(), 1);
    assert_eq!((sum, made), (400, 1));
}

#[test]
fn each_thread_has_its_own_locals_and_drops_them() {
    use std::cell::Cell;
    static DROPPED: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    struct Counted(Cell<u32>);
    impl Drop for Counted {
        fn drop(&mut self) {
            DROPPED.fetch_add(self.0.get() as usize, Relaxed);
        }
    }
    manycore::thread_local! {
        static LOCAL: Counted = const { Counted(Cell::new(1)) };
    }
    Machine::builder().cores(3).run(|| {
        let run = |n| {
            move || {
                LOCAL.with(|local| local.0.set(n));
                work(1);
                assert_eq!(LOCAL.with(|local| local.0.get()), n);
            }
        };
        let threads: Vec<_> = (1..4).map(|n| thread::spawn(run(n))).collect();
        // A thread that was joined has dropped its values.
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
    assert_eq!(DROPPED.load(Relaxed), 6);
}

#[test]
fn a_panic_that_was_joined_is_handled_and_others_end_the_scope() {
    let is_err = Machine::builder()
        .run(|| thread::scope(|scope| scope.spawn(|| panic!("joined")).join().is_err()));
    assert!(is_err.value);
    let unhandled = Machine::builder().run(|| {
        let scope = || thread::scope(|scope| drop(scope.spawn(|| panic!("not joined"))));
        std::panic::catch_unwind(scope).is_err()
    });
    assert!(unhandled.value);
}

#[test]
fn a_local_s_destructor_may_use_locals_that_were_made_before() {
    struct Reads;
    impl Drop for Reads {
        fn drop(&mut self) {
            SEEN.store(FIRST.with(|first| *first), Relaxed);
            let _ = thread::current();
        }
    }
    static SEEN: AtomicUsize = AtomicUsize::new(0);
    manycore::thread_local! {
        static FIRST: usize = const { 7 };
        static SECOND: Reads = const { Reads };
    }
    Machine::builder().run(|| {
        let run = || FIRST.with(|_| SECOND.with(|_| ()));
        thread::spawn(run).join().unwrap();
    });
    assert_eq!(SEEN.load(Relaxed), 7);
}

#[test]
fn slices_that_end_exactly_make_few_events() {
    let kernel = KernelConfig { precise_slices: true, ..KernelConfig::linux_5() };
    let of = Machine::builder().kernel(kernel).program(Program::busy_loops(1)).run(|| {
        os::set_nice(thread::current().id(), -20);
        thread::sleep(Duration::from_millis(10));
        work(20);
    });
    assert!(of.statistics.events < 1_000, "{}", of.statistics.events);
}

#[test]
fn a_thousand_processors_work() {
    let outcome = Machine::builder().sockets(8).cores(128).run(|| {
        let sum = AtomicU64::new(0);
        thread::scope(|scope| {
            for n in 0..1024 {
                let sum = &sum;
                scope.spawn(move || {
                    os::work(Duration::from_millis(20));
                    sum.fetch_add(n, Relaxed);
                });
            }
        });
        sum.into_inner()
    });
    assert_eq!(outcome.value, 1023 * 512);
    assert!(outcome.statistics.time < 60 * MS, "{}", outcome.statistics.time);
    assert_eq!(outcome.statistics.processors.len(), 1024);
}

#[test]
fn round_robin_gives_equal_slices() {
    let machine = Machine::builder().kernel(KernelConfig::round_robin(10 * MS));
    let outcome = machine.program(Program::busy_loops(3)).run(|| work(200));
    assert!((780..=830).contains(&(outcome.statistics.time / MS)), "{}", outcome.statistics.time);
}
