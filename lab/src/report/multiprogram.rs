//! The page of `multiprogram`: utilization over the normalized number of processes beside cyclers, the constants, and PA measured in two ways.

use std::fmt::Write;
use std::path::Path;

use super::bound::{self, METHOD};
use super::circumstances::Circumstances;
use super::missing;
use super::page::{disturbance, document, escape, extent};
use super::points::{Group, Points};
use crate::experiments::bound::Point;
use crate::experiments::cliff::table::seconds;
use crate::experiments::multiprogram::record::Record;
use crate::experiments::multiprogram::summary::{Check, Granted, Summary};
use crate::experiments::multiprogram::{plan, table};
use crate::fault::Outcome;
use crate::record::files;

/// Writes the page.
pub fn write(page: &Path, record: &Record, summary: &Summary) -> Outcome<()> {
    files::replace(page, &html(record, summary))
}

fn html(record: &Record, summary: &Summary) -> String {
    let header = &record.header;
    let (processors, repeats, time) = (summary.capacity, header.plan.repeats, header.plan.seconds);
    let headline = match bound::finding(&summary.bound) {
        Some(finding) => escape(&format!("{finding}, beside programs that take processors away")),
        None => "Utilization beside programs that take processors away".to_owned(),
    };
    let extent = extent(header.plan.quick.then(|| plan::subset(&header.plan)));
    let disturbance = disturbance(summary.taken);
    let missing = missing::html(&record.missing);
    let sections = bound::sections(&summary.bound, "PA is what the meter measured.");
    let (granted, checks) = (granted(summary), checks(summary));
    let inputs = inputs(record, summary);
    let rate = summary.rate.map_or("no calibration succeeded".to_owned(), |rate| {
        format!("the median of all calibrations, {rate:.0} increments in a second, is what one processor makes")
    });
    let circumstances = Circumstances::of(record, header.plan.seed).table();
    let body = format!(
        "<header>
<p class=\"kicker\">Locksley · the model beside other programs · {processors} processors</p>
<h1>{headline}</h1>
<p class=\"note\">Figures 3 and 5 of Hood's papers (1998): T = c1·T1/PA + c∞·T∞·P/PA, while <code>cycler(p, w, W)</code> takes a random number of \
processors again and again.</p>
{extent}
{disturbance}{missing}</header>
{sections}
<section>
<h2>PA, measured in two ways</h2>
<p>By the meter: the processors less what all others took, as the system has it. By the papers' method: the processors less PA(cycler), which is what the \
cycler counted in a second, by what it counts in a second on a processor of its own. The meter sees all others, the system's own threads among them, but in ticks of some \
milliseconds; the cycler's count knows of no others, and takes it that an increment always takes as long as when it was alone. On the dashed line they agree.</p>
<div class=\"gallery\">
{granted}</div>
{checks}
</section>
<section>
<h2>In figures</h2>
<p>T1 is the time with one worker that is alone, T∞ the critical path as the meter has it there, both in seconds. Then the utilization for each P beside each \
cycler, and PA in brackets.</p>
{inputs}
</section>
<section>
<h2>Machine and method</h2>
{circumstances}
<h3>How it was measured</h3>
<ul>
<li>In up to {repeats} rotations through everything, each measurement by a process of its own. A program computes once for its caches, and then again and again for {time} s, \
or once if that takes longer. Every answer is checked.</li>
<li>cycler(p, w): p workers park. A random number of them, from 1 to p, is released, and counts, each a random number of times from 1 to w, with an \
empty loop of fixed length before each time; then the same again. It is another process. In each rotation all programs meet the same sequence of \
releases.</li>
<li>T1 and T∞ are medians of a program that is alone. TP and PA are averages over all repetitions.</li>
<li>In each rotation a cycler with one worker is calibrated, alone: {rate}.</li>
<li>What a program leaves unused counts as granted, since it could have had it.</li>
{METHOD}
</ul>
</section>"
    );
    document("Locksley: the model beside other programs", &body)
}

/// PA by the one method over PA by the other.
fn granted(summary: &Summary) -> String {
    let at = |run: &Granted| (run.by_meter, run.by_cycler);
    let group = |check: &Check| Group {
        title: check.beside.to_string(),
        points: check.runs.iter().map(at).collect(),
    };
    let svg = Points {
        title: "PA by the papers' method over PA by the meter".to_owned(),
        across: "PA by the meter",
        unit: "PA by the papers' method",
        dashed: vec![Box::new(|processors| processors)],
        full: None,
        groups: summary.checks.iter().map(group).collect(),
    }
    .svg();
    format!("<figure>\n<figcaption><b>PA</b></figcaption>\n{svg}</figure>\n")
}

fn checks(summary: &Summary) -> String {
    let sentence = |sentence: &String| format!("<li>{}.</li>\n", escape(sentence));
    let sentences: String = table::granted(summary).iter().map(sentence).collect();
    format!("<ul>\n{sentences}</ul>")
}

fn inputs(record: &Record, summary: &Summary) -> String {
    let plan = &record.header.plan;
    let head: String = plan.workers.iter().map(|workers| format!("<th>{workers}</th>")).collect();
    let mut rows = String::new();
    for computation in &summary.bound.computations {
        for (index, beside) in plan.cyclers.iter().enumerate() {
            let cell = |&workers: &usize| match computation.at(workers, Some(*beside)) {
                Some(Point { normalized, utilization, processors, .. }) => format!(
                    "<td title=\"at {normalized:.3}\">{utilization:.2} ({processors:.2})</td>"
                ),
                None => "<td></td>".to_owned(),
            };
            let cells: String = plan.workers.iter().map(cell).collect();
            let first = match index {
                0 => format!(
                    "<th>{}</th><td>{}</td><td>{}</td><td>{}</td>",
                    escape(&computation.name()),
                    seconds(computation.work),
                    seconds(computation.critical_path),
                    bound::parallelism(computation)
                ),
                _ => "<th></th><td></td><td></td><td></td>".to_owned(),
            };
            // Writing to a string does not fail.
            let _ = writeln!(
                rows,
                "<tr{}>{first}<th>{beside}</th>{cells}</tr>",
                if index == 0 { " class=\"first\"" } else { "" }
            );
        }
    }
    format!(
        "<table class=\"numbers\">\n<tr><th>input</th><th>T1</th><th>T∞</th><th>T1/T∞</th><th>beside, P =</th>{head}</tr>\n{rows}</table>"
    )
}
