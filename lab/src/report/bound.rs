//! What the pages of experiments that measure Hood's bound have in common.

use super::page::escape;
use super::points::{Group, Points};
use crate::experiments::bound::{Bound, Computation, KNARY, Point, fit, words};

/// The curves of the papers' figures.
const CURVES: [(f64, f64); 2] = [(1.0, 1.0), (1.1, 2.0)];

/// What there is to be seen.
pub(super) const UTILIZATION: &str = "Utilization over the normalized number of processes";

/// How the constants are found, as an item of a list.
pub(super) const METHOD: &str = "<li>The constants are fitted to 1 = c1·U + c∞·x·U by least squares: the errors are those of the predicted time, relative to the \
measured one. The intervals are those of the jackknife over inputs.</li>";

/// The first sections of a page: the points, of which `pa` says what PA is, and the constants.
pub(super) fn sections(bound: &Bound, pa: &str) -> String {
    let (charts, constants) = (charts(bound), constants(bound));
    format!(
        "<section>
<h2>{UTILIZATION}</h2>
<p>T1/(PA·TP) over P/(T1/T∞): how well the processors are used, over the number of workers as a multiple of the parallelism. {pa} The dashed lines are the \
model with (c1, c∞) = (1, 1), above, and (1.1, 2), below; the full one is the model with the constants fitted to all points.</p>
<div class=\"gallery\">
{charts}</div>
</section>
<section>
<h2>The constants</h2>
<ul>
{constants}</ul>
</section>"
    )
}

/// Of `knary`, and of the other applications.
fn charts(bound: &Bound) -> String {
    let chart = |title: &str, is_wanted: fn(&str) -> bool| {
        let svg = points(title, bound, is_wanted).svg();
        format!("<figure>\n<figcaption><b>{}</b></figcaption>\n{svg}</figure>\n", escape(title))
    };
    chart(KNARY, |app| app == KNARY) + &chart("the other applications", |app| app != KNARY)
}

/// The constants and the envelope, as items of a list.
fn constants(bound: &Bound) -> String {
    let item = |sentence: &String| format!("<li>{}.</li>\n", escape(sentence));
    words::sentences(bound).iter().map(item).collect()
}

/// How long programs take, in words; `None` where no constants were found.
pub(super) fn finding(bound: &Bound) -> Option<String> {
    let fit = bound.fit()?;
    let workers = bound.telling().map(|(_, point)| point.workers).max()?;
    Some(format!(
        "On up to {workers} workers programs take {:.2}·T1/PA + {:.2}·T∞·P/PA, give or take {:.0}%",
        fit.c1,
        fit.c_inf,
        100.0 * fit.mean_error
    ))
}

/// The parallelism, or that it may be less.
pub(super) fn parallelism(computation: &Computation) -> String {
    let mark = if computation.is_whole { "" } else { " at most" };
    format!("{:.1}{mark}", computation.parallelism())
}

fn points(title: &str, bound: &Bound, is_wanted: fn(&str) -> bool) -> Points {
    let curve = |c1: f64, c_inf: f64| -> Box<dyn Fn(f64) -> f64> {
        Box::new(move |x| fit::utilization(c1, c_inf, x))
    };
    let at = |point: &Point| (point.normalized, point.utilization);
    let wanted = bound.computations.iter().filter(|computation| is_wanted(&computation.app));
    let groups = wanted.map(|computation| Group {
        title: computation.name(),
        points: computation.points.iter().map(at).collect(),
    });
    Points {
        title: format!("utilization of {title} over the normalized number of processes"),
        across: "P/(T1/T∞)",
        unit: "utilization",
        dashed: CURVES.into_iter().map(|(c1, c_inf)| curve(c1, c_inf)).collect(),
        full: bound.fit().map(|fit| curve(fit.c1, fit.c_inf)),
        groups: groups.collect(),
    }
}
