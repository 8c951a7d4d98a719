//! A run that is under way, as a file: a header, then one entry a line, so that it can be stopped at any point and resumed.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::fault::{Fault, Outcome};

/// An open file of lines.
pub struct Lines {
    path: PathBuf,
    file: File,
}

impl Lines {
    /// Opens the lines at `path`, and returns the entries that are there. They count only if they stand under an equal
    /// header, and unless a fresh start is wanted; else the file is begun anew. A last line that was cut off in the middle
    /// is no entry.
    pub fn open<Header, Entry>(
        path: &Path,
        header: &Header,
        fresh: bool,
    ) -> Outcome<(Lines, Vec<Entry>)>
    where
        Header: PartialEq + Serialize + DeserializeOwned,
        Entry: Serialize + DeserializeOwned,
    {
        let earlier = if fresh { None } else { fs::read_to_string(path).ok() };
        let entries: Vec<Entry> =
            earlier.and_then(|text| entries_under(header, &text)).unwrap_or_default();
        let file =
            OpenOptions::new().write(true).create(true).truncate(true).open(path).map_err(
                |error| Fault::input(format!("cannot write {}: {error}", path.display())),
            )?;
        let mut lines = Lines { path: path.to_owned(), file };
        lines.add(header)?;
        for entry in &entries {
            lines.add(entry)?;
        }
        Ok((lines, entries))
    }

    /// Adds an entry.
    pub fn add(&mut self, entry: &impl Serialize) -> Outcome<()> {
        let mut line =
            serde_json::to_string(entry).map_err(|error| Fault::run(error.to_string()))?;
        line.push('\n');
        let written = self.file.write_all(line.as_bytes());
        written
            .map_err(|error| Fault::run(format!("cannot write {}: {error}", self.path.display())))
    }
}

fn entries_under<Header, Entry>(header: &Header, text: &str) -> Option<Vec<Entry>>
where
    Header: PartialEq + DeserializeOwned,
    Entry: DeserializeOwned,
{
    let mut lines = text.lines();
    let found: Header = serde_json::from_str(lines.next()?).ok()?;
    (found == *header).then(|| lines.map_while(|line| serde_json::from_str(line).ok()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_survive_if_the_header_is_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lines");
        let entries = |header: &str, fresh| {
            let opened = Lines::open::<String, u32>(&path, &header.to_owned(), fresh);
            opened.unwrap().1
        };
        let (mut lines, none) = Lines::open::<String, u32>(&path, &"a".to_owned(), false).unwrap();
        assert!(none.is_empty());
        lines.add(&1u32).unwrap();
        lines.add(&2u32).unwrap();
        lines.file.write_all(b"\"3").unwrap();
        assert_eq!(entries("a", false), [1, 2]);
        assert_eq!(entries("a", false), [1, 2], "they were written again");
        assert!(entries("a", true).is_empty());
        lines.add(&1u32).unwrap();
        assert!(entries("b", false).is_empty());
    }
}
