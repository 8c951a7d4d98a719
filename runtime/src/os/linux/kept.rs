//! Files that stay open for who reads them again: to open one and close it again takes several times as long as to read it.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::{Mutex, TryLockError};

/// Files of the kernel's, which say what is true when they are read. (Of others, this would not see that one was put in another's place.)
#[derive(Debug)]
pub(super) struct KeptFiles(Mutex<Open>);

#[derive(Debug)]
struct Open {
    /// The process that has opened them: for a child of it, its own files say something else.
    owner: u32,
    files: Vec<(PathBuf, File)>,
}

/// No more of them stay open.
const MOST: usize = 32;

impl KeptFiles {
    pub(super) const fn new() -> Self {
        Self(Mutex::new(Open { owner: 0, files: Vec::new() }))
    }

    /// What is in it now. It does not wait: who comes while another one reads opens the file anew.
    ///
    /// # Errors
    /// If it cannot be opened or read, or is no text.
    pub(super) fn read(&self, path: &Path) -> io::Result<String> {
        match self.0.try_lock() {
            Ok(mut open) => open.read(path),
            // A child of the process may find it locked by a thread that is not there.
            Err(TryLockError::WouldBlock | TryLockError::Poisoned(_)) => whole(&File::open(path)?),
        }
    }
}

impl Open {
    fn read(&mut self, path: &Path) -> io::Result<String> {
        let process = process::id();
        if self.owner != process || self.files.len() >= MOST {
            self.files.clear();
            self.owner = process;
        }
        if let Some(place) = self.files.iter().position(|(its, _)| its == path) {
            // What it was of may be gone, and something else there now.
            match whole(&self.files[place].1) {
                Ok(text) => return Ok(text),
                Err(_) => drop(self.files.swap_remove(place)),
            }
        }
        let file = File::open(path)?;
        let text = whole(&file)?;
        self.files.push((path.to_owned(), file));
        Ok(text)
    }
}

fn whole(file: &File) -> io::Result<String> {
    let mut text = Vec::new();
    read_whole(file, &mut text)?;
    String::from_utf8(text).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// All of a file, from its beginning, wherever others have come to. There is room for a page in what was read into before, so it seldom allocates.
pub(super) fn read_whole(file: &File, text: &mut Vec<u8>) -> io::Result<()> {
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

#[cfg(all(test, not(loom)))]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_is_read_is_what_is_there_now() {
        let files = KeptFiles::new();
        let path = std::env::temp_dir().join(format!("locksley-kept-{}", process::id()));
        for text in ["", "short", "shorter", &"long\n".repeat(5000), "short again"] {
            fs::write(&path, text).unwrap();
            assert_eq!(files.read(&path).unwrap(), text);
            assert_eq!(whole(&File::open(&path).unwrap()).unwrap(), text);
        }
        assert_eq!(files.0.lock().unwrap().files.len(), 1);
        let files = KeptFiles::new();
        fs::remove_file(&path).unwrap();
        assert_eq!(files.read(&path).unwrap_err().kind(), io::ErrorKind::NotFound);
        fs::write(&path, [0xff]).unwrap();
        assert_eq!(files.read(&path).unwrap_err().kind(), io::ErrorKind::InvalidData);
        fs::remove_file(&path).unwrap();
    }

    /// A file that is open still is that of a thread that is gone: to read it fails, and then there is none of that name.
    #[test]
    fn what_is_gone_is_not_there() {
        let files = KeptFiles::new();
        let (path, before) = std::thread::scope(|scope| {
            let its = || {
                // SAFETY: no memory is involved.
                let thread = unsafe { libc::gettid() };
                let path = PathBuf::from(format!("/proc/self/task/{thread}/comm"));
                let before = files.read(&path);
                (path, before)
            };
            scope.spawn(its).join().unwrap()
        });
        assert!(before.is_ok());
        // The kernel lets go of a thread a little after whoever joins it has learnt that it ends.
        while path.exists() {
            std::thread::yield_now();
        }
        assert!(files.read(&path).is_err());
    }

    #[test]
    fn nobody_waits_and_few_stay_open() {
        let files = KeptFiles::new();
        let path = Path::new("/proc/self/stat");
        let held = files.0.lock().unwrap();
        assert!(files.read(path).unwrap().starts_with(&format!("{} ", process::id())));
        assert!(held.files.is_empty());
        drop(held);
        for number in 0..3 * MOST {
            // The same file by other names.
            let path = format!("/proc/self{}/stat", "/task/..".repeat(number));
            files.read(path.as_ref()).unwrap();
            assert!(files.0.lock().unwrap().files.len() <= MOST);
        }
    }
}
