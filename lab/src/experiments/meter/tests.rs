//! Figures of a made-up record, and plans.

use super::*;
use crate::experiment::record::Sample;
use crate::random::DEFAULT_SEED;

#[test]
fn costs_are_differences_or_ratios_and_the_mean_is_geometric() {
    let mut record = Record::new("meter", Plan::default());
    let mut read = |subject: &str, more: f64, ratio: f64| {
        for (metric, value) in [(NANOS_MORE, more), (RATIO, ratio)] {
            record.samples.push(Sample {
                experiment: "meter".to_owned(),
                subject: subject.to_owned(),
                runtime: LOCKSLEY.to_owned(),
                workers: 1,
                repeat: 0,
                metric: metric.to_owned(),
                value,
            });
        }
    };
    read("fork 5", 20.0, 5.0);
    read("leaves 4x1000", 80.0, 1.25);
    read("ep 1", 1e6, 1.21);
    read("msort 10K", 1e6, 1.0);
    read("regions 8", 50.0, 26.0);
    let report = Meter::report(&record);
    assert_eq!(report.headline, "Profiled, applications take 1.100 of the time");
    let rows = report.sections.iter().map(|section| {
        let rows = section.tables[0].rows.iter();
        rows.map(|row| format!("{} {}", row[0], row[2])).collect::<Vec<_>>().join("; ")
    });
    let expected = [
        "fork 5, P = 1 20.0",
        "leaves 4x1000, P = 1 1.25",
        "ep 1, P = 1 1.21; msort 10K, P = 1 1.00",
        "regions 8, P = 1 50.0",
    ];
    assert_eq!(rows.collect::<Vec<_>>(), expected);
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
