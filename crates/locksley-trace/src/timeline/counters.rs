//! Numbers of a pool over time.

use std::collections::BTreeMap;

use super::{Counter, Track};
use crate::record::{Kind, Record};

/// The counters of each pool: workers awake, workers allowed, tasks left where one was stolen.
pub(super) fn all(threads: &[&[Record]], tracks: &[Track]) -> Vec<Counter> {
    let mut pools: BTreeMap<u8, Vec<&Record>> = BTreeMap::new();
    let mut workers: BTreeMap<u8, u32> = BTreeMap::new();
    for (track, records) in threads.iter().enumerate() {
        let pool = tracks[track].worker.map(|(pool, _)| pool);
        if let Some(pool) = pool {
            // Those whose first event is that they wake up sleep until then.
            let first = records.iter().find_map(|record| change(record.kind));
            *workers.entry(pool).or_default() += u32::from(first != Some(1));
        }
        for record in *records {
            let of = if record.kind == Kind::Allows { Some(record.detail) } else { pool };
            if let Some(of) = of {
                pools.entry(of).or_default().push(record);
            }
        }
    }
    let counters = pools.into_iter().flat_map(|(pool, mut records)| {
        records.sort_by_key(|record| record.at);
        let awake = i64::from(workers.get(&pool).copied().unwrap_or(0));
        of_pool(pool, awake, &records)
    });
    counters.filter(|counter| !counter.values.is_empty()).collect()
}

/// By how much an event changes the number of awake workers.
fn change(kind: Kind) -> Option<i64> {
    match kind {
        Kind::Parks | Kind::Blocks => Some(-1),
        Kind::Unparks => Some(1),
        _ => None,
    }
}

fn of_pool(pool: u8, mut awake: i64, records: &[&Record]) -> [Counter; 3] {
    let counter = |name: &str| Counter { name: format!("pool {pool}: {name}"), values: Vec::new() };
    let mut awakes = counter("workers awake");
    let (mut allowed, mut left) = (counter("workers allowed"), counter("tasks left by a steal"));
    for record in records {
        if let Some(change) = change(record.kind) {
            awake += change;
            awakes.values.push((record.at, u32::try_from(awake).unwrap_or(0)));
        }
        match record.kind {
            Kind::Allows => allowed.values.push((record.at, record.arg)),
            Kind::Steals => left.values.push((record.at, record.detail.into())),
            _ => {}
        }
    }
    [awakes, allowed, left]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_that_sleep_are_not_awake() {
        let record = |(at, kind, detail, arg)| Record { at, kind, detail, processor: None, arg };
        let one = [(1, Kind::Parks, 0, 0), (5, Kind::Unparks, 0, 0)].map(record);
        let other = [(2, Kind::Unparks, 0, 0), (3, Kind::Steals, 4, 0)].map(record);
        let outside = [(4, Kind::Allows, 0, 6)].map(record);
        let worker = |slot| Track { worker: Some((0, slot)), ..Track::default() };
        let tracks = [worker(0), worker(1), Track::default()];
        let counters = all(&[&one, &other, &outside], &tracks);
        let values: Vec<_> = counters.iter().map(|it| (it.name.as_str(), &it.values[..])).collect();
        let expected: [(_, &[_]); 3] = [
            ("pool 0: workers awake", &[(1, 0), (2, 1), (5, 2)]),
            ("pool 0: workers allowed", &[(4, 6)]),
            ("pool 0: tasks left by a steal", &[(3, 4)]),
        ];
        assert_eq!(values, expected);
    }
}
