//! The facade `metrics`.

use metrics::{counter, gauge};

use crate::interval::PoolMetrics;

impl PoolMetrics {
    /// Adds what happened in the interval to the counters of the facade `metrics`, with the label
    /// `pool`.
    pub fn record(&self, pool: &str) {
        let labels = [("pool", pool.to_owned())];
        gauge!("locksley_workers_count", &labels).set(self.workers_count as f64);
        gauge!("locksley_busy_ratio", &labels).set(self.busy_ratio());
        gauge!("locksley_local_queue_depth", &labels).set(self.total_local_queue_depth as f64);
        counter!("locksley_park_count", &labels).increment(self.total_park_count);
        counter!("locksley_steal_count", &labels).increment(self.total_steal_count);
        counter!("locksley_failed_steal_count", &labels).increment(self.total_failed_steal_count);
        counter!("locksley_remote_schedules", &labels).increment(self.num_remote_schedules);
        counter!("locksley_polls_count", &labels).increment(self.total_polls_count);
        counter!("locksley_hand_over_count", &labels).increment(self.total_hand_over_count);
        let micros = u64::try_from(self.total_busy_duration.as_micros()).unwrap_or(u64::MAX);
        counter!("locksley_busy_microseconds", &labels).increment(micros);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::Mutex;

    use metrics::{
        Counter, CounterFn, Gauge, Histogram, Key, KeyName, Metadata, Recorder, SharedString, Unit,
    };

    use super::*;

    type Added = Arc<Mutex<Vec<(String, u64)>>>;

    struct Log(Added);

    struct Entry(String, Added);

    impl CounterFn for Entry {
        fn increment(&self, value: u64) {
            self.1.lock().unwrap().push((self.0.clone(), value));
        }

        fn absolute(&self, _: u64) {}
    }

    impl Recorder for Log {
        fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
        fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
        fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

        fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
            let label = key.labels().next().unwrap();
            let name = format!("{} {}={}", key.name(), label.key(), label.value());
            Counter::from_arc(Arc::new(Entry(name, Arc::clone(&self.0))))
        }

        fn register_gauge(&self, _: &Key, _: &Metadata<'_>) -> Gauge {
            Gauge::noop()
        }

        fn register_histogram(&self, _: &Key, _: &Metadata<'_>) -> Histogram {
            Histogram::noop()
        }
    }

    #[test]
    fn an_interval_is_added_to_the_facade() {
        let added = Added::default();
        let metrics = PoolMetrics { total_steal_count: 7, ..PoolMetrics::default() };
        metrics::with_local_recorder(&Log(Arc::clone(&added)), || metrics.record("main"));
        let steals = ("locksley_steal_count pool=main".to_owned(), 7);
        assert!(added.lock().unwrap().contains(&steals));
    }
}
