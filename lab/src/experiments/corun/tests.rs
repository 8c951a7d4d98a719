//! What becomes of measurements, and what plans have. That co-runs can be measured is tested from outside: they need this
//! program's own binary.

use std::path::Path;

use locksley::os::Assists;

use super::pairs::Part;
use super::plan::{ABP, BWS, Turn, WITHOUT, plan, subset};
use super::record::{LeftOut, Run};
use super::summary::Split;
use super::unit::{Job, Unit};
use super::*;
use crate::corunner::Stretch;
use crate::fault::Fault;
use crate::record::files;

const STRETCH: Stretch = Stretch {
    begun: 1_000_000_000,
    ended: 3_000_000_000,
    processor_seconds: Some(1.0),
    voluntary: Some(20),
    involuntary: Some(40),
    to_hunter: Some(30),
    external: Some(20),
};

fn run(rate: f64, seconds: &[f64]) -> Run {
    Run { rate, seconds: seconds.to_vec(), stretch: STRETCH, completed: 4 }
}

fn choice(pairs: &[&str]) -> Choice {
    let pairs = pairs.iter().map(|&name| name.to_owned()).collect();
    Choice { seed: 5, pairs, ..Choice::default() }
}

/// The rate of a program alone: a leaf of `loop` takes 10 µs; others are chosen.
fn alone(unit: &Unit) -> f64 {
    match (&unit.job, unit.runtime.as_str()) {
        (Job::Rounds(_), "loop") => 100_000.0 * unit.workers as f64,
        (Job::Rounds(round), "locksley") if round.serial == 0 => 10_000.0,
        (Job::Rounds(round), "rayon") if round.serial == 0 => 8_000.0,
        (Job::Rounds(_), _) => 5_000.0,
        (Job::App { .. }, "locksley") => 2.0,
        (Job::App { .. }, ABP) => 2.5,
        (Job::App { .. }, _) => 1.0,
    }
}

/// What becomes of programs side by side.
fn beside(units: &[Unit], repeat: usize) -> Vec<Run> {
    if units.len() == 3 {
        return [4_000.0, 2_500.0, 5_000.0].map(|rate| run(rate, &[])).to_vec();
    }
    match (&units[0].job, units[0].runtime.as_str(), units[1].runtime.as_str(), repeat) {
        (Job::Rounds(_), "locksley", "loop", 0) => vec![run(5_000.0, &[]), run(100_000.0, &[])],
        (Job::Rounds(_), "locksley", "loop", _) => vec![run(2_500.0, &[]), run(160_000.0, &[])],
        (Job::Rounds(_), "rayon", "loop", _) => vec![run(4_000.0, &[]), run(100_000.0, &[])],
        (Job::Rounds(_), ..) => vec![run(2_500.0, &[]), run(2_500.0, &[])],
        (Job::App { .. }, "locksley", ..) => vec![run(1.0, &[0.5, 1.5]), run(1.0 / 0.75, &[0.75])],
        (Job::App { .. }, ABP, ..) => vec![run(0.5, &[2.0]), run(2.0, &[0.5, 0.5])],
        (Job::App { .. }, ..) => vec![run(0.5, &[2.0]), run(0.4, &[2.5])],
    }
}

/// Two processors; some of each part; made-up rates. Everything ran twice. Only Locksley knows where its switches went.
pub(crate) fn record() -> Record {
    let names = ["par+loop", "half+half", "solo", "assists", "par+par+par", "clip+mm", "mi+mm"];
    let plan = plan(&choice(&names), 2).unwrap();
    let mut samples = Vec::new();
    for Turn { units, .. } in plan.turns() {
        for repeat in 0..2 {
            let mut runs = match &units[..] {
                [unit] => vec![run(alone(unit), &[])],
                units => beside(units, repeat),
            };
            for (unit, run) in units.iter().zip(&mut runs) {
                if !unit.runtime.starts_with("locksley") {
                    (run.stretch.to_hunter, run.stretch.external) = (None, None);
                }
            }
            samples.push(Sample { units: units.clone(), repeat, runs, disturbance: Some(0.25) });
        }
    }
    let mut common = HeaderOf::here(plan);
    common.machine.processors = 2;
    common.machine.quota = None;
    let left_out = vec![LeftOut { name: "other".to_owned(), reason: "not <here>".to_owned() }];
    record_of(Header { common, peers: Vec::new(), left_out }, "then".to_owned(), samples)
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9
}

#[test]
fn a_pair_of_rounds_is_summarized_run_by_run() {
    let summary = Summary::of(&record());
    let pair = summary.pairs.iter().find(|found| found.pair.name == "par+loop").unwrap();
    let balance = pair.on("locksley").unwrap();
    // Slowdowns 100 % and 100 %, then 300 % and 25 %.
    assert!(close(balance.unfairness, (0.0 + 2.75) / 2.0) && close(balance.worst, 2.75));
    assert!(close(balance.programs[0].slowdown, 2.0) && close(balance.programs[1].slowdown, 0.625));
    // 16 leaves of 10 µs a round: 0.8 + 1.0 processors of two, then 0.4 + 1.6.
    assert!(close(balance.useful.unwrap(), 0.95), "{balance:?}");
    // Relative to the best alone: 0.5 + 0.5, then 0.25 + 0.8.
    assert!(close(balance.throughput, 1.025) && balance.runs == 2);
    assert_eq!((balance.overlap, balance.partial_overlap()), (Some(1.0), None));
    // Rates of 5000 and 2500: a deviation of 2500/√2, a mean of 3750.
    assert!(close(balance.programs[0].variation.unwrap(), 2500.0 / 2f64.sqrt() / 3750.0));
    assert_eq!(balance.programs[0].processors, Some(0.5));
    assert_eq!(balance.programs[0].switches, Some((10.0, 20.0)), "a second");
    let split = Split { to_hunter: 15.0, external: 10.0, other: 5.0 };
    assert_eq!(balance.programs[0].split, Some(split));
    assert_eq!(balance.programs[1].split, None, "of loop nobody knows");
    let (to_hunter, external) = summary.shares_of_switches(Part::Targets, "locksley").unwrap();
    assert!(close(to_hunter, 0.5) && close(external, 1.0 / 3.0));
    assert_eq!(summary.shares_of_switches(Part::Targets, "rayon"), None);
    // Relative to its own time alone it loses half, but the baseline is the best runtime's.
    let rayon = pair.on("rayon").unwrap();
    assert!(close(rayon.unfairness, 0.0) && close(rayon.throughput, 0.4 + 0.5), "{rayon:?}");
    assert!(close(summary.most_useful.unwrap(), 1.0));
}

#[test]
fn of_three_programs_the_most_and_the_least_delayed_count() {
    let summary = Summary::of(&record());
    let three = summary.pairs.iter().find(|found| found.pair.name == "par+par+par").unwrap();
    let balance = three.on("locksley").unwrap();
    // 10,000 rounds a second alone: slowdowns of 150 %, 300 % and 100 %.
    assert!(close(balance.unfairness, 2.0) && balance.programs.len() == 3);
    assert!(close(balance.throughput, 0.4 + 0.25 + 0.5));
    // 11,500 rounds of 16 leaves of 10 µs.
    assert!(close(balance.useful.unwrap(), 0.92), "{balance:?}");
}

#[test]
fn assists_are_compared_on_the_same_pairs() {
    let summary = Summary::of(&record());
    let runtimes = summary.runtimes(Part::Assists);
    assert_eq!(runtimes, WITHOUT);
    let averages = summary.averages(summary.part(Part::Assists), &runtimes);
    assert!(averages.iter().all(|average| average.pairs == 7), "{averages:?}");
    // Only the first of them ever flips, beside `loop`.
    assert!(close(averages[0].worst, 2.75) && averages[0].useful.is_some());
    // 5,000 alone and 2,500 beside `loop`, which falls from 200,000 to 2,500: 7,800 points less 100, in four of seven pairs.
    assert!(close(averages[1].worst, 78.0) && close(averages[1].unfairness, 4.0 * 78.0 / 7.0));
}

#[test]
fn a_pair_of_applications_is_summarized_by_its_computations() {
    let summary = Summary::of(&record());
    let pair = summary.pairs.iter().find(|found| found.pair.name == "clip+mm").unwrap();
    let balance = pair.on("locksley").unwrap();
    // 0.5 s alone, 1 s and 0.75 s together.
    assert!(close(balance.programs[0].slowdown, 1.0) && close(balance.programs[1].slowdown, 0.5));
    assert!(close(balance.unfairness, 0.5) && balance.useful.is_none());
    assert_eq!(balance.overlap, None);
    // The best alone takes 0.4 s.
    assert!(close(balance.throughput, 0.4 / 1.0 + 0.4 / 0.75));
    // Twice 0.5 s and 1.5 s: squares of 4 times 0.25, over 3.
    assert!(close(balance.programs[0].variation.unwrap(), (1.0f64 / 3.0).sqrt()));
    assert_eq!(balance.programs[0].switches, Some((5.0, 10.0)), "a computation");
    let split = Split { to_hunter: 7.5, external: 5.0, other: 2.5 };
    assert_eq!(balance.programs[0].split, Some(split));
    assert!(close(pair.on(ABP).unwrap().unfairness, 4.0 - 0.25));
}

#[test]
fn averages_compare_on_the_same_pairs() {
    let summary = Summary::of(&record());
    let of = |names: &[&str]| summary.averages(summary.part(Part::Applications), names);
    let [ours, abp] = &of(&["locksley", ABP])[..] else { panic!("both were measured") };
    assert!(close(ours.unfairness, 0.5) && close(abp.unfairness, 3.75));
    assert_eq!((ours.pairs, abp.pairs), (2, 2));
    // The rivals ran on the stated pair only.
    assert_eq!(of(&["locksley", BWS])[0].pairs, 1);
    assert!(of(&["locksley", "nobody"]).is_empty());
    assert_eq!(summary.thresholds().len(), 8);
    assert!(!summary.runtimes(Part::Applications).contains(&"locksley-bws-32"));

    let variations = summary.variations("locksley");
    assert_eq!(
        variations.iter().map(|(app, _)| app.as_str()).collect::<Vec<_>>(),
        ["clip", "mi", "mm"]
    );
    let types = summary.variations_by_type("locksley");
    // Clip and mi beside mm, and mm beside them.
    assert_eq!(types.iter().map(|(kind, _)| *kind).collect::<Vec<_>>(), [2, 3]);
    assert!(close(types[0].1, (1.0f64 / 3.0).sqrt()) && close(types[1].1, 0.0), "{types:?}");
}

#[test]
fn governors_cost_what_they_take_alone() {
    let costs = Summary::of(&record()).costs();
    let of = |name: &str| costs.iter().find(|cost| cost.runtime == name).unwrap();
    let apps: Vec<&str> = of("locksley").each.iter().map(|(app, _)| app.as_str()).collect();
    assert_eq!(apps, ["bfs", "cg", "clip", "ep", "loop", "mi", "mm", "raytracer"]);
    assert_eq!(of("locksley").slow(), apps);
    assert!(of(ABP).slow().is_empty());
    assert!(close(of("locksley").mean(), 2.5 / 2.0) && close(of(ABP).mean(), 1.0));
    assert!(close(of(BWS).mean(), 2.5));
}

#[test]
fn table_and_page_speak_of_all_that_was_measured() {
    let record = record();
    let summary = Summary::of(&record);
    let text = table::text(&record, &summary);
    for words in [
        "par+loop: work for all workers; wanted: 8/20, useful 0.98",
        "half+half",
        "clip+mm",
        "without other: not <here>",
        "others used 0.25 processors",
        "SleepThreshold, averages over 1 pairs",
        "applications alone: time relative to locksley-abp",
        "slower on locksley by more than 2%: bfs, cg, clip, ep, loop, mi, mm, raytracer",
        "rounds side by side, with assists switched off",
        "assists switched off, averages over 7 pairs",
        "par+par+par: three of a kind",
        "15+10/-",
    ] {
        assert!(text.contains(words), "{words} is missing in:\n{text}");
    }
    let line = text.lines().find(|line| line.trim_start().starts_with("locksley ")).unwrap();
    assert!(
        line.contains("200%/62%") && line.contains("missed") && line.contains("0.95"),
        "{line}"
    );

    let folder = tempfile::tempdir().unwrap();
    let page = report::prepare(folder.path()).unwrap();
    report::corun::write(&page, &record, &summary).unwrap();
    let page = std::fs::read_to_string(page).unwrap();
    // Three of rounds; slowdowns and throughput of one group; switches; two of variation, of alternatives, of thresholds.
    assert_eq!(page.matches("<svg class=\"chart\"").count(), 3 + 2 + 1 + 2 + 2 + 2);
    assert!(page.contains("<td>15 + 10 + 5 / –</td>") && page.contains("locksley: 50 % and 33 %"));
    assert!(page.contains("not &lt;here&gt;") && page.contains("figure 6"), "{page}");
    // Missed: 138 instead of 8, 275 instead of 20, 0.95 instead of 0.98.
    for cell in ["wanted: 8\">138<", "wanted: 20\">275<", "wanted: 0.98\">0.95<"] {
        assert!(page.contains(&format!("<td class=\"low\" title=\"{cell}/td>")), "{cell}");
    }
    assert!(page.contains("<td title=\"wanted: 3\">0</td>"), "of half+half, reached");
    // Of both pairs: 137.5 points and 0; rayon 0 and 0.
    assert!(page.contains("differ by 69 points with Locksley, by 0 with rayon (mean of 2 pairs)"));
    let page = page.replace("http://www.w3.org/2000/svg", "");
    for elsewhere in ["http:", "https:", "src=", "href=", "url(", "#01FE", "NaN", ">inf"] {
        assert!(!page.contains(elsewhere), "the page has {elsewhere}");
    }
}

#[test]
fn programs_that_were_not_side_by_side_all_the_time_are_named() {
    let mut record = record();
    let sample = record.samples.iter_mut().find(|sample| sample.units.len() == 2).unwrap();
    // Of two seconds, the last one alone.
    sample.runs[1].stretch.ended = 2_000_000_000;
    let summary = Summary::of(&record);
    let balance = summary.pairs[0].on("locksley").unwrap();
    assert_eq!(balance.partial_overlap(), Some(0.5));
    assert!(table::text(&record, &summary).contains("overlap only 0.50"));
}

#[test]
fn a_record_with_nothing_measured_makes_a_page() {
    let mut record = record();
    record.samples.clear();
    let summary = Summary::of(&record);
    let folder = tempfile::tempdir().unwrap();
    let page = report::prepare(folder.path()).unwrap();
    report::corun::write(&page, &record, &summary).unwrap();
    assert!(std::fs::read_to_string(page).unwrap().contains("<h1>Programs side by side</h1>"));
    assert!(!table::text(&record, &summary).contains("par+loop:"));
}

#[test]
fn a_record_is_read_as_it_was_written_and_a_spoilt_one_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("record.json");
    let mut record = record();
    files::write(&path, &record).unwrap();
    assert_eq!(files::read::<Record>(&path).unwrap(), record);
    record.samples[0].runs[0].rate = 0.0;
    files::write(&path, &record).unwrap();
    assert!(files::read::<Record>(&path).is_err());
    record.samples[0].runs.clear();
    files::write(&path, &record).unwrap();
    assert!(files::read::<Record>(&path).is_err());
}

/// The time that a plan takes in so many rotations, in seconds: with what it takes to start processes, and applications
/// to be prepared.
fn time(plan: &Plan, rotations: usize) -> f64 {
    let time = |turn: Turn| {
        let each = match (turn.units[0].job.round(), turn.units.len()) {
            (None, _) => plan.application_seconds + 1.0,
            (Some(_), 1) => plan.solo_seconds + 0.1,
            (Some(_), _) => plan.seconds + 0.1,
        };
        turn.repeats.min(rotations) as f64 * each
    };
    plan.turns().into_iter().map(time).sum()
}

#[test]
fn a_full_plan_has_all_pairs_and_fits_fifty_minutes() {
    let full = plan(&Choice::default(), 2).unwrap();
    let number = |part| full.part(part).count();
    assert_eq!(Part::ALL.map(number), [9, 8, 7, 10, 28]);
    let turns = full.turns();
    for (place, turn) in turns.iter().enumerate() {
        assert!(!turns[..place].iter().any(|other| other.units == turn.units), "{turn:?} twice");
        for unit in &turn.units {
            assert!(turns.iter().any(|other| other.units == [unit.clone()]), "{unit} never alone");
            if let Some(round) = unit.job.round() {
                round.validate().unwrap();
            }
        }
    }
    let co_runs = |part| -> usize { full.part(part).map(|pair| pair.runtimes.len()).sum() };
    assert_eq!(co_runs(Part::Targets), 4 * 7 + 5 * 5);
    assert_eq!([co_runs(Part::Solo), co_runs(Part::Assists)], [8 * 9, 7 * 9]);
    // All pairs on two; the stated ones on rayon, on six rivals and with eight thresholds.
    assert_eq!(co_runs(Part::Applications), 28 * 2 + 6 * (1 + 6 + 8));
    assert!(time(&full, usize::MAX) < full.budget_seconds, "{}", time(&full, usize::MAX));
    // Nothing is begun after that, and what was begun takes some seconds.
    assert!(full.budget_seconds < 50.0 * 60.0 - 60.0);
}

#[test]
fn targets_come_first_and_rivals_last() {
    let turns = plan(&Choice::default(), 2).unwrap().turns();
    let place = |units: &[&str]| {
        let is_it = |turn: &Turn| turn.units.iter().map(Unit::to_string).eq(units.iter().copied());
        turns.iter().position(is_it).unwrap()
    };
    let app = |name: &str, on: &str| {
        let found = turns.iter().flat_map(|turn| &turn.units);
        let mut found = found.filter(|unit| unit.runtime == on).map(Unit::to_string);
        found.find(|unit| unit.starts_with(name)).unwrap()
    };
    let bfs = app("bfs ", "locksley");
    let order = [
        place(&["loop with 1"]),
        place(&["rounds 5000,16,0 on locksley with 2", "loop with 2"]),
        place(&["rounds 5000,16,0 on locksley-abp with 2", "loop with 2"]),
        place(&[&bfs]),
        place(&["rounds 5000,16,0 on locksley-no-moves with 2", "loop with 2"]),
        place(&["rounds 500,32,0 on locksley with 2", "loop with 2"]),
        place(&[&bfs, &app("raytracer ", "locksley")]),
        place(&[&app("bfs ", "rayon"), &app("mm ", "rayon")]),
        place(&[&app("bfs ", "locksley-bws-4096"), &app("mm ", "locksley-bws-4096")]),
    ];
    assert!(order.is_sorted(), "{order:?}");
}

#[test]
fn all_assists_are_switched_off_one_by_one() {
    let named = WITHOUT.iter().filter_map(|name| name.strip_prefix("locksley-no-"));
    let mut all = Assists::NONE;
    for name in named.filter(|name| *name != "assists") {
        let assist: Assists = name.parse().unwrap();
        assert!(!all.has(assist), "{name}");
        all = all.with(assist);
    }
    assert_eq!(all, Assists::ALL);
}

#[test]
fn a_quick_plan_says_what_it_measures() {
    let quick = plan(&Choice { quick: true, ..Choice::default() }, 2).unwrap();
    let pairs =
        "par+loop, half+loop, p8+loop, half+half, p8+loop without assists, par+half+loop, mi+mm";
    assert!(subset(&quick).contains(&format!("{pairs} only")), "{}", subset(&quick));
    assert!(time(&quick, 1) < 40.0, "{}", time(&quick, 1));
    assert!(quick.budget_seconds < 55.0);
}

#[test]
fn plans_keep_to_what_is_asked_for_and_known() {
    let some = plan(&choice(&["few+loop", "applications"]), 4).unwrap();
    assert_eq!(Part::ALL.map(|part| some.part(part).count()), [1, 0, 0, 0, 28]);
    let some = plan(&choice(&["assists", "solo"]), 4).unwrap();
    assert_eq!(Part::ALL.map(|part| some.part(part).count()), [0, 8, 7, 0, 0]);
    for wrong in [choice(&["par+pigs"]), Choice { repeats: Some(0), ..Choice::default() }] {
        assert!(matches!(plan(&wrong, 2), Err(Fault::Input(_))), "{wrong:?}");
    }
}

#[test]
fn what_is_missing_is_named_unless_it_was_asked_for() {
    let programs = Programs::find(Path::new("locksley"), Path::new("no/such/folder"));
    assert!(programs.peers().is_empty());
    let choice = choice(&["targets"]);
    let full = Choice { pairs: Vec::new(), ..choice.clone() };
    let mut all = plan(&full, 2).unwrap();
    let left_out = all.keep_what_is_there(&programs, &full).unwrap();
    assert!(
        left_out.iter().any(|found| found.name == "onetbb" && found.reason.contains("peers/build"))
    );
    assert!(all.pairs.iter().all(|pair| !pair.runtimes.contains(&"onetbb".to_owned())));
    assert!(!all.pairs.iter().any(|pair| pair.name == "par+onetbb"), "it cannot be measured");
    assert!(all.pairs.iter().any(|pair| pair.name == "par+rayon"));

    for runtime in ["onetbb", "pigs"] {
        let named = Choice { runtimes: vec![runtime.to_owned()], ..full.clone() };
        let fault = plan(&named, 2).unwrap().keep_what_is_there(&programs, &named).unwrap_err();
        assert!(matches!(&fault, Fault::Input(why) if why.contains(runtime)), "{fault}");
    }
    let named = Choice { pairs: vec!["par+onetbb".to_owned()], ..full };
    assert!(plan(&named, 2).unwrap().keep_what_is_there(&programs, &named).is_err());
}
