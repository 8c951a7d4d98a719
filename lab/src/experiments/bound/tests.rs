//! Points, the envelope and what is said of them.

use super::*;

pub(crate) const METERED: Metered =
    Metered { work: 8.0, critical_path: 1.0, burdened_critical_path: 1.0, forks: 3, uncarried: 0 };

/// T1 = 8, T∞ = 1, and points whose times are `times` those of the model with (1, 2) on two processors.
fn computation(app: &str, times: &[(usize, Option<Beside>, f64)]) -> Computation {
    let mut computation = Computation::of(app, "1", vec![8.0, 7.0, 90.0], &[METERED; 3]).unwrap();
    let point = |&(workers, beside, factor): &(usize, Option<Beside>, f64)| {
        let seconds = (8.0 + 2.0 * workers as f64) / 2.0 * factor;
        computation.point(workers, beside, 2.0, seconds)
    };
    let points = times.iter().map(point).collect();
    computation.points = points;
    computation
}

const CYCLER: Beside = Beside { workers: 2, most: 100 };

#[test]
fn points_are_normalized_by_what_the_meter_has() {
    // Metering doubles work and path, and leaves their ratio as it is.
    let doubled = Metered { work: 16.0, critical_path: 2.0, ..METERED };
    let computation = Computation::of("knary", "1", vec![8.0], &[doubled]).unwrap();
    assert_eq!((computation.work, computation.metered, computation.parallelism()), (8.0, 2.0, 8.0));
    let point = computation.point(4, Some(CYCLER), 0.5, 20.0);
    assert_eq!((point.normalized, point.utilization), (0.5, 0.8));
    assert!(Computation::of("knary", "1", Vec::new(), &[METERED]).is_none());
    assert!(Computation::of("knary", "1", vec![8.0], &[]).is_none());
}

#[test]
fn one_worker_tells_something_only_beside_another() {
    let one = [(1, None, 1.0), (1, Some(CYCLER), 1.0), (2, None, 1.0)];
    let mut computation = computation("knary", &one);
    assert_eq!(computation.telling().count(), 2);
    computation.is_whole = false;
    assert_eq!(computation.telling().count(), 0, "a part of the path may be missing");
}

#[test]
fn the_envelope_is_the_curve_under_which_no_point_lies() {
    let beside = Some(CYCLER);
    let points = [(2, None, 1.0), (4, None, 1.2), (16, beside, 1.5), (64, beside, 1.0)];
    let bound =
        Bound::of(vec![computation("heat", &[(2, None, 1.0)]), computation("knary", &points)]);
    let envelope = bound.envelope();
    assert_eq!((envelope.points, envelope.under.len()), (5, 2));
    // 1/U is 1.2 (1 + 2/2) = 2.4 at x = 1/2, and 1.5 (1 + 4) = 7.5 at x = 2.
    assert!((envelope.c1 - 3.5).abs() < 1e-9, "{envelope:?}");
    assert!((envelope.c_inf - 6.45 / 2.0).abs() < 1e-9, "{envelope:?}");
    let (farthest, point) = envelope.farthest().unwrap();
    assert_eq!((farthest.app.as_str(), point.workers), ("knary", 16));
    for (c1, c_inf) in [(envelope.c1, TARGET.1), (TARGET.0, envelope.c_inf)] {
        let is_on_or_above = |(_, point): (&Computation, Point)| {
            point.utilization >= fit::utilization(c1, c_inf, point.normalized) - 1e-12
        };
        assert!(bound.telling().all(is_on_or_above), "({c1}, {c_inf})");
    }
    let said = words::sentences(&bound).join("\n");
    for sentence in [
        "(1.05, 2) is no lower envelope: 2 of 5 points lie under its curve; one would be (3.50, 2), or (1.05, 3.2",
        "under it: knary 1 with P = 4; P = 16 beside cycler(2, 100)",
        "the farthest is knary 1 with P = 16 beside cycler(2, 100): utilization 0.13 at 2.000",
    ] {
        assert!(said.contains(sentence), "{sentence} is missing in {said}");
    }
}

#[test]
fn an_envelope_that_holds_is_said_to_hold() {
    let bound =
        Bound::of(vec![computation("mm", &[(2, None, 1.0), (4, None, 1.0), (16, None, 0.9)])]);
    let said = words::sentences(&bound).join("\n");
    assert!(said.contains("(1.05, 2) is a lower envelope: none of 3 points lies under"), "{said}");
    assert!(said.contains("knary: too few points for constants"), "{said}");
    let (c1, c_inf) = (bound.fit().unwrap().c1, bound.fit().unwrap().c_inf);
    assert!((0.9..1.1).contains(&c1) && (1.5..2.1).contains(&c_inf), "{c1}, {c_inf}");
    let empty = Bound::of(Vec::new());
    assert_eq!((empty.envelope().points, words::sentences(&empty).len()), (0, 3));
}

#[test]
fn plans_have_numbers_that_somebody_can_have_and_inputs_that_there_are() {
    assert_eq!(plan::numbers(vec![64, 2, 5000, 4, 2]), [2, 4, 64]);
    let inputs = plan::inputs([("mm", &["64", "128"][..])]).unwrap();
    assert_eq!(inputs.len(), 2);
    assert!(plan::inputs([("mm", &["65"][..])]).is_err());
    assert!(plan::inputs([("nbody", &["1"][..])]).is_err());
}
