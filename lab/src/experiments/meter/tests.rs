//! Figures of a made-up record, and plans.

use super::report::{kind_of, percent, rows};
use super::*;
use crate::experiment::record::Sample;
use crate::random::DEFAULT_SEED;

/// A fork is within its target, leaves are beyond it, and of the applications one is, one is not,
/// and one is not decided.
fn record() -> Record {
    let mut record = Record::new("meter", Plan::default());
    let mut read = |subject: &str, workers, metric: &str, values: [f64; 3]| {
        // Twice the same, since fewer than six values have no interval.
        for (repeat, value) in values.into_iter().chain(values).enumerate() {
            let [experiment, subject, runtime, metric] =
                ["meter", subject, LOCKSLEY, metric].map(str::to_owned);
            record.samples.push(Sample {
                experiment,
                subject,
                runtime,
                workers,
                repeat,
                metric,
                value,
            });
        }
    };
    let mut of = |subject: &str, workers, off: f64, ratio: f64, by: f64| {
        let ratios = [ratio, ratio - by, ratio + by];
        read(subject, workers, "ns off", [off; 3]);
        read(subject, workers, "ns on", ratios.map(|ratio| off * ratio));
        read(subject, workers, "ns more", ratios.map(|ratio| off * (ratio - 1.0)));
        read(subject, workers, "ratio", ratios);
    };
    of("fork 5", 1, 5.0, 5.0, 0.2);
    of("leaves 4x1000", 1, 1000.0, 1.08, 0.01);
    of("leaves 4x1000", 2, 1000.0, 1.07, 0.01);
    of("leaves 4x100", 2, 100.0, 1.5, 0.1);
    of("ep 1", 2, 1e6, 1.001, 0.0005);
    of("msort 10K", 2, 1e6, 1.09, 0.01);
    of("mm 64", 2, 1e6, 1.029, 0.005);
    of("regions 8", 1, 2000.0, 26.0, 1.0);
    record
}

#[test]
fn figures_are_medians_with_intervals_and_are_compared_with_targets() {
    let report = Meter::report(&record());
    assert_eq!(
        report.headline,
        "Profiled, a fork takes 20.0 ns more (met), a program with leaves of 1 µs 8.00 % longer \
         (missed), the applications 3.93 % longer (missed)"
    );
    let rows: Vec<String> = report
        .sections
        .iter()
        .flat_map(|section| &section.tables[0].rows)
        .map(|row| row.join("|"))
        .collect();
    let product: f64 = 1.001 * 1.09 * 1.029;
    assert!((percent(product.cbrt()) - 3.93).abs() < 0.005);
    let expected = [
        "fork 5, P = 1|5.00|25.0|20.0|19.0 to 21.0|60.0|met",
        "leaves 4x1000, P = 1|1.00|1.08|8.00|7.00 to 9.00|5.00|missed",
        "leaves 4x1000, P = 2|1.00|1.07|7.00|6.00 to 8.00|5.00|missed",
        "leaves 4x100, P = 2|0.10|0.15|50.00|40.00 to 60.00||",
        "ep 1, P = 2|1.00|1.00|0.10|0.05 to 0.15|3.00|met",
        "msort 10K, P = 2|1.00|1.09|9.00|8.00 to 10.00|3.00|missed",
        "mm 64, P = 2|1.00|1.03|2.90|2.40 to 3.40|3.00|not decided",
        "geometric mean of 3, P = 2|||3.93|3.43 to 4.44|3.00|missed",
        "regions 8, P = 1|2.00|52.0|50.0|48.0 to 52.0||",
    ];
    assert_eq!(rows, expected);
    // Of leaves and of applications.
    let charts: Vec<usize> = report.sections.iter().map(|section| section.charts.len()).collect();
    assert_eq!(charts, [0, 1, 1, 0]);
}

#[test]
fn a_mean_is_of_repetitions_in_which_all_applications_were_measured() {
    let mut record = record();
    record.samples.retain(|sample| sample.subject != "ep 1" || sample.repeat > 1);
    let mean = rows(&record, &KINDS[2]).pop().unwrap();
    assert_eq!(mean.name, "geometric mean of 3, P = 2");
    assert!(!mean.cost.is_bounded(), "four repetitions are too few: {:?}", mean.cost);
}

#[test]
fn plans_are_what_was_chosen() {
    let plan = |meter: &Meter, quick| {
        let course = Course { quick, json: None, out: None, seed: DEFAULT_SEED, fresh: false };
        meter.plan(&course)
    };
    let all = || Meter { kinds: Vec::new(), secs: None, repeats: None };
    let full = plan(&all(), false).unwrap();
    assert!(
        full.cells.iter().all(|cell| KINDS.iter().any(|kind| kind.name == kind_of(&cell.subject)))
    );
    let kinds = ["regions", "fork", "fork"].map(str::to_owned).to_vec();
    let (secs, repeats) = (Some(Duration::from_millis(500)), Some(1));
    let chosen = plan(&Meter { kinds, secs, repeats }, false).unwrap();
    let subjects: Vec<&str> = chosen.cells.iter().map(|cell| cell.subject.as_str()).collect();
    assert_eq!(subjects, [FORK, REGIONS]);
    assert_eq!((chosen.cells[0].repeats, chosen.limit_seconds), (1, 60.5));
    let named = |name: &str| vec![name.to_owned()];
    for wrong in [
        Meter { repeats: Some(0), ..all() },
        Meter { kinds: named("app"), ..all() },
        Meter { kinds: named(""), ..all() },
    ] {
        assert!(matches!(plan(&wrong, true), Err(Fault::Input(_))), "{wrong:?}");
    }
    // Forks on one worker; leaves of three lengths; regions. A quick run has the applications once.
    let number = |quick, processors| -> usize {
        KINDS.iter().map(|kind| cells(kind.name, quick, processors, 1).len()).sum()
    };
    let apps = apps::ALL.len();
    assert_eq!((number(true, 4), number(false, 4)), (1 + 6 + apps + 1, 1 + 6 + 2 * apps + 1));
    assert_eq!(number(false, 1), 1 + 3 + apps + 1);
}
