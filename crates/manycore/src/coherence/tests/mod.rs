mod driver;
mod oracle;

use std::collections::BTreeSet;

use self::driver::{Driver, Program, Step};
use self::oracle::Oracle;
use super::*;
use crate::ids::Id;

const LOAD: Access = Access::Load;
const STORE: Access = Access::Store;
const ADD: Access = Access::ReadModifyWrite;

/// Costs that are easy to tell from each other in sums.
const COSTS: CacheCosts = CacheCosts {
    hit: 1,
    read_modify_write: 5,
    fence: 7,
    pause: 10,
    core: 20,
    cluster: 40,
    socket: 100,
    remote: 200,
    memory: 90,
    invalidation: 2,
    shared_occupancy: 11,
    lease: 0,
    link: 0,
};

fn topology(sockets: usize, clusters: usize, cores: usize, threads: usize) -> Topology {
    Topology::new(sockets, clusters, cores, threads).unwrap()
}

/// Caches of a machine with one cluster.
fn cluster(processors: usize, costs: CacheCosts) -> Coherence {
    Coherence::new(topology(1, 1, processors, 1), costs, 64)
}

fn all_cpus(caches: &Coherence) -> impl Iterator<Item = Cpu> + use<> {
    caches.topology.all()
}

/// The line, asked for long after everything else is done.
fn access_alone(caches: &mut Coherence, cpu: u16, line: u32, access: Access) -> (Nanos, MissKind) {
    const LATER: Nanos = 1_000_000;
    let now = (caches.lines[LineIndex(line)][0] / LATER + 1) * LATER;
    let miss = caches.miss(Cpu(cpu), LineIndex(line), access, now, 0);
    (miss.done - now, miss.kind)
}

fn has(caches: &Coherence, cpu: Cpu, line: LineIndex, access: Access) -> bool {
    caches.directory.permits(line, cpu, access != LOAD)
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ mixed >> 31) % limit
    }

    fn access(&mut self) -> Access {
        [LOAD, LOAD, LOAD, STORE, ADD][self.below(5) as usize]
    }
}

/// Runs a random program on both models and compares them after each step. Returns when each access
/// ended, and how misses were served.
fn compare_with_oracle(
    topology: Topology,
    costs: &CacheCosts,
    seed: u64,
) -> (Vec<Nanos>, BTreeSet<String>) {
    const LINES: u64 = 6;
    let random = &mut Random(seed);
    let mut caches = Coherence::new(topology, costs.clone(), LINES as usize);
    let mut oracle = Oracle::new(topology, costs.clone(), LINES as usize);
    let mut clocks = vec![0; topology.processors()];
    let (mut now, mut served, mut hits) = (0, Vec::new(), 0);
    let mut kinds = BTreeSet::new();
    for step in 0..4000 {
        now += random.below(40);
        let cpu = Cpu::new(random.below(clocks.len() as u64) as usize);
        let line = LineIndex(random.below(LINES) as u32);
        if clocks[cpu.index()] > now {
            continue;
        }
        match random.below(40) {
            0 => {
                let cost = caches.fence(cpu, now);
                assert_eq!(cost, oracle.fence(cpu, now), "step {step}");
                clocks[cpu.index()] = now + cost;
                continue;
            }
            1 => {
                caches.watch(line);
                oracle.lines[line.index()].is_watched = true;
            }
            2..4 => {
                caches.unwatch(line);
                oracle.lines[line.index()].is_watched = false;
            }
            _ => {}
        }
        let (access, noise) = (random.access(), random.below(4));
        let hit = caches.hit(cpu, line, access);
        assert_eq!(hit.is_some(), oracle.is_hit(cpu, line, access), "step {step}");
        let retires = if let Some(cost) = hit {
            hits += 1;
            now + cost
        } else {
            let miss = caches.miss(cpu, line, access, now, noise);
            assert_eq!(miss, oracle.miss(cpu, line, access, now, noise), "step {step}");
            hits += u64::from(matches!(miss.kind, MissKind::Hit | MissKind::Lease));
            kinds.insert(format!("{:?}", miss.kind));
            miss.retires
        };
        clocks[cpu.index()] = retires;
        served.push(retires);
        if step % 100 == 0 {
            check_invariants(&caches, &oracle);
        }
    }
    check_invariants(&caches, &oracle);
    let lines = &oracle.lines;
    assert_eq!(caches.statistics().hits, hits);
    assert_eq!(
        caches.statistics().invalidations,
        lines.iter().map(|line| u64::from(line.invalidations)).sum::<u64>()
    );
    assert_eq!(
        caches.statistics().misses(),
        lines.iter().map(|line| u64::from(line.transfers)).sum::<u64>()
    );
    let hottest = caches.hottest(usize::MAX);
    assert!(hottest.is_sorted_by_key(|hot| std::cmp::Reverse(hot.transfers)));
    for hot in hottest {
        let naive = &lines[hot.line.index()];
        let expected = (naive.transfers, naive.invalidations, naive.waited);
        assert_eq!((hot.transfers, hot.invalidations, hot.waited), expected);
    }
    (served, kinds)
}

/// One writer or some readers; and the directory has the holders that the oracle has.
fn check_invariants(caches: &Coherence, oracle: &Oracle) {
    for index in 0..oracle.lines.len() {
        let line = LineIndex(index as u32);
        let holders = |access| {
            all_cpus(caches).filter(|&cpu| has(caches, cpu, line, access)).collect::<Vec<_>>()
        };
        let (writers, readers) = (holders(STORE), holders(LOAD));
        assert!(writers.len() <= 1, "{writers:?}");
        assert!(writers.is_empty() || readers == writers, "{writers:?} {readers:?}");
        for cpu in all_cpus(caches) {
            assert_eq!(writers.contains(&cpu), oracle.has(cpu, line, STORE));
            assert_eq!(readers.contains(&cpu), oracle.has(cpu, line, LOAD));
        }
    }
}

#[test]
fn random_programs_agree_with_a_naive_model() {
    let shapes = [
        (1, 1, 1, 1),
        (1, 1, 2, 1),
        (1, 2, 4, 2),
        (2, 2, 4, 2),
        (3, 1, 21, 1),
        (2, 1, 64, 1),
        (1, 5, 13, 1),
        (2, 3, 25, 2),
    ];
    let mut kinds = BTreeSet::new();
    let leases = CacheCosts { lease: 40, link: 3, ..COSTS };
    let few_readers = CacheCosts { shared_occupancy: 500, ..CacheCosts::milan() };
    for (number, (sockets, clusters, cores, threads)) in shapes.into_iter().enumerate() {
        for costs in [&COSTS, &leases, &few_readers] {
            let topology = topology(sockets, clusters, cores, threads);
            kinds.extend(compare_with_oracle(topology, costs, number as u64).1);
        }
    }
    // Memory, a hit, a lease; and copies and takes over four distances.
    assert_eq!(kinds.len(), 3 + 2 * 4, "{kinds:?}");
}

#[test]
fn equal_programs_give_equal_results() {
    let costs = CacheCosts::milan();
    let run = |seed| compare_with_oracle(topology(2, 3, 25, 2), &costs, seed);
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

#[test]
fn after_a_store_every_other_processor_misses() {
    for sharers in [1, 2, 4, 5, 64, 65, 300] {
        let mut caches = Coherence::new(topology(1, 1, 300, 1), COSTS, 1);
        let line = LineIndex(0);
        for cpu in all_cpus(&caches).take(sharers) {
            caches.miss(cpu, line, LOAD, 0, 0);
        }
        for cpu in all_cpus(&caches) {
            assert_eq!(has(&caches, cpu, line, LOAD), cpu.index() < sharers);
        }
        let writer = Cpu(299);
        let lost = sharers - usize::from(sharers == 300);
        let miss = caches.miss(writer, line, STORE, 0, 0);
        assert!(miss.invalidated);
        assert_eq!(caches.statistics().invalidations, lost as u64);
        for cpu in all_cpus(&caches) {
            assert_eq!(has(&caches, cpu, line, LOAD), cpu == writer);
        }
    }
}

#[test]
fn costs_are_those_of_the_distance() {
    // Processors 0 to 3 are a cluster of two cores, 0 to 7 are a socket.
    let caches = &mut Coherence::new(topology(2, 2, 2, 2), COSTS, 8);
    let far = [
        (1, 20, Distance::Core),
        (2, 40, Distance::Cluster),
        (4, 100, Distance::Socket),
        (8, 200, Distance::Remote),
    ];
    for (cpu, cost, distance) in far {
        assert_eq!(access_alone(caches, 0, 0, STORE).1, MissKind::Memory);
        assert_eq!(access_alone(caches, cpu, 0, STORE), (cost, MissKind::Take(distance)));
        assert_eq!(access_alone(caches, 0, 0, ADD), (cost + 5, MissKind::Take(distance)));
        assert_eq!(access_alone(caches, cpu, 0, LOAD), (cost, MissKind::Copy(distance)));
        // An upgrade waits for the other copy to become invalid.
        assert_eq!(access_alone(caches, cpu, 0, STORE), (cost + 2, MissKind::Take(distance)));
        *caches = Coherence::new(caches.topology, COSTS, 8);
    }
    assert_eq!(caches.statistics().from_memory, 0);
}

#[test]
fn a_copy_comes_from_the_nearest_sharer_and_a_writer_waits_for_the_farthest() {
    let caches = &mut Coherence::new(topology(2, 2, 2, 2), COSTS, 1);
    assert_eq!(access_alone(caches, 15, 0, LOAD), (90, MissKind::Memory));
    assert_eq!(access_alone(caches, 0, 0, LOAD), (200, MissKind::Copy(Distance::Remote)));
    assert_eq!(access_alone(caches, 4, 0, LOAD), (100, MissKind::Copy(Distance::Socket)));
    assert_eq!(access_alone(caches, 2, 0, LOAD), (40, MissKind::Copy(Distance::Cluster)));
    assert_eq!(access_alone(caches, 3, 0, LOAD), (20, MissKind::Copy(Distance::Core)));
    assert_eq!(access_alone(caches, 3, 0, STORE), (208, MissKind::Take(Distance::Remote)));
    assert_eq!(caches.statistics().transfers, [0, 1, 1, 1, 2]);
    assert_eq!(caches.statistics().from_memory, 1);
    assert_eq!(caches.statistics().invalidations, 4);
    assert_eq!(caches.statistics().waited, 90 + 200 + 100 + 40 + 20 + 208);
}

#[test]
fn the_look_ahead_is_the_least_cost_that_the_machine_has() {
    let costs = CacheCosts { memory: 300, ..COSTS };
    let least = |sockets, clusters, cores, threads| {
        costs.min_transfer(&topology(sockets, clusters, cores, threads))
    };
    assert_eq!(least(1, 1, 1, 1), 300);
    assert_eq!(least(2, 1, 1, 1), 200);
    assert_eq!(least(2, 2, 1, 1), 100);
    assert_eq!(least(2, 2, 2, 1), 40);
    assert_eq!(least(2, 2, 2, 2), 20);
    assert_eq!(COSTS.min_transfer(&topology(2, 1, 1, 1)), 90);
}

#[test]
fn contenders_are_served_in_the_order_of_their_requests() {
    let caches = &mut cluster(16, COSTS);
    let line = LineIndex(0);
    caches.miss(Cpu(15), line, ADD, 0, 0);
    let done: Vec<Nanos> =
        (0..15).map(|cpu| caches.miss(Cpu(cpu), line, ADD, 1000, 0).done).collect();
    let expected: Vec<Nanos> = (1..=15).map(|place| 1000 + place * (40 + 5)).collect();
    assert_eq!(done, expected);
}

#[test]
fn reads_of_a_shared_line_overlap_but_not_freely() {
    let caches = &mut cluster(32, COSTS);
    let line = LineIndex(0);
    let read = |caches: &mut Coherence, cpu, now| caches.miss(Cpu(cpu), line, LOAD, now, 0).done;
    caches.miss(Cpu(0), line, STORE, 0, 0);
    // The first read takes the line from its owner, and the others follow.
    assert_eq!(read(caches, 1, 1000), 1040);
    let burst: Vec<Nanos> = (2..32).map(|cpu| read(caches, cpu, 1000)).collect();
    let expected: Vec<Nanos> = (0..30).map(|place| 1040 + place * 11 + 40).collect();
    assert_eq!(burst, expected);
    // A store waits for the burst, and for 31 acknowledgements.
    let store = caches.miss(Cpu(0), line, STORE, 1100, 0);
    assert_eq!(store.done, 1040 + 30 * 11 + 40 + 31 * 2);
    assert_eq!(store.retires, store.done);
}

/// Two players pass a number from one to the other. Returns when both have ended.
fn ping_pong(costs: &CacheCosts, rounds: u64) -> Nanos {
    let player = |side: u64| -> Program {
        let (mut round, mut has_read, pause) = (0, false, costs.pause);
        Box::new(move |value| {
            let turn = 2 * round + side;
            has_read = !has_read;
            if round == rounds {
                None
            } else if has_read {
                Some(Step::Load(0))
            } else if value == turn {
                round += 1;
                Some(Step::Store(0, turn + 1))
            } else {
                Some(Step::Work(pause))
            }
        })
    };
    let mut driver = Driver::new(cluster(2, costs.clone()), 8);
    let ends = driver.run(vec![player(0), player(1)]);
    assert_eq!(driver.memory[0], 2 * rounds);
    ends.into_iter().max().unwrap()
}

/// Each processor adds `count` times to its word. Returns when the last one ends.
fn add_to(words: &[usize], costs: &CacheCosts, count: u64) -> Nanos {
    let adder = |&word: &usize| -> Program {
        let mut left = count;
        Box::new(move |_| {
            left = left.checked_sub(1)?;
            Some(Step::Add(word))
        })
    };
    let mut driver = Driver::new(cluster(words.len(), costs.clone()), 64);
    let ends = driver.run(words.iter().map(adder).collect());
    assert_eq!(driver.memory.iter().sum::<u64>(), count * words.len() as u64);
    ends.into_iter().max().unwrap()
}

#[test]
fn the_costs_of_the_guest_give_what_was_measured() {
    let costs = CacheCosts::epyc_guest();
    // 173 to 187 ns measured.
    assert_eq!(ping_pong(&costs, 1100) - ping_pong(&costs, 100), 162 * 1000);
    // 31 ns measured.
    assert_eq!(add_to(&[0, 0], &costs, 6000) - add_to(&[0, 0], &costs, 1000), 31 * 5000 + 1000);
    assert_eq!(add_to(&[0], &costs, 101), costs.memory + 101 * costs.read_modify_write);
}

#[test]
fn words_that_share_a_line_cost_and_others_do_not() {
    let alone = add_to(&[0], &COSTS, 1000);
    assert_eq!(alone, 90 + 1000 * 5);
    assert_eq!(add_to(&[0, 8], &COSTS, 1000), alone);
    // Each add of both waits for a transfer, but the first, which waits for memory.
    assert_eq!(add_to(&[0, 7], &COSTS, 1000), 90 + 5 + 1999 * (40 + 5));
}

#[test]
fn a_lease_keeps_a_line_for_its_time_and_only_where_no_thread_watches() {
    let costs = CacheCosts { lease: 30, ..COSTS };
    let line = LineIndex(0);
    for is_watched in [false, true] {
        let caches = &mut cluster(3, costs.clone());
        assert_eq!(caches.miss(Cpu(0), line, ADD, 0, 0).done, 95);
        // The lease ends at 120.
        assert_eq!(caches.miss(Cpu(1), line, ADD, 100, 0).done, 120 + 40 + 5);
        if is_watched {
            caches.watch(line);
        }
        assert_eq!(caches.hit(Cpu(0), line, ADD), None);
        let again = caches.miss(Cpu(0), line, ADD, 119, 0);
        if is_watched {
            assert_eq!((again.done, again.invalidated), (190 + 40 + 5, true));
            caches.unwatch(line);
            assert_eq!(caches.miss(Cpu(1), line, STORE, 150, 0).kind, MissKind::Lease);
        } else {
            assert_eq!((again.done, again.kind), (124, MissKind::Lease));
            assert!(has(caches, Cpu(1), line, STORE));
            assert_eq!(caches.miss(Cpu(0), line, STORE, 120, 0).done, 190 + 40);
        }
    }
}

#[test]
fn a_store_retires_early_and_a_fence_waits_for_it() {
    let caches = &mut cluster(3, COSTS);
    let (line, other) = (LineIndex(0), LineIndex(1));
    caches.miss(Cpu(1), line, STORE, 0, 0);
    let early = caches.miss(Cpu(0), line, STORE, 1000, 0);
    assert_eq!((early.done, early.retires, early.invalidated), (1040, 1001, true));
    assert_eq!(caches.fence(Cpu(1), 1001), 7);
    assert_eq!(caches.fence(Cpu(0), 1001), 39 + 7);
    assert_eq!(caches.fence(Cpu(0), 2000), 7);

    // A read-modify-write waits for it as well, whether it hits or misses.
    caches.miss(Cpu(1), other, STORE, 2000, 0);
    assert_eq!(caches.hit(Cpu(1), other, LOAD), Some(1));
    assert_eq!(caches.hit(Cpu(1), other, ADD), None);
    let after = caches.miss(Cpu(1), other, ADD, 2001, 0);
    assert_eq!((after.done, after.kind), (2000 + 90 + 5, MissKind::Hit));
    assert_eq!(caches.hit(Cpu(1), other, ADD), Some(5));
    caches.miss(Cpu(2), LineIndex(2), STORE, 3000, 0);
    assert_eq!(caches.miss(Cpu(2), other, ADD, 3001, 0).done, 3000 + 90 + 5);
}

#[test]
fn a_store_that_another_processor_reads_does_not_retire_early() {
    let caches = &mut cluster(2, COSTS);
    let line = LineIndex(0);
    caches.miss(Cpu(0), line, LOAD, 0, 0);
    caches.miss(Cpu(1), line, LOAD, 1000, 0);
    assert_eq!(caches.miss(Cpu(0), line, STORE, 2000, 0).retires, 2042);
    caches.watch(line);
    assert_eq!(caches.miss(Cpu(1), line, STORE, 3000, 0).retires, 3040);
    caches.unwatch(line);
    assert_eq!(caches.miss(Cpu(0), line, STORE, 4000, 0).retires, 4001);
}

#[test]
fn a_full_store_buffer_holds_its_processor_up() {
    let caches = &mut cluster(1, COSTS);
    for line in 0..30 {
        let miss = caches.miss(Cpu(0), LineIndex(line), STORE, 1000 + Nanos::from(line), 0);
        let expected = if line < 12 { 1000 + line + 1 } else { 1000 + line - 12 + 90 };
        assert_eq!(miss.retires, Nanos::from(expected), "line {line}");
    }
}

#[test]
fn transfers_to_a_socket_wait_for_its_link() {
    let costs = CacheCosts { link: 3, ..COSTS };
    let caches = &mut Coherence::new(topology(2, 1, 8, 1), costs, 8);
    for line in 0..8 {
        caches.miss(if line == 0 { Cpu(9) } else { Cpu(0) }, LineIndex(line), LOAD, 0, 0);
    }
    for line in 1..7 {
        let miss = caches.miss(Cpu(8), LineIndex(line), LOAD, 1000, 0);
        assert_eq!(miss.done, 1200 + 3 * Nanos::from(line - 1));
    }
    // The other direction is free, and so is the link later.
    assert_eq!(caches.miss(Cpu(0), LineIndex(0), STORE, 1000, 0).done, 1200);
    assert_eq!(caches.miss(Cpu(8), LineIndex(7), LOAD, 1018, 0).done, 1218);
}

#[test]
fn the_hottest_lines_have_their_names() {
    let caches = &mut cluster(4, COSTS);
    (2..=4).for_each(|line| caches.name(LineIndex(line), "table"));
    caches.name(LineIndex(3), "counter");
    for round in 0..10 {
        for cpu in 0..4 {
            caches.miss(Cpu(cpu), LineIndex(3), ADD, 10_000 * round, 0);
        }
        caches.miss(Cpu(round as u16 % 2), LineIndex(4), STORE, 0, 0);
        caches.miss(Cpu(round as u16 % 2), LineIndex(9), STORE, 0, 0);
    }
    let hot = caches.hottest(3);
    let names: Vec<String> = hot.iter().map(ToString::to_string).collect();
    assert_eq!(names, ["counter", "table", "line 0x9"]);
    assert_eq!((hot[0].transfers, hot[0].invalidations), (40, 39));
    assert!(hot[0].waited > 39 * 45);
    assert_eq!(caches.hottest(1).len(), 1);
    assert_eq!(caches.hottest(9).len(), 3);
}

#[test]
fn blocks_of_sharers_return_to_the_pool() {
    let caches = &mut Coherence::new(topology(1, 1, 4096, 1), COSTS, 2000);
    for line in (0..2000).map(LineIndex) {
        for cpu in [0, 63, 64, 4095, 1000] {
            caches.miss(Cpu(cpu), line, LOAD, 0, 0);
        }
        assert_eq!(caches.directory.blocks(), 1);
        for cpu in all_cpus(caches) {
            assert_eq!(has(caches, cpu, line, LOAD), [0, 63, 64, 4095, 1000].contains(&cpu.0));
        }
        caches.miss(Cpu(7), line, STORE, 0, 0);
    }
    assert_eq!(caches.statistics().invalidations, 5 * 2000);
}

#[test]
#[cfg(target_os = "linux")]
fn lines_that_are_not_touched_take_no_memory() {
    let resident_pages = || {
        let statistics = std::fs::read_to_string("/proc/self/statm").unwrap();
        statistics.split(' ').nth(1).unwrap().parse::<u64>().unwrap()
    };
    let before = resident_pages();
    let mut caches = Coherence::new(topology(1, 1, 2, 1), COSTS, 1 << 26);
    caches.miss(Cpu(0), LineIndex((1 << 26) - 1), LOAD, 0, 0);
    assert!(resident_pages() < before + (256 << 20) / 4096);
    assert_eq!(size_of_val(&caches.lines[LineIndex(0)]) + size_of::<u64>(), 32);
}

/// How many accesses cannot have had their effect between their begin and their end, if effects
/// have the order in which the driver performed them.
fn count_misplaced(ahead_of_min: Nanos, seed: u64) -> usize {
    const LINES: usize = 3;
    let costs = CacheCosts { lease: 40, ..CacheCosts::milan() };
    let caches = Coherence::new(topology(2, 2, 3, 1), costs, LINES);
    let programs = (0..12).map(|cpu| -> Program {
        let (mut random, mut left) = (Random(seed * 100 + cpu), 300);
        Box::new(move |_| {
            left -= 1;
            let word = random.below(8 * LINES as u64) as usize;
            match random.below(12) {
                _ if left == 0 => None,
                0..6 => Some(Step::Load(word)),
                6 => Some(Step::Store(word, 1)),
                7 => Some(Step::Add(word)),
                8 => Some(Step::Fence),
                _ => Some(Step::Work(random.below(60))),
            }
        })
    });
    let mut driver = Driver::new(caches, 8 * LINES);
    driver.ahead *= ahead_of_min;
    driver.run(programs.collect());
    // The latest effect of a write, and of any access. Reads have no order among each other.
    let (mut writes, mut effects) = ([0; LINES], [0; LINES]);
    let mut buffered = [[0; LINES]; 12];
    let is_misplaced = |event: &&driver::Event| {
        let line = event.line.index();
        let until = &mut buffered[event.cpu.index()][line];
        // A processor sees its own stores early.
        let is_buffered = event.begin < *until;
        if event.retired < event.end {
            *until = event.end;
        }
        if is_buffered {
            return false;
        }
        let earlier = if event.access == LOAD { writes[line] } else { effects[line] };
        let effect = event.begin.max(earlier);
        effects[line] = effect.max(effects[line]);
        if event.access != LOAD {
            writes[line] = effect;
        }
        effect > event.end
    };
    driver.events.iter().filter(is_misplaced).count()
}

#[test]
fn hits_that_run_ahead_have_their_effects_in_time() {
    let misplaced = |ahead| (0..20).map(|seed| count_misplaced(ahead, seed)).sum::<usize>();
    assert_eq!(misplaced(0), 0);
    assert_eq!(misplaced(1), 0);
    // The check finds a machine that runs too far ahead.
    assert!(misplaced(10) > 0);
}

#[test]
#[ignore = "prints how long hits and misses take"]
fn time_of_an_access() {
    const HITS: u64 = 100_000_000;
    let cases = [
        ("owner loads", 1, LOAD),
        ("owner adds", 1, ADD),
        ("of 4", 4, LOAD),
        ("of 300", 300, LOAD),
    ];
    for (name, sharers, access) in cases {
        let mut caches = Coherence::new(topology(1, 1, 300, 1), COSTS, 1024);
        for line in (0..1024).map(LineIndex) {
            for cpu in (0..300).rev().take(sharers) {
                caches.miss(Cpu(cpu), line, LOAD, 0, 0);
            }
        }
        let begin = std::time::Instant::now();
        let mut clock = 0;
        for round in 0..HITS {
            let line = LineIndex(std::hint::black_box(round as u32) % 1024);
            clock += caches.hit(Cpu(299), line, access).expect("the processor has the line");
        }
        let each = begin.elapsed().as_nanos() as f64 / HITS as f64;
        println!("{name}: {each:.2} ns ({clock})");
    }
    for (name, readers) in [("misses, 2 writers", 0), ("misses, 1 writer, 299 readers", 299)] {
        let mut caches = Coherence::new(topology(1, 1, 300, 1), COSTS, 1024);
        let begin = std::time::Instant::now();
        let mut clock = 0;
        for round in 0..HITS / 50 {
            let cpu = Cpu((round % (readers + 1).max(2)) as u16);
            let access = if readers == 0 || cpu == Cpu(0) { STORE } else { LOAD };
            clock = caches.miss(cpu, LineIndex(7), access, clock, 0).retires;
        }
        let each = begin.elapsed().as_nanos() as f64 / (HITS / 50) as f64;
        println!("{name}: {each:.2} ns ({clock})");
    }
}
