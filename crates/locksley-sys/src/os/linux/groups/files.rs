//! The machine's files.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::os::LimitFault;

/// The machine's files, or those of another one.
#[derive(Debug)]
pub(super) struct Files {
    root: PathBuf,
}

impl Files {
    /// Their paths begin with a stroke, which stands for `root`.
    pub(super) fn below(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// `None` if there is no such file.
    pub(super) fn read(&self, path: &Path) -> Result<Option<String>, LimitFault> {
        let mut text = Vec::new();
        let text = self.keep(path.to_owned()).read(&mut text)?.map(str::to_owned);
        Ok(text)
    }

    pub(super) fn has(&self, folder: &Path) -> bool {
        self.at(folder).exists()
    }

    /// One that is read again and again. It need not be there.
    pub(super) fn keep(&self, path: PathBuf) -> KeptFile {
        KeptFile { at: self.at(&path), path: path.into(), state: State::Unknown }
    }

    fn at(&self, path: &Path) -> PathBuf {
        self.root.join(path.strip_prefix("/").unwrap_or(path))
    }
}

/// A file that is kept open: to read what a system's file says now takes a fraction of what it
/// takes to find it.
#[derive(Debug)]
pub(super) struct KeptFile {
    /// As the machine names it.
    path: Arc<Path>,
    at: PathBuf,
    state: State,
}

#[derive(Debug)]
enum State {
    Unknown,
    Open(File),
    /// There was no such file, when it was last looked for.
    Absent,
}

impl KeptFile {
    pub(super) fn path(&self) -> &Arc<Path> {
        &self.path
    }

    /// It is looked for anew the next time.
    pub(super) fn forget(&mut self) {
        self.state = State::Unknown;
    }

    /// Whether nothing is known of it, also because it is gone.
    pub(super) fn is_unknown(&self) -> bool {
        matches!(self.state, State::Unknown)
    }

    /// What it says now; `None` if there is no such file. What was in `text` before is overwritten.
    ///
    /// One that is not there is not looked for again until it is [forgotten](Self::forget). One
    /// that is removed while it is open is: the kernel says of files whose group is gone that there
    /// is no such device.
    pub(super) fn read<'t>(
        &mut self,
        text: &'t mut Vec<u8>,
    ) -> Result<Option<&'t str>, LimitFault> {
        let is_read = match &self.state {
            State::Absent => return Ok(None),
            State::Open(file) => read_whole(file, text).is_ok(),
            State::Unknown => false,
        };
        if !is_read {
            let was_open = !self.is_unknown();
            self.forget();
            match self.read_anew(text) {
                Ok(file) => self.state = State::Open(file),
                Err(error) if is_absence(&error) => {
                    if !was_open {
                        self.state = State::Absent;
                    }
                    return Ok(None);
                }
                Err(error) => return Err(self.fault(&error)),
            }
        }
        match std::str::from_utf8(text) {
            Ok(text) => Ok(Some(text)),
            Err(error) => Err(self.fault(&error)),
        }
    }

    fn read_anew(&self, text: &mut Vec<u8>) -> io::Result<File> {
        let file = File::open(&self.at)?;
        read_whole(&file, text)?;
        Ok(file)
    }

    fn fault(&self, problem: &dyn std::fmt::Display) -> LimitFault {
        LimitFault::file(&self.path, problem.to_string())
    }
}

/// A file that is not there, or whose group has been removed meanwhile.
fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
        || error.raw_os_error() == Some(libc::ENODEV)
}

/// Reads all of a file, from its beginning. There is room for a page in what was read into before,
/// so it seldom allocates.
fn read_whole(file: &File, text: &mut Vec<u8>) -> io::Result<()> {
    /// Most have less, and the kernel says nothing of how long they are.
    const PAGE: usize = 4096;
    let mut length = 0;
    text.resize(text.capacity().max(PAGE), 0);
    loop {
        if length == text.len() {
            text.resize(2 * length, 0);
        }
        match file.read_at(&mut text[length..], length as u64) {
            Ok(0) => break,
            Ok(more) => length += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    text.truncate(length);
    Ok(())
}
