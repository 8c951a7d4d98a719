//! The page of `corun`: figures 2 to 6 of the paper, and the pairs of rounds.

mod alone;
mod alternatives;
mod applications;
mod assists;
mod averages;
mod charts;
mod pairs;
mod rounds;
mod switches;
mod thresholds;
mod variation;

use std::path::Path;

use super::page::{document, escape};
use super::tables;
use crate::experiments::corun::pairs::Part;
use crate::experiments::corun::plan::{self, ABP};
use crate::experiments::corun::record::Record;
use crate::experiments::corun::summary::Summary;
use crate::fault::Outcome;
use crate::record::files;
use alone::alone;
use applications::applications;
use assists::assists;
use rounds::rounds;

/// Writes the page.
pub fn write(page: &Path, record: &Record, summary: &Summary) -> Outcome<()> {
    files::replace(page, &html(record, summary))
}

/// The page of `record`.
pub(super) fn html(record: &Record, summary: &Summary) -> String {
    let common = &record.header.common;
    let processors = common.machine.capacity();
    let headline = escape(&headline(summary));
    let notes = notes(record, summary);
    let (rounds, others) = (rounds(summary, Part::Targets), rounds(summary, Part::Others));
    let (assists, applications, alone) = (assists(summary), applications(summary), alone(summary));
    let (circumstances, method) = (circumstances(record), method(record));
    let body = format!(
        "<header>
<p class=\"kicker\">Locksley · programs side by side · {processors} processors</p>
<h1>{headline}</h1>
<p class=\"note\">Slowdown is Tc/Ts − 1: how much longer a program takes beside another one than alone. Unfairness is the \
difference of the slowdowns, in percentage points; of three programs, the largest slowdown minus the smallest. Throughput is the weighted speedup, the sum of Tb/Tc, where Tb is the best \
time alone on any runtime: 1 is what the programs reach one after the other.</p>
{notes}
</header>
{rounds}
{alone}
{assists}
{others}
{applications}
<section>
<h2>Machine and method</h2>
{circumstances}
{method}
</section>"
    );
    document("Locksley: programs side by side", &body)
}

/// The finding, computed: over the pairs of the target table, or else over applications, ours and the other's mean.
fn headline(summary: &Summary) -> String {
    for (part, other) in [(Part::Targets, "rayon"), (Part::Applications, ABP)] {
        let averages = summary.averages(summary.part(part), &["locksley", other]);
        if let [ours, theirs] = &averages[..] {
            return format!(
                "Side by side, the slowdowns of two programs differ by {:.0} points with Locksley, by {:.0} with {other} (mean \
                 of {} pairs)",
                100.0 * ours.unfairness,
                100.0 * theirs.unfairness,
                ours.pairs
            );
        }
    }
    "Programs side by side".to_owned()
}

fn notes(record: &Record, summary: &Summary) -> String {
    let mut notes = String::new();
    let plan = &record.header.common.plan;
    if plan.quick {
        notes += &format!("<p class=\"note\">{}.</p>\n", escape(&plan::subset(plan)));
    }
    for missing in &record.header.left_out {
        let (name, reason) = (escape(&missing.name), escape(&missing.reason));
        notes += &format!("<p class=\"note\">Not measured: {name}: {reason}.</p>\n");
    }
    if let Some(taken) = summary.disturbance {
        notes += &format!(
            "<p class=\"warning\">Others used {taken:.2} processors meanwhile. All figures suffer from that; measure again when \
             the machine is quiet.</p>\n"
        );
    }
    notes
}

fn circumstances(record: &Record) -> String {
    let common = &record.header.common;
    let versions = &common.versions;
    let peers: Vec<String> = record
        .header
        .peers
        .iter()
        .map(|peer| format!("{}: {} ({})", peer.runtime, peer.version, peer.build))
        .collect();
    let of_ours =
        format!("Locksley {}, rayon {}, {}", versions.locksley, versions.rayon, versions.rustc);
    tables::facts(
        &common.machine,
        &[
            ("measured", format!("{} to {}", record.started, record.finished)),
            ("versions", of_ours),
            ("peers", if peers.is_empty() { "none".to_owned() } else { peers.join("; ") }),
            ("build", versions.build.clone()),
            ("seed", common.plan.seed.to_string()),
        ],
    )
}

fn method(record: &Record) -> String {
    let plan = &record.header.common.plan;
    format!(
        "<h3>How it was measured</h3>
<ul>
<li>Every program is a process of its own, at normal priority, with nobody's settings for its runtime. Each prepares itself, \
says that it is ready, and begins when all are.</li>
<li>Rounds are repeated for {} s side by side, {} s alone. Runtimes take turns, in rotations through everything; some rivals have half as many. Slowdowns are \
relative to the median alone in the same run, of the same runtime; unfairness is that of each run, of which mean and worst are \
given.</li>
<li>Applications compute at least {} times each, and for at least {} s, side by side. They are prepared once; what only resets \
their input is not part of the times. All answers are checked.</li>
<li>Useful: leaves completed, times the time of a leaf on one busy thread alone, over the time of all processors. It can exceed 1 \
by the noise of that time.</li>
<li>Processor time and context switches are those of the threads that were there all the time, from the start to the end of the \
co-run, by the process's own account. A yield is a switch that the kernel calls involuntary.</li>
<li>Locksley's workers have records of their switches, where the kernel lets them. A switch is one <i>to a hunter</i> if it ended by \
giving a processor to a worker that looked for work: one that woke up, or had yielded, or had lost its processor meanwhile. It is \
<i>external</i> if it took the processor from a worker with work, or if a hunter yielded and no other worker that was awake had \
last been on that processor. <i>Other</i> ones are those of threads that are no workers. The paper looks into the kernel to see who came \
next; here, a worker with work that lost its processor to a peer counts as one that lost it to another program. Programs on other \
runtimes, and without these records, have no such figures: –.</li>
</ul>",
        plan.seconds, plan.solo_seconds, plan.computations, plan.application_seconds
    )
}
