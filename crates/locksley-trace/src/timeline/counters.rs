//! Numbers of a pool over time.

use std::collections::BTreeMap;

use super::Counter;
use super::stints::Stint;
use crate::record::{Kind, Record};

/// The counters of each pool: workers awake, workers allowed, tasks left where one was stolen.
///
/// And the lengths of queues, and for how long a quota has stopped the process.
pub(super) fn all(
    threads: &[&[Record]],
    stints: &[Stint<'_>],
    name: impl Fn(u32) -> String,
) -> Vec<Counter> {
    let mut pools: BTreeMap<u32, Pool> = BTreeMap::new();
    let mut throttled = Counter { name: "throttled by the quota, µs".into(), values: Vec::new() };
    let mut lengths: BTreeMap<u32, Vec<(u64, u32)>> = BTreeMap::new();
    for stint in stints {
        pools.entry(stint.worker.0).or_default().add_worker(stint);
    }
    for &Record { at, kind, detail, arg, .. } in threads.iter().copied().flatten() {
        match kind {
            Kind::Allows => pools.entry(detail).or_default().allowed.push((at, arg)),
            Kind::Throttled => throttled.values.push((at, arg)),
            Kind::Length => lengths.entry(arg).or_default().push((at, detail)),
            _ => {}
        }
    }
    let counters = pools.into_iter().flat_map(|(number, pool)| pool.counters(number));
    let lengths = lengths.into_iter().map(|(label, values)| Counter { name: name(label), values });
    counters
        .chain(lengths)
        .chain([throttled])
        .filter(|counter| !counter.values.is_empty())
        .collect()
}

#[derive(Default)]
struct Pool {
    /// By how much the number of awake workers changes, and when.
    awake: Vec<(u64, i32)>,
    allowed: Vec<(u64, u32)>,
    left: Vec<(u64, u32)>,
}

impl Pool {
    fn add_worker(&mut self, stint: &Stint<'_>) {
        let records = stint.records;
        let change = |record: &Record| match record.kind {
            Kind::Parks | Kind::Blocks => Some((record.at, -1)),
            Kind::Unparks => Some((record.at, 1)),
            _ => None,
        };
        let changes = || records.iter().filter_map(change);
        // One that first wakes up sleeps until then. Others are awake from their begin.
        let begins_awake = changes().next().is_none_or(|(_, change)| change < 0);
        let first = records.first().filter(|_| begins_awake);
        self.awake.extend(first.map(|record| (record.at, 1)));
        self.awake.extend(changes());
        // A guest is active until its call ends.
        let last = records.last().filter(|_| stint.ends);
        self.awake.extend(last.map(|record| (record.at, -1)));
        let steals = records.iter().filter(|record| record.kind == Kind::Steals);
        self.left.extend(steals.map(|record| (record.at, record.detail)));
    }

    fn counters(mut self, number: u32) -> [Counter; 3] {
        self.awake.sort_by_key(|&(at, _)| at);
        self.allowed.sort_by_key(|&(at, _)| at);
        self.left.sort_by_key(|&(at, _)| at);
        let mut awake = 0_i32;
        let awake = self.awake.into_iter().map(|(at, change)| {
            awake += change;
            (at, u32::try_from(awake).unwrap_or(0))
        });
        let counter =
            |name: &str, values| Counter { name: format!("pool {number}: {name}"), values };
        [
            counter("workers awake", awake.collect()),
            counter("workers allowed", self.allowed),
            counter("tasks left by a steal", self.left),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_that_sleep_are_not_awake() {
        let record = |(at, kind, detail, arg)| Record { at, kind, detail, processor: None, arg };
        let one = [(1, Kind::Parks, 0, 0), (5, Kind::Unparks, 0, 0)].map(record);
        let other = [(2, Kind::Unparks, 0, 0), (3, Kind::Steals, 4, 0)].map(record);
        let outside =
            [(4, Kind::Allows, 0, 6), (8, Kind::Length, 5, 3), (9, Kind::Throttled, 0, 7)];
        let outside = outside.map(record);
        let guest = [(6, Kind::Attached, 0, 9), (8, Kind::Detached, 0, 0)].map(record);
        let stint = |track, records, ends| Stint {
            track,
            worker: (0, track as u32),
            begin: 0,
            records,
            ends,
        };
        let stints = [stint(0, &one[..], false), stint(1, &other[..], false)];
        let stints = stints.into_iter().chain([stint(2, &guest[..1], true)]);
        let stints: Vec<_> = stints.collect();
        let name = |label| format!("queue {label}");
        let counters = all(&[&one, &other, &guest, &outside], &stints, name);
        let values: Vec<_> = counters.iter().map(|it| (it.name.as_str(), &it.values[..])).collect();
        let expected: [(_, &[_]); 5] = [
            ("pool 0: workers awake", &[(1, 1), (1, 0), (2, 1), (5, 2), (6, 3), (6, 2)]),
            ("pool 0: workers allowed", &[(4, 6)]),
            ("pool 0: tasks left by a steal", &[(3, 4)]),
            ("queue 3", &[(8, 5)]),
            ("throttled by the quota, µs", &[(9, 7)]),
        ];
        assert_eq!(values, expected);
    }
}
