//! The file of a recording, and its parts that are mapped into memory.
//!
//! Space is reserved before it is mapped. A store to a mapped page for which the disk has no room
//! would end the program.
//!
//! The descriptor of the file stays open during the recording. A program may close it, for example
//! because it becomes a daemon, and its number may then name a file of the program. So device and
//! inode are compared before each use.

use std::fs::File;
use std::io;
use std::mem::ManuallyDrop;
use std::os::unix::fs::FileExt;
use std::ptr::{self, NonNull};
use std::sync::atomic::AtomicU64;

use rustix::fs::{FallocateFlags, Stat, fstat};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use rustix::param::page_size;

use crate::format::WORD;

/// The open file of a recording.
#[derive(Debug)]
pub(crate) struct KeptFile {
    /// Closed only if it is still that file.
    file: ManuallyDrop<File>,
    opened: Stat,
}

impl KeptFile {
    pub(crate) fn new(file: File) -> io::Result<Self> {
        let opened = fstat(&file)?;
        Ok(Self { file: ManuallyDrop::new(file), opened })
    }

    /// The file, for one use.
    ///
    /// # Errors
    /// If the program has closed the descriptor. Its number may name another file.
    pub(crate) fn get(&self) -> io::Result<&File> {
        let is_opened =
            |it: Stat| it.st_dev == self.opened.st_dev && it.st_ino == self.opened.st_ino;
        let why = "the program has closed the descriptor of its recording";
        let is_own = fstat(&*self.file).is_ok_and(is_opened);
        if is_own { Ok(&self.file) } else { Err(io::Error::other(why)) }
    }
}

impl Drop for KeptFile {
    fn drop(&mut self) {
        if self.get().is_ok() {
            // SAFETY: it is not used any more, and dropped once.
            unsafe { ManuallyDrop::drop(&mut self.file) };
        }
    }
}

/// A part of a file, as words that several threads and processes may read and write.
#[derive(Debug)]
pub(crate) struct Mapping {
    /// The first word.
    address: NonNull<AtomicU64>,
    words: usize,
    /// Mapped before that: pages are larger than the file's parts on some machines.
    before: usize,
}

// SAFETY: it is memory, which belongs to no thread, and is accessed by atomics only.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Reserves a part of a file that is not in use yet, and maps it. `offset` and `bytes` are
    /// multiples of the word size.
    pub(crate) fn reserve(file: &File, offset: usize, bytes: usize) -> io::Result<Self> {
        reserve(file, offset, bytes)?;
        let (access, shared) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
        let before = offset % page_size();
        let (begin, all) = ((offset - before) as u64, before + bytes);
        // SAFETY: a new mapping at an address that the kernel chooses touches no memory that is in
        // use.
        let address = unsafe { mmap(ptr::null_mut(), all, access, shared, file, begin) }?;
        let address = NonNull::new(address.cast::<u8>()).ok_or(io::ErrorKind::OutOfMemory)?;
        // SAFETY: `before` is less than what was mapped there.
        let address = unsafe { address.add(before) };
        Ok(Self { address: address.cast(), words: bytes / WORD, before })
    }

    #[inline]
    pub(crate) fn words(&self) -> &[AtomicU64] {
        // SAFETY: mapped, and thereby aligned and initialized, while `self` lives; all accesses of
        // this process are atomic.
        unsafe { std::slice::from_raw_parts(self.address.as_ptr(), self.words) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: `reserve` added as much.
        let address = unsafe { self.address.cast::<u8>().sub(self.before) };
        // SAFETY: exactly what `reserve` mapped, and no reference to it is left.
        let unmapped = unsafe { munmap(address.as_ptr().cast(), self.before + self.words * WORD) };
        debug_assert!(unmapped.is_ok());
    }
}

fn reserve(file: &File, offset: usize, bytes: usize) -> io::Result<()> {
    let (from, length) = (offset as u64, bytes as u64);
    match rustix::fs::fallocate(file, FallocateFlags::empty(), from, length) {
        Err(rustix::io::Errno::OPNOTSUPP) => {
            // The file system knows no reservations: it has room for what is written.
            let zeros = [0; 4096];
            (0..bytes.div_ceil(zeros.len())).try_for_each(|page| {
                let begin = page * zeros.len();
                let length = zeros.len().min(bytes - begin);
                file.write_all_at(&zeros[..length], (offset + begin) as u64)
            })
        }
        reserved => Ok(reserved?),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::atomic::Ordering;

    use super::*;

    /// On machines with large pages, several rings lie in one page.
    #[test]
    fn a_part_may_begin_within_a_page() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[1; 100]).unwrap();
        let parts = [(page_size() - 8, 24), (page_size() + 16, 16)];
        let parts = parts.map(|(at, bytes)| Mapping::reserve(&file, at, bytes).unwrap());
        for (number, part) in (1..).zip(&parts) {
            part.words().iter().for_each(|word| word.store(number, Ordering::Relaxed));
        }
        let mut words = [0; 48];
        file.read_exact_at(&mut words, page_size() as u64 - 16).unwrap();
        let firsts: Vec<u8> = words.chunks(WORD).map(|word| word[0]).collect();
        assert_eq!(firsts, [0, 1, 1, 1, 2, 2]);
        let lengths = parts.map(|part| part.words().len());
        assert_eq!(lengths, [3, 2]);
    }
}
