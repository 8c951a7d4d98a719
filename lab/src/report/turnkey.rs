//! The page of `turnkey`.

use std::path::Path;

use super::bars;
use super::circumstances::Circumstances;
use super::missing;
use super::page::{document, escape};
use crate::experiments::turnkey::once::{Setting, TURNKEY};
use crate::experiments::turnkey::plan;
use crate::experiments::turnkey::record::Record;
use crate::experiments::turnkey::summary::{AppSummary, QuotaSummary, Summary};
use crate::experiments::turnkey::table::{groups, name, readings, setting};
use crate::experiments::wait::table::number;
use crate::fault::Outcome;
use crate::record::files;

/// The target: no more than this over the best number that somebody could have chosen.
const TARGET: f64 = 1.03;
/// What is of fewer readings is no finding.
const ENOUGH: usize = 3;

/// Writes the page.
pub fn write(page: &Path, record: &Record, summary: &Summary) -> Outcome<()> {
    files::replace(page, &html(record, summary))
}

/// The page of `record`.
pub(super) fn html(record: &Record, summary: &Summary) -> String {
    let header = &record.header;
    let processors = header.machine.capacity();
    let headline = escape(&headline(summary));
    let extent = if header.plan.quick {
        format!("<p class=\"note\">{}.</p>", escape(&plan::subset(&header.plan)))
    } else {
        String::new()
    };
    let missing = missing::html(&record.missing);
    let apps: String =
        summary.settings().into_iter().map(|its| apps(record, summary, its)).collect();
    let (phases, quotas, moved) = (phases(summary), quotas(record, summary), moved(summary));
    let circumstances = Circumstances {
        machine: &header.machine,
        versions: &header.versions,
        started: &record.started,
        finished: &record.finished,
        seed: header.plan.seed,
    }
    .table();
    let method = method(record, summary);
    let body = format!(
        "<header>
<p class=\"kicker\">Locksley · nobody chooses the number of workers · {processors} processors</p>
<h1>{headline}</h1>
{extent}
{missing}</header>
{apps}{phases}{quotas}{moved}
<section>
<h2>Machine and method</h2>
{circumstances}
{method}
</section>"
    );
    document("Locksley: nobody chooses the number of workers", &body)
}

/// The finding, computed.
fn headline(summary: &Summary) -> String {
    let worst = |its| {
        let (app, ratio) = summary.worst(its, ENOUGH)?;
        Some(format!("{:.1} % {} ({})", (ratio - 1.0) * 100.0, setting(its), app.app))
    };
    let mut parts: Vec<String> = summary.settings().into_iter().filter_map(worst).collect();
    let Some(last) = parts.pop() else {
        return "Nobody chooses the number of workers".to_owned();
    };
    let first = if parts.is_empty() { String::new() } else { parts.join(", ") + ", and " };
    format!(
        "A pool to which nobody says how many workers to have takes at most {first}{last} more than with the best number"
    )
}

fn apps(record: &Record, summary: &Summary, its: Setting) -> String {
    let apps: Vec<&AppSummary> = summary.apps.iter().filter(|app| app.setting == its).collect();
    let title = escape(&setting(its));
    let about = match its {
        Setting::Alone => "Nobody else wants the machine.",
        Setting::Beside => {
            "Another process takes processors away, a random number of them for a random time (cycler(p, w, W) of the Hood papers)."
        }
        Setting::Under(_) => {
            "In a control group that may use so much of a processor. Below the times: the part of the kernel's periods in which the quota was \
             used up, and how many processors that kept from running, on average."
        }
    };
    let ratios: Vec<(String, f64)> = apps
        .iter()
        .filter_map(|app| Some((format!("locksley {}", app.app), app.ratio()?)))
        .collect();
    let within = ratios.iter().filter(|(_, ratio)| *ratio <= TARGET).count();
    let bars = bars::with_figures("turnkey over the best chosen number", &ratios, |ratio| {
        format!("{ratio:.3}")
    });
    let heads: String =
        record.header.plan.workers.iter().map(|&p| format!("<th>{}</th>", name(p))).collect();
    let rows: String = apps.iter().map(|app| app_row(&record.header.plan.workers, app)).collect();
    let is_under = matches!(its, Setting::Under(_));
    let equals = if is_under { "<th>over their mean</th>" } else { "" };
    format!(
        "<section>\n<h2>Applications {title}</h2>\n<p>{about} Milliseconds, medians. {within} of {} are within 3 % of the best chosen number.</p>\n\
         <figure>\n<figcaption><b>Turnkey over the best chosen number</b> <span>1 is as good</span></figcaption>\n{bars}</figure>\n\
         <table class=\"numbers\">\n<tr><th>application</th><th>{}</th>{heads}<th>over the best</th>{equals}</tr>\n{rows}</table>\n</section>\n",
        ratios.len(),
        name(TURNKEY)
    )
}

fn app_row(workers: &[usize], app: &AppSummary) -> String {
    let cell = |times: Option<crate::experiments::cliff::summary::Times>| match times {
        Some(times) => format!(
            "<td title=\"{} times, {} to {}\">{}</td>",
            times.number,
            number(times.least * 1e3),
            number(times.most * 1e3),
            number(times.median * 1e3)
        ),
        None => "<td></td>".to_owned(),
    };
    let fixed: String = workers
        .iter()
        .map(|workers| cell(app.fixed.iter().find(|(p, _)| p == workers).map(|found| found.1)))
        .collect();
    let ratio = app.ratio().map_or(String::new(), |ratio| format!("{ratio:.3}"));
    let equals = app.over_equals().map_or(String::new(), |it| format!("<td>{it:.3}</td>"));
    format!(
        "<tr><th>{} {}</th>{}{fixed}<td>{ratio}</td>{equals}</tr>\n{}",
        escape(&app.app),
        escape(&app.size),
        cell(app.turnkey),
        stops(workers, app)
    )
}

/// How the quota was kept, under the times to which that belongs.
fn stops(workers: &[usize], app: &AppSummary) -> String {
    if app.throttling.is_empty() {
        return String::new();
    }
    let cell = |workers: usize| {
        let found = app.throttling.iter().find(|(p, _)| *p == workers);
        let text = found.map_or(String::new(), |(_, kept)| {
            format!("{:.0} % ({:.3})", kept.share_of_periods * 100.0, kept.stopped)
        });
        format!("<td>{text}</td>")
    };
    let numbers = std::iter::once(TURNKEY).chain(workers.iter().copied());
    format!("<tr><td></td>{}<td></td><td></td></tr>\n", numbers.map(cell).collect::<String>())
}

fn phases(summary: &Summary) -> String {
    let Some((_, first)) = summary.phases.first() else { return String::new() };
    let heads: String = first
        .iter()
        .map(|phase| {
            format!(
                "<th>parallelism {}: awake</th><th>at work</th><th>rounds/s</th>",
                phase.parallelism
            )
        })
        .collect();
    let row = |(workers, phases): &(usize, Vec<_>)| {
        let cells = phases.iter().map(|phase: &crate::experiments::turnkey::record::Phase| {
            format!(
                "<td>{:.2}</td><td>{:.2}</td><td>{}</td>",
                phase.awake,
                phase.working,
                number(phase.rounds_per_s)
            )
        });
        format!("<tr><th>{}</th>{}</tr>\n", name(*workers), cells.collect::<String>())
    };
    let rows: String = summary.phases.iter().map(row).collect();
    format!(
        "<section>\n<h2>Phases</h2>\n<p>A program does rounds of 1, then of 4, then of 64 tasks. How many workers are awake in each phase, on \
         average, and how many of those are at work. What it cannot use sleeps.</p>\n<table class=\"numbers\">\n\
         <tr><th></th>{heads}</tr>\n{rows}</table>\n</section>\n"
    )
}

fn quotas(record: &Record, summary: &Summary) -> String {
    let where_ = escape(&groups(record));
    if summary.quotas.is_empty() {
        return format!("<section>\n<h2>Quotas</h2>\n<p>Measured: {where_}.</p>\n</section>\n");
    }
    let row = |quota: &QuotaSummary| {
        let over = summary
            .best_under(quota.hundredths)
            .map_or(String::new(), |best| format!("{:.3}", quota.rounds_per_s / best.rounds_per_s));
        let rounds: String = (0..3)
            .map(|place| {
                let ms = quota.round_ms.map_or(String::new(), |ms| number(ms[place]));
                format!("<td>{ms}</td>")
            })
            .collect();
        let (stopped, worked) = quota.throttling.map_or((String::new(), String::new()), |kept| {
            (format!("{:.3}", kept.stopped), format!("{:.3}", kept.worked))
        });
        format!(
            "<tr><th>{:.2}, {}</th><td>{}</td><td>{over}</td>{rounds}<td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{stopped}</td><td>{worked}</td></tr>\n",
            quota.hundredths as f64 / 100.0,
            name(quota.workers),
            number(quota.rounds_per_s),
            number(quota.median_late_ms),
            number(quota.p99_late_ms),
            number(quota.worst_late_ms),
            number(quota.throttled_per_s)
        )
    };
    let rows: String = summary.quotas.iter().map(row).collect();
    format!(
        "<section>\n<h2>Quotas</h2>\n<p>Short rounds, again and again, in a control group that may use so much of a processor ({where_}): how many in a second, also \
         over those with the best chosen number, and how long each takes; beside them a thread of the same process sleeps for a millisecond, again and again: how late it wakes. \
         Times are in milliseconds. In how many periods of a second, of ten, the quota was used up, and nothing ran until the next; how many processors were kept \
         from running what there was, on average; and how many the workers used.</p>\n<table class=\"numbers\">\n\
         <tr><th>processors</th><th>rounds/s</th><th>over best</th><th>a round: median</th><th>one in a hundred</th><th>worst</th><th>late: median</th>\
         <th>one in a hundred</th><th>worst</th><th>used up/s</th><th>stopped</th><th>worked</th></tr>\n\
         {rows}</table>\n</section>\n"
    )
}

fn moved(summary: &Summary) -> String {
    let Some(moved) = summary.moved else { return String::new() };
    format!(
        "<section>\n<h2>Moved while it works</h2>\n<p>A program on {} workers is moved to a control group with a quota of one processor: {:.3} s \
         later, at most, one worker may be awake. Moved back, all may after {:.3} s. It does {} rounds a second with the quota, and {} \
         without.</p>\n</section>\n",
        moved.workers,
        moved.lowered_after_s,
        moved.raised_after_s,
        number(moved.tight_rounds_per_s),
        number(moved.free_rounds_per_s)
    )
}

fn method(record: &Record, summary: &Summary) -> String {
    let readings = readings(summary);
    let [app, rest] = record.header.plan.seconds;
    format!(
        "<h3>How it was measured</h3>
<ul>
<li>Each measurement is made by a process of its own. All numbers of workers take turns, in up to {} rotations through everything; figures \
are medians, and the worst lateness and the longest time that a pool took to follow a move are those of all rotations. Here {readings}; \
the headline is of what was read at least {ENOUGH} times.</li>
<li>An application is computed once to warm up, and then again and again: for {app} s where nothing disturbs it. All else goes on for {rest} s. Answers are checked.</li>
<li>A pool of a chosen number of workers keeps that number, as far as it takes so many to use what is allowed, and none of them rests.</li>
<li>Alone and beside a cycler all numbers take turns within one process, in an order that differs between rounds and rotations; <i>over the best</i> is the \
median of the quotients within a process, and not that of the medians shown. Under a quota it is the quotient of medians, and the numbers larger than the quota are one \
configuration, measured as often as there are such numbers: <i>over their mean</i> is relative to the mean of their medians. How pools do whose workers \
all run, whatever the quota, is not measured.</li>
<li>The best of several medians is smaller than each of them is likely to be again: with equal pools, turnkey would come out a little above 1.</li>
<li>The cycler has as many workers as there are processors, and runs as long as the measurement.</li>
</ul>",
        record.header.plan.repeats
    )
}
