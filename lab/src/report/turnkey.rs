//! The page of `turnkey`.

use std::path::Path;

use super::circumstances::Circumstances;
use super::dots::{Dots, Row as Dot};
use super::missing;
use super::page::{document, escape};
use crate::experiments::estimate::{Estimate, Verdict};
use crate::experiments::number::{number, percent_more};
use crate::experiments::turnkey::contest::Contest;
use crate::experiments::turnkey::contestant::Contestant;
use crate::experiments::turnkey::once::Setting;
use crate::experiments::turnkey::plan::TARGET;
use crate::experiments::turnkey::record::{Phase, Record};
use crate::experiments::turnkey::summary::{AppSummary, QuotaSummary, Summary};
use crate::experiments::turnkey::table::{METHOD, chosen, groups, interval, notes, ratio, setting};
use crate::fault::Outcome;
use crate::record::files;

/// Writes the page.
pub fn write(page: &Path, record: &Record, summary: &Summary) -> Outcome<()> {
    files::replace(page, &html(record, summary))
}

/// The page of `record`.
pub(super) fn html(record: &Record, summary: &Summary) -> String {
    let header = &record.header;
    let processors = header.machine.capacity();
    let headline = escape(&headline(summary));
    let note = |note: &String| format!("<p class=\"note\">{}.</p>\n", escape(note));
    let notes: String = notes(record, summary).iter().map(note).collect();
    let missing = missing::html(&record.missing);
    let apps: String = summary.settings().into_iter().map(|its| apps(summary, its)).collect();
    let (phases, quotas, moved) = (phases(summary), quotas(record, summary), moved(summary));
    let circumstances = Circumstances::of(record, header.plan.seed).table();
    let method = method(record);
    let body = format!(
        "<header>
<p class=\"kicker\">Locksley · nobody chooses the number of workers · {processors} processors</p>
<h1>{headline}</h1>
<p class=\"note\">Quotients are {METHOD}.</p>
{notes}{missing}</header>
{apps}{phases}{quotas}{moved}
<section>
<h2>Machine and method</h2>
{circumstances}
{method}
</section>"
    );
    document("Locksley: nobody chooses the number of workers", &body)
}

/// The finding, computed: how many of the applications are within the target, in each setting.
fn headline(summary: &Summary) -> String {
    let say = |its: Setting| {
        let [met, missed, undecided] = summary.verdicts(its);
        let all = met + missed + undecided;
        let rest = match (missed, undecided) {
            (0, 0) => String::new(),
            (missed, 0) => format!(" (missed by {missed})"),
            (0, undecided) => format!(" (not decided for {undecided})"),
            (missed, undecided) => format!(" (missed by {missed}, not decided for {undecided})"),
        };
        (all > 0).then(|| format!("{}, by {met} of {all}{rest}", setting(its)))
    };
    let parts: Vec<String> = summary.settings().into_iter().filter_map(say).collect();
    if parts.is_empty() {
        return "Nobody chooses the number of workers".to_owned();
    }
    format!(
        "Within {:.0} % of the best number of workers, chosen by nobody: {}",
        percent_more(TARGET),
        parts.join("; ")
    )
}

fn apps(summary: &Summary, its: Setting) -> String {
    let apps: Vec<&AppSummary> = summary.of_setting(its).collect();
    let title = escape(&setting(its));
    let about = match its {
        Setting::Alone => "Nobody else wants the machine.",
        Setting::Beside => {
            "Another process takes processors away, a random number of them for a random time (cycler(p, w, W) of the Hood papers)."
        }
        Setting::Under(_) => {
            "In a control group that may use so much of a processor. Pools of ours keep as many workers awake as the quota takes; the others have all of \
             theirs run, and are no numbers to choose. In brackets the part of the kernel's periods in which the quota was used up, and how many processors \
             that kept from running, on average."
        }
    };
    let rivals: Vec<&Contestant> = rivals(&apps);
    let heads: String =
        rivals.iter().map(|rival| format!("<th>over {}</th>", escape(&rival.words()))).collect();
    let rows: String = apps.iter().map(|app| app_row(&rivals, app)).collect();
    let mean = summary.mean(its).map_or(String::new(), |(number, mean)| {
        let blanks = "<td></td>".repeat(rivals.len() + 1);
        format!(
            "<tr><th>geometric mean of {number}</th><td></td>{}{blanks}</tr>\n",
            verdict(Some(mean))
        )
    });
    format!(
        "<section>\n<h2>Applications {title}</h2>\n<p>{about} At most {TARGET} over the best number is wanted.</p>\n{}\
         <table class=\"numbers\">\n<tr><th>application</th><th>turnkey, ms</th><th>over the best</th><th></th><th>which is</th>{heads}</tr>\n\
         {rows}{mean}</table>\n</section>\n",
        chart(&title, &apps)
    )
}

/// Who was there in any of them.
fn rivals<'a>(apps: &[&'a AppSummary]) -> Vec<&'a Contestant> {
    let mut rivals: Vec<&Contestant> = Vec::new();
    for (rival, _) in apps.iter().flat_map(|app| &app.contest.over) {
        if !rivals.contains(&rival) {
            rivals.push(rival);
        }
    }
    rivals
}

/// What it takes over the best number, and over those that are no numbers to choose.
fn chart(title: &str, apps: &[&AppSummary]) -> String {
    let dot = |runtime: String, found: Estimate| {
        let mut values = vec![found.figure];
        if found.is_bounded() {
            values.extend([found.low, found.high]);
        }
        let figures = format!("{:.1} %", percent_more(found.figure));
        Dot { runtime, values: values.into_iter().map(percent_more).collect(), figures }
    };
    let subject = |app: &&AppSummary| {
        let best = app.ratio().map(|found| dot("locksley".to_owned(), found));
        let others = app.contest.over.iter().filter(|(rival, _)| !rival.is_fixed());
        let others = others.map(|(rival, found)| dot(rival.words(), *found));
        (app.app.clone(), best.into_iter().chain(others).collect())
    };
    let subjects: Vec<(String, Vec<Dot>)> = apps.iter().map(subject).collect();
    let title = format!("Applications {title}: by how many percent turnkey takes longer");
    let svg = Dots { title, unit: "% longer", subjects }.svg();
    format!(
        "<figure>\n<figcaption><b>By how many percent turnkey takes longer</b> <span>than the best number of ours (locksley), and than others; the \
         large full dot is the median, the line the interval</span></figcaption>\n{svg}</figure>\n"
    )
}

fn app_row(rivals: &[&Contestant], app: &AppSummary) -> String {
    let turnkey = Contestant::turnkey();
    let time = app.time(&turnkey).map_or("<td></td>".to_owned(), |times| {
        format!(
            "<td title=\"{} times, {} to {}\">{}{}</td>",
            times.number,
            number(times.least * 1e3),
            number(times.most * 1e3),
            number(times.median * 1e3),
            kept(app, &turnkey)
        )
    });
    let over = |rival: &&Contestant| {
        let found = app.contest.ratio(rival);
        let words = found.map_or(String::new(), |it| estimate(it) + &kept(app, rival));
        format!("<td>{words}</td>")
    };
    let over: String = rivals.iter().map(over).collect();
    let best = app.contest.best.as_ref().map_or(String::new(), chosen);
    format!(
        "<tr><th>{} {}</th>{time}{}<td>{best}</td>{over}</tr>\n",
        escape(&app.app),
        escape(&app.size),
        verdict(app.ratio())
    )
}

/// A quotient, its interval below it.
fn estimate(found: Estimate) -> String {
    format!("{}<br>{}", ratio(found.figure), interval(found))
}

/// Two cells: a quotient, and what follows.
fn verdict(found: Option<Estimate>) -> String {
    let Some(found) = found else { return "<td></td><td></td>".to_owned() };
    let verdict = Verdict::of(found, TARGET);
    let mark = if verdict == Verdict::Missed { " class=\"low\"" } else { "" };
    format!("<td{mark}>{}</td><td>{}</td>", estimate(found), verdict.word())
}

/// How the quota was kept, below what belongs to that.
fn kept(app: &AppSummary, of: &Contestant) -> String {
    let found = app.throttling.iter().find(|(one, _)| one == of);
    found.map_or(String::new(), |(_, kept)| {
        format!("<br>({:.0} %, {:.3})", kept.share_of_periods * 100.0, kept.stopped)
    })
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
    let row = |(one, phases): &(Contestant, Vec<Phase>)| {
        let cells = phases.iter().map(|phase: &Phase| {
            format!(
                "<td>{:.2}</td><td>{:.2}</td><td>{}</td>",
                phase.awake,
                phase.working,
                number(phase.rounds_per_s)
            )
        });
        format!("<tr><th>{}</th>{}</tr>\n", one.words(), cells.collect::<String>())
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
        let over = summary.over(quota).map_or(String::new(), estimate);
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
            escape(&quota.contestant.words()),
            number(quota.rounds_per_s),
            number(quota.median_late_ms),
            number(quota.p99_late_ms),
            number(quota.worst_late_ms),
            number(quota.throttled_per_s)
        )
    };
    let rows: String = summary.quotas.iter().map(row).collect();
    let best = |(hundredths, contest): &(u64, Contest)| {
        let best = contest.best.as_ref()?;
        Some(format!(
            "<tr><th>{:.2}, over the best ({})</th><td></td>{}<td colspan=\"9\"></td></tr>\n",
            *hundredths as f64 / 100.0,
            chosen(best),
            verdict(Some(best.ratio))
        ))
    };
    let bests: String = summary.rounds.iter().filter_map(best).collect();
    format!(
        "<section>\n<h2>Quotas</h2>\n<p>Short rounds, again and again, in a control group that may use so much of a processor ({where_}): how many in a second, what the pool \
         to which nobody says a number takes for one over that, and how long each takes; beside them a thread of the same process sleeps for a millisecond, again and again: how late it wakes. \
         Times are in milliseconds. In how many periods of a second, of ten, the quota was used up, and nothing ran until the next; how many processors were kept \
         from running what there was, on average; and how many the workers used.</p>\n<table class=\"numbers\">\n\
         <tr><th>processors</th><th>rounds/s</th><th>turnkey over that</th><th>a round: median</th><th>one in a hundred</th><th>worst</th><th>late: median</th>\
         <th>one in a hundred</th><th>worst</th><th>used up/s</th><th>stopped</th><th>worked</th></tr>\n\
         {rows}{bests}</table>\n</section>\n"
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

fn method(record: &Record) -> String {
    let plan = &record.header.plan;
    let seconds: Vec<String> = plan.seconds.iter().map(ToString::to_string).collect();
    let first = if record.is_earlier() {
        "<li>Each measurement is made by a process of its own, which in the kind of record that this is has pools of all numbers at once, or under a quota one \
         of them.</li>"
            .to_owned()
    } else {
        "<li>An application is measured in a process that has its input ready. There all contestants have their turns, in an order that is drawn; the figure of one \
         is the mean time of a computation. Alone and beside a cycler they have many short turns, each of which begins with a computation that does not count, since \
         the others have had theirs before; under a quota one long turn. Rounds, phases and moves have a process each.</li>"
            .to_owned()
    };
    format!(
        "<h3>How it was measured</h3>
<ul>
{first}
<li>There are up to {repeats} rotations through everything; an application that nothing disturbs goes on for the first of these times, with all of them, one beside a cycler for \
the next, and all else for the last, with each: {seconds} s. Every answer is checked.</li>
<li>A quotient is of two figures of one rotation, and its figure is the median over the rotations. The interval is that of the order statistics, which holds \
whatever the distribution is; of fewer than six rotations there is none.</li>
<li>With several numbers a pool may do the same, and the least of their times is smaller than any of them is likely to be again. So the best number is chosen \
by one half of the rotations, and compared with in the other half; and the other way round. What is judged knows nothing of the choice. What remains is that a \
number may be chosen that only seems to be the best: then the figure is a little too small.</li>
<li>A target is met or missed where all of the interval lies on one side of it, and else not decided. One in twenty intervals does not have what it should: \
of many verdicts, one or two may be wrong.</li>
<li>The geometric mean is that of all applications in a rotation; and of these the median.</li>
<li>A pool of a chosen number of workers keeps that number, as far as it takes so many to use what is allowed, and none of them rests. Those of \
<i>locksley-awake</i> never sleep, and rayon's do only where they find no work: all of them run, whatever the quota.</li>
<li>Under a quota nothing runs for more than one of the kernel's periods (of 100 ms) before each turn, and what is measured begins and ends with a period, \
but for part of a computation. The time that it takes to check an answer, and to restore the input, uses the quota, too, and is in no figure.</li>
<li>The cycler has as many workers as there are processors, and runs as long as the measurement.</li>
<li>The worst lateness, and the longest time that a pool took to follow a move, are those of all rotations; other figures of these are medians.</li>
</ul>",
        repeats = plan.repeats,
        seconds = seconds.join(", ")
    )
}
