//! All counters of a pool as text for Prometheus (<https://prometheus.io>, "Exposition formats").

use std::fmt::Write;
use std::time::Duration;

use locksley::stats::{PoolStats, WorkerStats};

type Read = fn(&WorkerStats) -> Option<f64>;

/// Name, meaning, and value of each counter. Times are in seconds.
const COUNTERS: [(&str, &str, Read); 12] = [
    ("tasks_total", "Tasks that were run.", |it| Some(it.tasks as f64)),
    ("steals_total", "Tasks that were stolen.", |it| Some(it.steals as f64)),
    ("failed_steals_total", "Attempts to steal that failed.", |it| Some(it.failed_steals as f64)),
    ("received_total", "Tasks that were sent.", |it| Some(it.received as f64)),
    ("parks_total", "Times that the worker parked.", |it| Some(it.sleeps as f64)),
    ("yields_total", "Calls of sched_yield.", |it| Some(it.yields as f64)),
    ("hand_overs_total", "Processors given to a preempted worker.", |it| {
        Some(it.hand_overs as f64)
    }),
    ("context_switches_total", "Context switches.", |it| it.switches.map(|it| it as f64)),
    ("busy_seconds_total", "Time in and between tasks.", |it| Some(it.working.as_secs_f64())),
    ("search_seconds_total", "Time of searches.", |it| Some(it.searching.as_secs_f64())),
    ("sleep_seconds_total", "Time asleep.", |it| Some(it.sleeping.as_secs_f64())),
    ("off_processor_seconds_total", "Time without a processor.", |it| {
        it.off_processor.as_ref().map(Duration::as_secs_f64)
    }),
];

/// The counters of all workers of the pool called `name`, since it was built. What the system does
/// not tell is left out.
///
/// Do not join the texts of two pools on one page: the format allows each counter to be described
/// once.
///
/// # Examples
/// ```
/// let pool = locksley::Pool::new(1)?;
/// pool.broadcast(|_| ());
/// let text = locksley_metrics::prometheus::text("main", &pool.stats());
/// assert!(text.contains("locksley_tasks_total{pool=\"main\",worker=\"0\"} 1\n"));
/// # Ok::<(), locksley::BuildError>(())
/// ```
#[must_use]
pub fn text(name: &str, stats: &PoolStats) -> String {
    let name = name.replace('\\', r"\\").replace('"', "\\\"").replace('\n', "\\n");
    let mut text = format!(
        "# HELP locksley_queued_tasks Tasks in all deques now, an estimate.\n\
         # TYPE locksley_queued_tasks gauge\nlocksley_queued_tasks{{pool=\"{name}\"}} {}\n",
        stats.queued
    );
    for (counter, about, read) in COUNTERS {
        let _ = writeln!(text, "# HELP locksley_{counter} {about}");
        let _ = writeln!(text, "# TYPE locksley_{counter} counter");
        for (worker, value) in stats.workers.iter().map(read).enumerate() {
            if let Some(value) = value {
                let labels = format!("{{pool=\"{name}\",worker=\"{worker}\"}}");
                let _ = writeln!(text, "locksley_{counter}{labels} {value}");
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_as_specified() {
        let mut stats = PoolStats::default();
        let mut worker = WorkerStats::default();
        (worker.steals, worker.working) = (3, Duration::from_millis(1500));
        stats.workers = vec![WorkerStats::default(), worker];
        stats.queued = 5;
        let text = text("a \"b\"\\\n", &stats);
        assert!(text.contains("locksley_queued_tasks{pool=\"a \\\"b\\\"\\\\\\n\"} 5\n"), "{text}");
        assert!(text.contains("# TYPE locksley_steals_total counter\n"));
        let labels = "{pool=\"a \\\"b\\\"\\\\\\n\",worker=\"1\"}";
        assert!(text.contains(&format!("locksley_steals_total{labels} 3\n")), "{text}");
        assert!(text.contains(&format!("locksley_busy_seconds_total{labels} 1.5\n")));
        // What is not known is left out.
        assert!(!text.contains("context_switches_total{"));
        assert!(text.lines().all(|line| line.starts_with('#') || line.starts_with("locksley_")));
    }
}
