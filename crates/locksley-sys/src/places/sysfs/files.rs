//! Reading small files of which any may be missing, unreadable, or full of nonsense.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

use super::super::{Doubt, ProcessorSet};

/// No file that we read is longer. The longest are lists of processors, of at most a page or, in
/// new kernels, a few.
const MOST_BYTES: u64 = 1 << 20;

/// The files below a root, and what was wrong with them so far.
pub(super) struct Files<'a> {
    root: &'a Path,
    doubts: Vec<Doubt>,
}

impl<'a> Files<'a> {
    pub(super) fn new(root: &'a Path) -> Self {
        Self { root, doubts: Vec::new() }
    }

    pub(super) fn into_doubts(self) -> Vec<Doubt> {
        self.doubts
    }

    pub(super) fn at(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    pub(super) fn doubt(&mut self, path: &str, problem: impl ToString) {
        self.doubts.push(Doubt::File { path: path.to_owned(), problem: problem.to_string() });
    }

    /// What the file says, without white space at its ends; `None` where there is no such file, or
    /// nothing in it.
    pub(super) fn text(&mut self, path: &str) -> Option<String> {
        match read(&self.at(path)) {
            Ok(text) => Some(text).filter(|text| !text.is_empty()),
            Err(error) if is_missing(&error) => None,
            Err(error) => {
                self.doubt(path, error);
                None
            }
        }
    }

    /// What the file says, where `parse` understands it.
    pub(super) fn parsed<T>(
        &mut self,
        path: &str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        let text = self.text(path)?;
        let value = parse(&text);
        if value.is_none() {
            let start: String = text.chars().take(40).collect();
            self.doubt(path, format!("not understood: {start:?}"));
        }
        value
    }

    /// The number that the system gives a thing. Where it has none, kernels write -1, or have no
    /// file.
    pub(super) fn number(&mut self, path: &str) -> Option<usize> {
        let number = self.parsed(path, |text| text.parse::<i64>().ok())?;
        usize::try_from(number).ok()
    }

    pub(super) fn list(&mut self, path: &str) -> Option<ProcessorSet> {
        self.parsed(path, |text| text.parse().ok())
    }

    /// A set of which there is a mask, a list, or both.
    pub(super) fn set(&mut self, mask: &str, list: &str) -> Option<ProcessorSet> {
        // Masks have been there for longer.
        let by_mask = self.parsed(mask, |text| ProcessorSet::from_mask(text).ok());
        by_mask.or_else(|| self.list(list))
    }

    /// The numbers N of the entries `prefixN` of a folder, in ascending order; none where there is
    /// no such folder.
    pub(super) fn numbered(&mut self, folder: &str, prefix: &str) -> Vec<usize> {
        match numbered(&self.at(folder), prefix) {
            Ok(numbers) => numbers,
            Err(error) if is_missing(&error) => Vec::new(),
            Err(error) => {
                self.doubt(folder, error);
                Vec::new()
            }
        }
    }

    /// The names of what is in a folder, in order; none where there is no such folder.
    pub(super) fn names(&mut self, folder: &str) -> Vec<String> {
        match names(&self.at(folder)) {
            Ok(mut names) => {
                names.sort_unstable();
                names
            }
            Err(error) if is_missing(&error) => Vec::new(),
            Err(error) => {
                self.doubt(folder, error);
                Vec::new()
            }
        }
    }
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

fn read(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    File::open(path)?.take(MOST_BYTES).read_to_end(&mut bytes)?;
    // Some old kernels end a file with a zero.
    let text = bytes.split(|&byte| byte == 0).next().unwrap_or_default();
    Ok(String::from_utf8_lossy(text).trim().to_owned())
}

/// As [`Files::numbered`].
pub(super) fn numbered(folder: &Path, prefix: &str) -> io::Result<Vec<usize>> {
    let number = |name: &String| {
        let digits = name.strip_prefix(prefix)?;
        digits.parse().ok().filter(|number: &usize| number.to_string() == digits)
    };
    let mut numbers: Vec<usize> = names(folder)?.iter().filter_map(number).collect();
    numbers.sort_unstable();
    Ok(numbers)
}

fn names(folder: &Path) -> io::Result<Vec<String>> {
    let entries = fs::read_dir(folder)?;
    let name = |entry: io::Result<fs::DirEntry>| {
        entry.map(|entry| entry.file_name().to_string_lossy().into_owned())
    };
    entries.map(name).collect()
}
