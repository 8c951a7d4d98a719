//! The table of labels: each name once, in the file.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use crate::file::Mapping;
use crate::format::{HEADER_BYTES, LABELS_BYTES, WORD, header};

/// The names of one recording. A label is the index of a name.
#[derive(Debug, Default)]
pub(crate) struct Labels(Mutex<HashMap<&'static str, u32>>);

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
    pub(crate) fn intern(&self, mapping: &Mapping, name: &'static str) -> u32 {
        let mut labels = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(&label) = labels.get(name) {
            return label;
        }
        let end = &mapping.words()[header::LABEL_BYTES];
        let used = end.load(Ordering::Relaxed) as usize;
        let name_bytes = &name.as_bytes()[..name.len().min(u8::MAX.into())];
        if used + 1 + name_bytes.len() > LABELS_BYTES {
            return REST;
        }
        let bytes = [name_bytes.len() as u8].into_iter().chain(name_bytes.iter().copied());
        for (position, byte) in (HEADER_BYTES + used..).zip(bytes) {
            // A byte of a word: only this thread, which has the lock, writes the table.
            let byte = u64::from(byte) << (8 * (position % WORD));
            mapping.words()[position / WORD].fetch_or(byte, Ordering::Relaxed);
        }
        // Release: a reader that sees the end sees the name.
        end.store((used + 1 + name_bytes.len()) as u64, Ordering::Release);
        let label = labels.len() as u32;
        labels.insert(name, label);
        label
    }
}
