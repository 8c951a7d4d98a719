//! A file that stays open for who reads it again: to open one and close it again takes several times as long as to read it.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::process;
use std::sync::Mutex;

/// A file of the kernel's, which says what is true when it is read, for all threads of the process. (Of another, this would not see that one was put in its place.)
#[derive(Debug)]
pub(super) struct CommonFile {
    path: &'static str,
    /// With the process that has opened it: for a child of that, its own says something else.
    open: Mutex<Option<(u32, File)>>,
}

impl CommonFile {
    pub(super) const fn at(path: &'static str) -> Self {
        Self { path, open: Mutex::new(None) }
    }

    /// What is in it now. It does not wait: who comes while another one reads opens the file anew.
    ///
    /// # Errors
    /// If it cannot be opened or read, or is no text.
    pub(super) fn read(&self) -> io::Result<String> {
        // A child of the process may find it locked by a thread that is not there.
        let Ok(mut open) = self.open.try_lock() else { return whole(&self.anew()?) };
        let own = open.take().filter(|(owner, _)| *owner == process::id());
        let (owner, file) =
            own.map_or_else(|| Ok((process::id(), self.anew()?)), Ok::<_, io::Error>)?;
        let text = whole(&file)?;
        *open = Some((owner, file));
        Ok(text)
    }

    fn anew(&self) -> io::Result<File> {
        File::open(self.path)
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
        let path = std::env::temp_dir().join(format!("locksley-kept-{}", process::id()));
        let file = CommonFile::at(path.to_str().unwrap().to_owned().leak());
        for text in ["", "short", "shorter", &"long\n".repeat(5000), "short again"] {
            fs::write(&path, text).unwrap();
            assert_eq!(file.read().unwrap(), text);
            assert!(file.open.lock().unwrap().is_some());
        }
        fs::write(&path, [0xff]).unwrap();
        assert_eq!(file.read().unwrap_err().kind(), io::ErrorKind::InvalidData);
        assert!(file.open.lock().unwrap().is_none());
        fs::remove_file(&path).unwrap();
        assert_eq!(file.read().unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn nobody_waits_and_a_child_opens_its_own() {
        let file = CommonFile::at("/proc/self/stat");
        let is_own = |text: String| text.starts_with(&format!("{} ", process::id()));
        let held = file.open.lock().unwrap();
        assert!(is_own(file.read().unwrap()));
        assert!(held.is_none());
        drop(held);
        *file.open.lock().unwrap() = Some((0, File::open("/proc/self/status").unwrap()));
        assert!(is_own(file.read().unwrap()), "another file was read");
    }
}
