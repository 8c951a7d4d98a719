//! The table of labels: each name once, in the file.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use crate::file::Mapping;
use crate::format::{HEADER_BYTES, LABELS_BYTES, WORD, header};

/// The names of one recording. A label is the index of a name.
#[derive(Debug, Default)]
pub(crate) struct Labels(Mutex<Table>);

#[derive(Debug, Default)]
struct Table {
    labels: HashMap<Box<str>, u32>,
    /// How many bytes of the file's table are used. What the file says, others may have written.
    used: usize,
}

/// The label of names for which the table has no room. The table begins with it.
const REST: u32 = 0;
const REST_NAME: &str = "(other)";

impl Labels {
    /// An empty table in the header of a file.
    pub(crate) fn new(mapping: &Mapping) -> Self {
        let labels = Self::default();
        labels.intern(mapping, REST_NAME);
        labels
    }

    /// The label of a name.
    pub(crate) fn intern(&self, mapping: &Mapping, name: &str) -> u32 {
        let Table { labels, used } = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(&label) = labels.get(name) {
            return label;
        }
        let name_bytes = &name.as_bytes()[..name.len().min(u8::MAX.into())];
        if *used + 1 + name_bytes.len() > LABELS_BYTES {
            return REST;
        }
        let bytes = [name_bytes.len() as u8].into_iter().chain(name_bytes.iter().copied());
        for (position, byte) in (HEADER_BYTES + *used..).zip(bytes) {
            // A byte of a word: only this thread, which has the lock, writes the table.
            let byte = u64::from(byte) << (8 * (position % WORD));
            mapping.words()[position / WORD].fetch_or(byte, Ordering::Relaxed);
        }
        // Release: a reader that sees the end sees the name.
        *used += 1 + name_bytes.len();
        mapping.words()[header::LABEL_BYTES].store(*used as u64, Ordering::Release);
        let label = labels.len() as u32;
        labels.insert(name.into(), label);
        label
    }
}
