//! The page, from a record that is here as text: records of today must be readable tomorrow.

use super::*;
use crate::record::Record;

const RECORD: &str = include_str!("example.json");

fn page() -> String {
    let record: Record = serde_json::from_str(RECORD).unwrap();
    assert_eq!(record.format, crate::record::FORMAT);
    page::html(&record, &Summary::of(&record))
}

#[test]
fn everything_is_inside() {
    let page = page();
    for elsewhere in ["http:", "https:", "src=", "href=", "url(", "@import"] {
        // The name of the SVG format is an address that nobody fetches.
        let page = page.replace("http://www.w3.org/2000/svg", "");
        assert!(!page.contains(elsewhere), "the page refers to {elsewhere}");
    }
    // Speedup and utilization of each of two inputs, after the picture that the page begins with.
    assert_eq!(page.matches("<svg class=\"chart\"").count(), 5);
    assert!(!page.contains("#01FE"), "a placeholder colour was left");
}

#[test]
fn the_headline_is_computed() {
    let page = page();
    let headline = page.split("<h1>").nth(1).unwrap().split("</h1>").next().unwrap();
    // By the record: T1 = 1.0 for both; at P = 3, static takes 1.0 and Locksley 0.52, on two processors.
    let expected = "3 workers on 2 processors: rayon uses 93%, Locksley 96%, static partitioning 50% of the \
                    machine.";
    assert_eq!(headline, expected);
    assert!(page.contains("heat 30x30x3 at P = 3"));
}

fn cliff_sample(app: &str, runtime: &str, workers: usize, seconds: f64) -> crate::record::Sample {
    let (app, size, runtime) = (app.to_owned(), "64x10+0".to_owned(), runtime.to_owned());
    crate::record::Sample::timed(crate::record::Cell { app, size, runtime, workers }, 0, seconds)
}

/// rayon comes first in any case, and the two pictures stand at the top.
#[test]
fn the_headline_says_what_happens_beside_busy_threads() {
    use crate::experiments::cliff::plan::{BESIDE, ROUNDS};
    let mut record: Record = serde_json::from_str(RECORD).unwrap();
    record.plan.runtimes = ["static", "locksley", "rayon"].map(str::to_owned).to_vec();
    record.samples.retain(|sample| sample.cell.app != ROUNDS);
    for (runtime, beside) in [("static", 4.0), ("locksley", 2.0), ("rayon", 1.25)] {
        record.samples.push(cliff_sample(ROUNDS, runtime, 2, 1.0));
        record.samples.push(cliff_sample(BESIDE, runtime, 2, beside));
    }
    let page = page::html(&record, &Summary::of(&record));
    let expected = "Beside two busy threads: rayon keeps 80%, Locksley 50%, static partitioning 25% of \
                    the speed alone.</h1>\n<div class=\"gallery\">";
    assert!(page.contains(expected), "{page}");
    assert!(page.contains("<b>Beside two busy threads</b>") && page.contains(">fair share<"));
}

#[test]
fn a_machine_that_was_too_noisy_gets_no_verdict() {
    let mut record: Record = serde_json::from_str(RECORD).unwrap();
    for sample in record.samples.iter_mut().filter(|sample| sample.cell.workers == 1) {
        sample.seconds *= 5.0;
    }
    let page = page::html(&record, &Summary::of(&record));
    assert!(page.contains("<h1>This machine was too noisy for a verdict"), "{page}");
    assert!(page.contains("<td>noise</td>"));
}

/// Table 2 of the papers: T∞, and the parallelism of what was metered, in Locksley's row.
#[test]
fn the_table_of_applications_has_the_critical_path() {
    let page = page();
    assert!(page.contains("<th>T∞</th><th>T1/T∞</th>"));
    let row = page.lines().find(|line| line.contains("<td>0.01250</td>")).unwrap();
    assert!(row.contains("<th>locksley</th>") && row.contains("<td>88.0</td>"), "{row}");
}

#[test]
fn a_disturbed_measurement_says_so() {
    // 1.5 of 2 processors for two seconds, 2 for one: a third of a processor is missing.
    assert!(page().contains("Others took 0.33 processors"));
}

#[test]
fn the_page_of_forkjoin_is_complete() {
    use crate::experiments::forkjoin::{summary::Summary, tests::record};
    let record = record();
    let page = forkjoin::html(&record, &Summary::of(&record));
    assert!(page.contains("<h1>A fork that nobody steals, in nanoseconds: locksley 10.0</h1>"));
    // Bars and speedups of one input.
    assert_eq!(page.matches("<svg class=\"chart\"").count(), 2);
    assert!(!page.contains("#01FE"), "a placeholder colour was left");
    for words in [
        "10.00",
        "<td>30.0</td>",
        "never (in 1 s)",
        "not measured: not &lt;here&gt;",
        "7.8 times",
        "too long: slow",
    ] {
        assert!(page.contains(words), "{words}");
    }
    assert!(!page.replace("http://www.w3.org/2000/svg", "").contains("http"));
    let mut empty = record;
    empty.measurements.clear();
    assert!(forkjoin::html(&empty, &Summary::of(&empty)).contains("<h1>What a fork costs</h1>"));
}

#[test]
fn what_a_record_says_cannot_become_markup() {
    let page = page();
    assert!(page.contains("an &quot;odd&quot; &lt;b&gt;processor&lt;/b&gt; &amp; more"));
    assert!(!page.contains("<b>processor"));
}

#[test]
fn a_record_with_nothing_measured_makes_a_page() {
    let mut record: Record = serde_json::from_str(RECORD).unwrap();
    record.samples.clear();
    let page = page::html(&record, &Summary::of(&record));
    assert!(page.contains("<h1>"));
}

#[test]
fn the_page_of_turnkey_is_complete() {
    use crate::experiments::turnkey::tests::{earlier, record};
    use crate::experiments::turnkey::{earlier::NOTE, summary::Summary};
    let record = record();
    let page = turnkey::html(&record, &Summary::of(&record));
    let headline = "<h1>Within 3 % of the best number of workers, chosen by nobody: alone, by 0 of 2 (missed by 1, not decided for 1); beside a cycler, by \
                    0 of 1 (not decided for 1); under a quota of 1.50, by 1 of 1</h1>";
    assert!(page.contains(headline), "{page}");
    // One for each setting.
    assert_eq!(page.matches("<svg class=\"chart\"").count(), 3);
    for words in [
        "<td class=\"low\">1.050<br>1.050 to 3.000</td><td>missed</td><td>2</td>",
        "<td>0.510<br>0.510 to 2.250</td>",
        "<td>0.500<br>0.500 to 0.500<br>(25 %, 0.125)</td>",
        "geometric mean of 2",
        "<th>over rayon 2</th>",
        "each figure is of 1 to 8 readings",
        "<tr><th>turnkey</th><td>1.50</td><td>1.00</td><td>1234</td>",
        "<tr><th>1.50, turnkey</th><td>6000</td><td></td><td>0.20</td>",
        "<tr><th>1.50, P = 2</th><td>5000</td><td>0.833<br>fewer than 6 rotations</td>",
        "<tr><th>1.50, over the best (2)</th>",
        "<td>0.125</td><td>1.250</td></tr>",
        "0.250 s",
        "control groups of version 2",
    ] {
        assert!(page.contains(words), "{words}:\n{page}");
    }
    for elsewhere in ["https:", "src=", "href=", "url(", "#01FE", "NaN", ">inf", NOTE] {
        assert!(!page.contains(elsewhere), "the page has {elsewhere}");
    }
    let mut empty = record;
    empty.measurements.clear();
    empty.header.plan.groups = Err("<not ours>".to_owned());
    let page = turnkey::html(&empty, &Summary::of(&empty));
    assert!(page.contains("<h1>Nobody chooses the number of workers</h1>"));
    assert!(page.contains("&lt;not ours&gt;") && !page.contains("<not ours>"));
    let earlier = earlier().0;
    let page = turnkey::html(&earlier, &Summary::of(&earlier));
    assert!(page.contains(NOTE) && page.contains("in the kind of record that this is"), "{page}");
}

#[test]
fn the_page_of_wait_is_complete() {
    use crate::experiments::wait::{summary::Summary, tests::record};
    let record = record();
    let page = wait::html(&record, &Summary::of(&record));
    let headline = "<h1>With one worker, an empty task is spawned and awaited in 60.0 ns (tokio 240), a waiting one takes 160 \
                    bytes beyond its future (tokio 288)</h1>";
    assert!(page.contains(headline), "{page}");
    // Bars of both spawns, of the ping-pong and of waiting tasks; lines of threads on two workers.
    assert_eq!(page.matches("<svg class=\"chart\"").count(), 5);
    for words in ["<td>25 %</td>", "<td>96.0</td><td>160</td>", "&lt;0&gt;: tokio's scheduler"] {
        assert!(page.contains(words), "{words}");
    }
    for elsewhere in ["https:", "src=", "href=", "url(", "#01FE", "NaN", ">inf"] {
        assert!(!page.contains(elsewhere), "the page has {elsewhere}");
    }
    let mut empty = record;
    empty.measurements.clear();
    let page = wait::html(&empty, &Summary::of(&empty));
    assert!(page.contains("<h1>What tasks cost that wait</h1>"));
}

#[test]
fn the_page_of_meter_is_complete() {
    use crate::experiments::meter::{summary::Summary, tests::record};
    let record = record();
    let page = meter::html(&record, &Summary::of(&record));
    let headline = "<h1>Profiled, a fork takes 20.0 ns more (met), a program with leaves of 1 µs \
                    8.00 % longer (missed), the applications 1.98 % longer (missed)</h1>";
    assert!(page.contains(headline), "{page}");
    // Of leaves, and of the applications.
    assert_eq!(page.matches("<svg class=\"chart\"").count(), 2);
    for words in [
        "<td>20.0 to 21.0</td><td>30.0</td><td>met</td>",
        "<td class=\"low\">8.00 %</td><td>7.00 % to 9.00 %</td><td>5.00 %</td><td>missed</td>",
        "<td>1.00 %</td><td>not decided</td>",
        "<th>geometric mean of 3, P = 2</th>",
        "<h2>Regions</h2>",
    ] {
        assert!(page.contains(words), "{words}");
    }
    for elsewhere in ["https:", "src=", "href=", "url(", "#01FE", "NaN", ">inf"] {
        assert!(!page.contains(elsewhere), "the page has {elsewhere}");
    }
    let mut empty = record;
    empty.measurements.clear();
    let page = meter::html(&empty, &Summary::of(&empty));
    assert!(page.contains("<h1>What the profiler costs</h1>"));
}

#[test]
fn the_page_of_intervals_is_complete() {
    use crate::experiments::intervals::{summary::Summary, tests::record};
    let record = record();
    let page = intervals::html(&record, &Summary::of(&record));
    let headline = "<h1>4 workers on 2 processors: heat on edges between intervals takes 0.67 of the time with joins</h1>";
    assert!(page.contains(headline), "{page}");
    assert_eq!(page.matches("<svg class=\"chart\"").count(), 1);
    for words in
        ["<td>1.50</td>", "&lt;tiny&gt;", ">400</td><td>300</td><td>600</td><td>ns<", ">187</td>"]
    {
        assert!(page.contains(words), "{words}");
    }
    for elsewhere in ["https:", "src=", "href=", "url(", "#01FE", "NaN", ">inf"] {
        assert!(!page.contains(elsewhere), "the page has {elsewhere}");
    }
    let mut empty = record;
    empty.measurements.clear();
    let page = intervals::html(&empty, &Summary::of(&empty));
    assert!(page.contains("<h1>What order alone makes of the machine</h1>"));
}

#[test]
fn the_page_of_channels_is_complete() {
    use crate::experiments::channels::{summary::Summary, tests::record};
    let record = record();
    let page = channels::html(&record, &Summary::of(&record));
    let headline = "<h1>With one worker, a message takes 9.00 ns (tokio 36.0), a hop in a ring 50.0 ns (tokio 100), an idle \
                    process 392 bytes beyond its own (tokio 880)</h1>";
    assert!(page.contains(headline), "{page}");
    // Bars of each group.
    assert_eq!(page.matches("<svg class=\"chart\"").count(), 6);
    for words in [
        "<td class=\"low\">50.0</td><td>40.0</td><td>missed</td>",
        "<td>392</td><td>400</td><td>reached</td>",
        "<td>25 %</td>",
        "<td>96.0</td><td>392</td>",
        "&lt;0&gt;: Locksley's process networks",
        "not measured: not &lt;here&gt;",
    ] {
        assert!(page.contains(words), "{words}");
    }
    for elsewhere in ["https:", "src=", "href=", "url(", "#01FE", "NaN", ">inf"] {
        assert!(!page.contains(elsewhere), "the page has {elsewhere}");
    }
    let mut empty = record;
    empty.measurements.clear();
    let page = channels::html(&empty, &Summary::of(&empty));
    assert!(page.contains("<h1>What messages and processes cost</h1>"));
}

#[test]
fn the_page_of_scatter_is_complete() {
    use crate::experiments::scatter::{summary::Summary, tests::record};
    let mut record = record();
    let page = |record: &_| scatter::html(record, &Summary::of(record));
    let whole = page(&record);
    let headline = "<h1>The processors' time goes into the work: 98 % with 100 µs a message, 80 % with 10 µs a message</h1>";
    assert!(whole.contains(headline), "{whole}");
    // Speedups and steal attempts of one number of processes in experiment 1, of experiment 2, and of experiment 4.
    assert_eq!(whole.matches("<figure>").count(), 6);
    for words in [
        "Experiment 1",
        "n = 50",
        "Experiment 4",
        "<td class=\"low\">1.050</td><td>at most 1.02</td><td>missed</td>",
        "<td>0.980</td><td>1.000</td>",
        "one in 7 of its rounds",
    ] {
        assert!(whole.contains(words), "{words}");
    }
    for elsewhere in ["https:", "src=", "href=", "url(", "#01FE", "NaN", ">inf"] {
        assert!(!whole.contains(elsewhere), "the page has {elsewhere}");
    }
    record.measurements.retain(|found| found.cell.size.ends_with("x1000000"));
    assert!(page(&record).contains("<h1>WS-LAST is faster than WS-CUR in 0 of 1 networks</h1>"));
    record.measurements.clear();
    assert!(page(&record).contains("<h1>Scatter and gather</h1>"));
}

#[test]
fn the_page_of_locality_is_complete() {
    use crate::experiments::locality::{summary::Summary, tests::record};
    let record = record();
    let page = locality::html(&record, &Summary::of(&record));
    let headline = "<h1>Placed best, as fast as without a place: cache stress 1.25 times</h1>";
    assert!(page.contains(headline), "{page}");
    assert_eq!(page.matches("<svg class=\"chart\"").count(), 3);
    for words in [
        "<td>0.80</td><td>4 %</td><td>5</td><td>2</td>",
        "processors &lt;1&gt;",
        "by L2",
        "thousand misses",
        "applications, are also measured with P = 1",
        "did not bind 2 of the workers",
    ] {
        assert!(page.contains(words), "{words}");
    }
    assert!(!page.contains("were not counted") && !page.contains("simulated, by"));
    let mut simulated = record.clone();
    simulated.header.plan.simulated = Some("<QEMU>".to_owned());
    simulated.header.plan.uncounted.0 = Some("a reason & more".to_owned());
    simulated.measurements.iter_mut().for_each(|found| found.finding.counts = None);
    let page = locality::html(&simulated, &Summary::of(&simulated));
    for words in [
        "<h1>Placed best, as fast as without a place (on a simulated machine): cache stress 1.25 times</h1>",
        "This machine is simulated, by &lt;QEMU&gt;",
        "were not counted: a reason &amp; more",
    ] {
        assert!(page.contains(words), "{words}");
    }
    assert!(!page.contains("thousand misses"));
    for elsewhere in ["https:", "src=", "href=", "url(", "#01FE", "NaN", ">inf"] {
        assert!(!page.contains(elsewhere), "the page has {elsewhere}");
    }
    let mut empty = record;
    empty.measurements.clear();
    let page = locality::html(&empty, &Summary::of(&empty));
    assert!(page.contains("<h1>What it is worth to keep work where its data is</h1>"));
}
