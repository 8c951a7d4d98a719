//! Where programs record that can be looked at while they run: a folder of the user's own.
//!
//! A file there is named by its process. It is removed when the recording ends. What a killed
//! program left behind is removed by the next one.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::format::{WORD, header};
use crate::read::Trace;

/// The folder: below `XDG_RUNTIME_DIR`, or, if that is not set, below `/tmp`.
fn folder() -> PathBuf {
    match std::env::var_os("XDG_RUNTIME_DIR").filter(|it| !it.is_empty()) {
        Some(folder) => Path::new(&folder).join("locksley"),
        None => PathBuf::from(format!("/tmp/locksley-{}", rustix::process::geteuid().as_raw())),
    }
}

/// The file of a process that records with `LOCKSLEY_TRACE=live`, whether or not there is one.
#[must_use]
pub fn live_file(process: u32) -> PathBuf {
    folder().join(format!("{process}.trace"))
}

/// The processes that record so now, and that this user may look at.
///
/// # Examples
/// ```
/// for process in locksley_trace::live_processes() {
///     println!("{process}: {}", locksley_trace::live_file(process).display());
/// }
/// ```
#[must_use]
pub fn live_processes() -> Vec<u32> {
    let files = files().filter(|(_, file)| file.extension().is_some_and(|it| it == "trace"));
    let mut processes: Vec<u32> = files.map(|(process, _)| process).filter(is_alive).collect();
    processes.sort_unstable();
    processes
}

/// The files of the folder, with their processes.
fn files() -> impl Iterator<Item = (u32, PathBuf)> {
    let entries = fs::read_dir(folder()).into_iter().flatten().flatten();
    entries.filter_map(|entry| {
        let path = entry.path();
        // One with the other extension may be left where a program was killed.
        let is_trace = path.extension().is_some_and(|it| it == "trace" || it == "new");
        let process = path.file_stem()?.to_str()?.parse().ok()?;
        is_trace.then_some((process, path))
    })
}

fn is_alive(process: &u32) -> bool {
    Path::new("/proc").join(process.to_string()).exists()
}

/// What a process asks of another one that records with `LOCKSLEY_TRACE=live`, by
/// [`send`](Self::send).
///
/// # Examples
/// ```no_run
/// for process in locksley_trace::live_processes() {
///     locksley_trace::Command::BeginTrace.send(process)?;
/// }
/// # Ok::<(), locksley_trace::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Gives a pool another size, as [`Pool::resize`](locksley::Pool::resize) does, if it can have
    /// that size.
    Resize {
        /// The number of the pool.
        pool: u32,
        /// Its new size.
        size: u16,
    },
    /// Records many events of each thread from now on.
    BeginTrace,
    /// Keeps them in a file of their own, [`trace_file`], and records few again.
    EndTrace,
}

impl Command {
    /// Asks a process, which obeys some moments later. A later command replaces one that was not
    /// obeyed yet.
    ///
    /// # Errors
    /// If the process has no recording that this program can read and write.
    pub fn send(self, process: u32) -> Result<(), Error> {
        let path = live_file(process);
        Trace::read(&path)?;
        let file = OpenOptions::new().write(true).open(&path);
        let at = (header::COMMAND * WORD) as u64;
        let written = file.and_then(|file| file.write_all_at(&self.word().to_le_bytes(), at));
        written.map_err(Error::file(&path))
    }

    fn word(self) -> u64 {
        match self {
            Self::Resize { pool, size } => 1 | u64::from(pool) << 16 | u64::from(size) << 48,
            Self::BeginTrace => 2,
            Self::EndTrace => 3,
        }
    }

    /// `None` for what is no command.
    pub(crate) fn of(word: u64) -> Option<Self> {
        let resize = Self::Resize { pool: (word >> 16) as u32, size: (word >> 48) as u16 };
        [resize, Self::BeginTrace, Self::EndTrace].into_iter().find(|it| it.word() == word)
    }
}

/// The file of a trace that commands have begun and ended. It stays when the program ends.
#[must_use]
pub fn trace_file(process: u32, number: u64) -> PathBuf {
    folder().join(format!("{process}-{number}.trace"))
}

/// Makes the folder, removes what killed programs left there, and returns the file of this process.
pub(crate) fn prepare() -> Result<PathBuf, Error> {
    let folder = folder();
    make_private(&folder).map_err(Error::file(&folder))?;
    for (_, left) in files().filter(|(process, _)| !is_alive(process)) {
        // Another program may have removed it.
        let _ = fs::remove_file(left);
    }
    Ok(live_file(std::process::id()))
}

/// Makes a folder that only this user can enter. An existing one has to be such a folder: in `/tmp`
/// another user may have made it.
fn make_private(folder: &Path) -> io::Result<()> {
    match fs::DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        made => return made,
    }
    let found = fs::symlink_metadata(folder)?;
    let is_own = found.is_dir() && found.uid() == rustix::process::geteuid().as_raw();
    if is_own && found.mode() & 0o077 == 0 {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::PermissionDenied, "not a private folder of this user"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_folder_of_others_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let private = folder.path().join("private");
        make_private(&private).unwrap();
        make_private(&private).unwrap();
        assert_eq!(private.metadata().unwrap().mode() & 0o777, 0o700);
        let link = folder.path().join("link");
        symlink(&private, &link).unwrap();
        assert!(make_private(&link).is_err());
        fs::set_permissions(&private, fs::Permissions::from_mode(0o755)).unwrap();
        assert!(make_private(&private).is_err());
    }
}
