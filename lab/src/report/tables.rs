//! The tables of the page.

use super::finding;
use super::page::escape;
use crate::experiments::cliff::summary::Summary;
use crate::experiments::cliff::table::seconds;
use crate::machine::Machine;
use crate::record::Record;

/// What each runtime makes of the machine when it has more workers than processors.
pub(super) fn shares(summary: &Summary) -> String {
    let shares = finding::shares(summary);
    if shares.is_empty() {
        return String::new();
    }
    let row = |share: &finding::Share| {
        format!(
            "<tr><th>{}</th><td>{}</td><td>{}</td><td>{}</td></tr>\n",
            escape(&share.runtime),
            share.typical,
            share.worst,
            escape(&share.place)
        )
    };
    let rows: String = shares.iter().map(row).collect();
    format!(
        "<table class=\"shares\">\n<tr><th>more workers than processors</th><th>median</th><th>worst</th>\
         <th>where</th></tr>\n{rows}</table>"
    )
}

/// Table 2 of the papers: what each application takes serially, with one worker, and with one for each processor.
pub(super) fn characteristics(summary: &Summary) -> String {
    let full = summary.capacity.floor().max(1.0) as usize;
    let mut rows = String::new();
    for input in &summary.inputs {
        for (index, runtime) in input.runtimes.iter().enumerate() {
            let first = index == 0;
            let name = if first {
                format!("{} {}", input.input.app, input.input.size)
            } else {
                String::new()
            };
            let serial = if first { seconds(input.serial.median) } else { String::new() };
            let path = input.critical_path.filter(|_| runtime.runtime == "locksley");
            let path = path.map_or("<td></td><td></td>".to_owned(), |path| {
                let parallelism = input.parallelism.map(|parallelism| format!("{parallelism:.1}"));
                let parallelism = parallelism.unwrap_or_default();
                format!("<td>{}</td><td>{parallelism}</td>", seconds(path.median))
            });
            let cells = match runtime.points.iter().find(|point| point.workers == full) {
                Some(point) => format!(
                    "<td>{}</td><td>{:.2}</td><td>{:.2}</td>",
                    seconds(point.times.median),
                    point.speedup,
                    input.serial.median / point.times.median
                ),
                None => "<td></td><td></td><td></td>".to_owned(),
            };
            rows += &format!(
                "<tr{}><th>{}</th><td>{}</td><th>{}</th><td>{}</td><td>{:.3}</td>{path}{cells}</tr>\n",
                if first { " class=\"first\"" } else { "" },
                escape(&name),
                serial,
                escape(&runtime.runtime),
                seconds(runtime.work),
                runtime.overhead
            );
        }
    }
    format!(
        "<table>\n<tr><th>application</th><th>Ts</th><th>runtime</th><th>T1</th><th>T1/Ts</th>\
         <th>T∞</th><th>T1/T∞</th><th>T{full}</th><th>T1/T{full}</th><th>Ts/T{full}</th></tr>\n{rows}</table>"
    )
}

/// Utilization at each P, relative to the ceiling, with the spread of the times behind it.
pub(super) fn utilizations(record: &Record, summary: &Summary) -> String {
    let head: String =
        record.plan.workers.iter().map(|workers| format!("<th>{workers}</th>")).collect();
    let mut rows = String::new();
    for input in &summary.inputs {
        let name = format!("{} {}", input.input.app, input.input.size);
        for (index, runtime) in input.runtimes.iter().enumerate() {
            let cells: String = record
                .plan
                .workers
                .iter()
                .map(|&workers| match runtime.points.iter().find(|point| point.workers == workers) {
                    Some(point) if !point.is_plausible() => "<td>noise</td>".to_owned(),
                    Some(point) => format!(
                        "<td{} title=\"{} of the ceiling {}; TP {} s, from {} to {}, {} times\">{:.2}</td>",
                        if point.of_ceiling() < 0.9 { " class=\"low\"" } else { "" },
                        format_args!("{:.2}", point.of_ceiling()),
                        format_args!("{:.2}", point.ceiling),
                        seconds(point.times.median),
                        seconds(point.times.least),
                        seconds(point.times.most),
                        point.times.number,
                        point.utilization
                    ),
                    None => "<td></td>".to_owned(),
                })
                .collect();
            rows += &format!(
                "<tr{}><th>{}</th><th>{}</th>{cells}</tr>\n",
                if index == 0 { " class=\"first\"" } else { "" },
                if index == 0 { escape(&name) } else { String::new() },
                escape(&runtime.runtime)
            );
        }
        let points = input.runtimes.last().map(|runtime| &runtime.points[..]).unwrap_or_default();
        let ceiling = |workers: &usize| {
            points.iter().find(|point| point.workers == *workers).map(|point| point.ceiling)
        };
        let cells: String = record
            .plan
            .workers
            .iter()
            .map(|workers| {
                ceiling(workers)
                    .map_or("<td></td>".to_owned(), |ceiling| format!("<td>{ceiling:.2}</td>"))
            })
            .collect();
        rows += &format!("<tr class=\"aside\"><th></th><th>ceiling</th>{cells}</tr>\n");
    }
    format!("<table>\n<tr><th>application</th><th>runtime, P =</th>{head}</tr>\n{rows}</table>")
}

/// The machine and the circumstances.
pub(super) fn circumstances(record: &Record) -> String {
    facts(
        &record.machine,
        &[
            ("measured", format!("{} to {}", record.started, record.finished)),
            (
                "versions",
                format!(
                    "Locksley {}, rayon {}, {}",
                    record.versions.locksley, record.versions.rayon, record.versions.rustc
                ),
            ),
            ("build", record.versions.build.clone()),
            ("seed", record.plan.seed.to_string()),
        ],
    )
}

/// A machine, and what else is to be said.
pub(super) fn facts(machine: &Machine, others: &[(&str, String)]) -> String {
    let assists: Vec<String> = machine
        .assists
        .iter()
        .map(|assist| match &assist.reason {
            None => assist.name.clone(),
            Some(reason) => format!("{} (missing: {reason})", assist.name),
        })
        .collect();
    let quota = machine.quota.map_or("none".to_owned(), |quota| format!("{quota:.2} processors"));
    let memory = machine
        .memory
        .map_or("unknown".to_owned(), |bytes| crate::apps::size::in_bytes(u128::from(bytes)));
    let rows = [
        ("processors allowed", format!("{} ({})", machine.processors, machine.processor)),
        ("quota", quota),
        ("memory", memory),
        ("kernel", machine.kernel.clone()),
        ("assists", assists.join(", ")),
    ];
    let rows: String = rows
        .iter()
        .chain(others)
        .map(|(name, value)| format!("<tr><th>{name}</th><td>{}</td></tr>\n", escape(value)))
        .collect();
    format!("<table class=\"facts\">\n{rows}</table>")
}
