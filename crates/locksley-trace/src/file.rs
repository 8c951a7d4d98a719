//! The file of a recording, and its parts that are mapped into memory.
//!
//! Space is reserved before it is mapped. A store to a mapped page for which the disk has no room
//! would end the program.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::ptr::{self, NonNull};
use std::sync::atomic::AtomicU64;

use rustix::fs::FallocateFlags;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use crate::format::WORD;

/// A part of a file, as words that several threads and processes may read and write.
#[derive(Debug)]
pub(crate) struct Mapping {
    address: NonNull<AtomicU64>,
    words: usize,
}

// SAFETY: it is memory, which belongs to no thread, and is accessed by atomics only.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Reserves a part of a file that is not in use yet, and maps it. `offset` and `bytes` are
    /// multiples of the page size.
    pub(crate) fn reserve(file: &File, offset: usize, bytes: usize) -> io::Result<Self> {
        reserve(file, offset, bytes)?;
        let (access, shared) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
        // SAFETY: a new mapping at an address that the kernel chooses touches no memory that is in
        // use.
        let address = unsafe { mmap(ptr::null_mut(), bytes, access, shared, file, offset as u64) }?;
        let address = NonNull::new(address.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { address, words: bytes / WORD })
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
        // SAFETY: exactly what `reserve` mapped, and no reference to it is left.
        let unmapped = unsafe { munmap(self.address.as_ptr().cast(), self.words * WORD) };
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
