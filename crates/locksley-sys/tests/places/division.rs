//! Which places are found.

use locksley_sys::places::{Kind, Places, ProcessorSet, Reason, Region, Topology};

use crate::machines::{Even, Random, set};

/// Made of lists of processors by kind.
fn machine(levels: &[(Kind, &[&str])]) -> Topology {
    let regions = levels.iter().flat_map(|(kind, lists)| {
        let number =
            |(number, list): (usize, &&str)| Region::new(*kind, set(list)).with_number(number);
        lists.iter().enumerate().map(number)
    });
    let regions: Vec<Region> = regions.collect();
    let all = regions.iter().fold(ProcessorSet::new(), |all, region| all.union(&region.processors));
    let machine = Topology::of(all, regions);
    assert!(machine.doubts().is_empty(), "{machine}");
    machine
}

/// One core for each processor.
const CORES: [&str; 16] =
    ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15"];

#[track_caller]
fn expect(machine: &Topology, allowed: &str, sets: &[&str], reason: Reason) {
    let places = Places::found(machine, &set(allowed));
    let lists: Vec<String> = places.sets().iter().map(ToString::to_string).collect();
    assert_eq!((lists, places.reason()), (sets.iter().map(|s| s.to_string()).collect(), reason));
}

#[test]
fn the_outermost_level_divides() {
    let server = machine(&[
        (Kind::Memory, &["0-7", "8-15"]),
        (Kind::L3, &["0-3", "4-7", "8-11", "12-15"]),
        (Kind::Core, &CORES),
    ]);
    expect(&server, "0-15", &["0-7", "8-15"], Reason::Level(Kind::Memory));
    expect(&server, "2-9", &["2-7", "8-9"], Reason::Level(Kind::Memory));
    // Within one memory, it is the caches.
    expect(&server, "0-7", &["0-3", "4-7"], Reason::Level(Kind::L3));
    expect(&server, "0-3", &["0-3"], Reason::Undivided);
    // A package's cache may be next to several memories.
    let clustered = machine(&[
        (Kind::L3, &["0-7", "8-15"]),
        (Kind::Memory, &["0-3", "4-7", "8-11", "12-15"]),
        (Kind::Core, &CORES),
    ]);
    expect(&clustered, "0-15", &["0-7", "8-15"], Reason::Level(Kind::L3));
    expect(&clustered, "0-7", &["0-3", "4-7"], Reason::Level(Kind::Memory));
}

#[test]
fn private_caches_do_not_divide_unless_asked() {
    let desktop =
        machine(&[(Kind::L3, &["0-3"]), (Kind::L2, &CORES[..4]), (Kind::Core, &CORES[..4])]);
    expect(&desktop, "0-3", &["0-3"], Reason::Undivided);
    let asked = Places::by_level(&desktop, &set("0-1,3"), Kind::L2).unwrap();
    assert_eq!(asked.sets(), [set("0"), set("1"), set("3")]);
    assert_eq!(asked.reason(), Reason::Level(Kind::L2));

    let threads: [&str; 2] = ["0,2", "1,3"];
    let hyperthreaded = machine(&[(Kind::L2, &threads), (Kind::Core, &threads)]);
    expect(&hyperthreaded, "0-3", &["0-3"], Reason::Undivided);
    let asked = Places::by_level(&hyperthreaded, &set("0-3"), Kind::L2).unwrap();
    assert_eq!(asked.sets(), [set("0,2"), set("1,3")]);

    let pairs = machine(&[(Kind::L2, &["0-1", "2-3"]), (Kind::Core, &CORES[..4])]);
    expect(&pairs, "0-3", &["0-1", "2-3"], Reason::Level(Kind::L2));
    // Where it is not known which processors are of one core, each is taken for a core.
    let unknown = machine(&[(Kind::L2, &["0-1", "2-3"])]);
    expect(&unknown, "0-3", &["0-1", "2-3"], Reason::Level(Kind::L2));
    // A memory divides, also one of a single core.
    let memories = machine(&[(Kind::Memory, &["0-1", "2-3"]), (Kind::Core, &["0-1", "2-3"])]);
    expect(&memories, "0-3", &["0-1", "2-3"], Reason::Level(Kind::Memory));
}

#[test]
fn hybrid_laptops() {
    // Two fast cores of two threads with a cache each, and two groups of four slow ones.
    let laptop = machine(&[
        (Kind::L3, &["0-11"]),
        (Kind::L2, &["0-1", "2-3", "4-7", "8-11"]),
        (Kind::Core, &["0-1", "2-3", "4", "5", "6", "7", "8", "9", "10", "11"]),
    ]);
    expect(&laptop, "0-11", &["0-11"], Reason::Undivided);
    // Restricted to the slow ones, none has a private cache.
    expect(&laptop, "4-11", &["4-7", "8-11"], Reason::Level(Kind::L2));
    // Two cores of least power are outside of the third cache: they share a second.
    let levels: [(Kind, &[&str]); 4] = [
        (Kind::Package, &["0-7"]),
        (Kind::L3, &["0-5"]),
        (Kind::L2, &["0-1", "2-5", "6-7"]),
        (Kind::Core, &["0-1", "2", "3", "4", "5", "6", "7"]),
    ];
    expect(&machine(&levels), "0-7", &["0-5", "6-7"], Reason::Level(Kind::L3));
    // One such core is no place.
    expect(&machine(&levels), "0-6", &["0-6"], Reason::Undivided);
    // Two with a private cache each are none either.
    let levels: [(Kind, &[&str]); 4] = [
        (Kind::Package, &["0-7"]),
        (Kind::L3, &["0-5"]),
        (Kind::L2, &["0-1", "2-5", "6", "7"]),
        (Kind::Core, &["0-1", "2", "3", "4", "5", "6", "7"]),
    ];
    expect(&machine(&levels), "0-7", &["0-7"], Reason::Undivided);
}

#[test]
fn small_parts_join_the_nearest() {
    let server = machine(&[
        (Kind::Package, &["0-7", "8-15"]),
        (Kind::L3, &["0-3", "4-7", "8-11", "12-15"]),
        (Kind::Core, &CORES),
    ]);
    expect(&server, "0-1,4-5,8-9,12", &["0-1", "4-5", "8-9,12"], Reason::Level(Kind::L3));
    expect(&server, "0-1,4,8-9", &["0-1,4", "8-9"], Reason::Level(Kind::L3));
    // Parts that are small make no place, also together.
    expect(&server, "0-1,8,12", &["0-1,8,12"], Reason::Undivided);
    expect(&server, "0,4", &["0,4"], Reason::Undivided);
    // So does a package with one core that is not offline: no other core shares its cache.
    let offline = machine(&[
        (Kind::Package, &["0-3", "4-7", "8-9"]),
        (Kind::L3, &["0-3", "4-7", "8-9"]),
        (Kind::Core, &["0-1", "2-3", "4-5", "6-7", "8-9"]),
    ]);
    expect(&offline, "0-9", &["0-3,8-9", "4-7"], Reason::Level(Kind::L3));
    expect(&server, "0-3,4", &["0-4"], Reason::Undivided);
    // Memories of one processor are joined, too.
    let pair = machine(&[(Kind::Memory, &["0", "1"])]);
    expect(&pair, "0-1", &["0-1"], Reason::Undivided);
}

#[test]
fn processors_of_which_nothing_is_known_have_a_place() {
    let server = machine(&[(Kind::L3, &["0-1", "2-3"]), (Kind::Package, &["2-4"])]);
    expect(&server, "0-4", &["0-1", "2-4"], Reason::Level(Kind::L3));
    // Not on the machine at all.
    expect(&server, "0-3,77", &["0-1,77", "2-3"], Reason::Level(Kind::L3));
    let nothing = Topology::of(set("0-3"), []);
    expect(&nothing, "0-3", &["0-3"], Reason::Undivided);
    expect(&nothing, "", &[""], Reason::Undivided);
    let asked = Places::by_level(&server, &set("0-4,9"), Kind::L3).unwrap();
    assert_eq!(asked.sets(), [set("0-1,9"), set("2-4")]);
}

#[test]
fn a_level_that_is_not_there_cannot_be_asked_for() {
    let server = machine(&[(Kind::L3, &["0-1", "2-3"]), (Kind::L2, &["0-1"])]);
    let refused =
        |allowed, kind| Places::by_level(&server, &set(allowed), kind).unwrap_err().to_string();
    assert_eq!(refused("0-3", Kind::Memory), "this machine has no memory that is known of");
    assert_eq!(refused("2-3", Kind::L2), "this machine has no L2 that is known of");
    assert_eq!(refused("", Kind::L3), "this machine has no L3 that is known of");
    let one = Places::by_level(&server, &set("2-3"), Kind::L3).unwrap();
    assert_eq!((one.count(), one.reason()), (1, Reason::Level(Kind::L3)));
}

#[test]
fn given_places_are_checked() {
    let given = |lists: &[&str]| Places::given(&set("0-7"), lists.iter().map(|list| set(list)));
    let places = given(&["4-5", "0"]).unwrap();
    assert_eq!(places.sets(), [set("4-5"), set("0")]);
    assert_eq!(places.reason(), Reason::Given);
    assert_eq!(places.to_string(), "place 0: 4-5\nplace 1: 0\n");
    let cases = [
        (&[][..], "there must be at least one place"),
        (&["0", ""][..], "place 1 has no processors"),
        (&["0", "6-9"][..], "place 1 has processors that may not be used: 8-9"),
        (&["0-2", "5", "1-3"][..], "places 0 and 2 have processors in common: 1-2"),
    ];
    for (lists, text) in cases {
        assert_eq!(given(lists).unwrap_err().to_string(), text);
    }
}

/// On a machine with parts that are all alike, the answer is a matter of arithmetic.
#[test]
fn even_machines_are_divided_by_the_first_level_that_can() {
    let mut random = Random(7);
    let mut by_kind = std::collections::HashMap::new();
    for _ in 0..400 {
        let even = Even::new(&mut random);
        let machine = even.topology();
        let all = even.numbers.len();
        let core = even.size(Kind::Core).unwrap_or(1);
        let divides = |kind: Kind| {
            let size = even.size(kind)?;
            let shared = kind == Kind::Memory || size > core;
            (size >= 2 && size < all && shared).then_some((kind, size))
        };
        let kinds = [Kind::Memory, Kind::L3, Kind::L2, Kind::L1];
        let (reason, size) = match kinds.into_iter().find_map(divides) {
            Some((kind, size)) => (Reason::Level(kind), size),
            None => (Reason::Undivided, all),
        };
        let mut expected: Vec<ProcessorSet> =
            even.numbers.chunks(size).map(|part| part.iter().copied().collect()).collect();
        expected.sort_by_key(ProcessorSet::first);
        let found = Places::found(&machine, machine.processors());
        assert_eq!((found.sets(), found.reason()), (&expected[..], reason), "{machine}");
        *by_kind.entry(format!("{reason}")).or_insert(0) += 1;
    }
    // The machines are of many sorts.
    for reason in ["by memory", "by L3", "by L2", "undivided"] {
        assert!(by_kind.get(reason).is_some_and(|&count| count >= 5), "{by_kind:?}");
    }
}

#[test]
fn every_allowed_processor_is_in_one_place_and_no_place_is_small() {
    let mut random = Random(11);
    let mut several = 0;
    for _ in 0..400 {
        let mut even = Even::new(&mut random);
        // Uneven: some is not known.
        even.regions.retain(|_| random.below(8) > 0);
        let machine = even.topology();
        let allowed = random.part_of(machine.processors());
        let places = Places::found(&machine, &allowed);
        let mut seen: Vec<usize> = places.sets().iter().flat_map(ProcessorSet::iter).collect();
        seen.sort_unstable();
        assert_eq!(seen, allowed.as_slice());
        assert!(places.count() == 1 || places.sets().iter().all(|set| set.len() >= 2));
        assert_eq!(places.reason() == Reason::Undivided, places.count() == 1);
        several += usize::from(places.count() > 1);
        // It depends on the machine, not on the order in which it is described.
        random.shuffle(&mut even.regions);
        assert_eq!(Places::found(&even.topology(), &allowed), places);
        // What may be asked for covers the same.
        for level in machine.levels() {
            match Places::by_level(&machine, &allowed, level.kind) {
                Ok(places) => {
                    let count: usize = places.sets().iter().map(ProcessorSet::len).sum();
                    assert_eq!(count, allowed.len());
                    let has = |processor| places.sets().iter().any(|set| set.contains(processor));
                    assert!(allowed.iter().all(has));
                }
                Err(error) => {
                    let problem = format!("this machine has no {} that is known of", level.kind);
                    assert_eq!(error.to_string(), problem);
                }
            }
        }
    }
    assert!(several > 50, "{several}");
}
