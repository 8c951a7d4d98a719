//! The laboratory's records: any text is a record or refused, a record is read as it was written,
//! and each has a page, whatever is in it.

#![no_main]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use locksley_lab::experiment::record;
use locksley_lab::experiment::{chart, html, text};
use locksley_lab::experiments;
use locksley_lab::fault::Fault;
use serde_json::Value;

#[derive(Arbitrary, Debug)]
enum Input<'a> {
    Text(&'a [u8]),
    /// A record of an experiment, changed.
    Changed(u8, Vec<Change<'a>>),
}

/// At a path from the root: which of the values there, in turn.
#[derive(Arbitrary, Debug)]
enum Change<'a> {
    Remove(Vec<u8>),
    Keep(Vec<u8>, u8),
    Copy(Vec<u8>, Vec<u8>),
    Integer(Vec<u8>, i64),
    Small(Vec<u8>, u8),
    Float(Vec<u8>, f64),
    Text(Vec<u8>, &'a str),
    Cut(Vec<u8>, u8),
}

/// So many samples of a record are kept, so that a page takes little time.
const SAMPLES: usize = 100;

/// A kept record of each experiment, as far as there is one.
static RECORDS: LazyLock<Vec<Value>> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../lab/record");
    let files = |folder: &Path| fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let machines = files(&folder).filter(|path| path.is_dir());
    let mut paths: Vec<PathBuf> = machines.flat_map(|machine| files(&machine)).collect();
    paths.sort();
    let mut kept = BTreeMap::new();
    for mut record in paths.iter().filter_map(|path| record::read(path).ok()) {
        let every = record.samples.len().div_ceil(SAMPLES).max(1);
        record.samples = record.samples.into_iter().step_by(every).collect();
        let value = serde_json::from_str(&record.to_json().unwrap()).unwrap();
        kept.insert(record.experiment, value);
    }
    kept.into_values().collect()
});

static FILE: LazyLock<PathBuf> = LazyLock::new(|| {
    std::env::temp_dir().join(format!("locksley-fuzz-{}.json", std::process::id()))
});

fuzz_target!(|input: Input<'_>| {
    match input {
        Input::Text(text) => check(text),
        Input::Changed(number, changes) => {
            let mut record = RECORDS[usize::from(number) % RECORDS.len()].clone();
            changes.into_iter().for_each(|change| apply(&mut record, change));
            check(record.to_string().as_bytes());
        }
    }
});

fn check(text: &[u8]) {
    let read = |text: &[u8]| {
        fs::write(&*FILE, text).unwrap();
        record::read(&FILE)
    };
    let record = match read(text) {
        Ok(record) => record,
        Err(Fault::Input(why)) => return assert!(!why.is_empty()),
        Err(fault) => panic!("{fault}"),
    };
    assert_eq!(read(record.to_json().unwrap().as_bytes()).as_ref(), Ok(&record));
    let Some(experiment) = experiments::find(&record.experiment) else { return };
    let report = (experiment.report)(&record);
    text::tables(&record, &report);
    html::page(&record, &report);
    chart::picture(&report.pictures);
}

fn at<'v>(value: &'v mut Value, path: &[u8]) -> &'v mut Value {
    let count = match value {
        Value::Array(items) => items.len(),
        Value::Object(fields) => fields.len(),
        _ => 0,
    };
    let Some((&first, rest)) = path.split_first().filter(|_| count > 0) else { return value };
    let number = usize::from(first) % count;
    let next = match value {
        Value::Array(items) => items.get_mut(number),
        Value::Object(fields) => fields.values_mut().nth(number),
        _ => None,
    };
    at(next.expect("there are so many"), rest)
}

fn apply(record: &mut Value, change: Change<'_>) {
    match change {
        Change::Remove(path) => {
            let Some((&last, path)) = path.split_last() else { return };
            match at(record, path) {
                Value::Array(items) if !items.is_empty() => {
                    items.remove(usize::from(last) % items.len());
                }
                Value::Object(fields) => {
                    let name = fields.keys().nth(last.into()).cloned();
                    name.map(|name| fields.remove(&name));
                }
                _ => {}
            }
        }
        Change::Keep(path, count) => {
            if let Value::Array(items) = at(record, &path) {
                items.truncate(count.into());
            }
        }
        Change::Copy(from, to) => *at(record, &to) = at(record, &from).clone(),
        Change::Integer(path, number) => *at(record, &path) = number.into(),
        Change::Small(path, number) => *at(record, &path) = number.into(),
        Change::Float(path, number) => *at(record, &path) = number.into(),
        Change::Text(path, text) => *at(record, &path) = text.into(),
        Change::Cut(path, count) => {
            if let Value::String(text) = at(record, &path) {
                *text = text.chars().take(count.into()).collect();
            }
        }
    }
}
