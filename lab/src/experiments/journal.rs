//! The measurements of a run that is under way, so that it can be stopped at any point and resumed.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::fault::Outcome;
use crate::record::lines::Lines;

/// The journal of a run, in a file beside the record that it will become.
pub(super) struct Journal<E> {
    path: PathBuf,
    lines: Lines,
    entries: Vec<E>,
}

impl<E: Serialize + DeserializeOwned> Journal<E> {
    /// Opens the journal beside `record`. If it has this header, and unless a fresh start is wanted, what it holds counts
    /// as measured; otherwise it is begun anew.
    pub(super) fn beside<H>(record: &Path, header: &H, fresh: bool) -> Outcome<Journal<E>>
    where
        H: Serialize + DeserializeOwned + PartialEq,
    {
        let mut name = record.file_name().unwrap_or_default().to_owned();
        name.push(".part");
        let path = record.with_file_name(name);
        let (lines, entries) = Lines::open(&path, header, fresh)?;
        Ok(Journal { path, lines, entries })
    }

    /// What has been measured.
    pub(super) fn entries(&self) -> &[E] {
        &self.entries
    }

    /// Adds a measurement.
    pub(super) fn add(&mut self, entry: E) -> Outcome<()> {
        self.lines.add(&entry)?;
        self.entries.push(entry);
        Ok(())
    }

    /// All measurements, to become a record: `write` keeps it, and then the journal is removed. One that stays behind does
    /// no harm.
    pub(super) fn into_record<R>(self, write: impl FnOnce(Vec<E>) -> Outcome<R>) -> Outcome<R> {
        let record = write(self.entries)?;
        let _ = fs::remove_file(&self.path);
        Ok(record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_is_taken_up_again_until_it_has_become_a_record() {
        let folder = tempfile::tempdir().unwrap();
        let record = folder.path().join("record.json");
        let open =
            |header: &str| Journal::<u32>::beside(&record, &header.to_owned(), false).unwrap();
        open("one").add(7).unwrap();
        let journal = open("one");
        assert_eq!(journal.entries(), &[7u32][..]);
        assert_eq!(journal.into_record(Ok).unwrap(), vec![7u32]);
        assert!(open("one").entries().is_empty());
    }
}
