//! What becomes of measurements, and what plans have. That programs can be measured side by side is
//! tested from outside: that needs this program's own binary.

use locksley::os::Assists;

use super::choice::QUICK;
use super::figures::{
    ABP, BWS, Found, averages, found, mean_variation, numbered, part, shares_of_switches,
};
use super::*;
use crate::experiment::html;
use crate::experiment::record::{OTHERS, Sample};

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9
}

fn course(quick: bool) -> Course {
    Course { quick, seed: 5, ..Course::default() }
}

fn corun(pairs: &[&str], runtimes: &[&str]) -> Corun {
    let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    Corun { pairs: owned(pairs), runtimes: owned(runtimes), ..Corun::default() }
}

/// Two processors and made-up numbers.
struct Made(Record);

impl Made {
    fn new() -> Made {
        let mut record = Record::new("corun", Plan::default());
        (record.machine.processors, record.machine.quota) = (2, None);
        Made(record)
    }

    fn add(&mut self, subject: &str, runtime: &str, workers: usize, numbers: &[(&str, f64)]) {
        let first = numbers[0].0;
        let repeat = self.0.values(subject, runtime, workers, first).len();
        self.0.samples.extend(numbers.iter().map(|&(metric, value)| Sample {
            experiment: "corun".to_owned(),
            subject: subject.to_owned(),
            runtime: runtime.to_owned(),
            workers,
            repeat,
            metric: metric.to_owned(),
            value,
        }));
    }

    /// Rates, or times of which each program has two, and 10 and 20 switches.
    fn run(&mut self, pair: &str, runtime: &str, rates: &[f64], times: Option<[[f64; 2]; 2]>) {
        let names: Vec<String> = (0..3).map(|place| numbered("rate", place)).collect();
        let mut numbers: Vec<(String, f64)> =
            names.into_iter().zip(rates.iter().copied()).collect();
        for (place, times) in times.iter().flatten().enumerate() {
            numbers.push((numbered("computations", place), 2.0));
            numbers.push((numbered("deviation", place), metrics::deviation(times)));
        }
        for place in 0..rates.len() {
            let of_it = [("voluntary switches", 10.0), ("involuntary switches", 20.0)];
            numbers.extend(of_it.map(|(name, value)| (numbered(name, place), value)));
        }
        // Only Locksley counts where its switches went.
        if runtime == "locksley" {
            let of_it = [("switches to thieves", 15.0), ("external switches", 10.0)];
            numbers.extend(of_it.map(|(name, value)| (numbered(name, 0), value)));
        }
        let numbers: Vec<_> = numbers.iter().map(|(name, value)| (name.as_str(), *value)).collect();
        self.add(pair, runtime, 2, &numbers);
    }
}

/// A leaf takes 10 µs; the rates of rounds and applications alone are chosen.
fn record() -> Record {
    let mut made = Made::new();
    let rate = |value| [("rate of 1", value)];
    made.add("leaf 5000", "loop", 1, &rate(100_000.0));
    made.add("leaf 5000", "loop", 2, &rate(200_000.0));
    for (runtime, par, app) in [
        ("locksley", 10_000.0, 2.0),
        ("rayon", 8_000.0, 1.0),
        (ABP, 5_000.0, 2.5),
        (BWS, 5_000.0, 1.0),
    ] {
        made.add("par", runtime, 2, &rate(par));
        for (name, _) in pairs::APPS {
            made.add(name, runtime, 2, &rate(app));
            made.add(name, runtime, 2, &rate(app));
        }
    }
    made.run("par+loop", "locksley", &[5_000.0, 100_000.0], None);
    made.run("par+loop", "locksley", &[2_500.0, 160_000.0], None);
    made.run("par+loop", "rayon", &[4_000.0, 100_000.0], None);
    made.run("par+par+par", "locksley", &[4_000.0, 2_500.0, 5_000.0], None);
    let times = Some([[0.5, 1.5], [0.75, 0.75]]);
    for pair in ["clip+mm", "mi+mm"] {
        made.run(pair, "locksley", &[1.0, 1.0 / 0.75], times);
        made.run(pair, "locksley", &[1.0, 1.0 / 0.75], times);
        made.run(pair, ABP, &[0.5, 2.0], Some([[2.0, 2.0], [0.5, 0.5]]));
    }
    made.run("clip+mm", BWS, &[0.5, 0.4], Some([[2.0, 2.0], [2.5, 2.5]]));
    made.0
}

fn named<'a>(all: &'a [Found], name: &str) -> &'a Found {
    all.iter().find(|found| found.pair.name == name).unwrap()
}

#[test]
fn a_pair_of_rounds_is_summarized_run_by_run() {
    let record = record();
    let all = found(&record);
    let ours = named(&all, "par+loop").on("locksley").unwrap();
    // Slowdowns 100 % and 100 %, then 300 % and 25 %.
    assert!(close(ours.unfairness, (0.0 + 2.75) / 2.0) && close(ours.worst, 2.75));
    assert!(close(ours.programs[0].slowdown, 2.0) && close(ours.programs[1].slowdown, 0.625));
    // 16 leaves of 10 µs a round: 0.8 + 1.0 processors of two, then 0.4 + 1.6.
    assert!(close(ours.useful.unwrap(), 0.95), "{ours:?}");
    // Relative to the best alone: 0.5 + 0.5, then 0.25 + 0.8.
    assert!(close(ours.throughput, 1.025));
    // Rates of 5000 and 2500: a deviation of 2500/√2, a mean of 3750.
    assert!(close(ours.programs[0].variation.unwrap(), 2500.0 / 2f64.sqrt() / 3750.0));
    assert_eq!(ours.programs[0].switches, Some((10.0, 20.0)));
    assert_eq!(ours.programs[0].split, Some([15.0, 10.0, 5.0]));
    assert_eq!(ours.programs[1].split, None, "loop does not count them");
    // Relative to its own time alone rayon loses half, but the baseline is the best runtime's.
    let rayon = named(&all, "par+loop").on("rayon").unwrap();
    assert!(close(rayon.unfairness, 0.0) && close(rayon.throughput, 0.4 + 0.5), "{rayon:?}");
    assert!(close(sections::most_useful(&record).unwrap(), 1.0));
    let targets = part(&all, Part::Targets);
    let [thieves, external, other] = shares_of_switches(&targets, "locksley").unwrap();
    assert!(close(thieves, 0.5) && close(external, 1.0 / 3.0) && close(other, 1.0 / 6.0));
    assert_eq!(shares_of_switches(&targets, "rayon"), None);
}

#[test]
fn of_three_programs_the_most_and_the_least_delayed_count() {
    let all = found(&record());
    let ours = named(&all, "par+par+par").on("locksley").unwrap();
    // 10,000 rounds a second alone: slowdowns of 150 %, 300 % and 100 %.
    assert!(close(ours.unfairness, 2.0) && ours.programs.len() == 3);
    assert!(close(ours.throughput, 0.4 + 0.25 + 0.5));
    // 11,500 rounds of 16 leaves of 10 µs.
    assert!(close(ours.useful.unwrap(), 0.92), "{ours:?}");
}

#[test]
fn a_pair_of_applications_is_summarized_by_its_computations() {
    let all = found(&record());
    let ours = named(&all, "clip+mm").on("locksley").unwrap();
    // 0.5 s alone, 1 s and 0.75 s together.
    assert!(close(ours.programs[0].slowdown, 1.0) && close(ours.programs[1].slowdown, 0.5));
    assert!(close(ours.unfairness, 0.5) && ours.useful.is_none() && ours.overlap.is_none());
    // The best alone takes 0.4 s.
    assert!(close(ours.throughput, 0.4 / 1.0 + 0.4 / 0.75));
    // Twice 0.5 s and 1.5 s: squares of 4 times 0.25, over 3.
    assert!(close(ours.programs[0].variation.unwrap(), (1.0f64 / 3.0).sqrt()));
    assert!(close(named(&all, "clip+mm").on(ABP).unwrap().unfairness, 4.0 - 0.25));
}

#[test]
fn averages_compare_on_the_same_pairs() {
    let all = part(&found(&record()), Part::Applications);
    let (means, pairs) = averages(&all, &["locksley", ABP]);
    assert!(close(means[0].1.unfairness, 0.5) && close(means[1].1.unfairness, 3.75));
    assert_eq!((pairs, averages(&all, &["locksley", BWS]).1), (2, 1), "measured on one pair only");
    assert!(averages(&all, &["locksley", "other"]).0.is_empty());
    let varies = |kind| {
        let is_it = |app: &str, other: &str| pairs::execution_type(app, other) == kind;
        mean_variation(&all, "locksley", &is_it)
    };
    // Clip and mi beside mm, and mm beside them.
    assert!(close(varies(2).unwrap(), (1.0f64 / 3.0).sqrt()) && close(varies(3).unwrap(), 0.0));
    assert_eq!([varies(1), varies(4)], [None; 2]);
    assert_eq!(figures::threshold("classic-bws-32"), Some(32));
    assert_eq!([ABP, BWS].map(figures::threshold), [None; 2]);
}

/// Both programs of both runtimes run at rates that differ by chance only, or by a factor as well.
#[test]
fn an_effect_is_told_from_noise() {
    let (one, other) = ("locksley", ABP);
    let made = |factor: f64| {
        let (mut made, mut random) = (Made::new(), crate::random::Random::new(8));
        let mut rate = |rate: f64| rate * (1.0 + 0.1 * random.next_signed());
        for repeat in 0..8 {
            for (runtime, factor) in [(one, factor), (other, 1.0)] {
                for app in ["clip", "mm"] {
                    made.add(app, runtime, 2, &[("rate of 1", rate(10.0))]);
                }
                let rates = [("rate of 1", rate(5.0 * factor)), ("rate of 2", rate(5.0))];
                if repeat > 0 || runtime == one {
                    made.add("clip+mm", runtime, 2, &rates);
                }
            }
        }
        made.0
    };
    let effect = |record: &Record, names| effects::effect(record, &found(record), names);
    let noise = effect(&made(1.0), [one, other]).unwrap();
    assert_eq!((noise.pairs, noise.runs), (1, 7), "one run has no partner");
    for it in [noise.unfairness, noise.speedup] {
        assert!(it.low < 0.0 && 0.0 < it.high && it.low <= it.figure && it.figure <= it.high);
    }
    // Half of the rate beside the other: a slowdown of 300 % instead of 100 %.
    let record = made(0.5);
    let found = effect(&record, [one, other]).unwrap();
    assert!(1.0 < found.unfairness.low && found.unfairness.high < 3.0, "{found:?}");
    assert!(found.speedup.high < 0.0 && found.speedup.figure < -0.1, "{found:?}");
    assert_eq!(effect(&record, [one, BWS]), None);
}

#[test]
fn idle_policies_cost_what_applications_take_alone() {
    let record = record();
    let costs = sections::costs(&record, "locksley");
    assert!(costs.len() == 8 && costs.iter().all(|(_, ratio)| close(*ratio, 2.5 / 2.0)));
    assert!(sections::slow(&record).ends_with("2 %: bfs, cg, clip, ep, loop, mi, mm, raytracer"));
}

#[test]
fn the_report_names_what_disturbs() {
    let mut made = Made(record());
    made.add("par+loop", "rayon", 2, &[("overlap", 0.5), (OTHERS, 0.25)]);
    let report = Corun::report(&made.0);
    let page = html::page(&made.0, &report);
    for part in [
        "overlap only 0.50",
        "used 0.25 processors",
        "differ by 138 points with Locksley, by 0 with rayon (mean of 1 pairs)",
        "15 + 10 + 5 / -",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
}

#[test]
fn with_two_processors_the_rounds_are_those_that_were_tuned_for() {
    let all = pairs::all(2, Size::Short);
    let shape = |name: &str| {
        let program = pairs::programs(&all, name, 2).unwrap().remove(0);
        let round = program.round().unwrap();
        (round.leaf, round.chunks, round.serial, program.workers)
    };
    assert_eq!(shape("par"), (5000, 16, 0, 2));
    assert_eq!(shape("half"), (5000, 32, 16, 2));
    assert_eq!(shape("few"), (20_000, 3, 0, 2));
    assert_eq!(shape("p8"), (5000, 16, 0, 8));
    assert_eq!(shape("leaf 300"), (300, 1, 0, 2));
    let on = |name: &str| -> Vec<String> {
        let programs = pairs::programs(&all, name, 2).unwrap();
        programs.iter().map(|program| program.on("locksley").to_owned()).collect()
    };
    assert_eq!(on("par+loop"), ["locksley", "loop"]);
    assert_eq!(on("par+onetbb"), ["locksley", "onetbb"]);
    assert_eq!(on("loop+mi"), ["static", "locksley"]);
    assert!(pairs::programs(&all, "par+pigs", 2).is_none());
}

#[test]
fn the_paper_has_28_pairs_in_three_groups() {
    let all = pairs::all(2, Size::Short);
    let number = |shows| all.iter().filter(|pair| pair.shows == shows).count();
    // Of 5 and of 3 applications, and 5 times 3.
    assert_eq!(pairs::GROUPS.map(number), [10, 3, 15]);
    for stated in pairs::STATED {
        assert!(all.iter().any(|pair| pair.name == stated), "{stated}");
    }
    let types = [("cg", "mi"), ("cg", "mm"), ("mm", "cg"), ("mm", "ep")];
    assert_eq!(types.map(|(app, other)| pairs::execution_type(app, other)), [1, 2, 3, 4]);
    for program in all.iter().flat_map(|pair| &pair.programs) {
        program.about().unwrap();
        program.round().map(|round| round.validate().unwrap());
    }
}

#[test]
fn a_full_plan_has_all_pairs_and_fits_fifty_minutes() {
    let corun = corun(&[], &[]);
    let plan = corun.plan(&course(false)).unwrap();
    let processors = Machine::here().processors;
    let all = pairs::all(processors, Size::Short);
    let Times { beside, alone, applications } = corun.times(false);
    let mut time = 0.0;
    for (place, cell) in plan.cells.iter().enumerate() {
        let is_same = |other: &Cell| Cell { repeats: cell.repeats, ..other.clone() } == *cell;
        assert!(!plan.cells[..place].iter().any(is_same), "{cell} twice");
        let programs = pairs::programs(&all, &cell.subject, cell.workers).unwrap();
        for program in &programs {
            let on = program.on(&cell.runtime);
            let is_alone = |it: &Cell| it.subject == program.name && it.runtime == on;
            assert!(plan.cells.iter().any(is_alone), "{} on {on} never alone", program.name);
        }
        let each = match (programs[0].round(), programs.len()) {
            (None, _) => applications.seconds + 1.0,
            (Some(_), 1) => alone + 0.1,
            (Some(_), _) => beside + 0.1,
        };
        time += cell.repeats as f64 * each;
    }
    assert!(time < plan.budget_seconds, "{time}");
    let place = |subject: &str, runtime: &str| {
        let is_it = |cell: &Cell| cell.subject == subject && cell.runtime == runtime;
        plan.cells.iter().position(is_it).unwrap()
    };
    let order = [
        place("leaf 5000", "loop"),
        place("par+loop", "locksley"),
        place("par+loop", ABP),
        place("bfs", "locksley"),
        place("par+loop", "locksley-no-run-state"),
        place("fine+loop", "locksley"),
        place("bfs+raytracer", "locksley"),
        place("bfs+mm", "rayon"),
        place("bfs+mm", "classic-bws-4096"),
    ];
    assert!(order.is_sorted(), "targets come first and rivals last: {order:?}");
    let repeats = |subject, runtime| plan.cells[place(subject, runtime)].repeats;
    assert_eq!([repeats("par+loop", "locksley"), repeats("par+loop", ABP)], [8, 4]);
    // Without the peers' programs: rounds of the target table on four, and six without assists.
    let on = |subject: &str| plan.cells.iter().filter(|cell| cell.subject == subject).count();
    assert_eq!([on("par+loop"), on("bfs+cg"), on("bfs+mm")], [4 + 6, 3, 3 + 6 + 8]);
    assert_eq!(on("par+onetbb"), 0);
    assert!(plan.left_out["onetbb"].contains("peers/build"));
}

#[test]
fn all_assists_are_switched_off_one_by_one() {
    let named = crate::runtimes::ALL.iter().filter_map(|it| it.name.strip_prefix(figures::WITHOUT));
    let mut all = Assists::NONE;
    for name in named.filter(|name| *name != "assists") {
        let assist: Assists = name.parse().unwrap();
        assert!(!all.has(assist), "{name}");
        all = all.with(assist);
    }
    assert_eq!(all, Assists::ALL);
}

#[test]
fn plans_keep_to_what_is_asked_for_and_known() {
    let pairs = |pairs: &[&str], quick| -> Vec<String> {
        let size = if quick { Size::Quick } else { Size::Short };
        let chosen = corun(pairs, &[]).chosen(&pairs::all(2, size), quick).unwrap();
        chosen.into_iter().map(|pair| format!("{} {}", pair.part.name(), pair.name)).collect()
    };
    assert_eq!(pairs(&["few+loop", "applications"], false).len(), 1 + 28 + 1);
    let some = pairs(&["assists", "solo"], false);
    let number = |part| some.iter().filter(|name| name.starts_with(part)).count();
    assert_eq!((some.len(), number("assists"), number("solo")), (15, 7, 8));
    assert_eq!(pairs(&["p8+loop"], false), ["targets p8+loop"]);
    assert_eq!(pairs(&[], true).len(), QUICK.len());
    for (wrong, runtimes) in
        [("par+pigs", ""), ("par+loop", "pigs"), ("par+loop", "onetbb"), ("par+onetbb", "rayon")]
    {
        let corun = corun(&[wrong], &[runtimes].map(|it| if it.is_empty() { ABP } else { it }));
        let Err(Fault::Input(why)) = corun.plan(&course(false)) else { panic!("{wrong}") };
        assert!(why.lines().count() == 1, "{why}");
    }
    let none = Course { repeats: Some(0), ..course(false) };
    assert!(matches!(Corun::default().plan(&none), Err(Fault::Input(_))));
}
