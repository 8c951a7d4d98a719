//! Files that are written whole, or not at all, and the digests of executables.

use std::fs::{self, File, OpenOptions};
use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::fault::{Fault, Outcome};

/// Checks that a file can be written, and leaves all as it was.
pub fn check_writable(path: &Path) -> Outcome<()> {
    let existed = path.exists();
    OpenOptions::new()
        .append(true)
        .create(true)
        .open(path)
        .map_err(|error| Fault::input(format!("cannot write {}: {error}", path.display())))?;
    if !existed {
        // The check has made it.
        let _ = fs::remove_file(path);
    }
    Ok(())
}

/// Makes sure that the folder is there.
pub fn make_folder(folder: &Path) -> Outcome<()> {
    fs::create_dir_all(folder).map_err(|error| {
        Fault::input(format!("cannot make the folder {}: {error}", folder.display()))
    })
}

/// Whether two paths, of which neither need exist, lead to one file.
pub fn are_one(a: &Path, b: &Path) -> bool {
    let place = |path: &Path| {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new(".")).canonicalize().ok()?;
        Some(folder.join(path.file_name()?))
    };
    place(a).is_some_and(|a| Some(a) == place(b))
}

/// Checks that files can be written, that no two of them are one, and that none is the `input`.
pub fn check_outputs<'p>(input: &Path, outputs: impl IntoIterator<Item = &'p Path>) -> Outcome<()> {
    let mut taken = vec![input];
    for output in outputs {
        if let Some(place) = taken.iter().position(|it| are_one(it, output)) {
            let what = if place == 0 { "is the input itself" } else { "would be written twice" };
            return Err(Fault::input(format!("{} {what}", output.display())));
        }
        check_writable(output)?;
        // A terminal or a null device may be written twice.
        if !output.exists() || output.is_file() {
            taken.push(output);
        }
    }
    Ok(())
}

/// Writes a file in such a way that a reader finds the old content or the new one, never a part.
pub fn replace(path: &Path, content: impl AsRef<[u8]>) -> Outcome<()> {
    let fault =
        |error: std::io::Error| Fault::run(format!("cannot write {}: {error}", path.display()));
    if path.exists() && !path.is_file() {
        return fs::write(path, content).map_err(fault);
    }
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    let new = path.with_file_name(name);
    fs::write(&new, content).and_then(|()| fs::rename(&new, path)).map_err(|error| {
        let _ = fs::remove_file(&new);
        fault(error)
    })
}

/// A digest of the executable that is running. It is read once.
pub fn digest_of_this_program() -> String {
    static DIGEST: OnceLock<String> = OnceLock::new();
    let digest =
        || std::env::current_exe().map_or_else(|_| "unknown".to_owned(), |path| digest_of(&path));
    DIGEST.get_or_init(digest).clone()
}

/// A digest of the file at `path`.
pub fn digest_of(path: &Path) -> String {
    let digest = |content: Vec<u8>| {
        let mut hasher = DefaultHasher::new();
        hasher.write(&content);
        format!("{:016x}", hasher.finish())
    };
    fs::read(path).map_or_else(|_| "unknown".to_owned(), digest)
}

/// A lock on a file, by one beside it, which is removed when this is dropped.
#[derive(Debug)]
pub struct Lock {
    beside: PathBuf,
    _open: File,
}

impl Drop for Lock {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.beside);
    }
}

/// Locks the file `path`; an error if another process holds the lock.
#[cfg(target_os = "linux")]
pub fn lock(path: &Path) -> Outcome<Option<Lock>> {
    use rustix::fs::{FlockOperation, flock};
    use std::os::unix::fs::MetadataExt;

    // A device has no neighbours.
    if path.exists() && !path.is_file() {
        return Ok(None);
    }
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".lock");
    let beside = path.with_file_name(name);
    let cannot_write =
        |error: std::io::Error| Fault::input(format!("cannot write {}: {error}", beside.display()));
    loop {
        let open = File::create(&beside).map_err(cannot_write)?;
        if flock(&open, FlockOperation::NonBlockingLockExclusive)
            == Err(rustix::io::Errno::WOULDBLOCK)
        {
            return Err(Fault::input(format!("another run is writing {}", path.display())));
        }
        // (A file system without locks is no reason not to measure.) The process that held the lock
        // may have removed this file meanwhile.
        let number = |file: std::io::Result<fs::Metadata>| file.map(|file| file.ino()).ok();
        if number(open.metadata()) == number(fs::metadata(&beside)) {
            return Ok(Some(Lock { beside, _open: open }));
        }
    }
}

#[cfg(not(target_os = "linux"))]
pub fn lock(_: &Path) -> Outcome<Option<Lock>> {
    Ok(None)
}
