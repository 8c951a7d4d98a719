//! The summary as text.

use std::fmt::Write;

use super::pairs::{Part, Target};
use super::plan;
use super::record::Record;
use super::summary::{Average, Balance, PairSummary, Share, SoloSummary, Summary, TOLERANCE};
use super::unit::Job;

/// Tables for people.
pub fn text(record: &Record, summary: &Summary) -> String {
    let mut text = head(record, summary);
    let parts = [
        (Part::Targets, "rounds side by side"),
        (Part::Assists, "rounds side by side, with assists switched off"),
        (Part::Others, "rounds that nobody tuned for"),
        (Part::Applications, "applications side by side"),
    ];
    for (part, title) in parts {
        text += &co_runs(summary, part, title);
    }
    text + &averages(summary) + &switches(summary) + &alone(summary) + &costs(summary)
}

fn head(record: &Record, summary: &Summary) -> String {
    let mut text = String::new();
    let common = &record.header.common;
    // Writing to a string does not fail, so the results here and below are dropped.
    let _ = writeln!(
        text,
        "{} processors ({}), {}, seed {}, {}",
        common.machine.capacity(),
        common.machine.processor,
        common.machine.kernel,
        common.plan.seed,
        record.finished
    );
    if common.plan.quick {
        let _ = writeln!(text, "{}", plan::subset(&common.plan));
    }
    for missing in &record.header.left_out {
        let _ = writeln!(text, "without {}: {}", missing.name, missing.reason);
    }
    if let Some(taken) = summary.disturbance {
        let _ = writeln!(
            text,
            "NOTE: others used {taken:.2} processors meanwhile; all figures suffer from that"
        );
    }
    if let Some(most) = summary.most_useful {
        let _ =
            writeln!(text, "useful, at most: {most:.2}, by a busy thread for each processor alone");
    }
    text
}

fn co_runs(summary: &Summary, part: Part, title: &str) -> String {
    if summary.part(part).next().is_none() {
        return String::new();
    }
    let mut text = format!(
        "\n{title}: slowdown of each; unfairness in points, mean and worst; weighted speedup; variation of each;\n\
         processors of each; context switches of each, a second or a computation, and those to hunters and to others\n"
    );
    let _ = writeln!(
        text,
        "  {:<29}{:>15}{:>8}{:>7}{:>7}{:>6}{:>12}{:>12}{:>18}{:>24}",
        "",
        "slowdowns",
        "unfair",
        "worst",
        "useful",
        "thr.",
        "variation",
        "processors",
        "switches",
        "hunters+others"
    );
    for found in summary.part(part) {
        let target = found.pair.target.map_or(String::new(), |target| wanted(&target));
        let _ = writeln!(text, "{}: {}{target}", found.pair.name, found.pair.shows);
        for (runtime, balance) in &found.runtimes {
            text += &row(runtime, balance, found);
        }
    }
    text
}

fn wanted(Target { mean, worst, useful }: &Target) -> String {
    format!("; wanted: {mean:.0}/{worst:.0}, useful {useful:.2}")
}

fn row(runtime: &str, balance: &Balance, found: &PairSummary) -> String {
    let each = |figure: &dyn Fn(&Share) -> Option<String>| {
        let all = balance.programs.iter().map(|share| figure(share).unwrap_or("-".to_owned()));
        all.collect::<Vec<_>>().join("/")
    };
    let verdict = match (&found.pair.target, runtime) {
        (Some(target), "locksley") if reaches(balance, target) => "  reached",
        (Some(_), "locksley") => "  missed",
        _ => "",
    };
    let partly = balance
        .partial_overlap()
        .map_or(String::new(), |overlap| format!("  overlap only {overlap:.2}"));
    format!(
        "  {runtime:<29}{:>15}{:>8.0}{:>7.0}{:>7}{:>6.2}{:>12}{:>12}{:>18}{:>24}{verdict}{partly}\n",
        each(&|share| Some(percent(share.slowdown))),
        100.0 * balance.unfairness,
        100.0 * balance.worst,
        balance.useful.map_or("-".to_owned(), |useful| format!("{useful:.2}")),
        balance.throughput,
        each(&|share| share.variation.map(percent)),
        each(&|share| share.processors.map(|processors| format!("{processors:.2}"))),
        each(&|share| share.switches.map(|(waits, taken)| format!("{:.0}", waits + taken))),
        each(&|share| share.split.map(|it| format!("{:.0}+{:.0}", it.to_hunter, it.external))),
    )
}

/// Whether all that is wanted was measured.
pub fn reaches(balance: &Balance, target: &Target) -> bool {
    100.0 * balance.unfairness <= target.mean
        && 100.0 * balance.worst <= target.worst
        && balance.useful.is_some_and(|useful| useful >= target.useful)
}

fn averages(summary: &Summary) -> String {
    let mut text = String::new();
    let mut table = |title: &str, averages: &[Average]| {
        let Some(first) = averages.first() else { return };
        let _ = writeln!(text, "\n{title}, averages over {} pairs", first.pairs);
        let _ = writeln!(
            text,
            "  {:<29}{:>8}{:>7}{:>7}{:>7}{:>11}",
            "", "unfair", "worst", "useful", "thr.", "variation"
        );
        for Average { runtime, unfairness, worst, useful, throughput, variation, .. } in averages {
            let variation = variation.map_or("-".to_owned(), percent);
            let useful = useful.map_or("-".to_owned(), |useful| format!("{useful:.2}"));
            let _ = writeln!(
                text,
                "  {runtime:<29}{:>8.0}{:>7.0}{useful:>7}{throughput:>7.2}{variation:>11}",
                100.0 * unfairness,
                100.0 * worst
            );
        }
    };
    for (title, averages) in groups_of_averages(summary) {
        table(title, &averages);
    }
    text
}

/// The averages that are shown: rounds, with and without assists; all pairs of applications for the runtimes measured on
/// all of them; the stated pairs for all runtimes; thresholds.
pub fn groups_of_averages(summary: &Summary) -> Vec<(&'static str, Vec<Average>)> {
    let rounds = |part| {
        let own: Vec<&str> = summary.runtimes(part);
        let everywhere = |name: &&str| summary.part(part).all(|pair| pair.on(name).is_some());
        let everywhere: Vec<&str> = own.into_iter().filter(everywhere).collect();
        summary.averages(summary.part(part), &everywhere)
    };
    let pairs = || summary.part(Part::Applications);
    let all = summary.runtimes(Part::Applications);
    let everywhere: Vec<&str> =
        all.iter().copied().filter(|name| pairs().all(|pair| pair.on(name).is_some())).collect();
    let mut groups = vec![
        ("rounds with targets", rounds(Part::Targets)),
        ("assists switched off", rounds(Part::Assists)),
        ("rounds that nobody tuned for", rounds(Part::Others)),
        ("all applications", summary.averages(pairs(), &everywhere)),
    ];
    if everywhere.len() < all.len() {
        groups.push(("alternatives", summary.averages(pairs(), &all)));
    }
    let thresholds = summary.thresholds().into_iter().map(|(_, average)| average);
    groups.push(("SleepThreshold", thresholds.collect()));
    groups.retain(|(_, averages)| !averages.is_empty());
    groups
}

fn switches(summary: &Summary) -> String {
    let mut text = String::new();
    for part in [Part::Targets, Part::Applications] {
        for runtime in summary.runtimes(part) {
            let Some((to_hunter, external)) = summary.shares_of_switches(part, runtime) else {
                continue;
            };
            if text.is_empty() {
                text +=
                    "\ncontext switches: the shares to hunters, to other programs, other ones\n";
            }
            let other = (1.0 - to_hunter - external).max(0.0);
            let _ = writeln!(
                text,
                "  {:<14}{runtime:<29}{:>6}{:>6}{:>6}",
                part.name(),
                percent(to_hunter),
                percent(external),
                percent(other)
            );
        }
    }
    text
}

fn alone(summary: &Summary) -> String {
    let mut text = String::new();
    for solo in &summary.solos {
        let Some(title) = title(solo) else { continue };
        if text.is_empty() {
            text += "\nrounds alone, a second\n";
        }
        let rates = solo.rates.iter().map(|(name, rate)| format!("{name} {rate:.0}"));
        let _ = writeln!(text, "  {title}: {}", rates.collect::<Vec<_>>().join(" · "));
    }
    text
}

/// What a program that repeats rounds computes; none for an application.
pub fn title(solo: &SoloSummary) -> Option<String> {
    let Job::Rounds(round) = solo.job else { return None };
    let workers = match solo.workers {
        1 => "1 worker".to_owned(),
        many => format!("{many} workers"),
    };
    Some(format!("{},{},{}, {workers}", round.leaf, round.chunks, round.serial))
}

fn costs(summary: &Summary) -> String {
    let mut text = String::new();
    for cost in summary.costs() {
        if text.is_empty() {
            let _ = writeln!(text, "\napplications alone: time relative to {}", plan::ABP);
        }
        let each = cost.each.iter().map(|(app, ratio)| format!("{app} {ratio:.2}"));
        let each = each.collect::<Vec<_>>().join(" · ");
        let _ = writeln!(text, "  {:<29}mean {:.2}: {each}", cost.runtime, cost.mean());
    }
    if let Some(verdict) = verdict(summary) {
        let _ = writeln!(text, "  {verdict}");
    }
    text
}

/// Whether any application takes longer on the default governor than is tolerated.
pub fn verdict(summary: &Summary) -> Option<String> {
    let costs = summary.costs();
    let ours = costs.iter().find(|cost| cost.runtime == "locksley")?;
    let tolerated = percent(TOLERANCE);
    Some(match &ours.slow()[..] {
        [] => format!("no application is slower on locksley by more than {tolerated}"),
        slow => format!("slower on locksley by more than {tolerated}: {}", slow.join(", ")),
    })
}

fn percent(share: f64) -> String {
    format!("{:.0}%", 100.0 * share)
}
