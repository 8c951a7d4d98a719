//! Laws that hold for random programs on all schedulers.

use super::*;

const CASES: u64 = 12;

/// A machine, threads with random steps, affinities, policies and quotas.
fn random_engine(config: KernelConfig, random: &mut Random) -> Engine {
    let shapes = [(1, 1, 1, 1), (1, 1, 3, 1), (1, 2, 2, 2), (2, 2, 2, 1), (1, 1, 70, 1)];
    let (sockets, clusters, cores, threads) = shapes[random.below(5) as usize];
    let topology = Topology::new(sockets, clusters, cores, threads).unwrap();
    let processors = topology.processors() as u64;
    let mut engine = Engine::new(topology, config);
    let group = engine.kernel.add_group(Bandwidth::of_processors(500 + random.below(2000)));
    let count = 2 + random.below(2 * processors.min(12));
    for id in 0..count {
        let mut steps = Vec::new();
        for _ in 0..1 + random.below(6) {
            let other = ThreadId(random.below(count) as u32);
            steps.push(Step::Compute(1 + random.below(3 * MILLISECOND)));
            steps.push(match random.below(12) {
                0..3 => Step::Sleep(random.below(5 * MILLISECOND)),
                3..5 => Step::Yield,
                5..7 => Step::YieldTo(other),
                7..9 => Step::Wake(other),
                9 if random.below(20) == 0 => Step::Exit,
                9..11 => Step::Wait,
                _ => Step::Compute(random.below(MILLISECOND)),
            });
        }
        let thread = engine.add_to((id % 3 == 0).then_some(group), &steps);
        if random.below(2) == 0 {
            let set = random_set(processors, random);
            engine.kernel.set_affinity(thread, set, 0);
        }
        let policy = [Policy::Other, Policy::Other, Policy::Batch, Policy::Idle];
        engine.kernel.set_policy(thread, policy[random.below(4) as usize], 0);
        engine.kernel.set_nice(thread, random.below(40) as i8 - 20, 0);
        if random.below(3) == 0 {
            engine.kernel.set_slice(thread, random.below(5 * MILLISECOND));
        }
    }
    (0..count).for_each(|id| engine.wake(ThreadId(id as u32)));
    engine
}

fn random_set(processors: u64, random: &mut Random) -> CpuSet {
    let size = 1 + random.below(processors);
    (0..size).map(|_| Cpu(random.below(processors) as u16)).collect()
}

/// Changes something about a random thread or processor from outside.
fn disturb(engine: &mut Engine, random: &mut Random) {
    let thread = ThreadId(random.below(engine.bodies.len() as u64) as u32);
    let processors = engine.cores.len() as u64;
    let now = engine.now;
    match random.below(6) {
        0 => engine.kernel.set_affinity(thread, random_set(processors, random), now),
        1 => engine.kernel.set_nice(thread, random.below(40) as i8 - 20, now),
        2 => engine.kernel.set_policy(thread, Policy::Idle, now),
        3 => engine.kernel.set_policy(thread, Policy::Other, now),
        4 => engine.steal(Cpu(random.below(processors) as u16), random.below(MILLISECOND)),
        _ => engine.wake(thread),
    }
    engine.carry_out();
}

/// Runs a case, with a check after each event.
fn run(config: KernelConfig, seed: u64, mut check: impl FnMut(&mut Engine)) -> Engine {
    let mut random = Random(seed);
    let mut engine = random_engine(config, &mut random);
    for _ in 0..40 {
        engine.run_until(engine.now + random.below(20 * MILLISECOND), &mut check);
        disturb(&mut engine, &mut random);
    }
    engine
}

fn cases() -> impl Iterator<Item = (KernelConfig, u64)> {
    let configs = all_configs().into_iter().flat_map(|config| [config, config.without_costs()]);
    configs.flat_map(|config| (0..CASES).map(move |seed| (config, seed)))
}

#[test]
fn the_time_of_processors_is_run_idle_or_stolen() {
    for (config, seed) in cases() {
        let mut engine = run(config, seed, |_| {});
        // What was stolen last is accounted after some time.
        engine.run_for(SECOND);
        let threads = (0..engine.bodies.len()).map(|id| ThreadId(id as u32));
        let ran: Nanos = threads.map(|thread| engine.run_time(thread)).sum();
        let total = engine.now * engine.cores.len() as u64;
        assert_eq!(ran + engine.idle_time() + engine.stolen, total, "seed {seed}");
    }
}

#[test]
fn equal_runs_have_equal_traces() {
    for (config, seed) in cases() {
        let traces = [(); 2].map(|()| run(config, seed, |_| {}).trace);
        assert_eq!(traces[0], traces[1]);
    }
}

#[test]
fn states_agree_with_queues_and_affinities() {
    for (config, seed) in cases() {
        let interrupt = config.costs.reschedule_interrupt;
        let mut wrong_since = vec![None; 256];
        run(config, seed, |engine| {
            let mut queued = vec![0; engine.cores.len()];
            let threads = 0..engine.bodies.len() as u32;
            for (thread, wrong_since) in threads.map(ThreadId).zip(&mut wrong_since) {
                let cpu = engine.kernel.processor(thread);
                let state = engine.kernel.state(thread);
                let runs = engine.kernel.current(cpu) == Some(thread);
                assert_eq!(runs, state == ThreadState::Running);
                let is_active = matches!(state, ThreadState::Running | ThreadState::Ready);
                queued[cpu.index()] += usize::from(is_active);
                // A running thread leaves after an interrupt.
                let is_wrong = is_active && !engine.kernel.affinity(thread).contains(cpu);
                let since = wrong_since.get_or_insert(engine.now);
                if !is_wrong {
                    *wrong_since = None;
                } else {
                    assert!(runs && engine.now <= *since + 2 * interrupt + MILLISECOND / 10);
                }
            }
            for (index, &queued) in queued.iter().enumerate() {
                let cpu = Cpu::new(index);
                assert_eq!(engine.kernel.runnable(cpu), queued);
                assert_eq!(engine.kernel.is_idle(cpu), queued == 0);
                let waits = queued - usize::from(engine.kernel.current(cpu).is_some());
                let halted = engine.kernel.current(cpu).is_none();
                let overloaded = waits > usize::from(halted);
                assert_eq!(engine.kernel.overloaded.contains(cpu), overloaded);
            }
        });
    }
}

#[test]
fn no_thread_waits_for_long_while_an_allowed_processor_idles() {
    for (config, seed) in cases() {
        // Some ticks: the first ones find the thread cache-hot.
        let bound = 20 * MILLISECOND;
        let mut since = vec![vec![None; 256]; 256];
        run(config, seed, |engine| {
            let threads = 0..engine.bodies.len() as u32;
            for (thread, since) in threads.map(ThreadId).zip(&mut since) {
                let allowed = engine.kernel.affinity(thread);
                for cpu in (0..engine.cores.len()).map(Cpu::new) {
                    let is_wasted = engine.kernel.state(thread) == ThreadState::Ready
                        && engine.kernel.is_idle(cpu)
                        && allowed.contains(cpu)
                        && !engine.kernel.is_throttled(thread, cpu);
                    let since = &mut since[cpu.index()];
                    if !is_wasted {
                        *since = None;
                    }
                    let from = *since.get_or_insert(engine.now);
                    assert!(engine.now - from <= bound, "{thread:?} {cpu:?} seed {seed}");
                }
            }
        });
    }
}

#[test]
fn shares_of_loops_do_not_starve() {
    for config in all_configs() {
        let mut engine = Engine::flat(3, config);
        let threads = [(); 10].map(|()| engine.start(LOOP));
        for (index, &thread) in threads.iter().enumerate() {
            engine.kernel.set_nice(thread, index as i8 * 2, 0);
        }
        engine.run_for(30 * SECOND);
        for thread in threads {
            assert!(engine.run_time(thread) > SECOND / 10, "{}", engine.run_time(thread));
        }
    }
}

#[test]
fn calls_that_are_not_due_change_nothing() {
    for config in all_configs() {
        let mut engine = Engine::flat(1, config);
        let [a, b] = [(); 2].map(|()| engine.start(LOOP));
        engine.run_for(100 * MICROSECOND);
        let current = engine.kernel.current(Cpu(0));
        for now in 0..100 {
            let picked = engine.kernel.pick(Cpu(0), engine.now + now);
            assert_eq!(picked, Picked { thread: current, switched: false, cost: 0 });
            assert_eq!(engine.kernel.wake(b, None, engine.now), 0);
        }
        // Another processor's time may be earlier.
        let before = engine.times(a).run;
        let c = engine.kernel.add_thread(None, Cpu(0));
        engine.kernel.wake(c, None, engine.now);
        assert_eq!(engine.times(a).run, before);
    }
}
