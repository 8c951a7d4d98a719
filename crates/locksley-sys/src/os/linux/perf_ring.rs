//! Rings into which the kernel writes records about a thread (`man 2 perf_event_open`).
//!
//! A ring is mapped for reading only, so the kernel overwrites what is oldest and never waits.

use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU64, Ordering};

use super::file::Descriptor;
use super::last_error;

const TYPE_SOFTWARE: u32 = 1;
const COUNT_DUMMY: u64 = 9;
const EXCLUDE_KERNEL: u64 = 1 << 5;
const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
const CONTEXT_SWITCH: u64 = 1 << 26;
const CLOSE_ON_EXEC: libc::c_ulong = 1 << 3;

/// Where the page before the ring says how many bytes have been written, ever.
const HEAD: usize = 1024;

/// The kernel's `perf_event_attr`, up to the field that chooses a clock.
#[repr(C)]
#[derive(Default)]
pub(super) struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    pub(super) sample_type: u64,
    read_format: u64,
    pub(super) flags: u64,
    wakeup: u32,
    breakpoint: u32,
    config1: u64,
    config2: u64,
    branch_sample_type: u64,
    user_registers: u64,
    user_stack: u32,
    pub(super) clock: i32,
}

/// The size of the first version of the attributes, which every kernel understands.
const FIRST_VERSION: u32 = 64;

impl Attributes {
    /// A record at each context switch, which is nothing but its header.
    pub(super) fn of_switches() -> Self {
        Self {
            kind: TYPE_SOFTWARE,
            size: FIRST_VERSION,
            config: COUNT_DUMMY,
            flags: EXCLUDE_KERNEL | EXCLUDE_HYPERVISOR | CONTEXT_SWITCH,
            ..Self::default()
        }
    }

    /// The same, with fields that newer versions have.
    pub(super) fn with_all_fields(self) -> Self {
        Self { size: size_of::<Self>() as u32, ..self }
    }
}

/// A ring about one thread. It may be read by any thread.
#[derive(Debug)]
pub(super) struct PerfRing {
    pages: NonNull<u8>,
    page: usize,
    /// The size of the ring, without the page before it.
    bytes: usize,
}

// SAFETY: the pages stay mapped while this exists, and are only read, by atomic loads.
unsafe impl Send for PerfRing {}
// SAFETY: as above.
unsafe impl Sync for PerfRing {}

impl PerfRing {
    /// A ring of so many pages, a power of two, about the calling thread.
    pub(super) fn of_this_thread(attributes: &Attributes, pages: usize) -> Result<Self, String> {
        // The descriptor is closed at the end: a mapping keeps what it needs of the file.
        Self::map(&Self::open(attributes)?, pages)
    }

    fn open(attributes: &Attributes) -> Result<Descriptor, String> {
        let (this_thread, any_processor, no_group) = (0, -1, -1);
        // SAFETY: the kernel reads as many bytes of the attributes as they say they have.
        let file = unsafe {
            libc::syscall(
                libc::SYS_perf_event_open,
                ptr::from_ref(attributes),
                this_thread,
                any_processor,
                no_group,
                CLOSE_ON_EXEC,
            )
        };
        let file = libc::c_int::try_from(file).map_err(|error| error.to_string())?;
        if file < 0 { Err(last_error()) } else { Ok(Descriptor::new(file)) }
    }

    fn map(file: &Descriptor, pages: usize) -> Result<Self, String> {
        // SAFETY: no memory is involved.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        let page = usize::try_from(page).map_err(|error| error.to_string())?;
        let bytes = pages * page;
        // SAFETY: a new mapping at an address that the kernel chooses touches no memory that is in
        // use.
        let pages = unsafe {
            libc::mmap(
                ptr::null_mut(),
                page + bytes,
                libc::PROT_READ,
                libc::MAP_SHARED,
                file.number(),
                0,
            )
        };
        if pages == libc::MAP_FAILED {
            return Err(last_error());
        }
        let pages = NonNull::new(pages.cast()).ok_or("mapped at address 0")?;
        let ring = Self { pages, page, bytes };
        // A read from a shorter file of the program would end the program by a signal.
        if file.is_own() { Ok(ring) } else { Err("the program closed the descriptor".to_owned()) }
    }

    /// The number of bytes that the kernel has written, ever.
    pub(super) fn head(&self) -> u64 {
        // Acquire pairs with the kernel's write barrier before it moves the head: the records are
        // seen.
        self.at(HEAD).load(Ordering::Acquire)
    }

    /// The word at a position of the kernel's writing, if that is not overwritten yet.
    pub(super) fn word(&self, position: u64) -> u64 {
        let offset = position as usize & (self.bytes - 1);
        self.at(self.page + (offset & !7)).load(Ordering::Relaxed)
    }

    /// The size of the ring.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes as u64
    }

    fn at(&self, offset: usize) -> &AtomicU64 {
        debug_assert!(offset % 8 == 0 && offset + 8 <= self.page + self.bytes);
        // SAFETY: the offset lies within the pages.
        let word = unsafe { self.pages.add(offset) };
        // SAFETY: the pages are mapped while `self` lives; pages and the offset are aligned to 8
        // bytes; no thread of this process writes there.
        unsafe { AtomicU64::from_ptr(word.cast().as_ptr()) }
    }
}

impl Drop for PerfRing {
    fn drop(&mut self) {
        // SAFETY: exactly what `map` mapped, and it is not read any more, since that takes a
        // reference to `self`.
        unsafe { libc::munmap(self.pages.as_ptr().cast(), self.page + self.bytes) };
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::fs::File;
    use std::os::fd::AsRawFd;
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn a_ring_works_on_after_its_descriptor_was_reused() {
        let descriptor = match PerfRing::open(&Attributes::of_switches()) {
            Ok(descriptor) => descriptor,
            Err(why) => return crate::skip_test(why),
        };
        let ring = PerfRing::map(&descriptor, 1).unwrap();
        let program = File::open(std::env::current_exe().unwrap()).unwrap();
        // SAFETY: both are open. What `descriptor` names is replaced, which it has to notice.
        let number = unsafe { libc::dup2(program.as_raw_fd(), descriptor.number()) };
        drop(descriptor);
        let (before, until) = (ring.head(), Instant::now() + Duration::from_secs(20));
        // A record of 8 bytes for each way.
        while ring.head() < before + 10 * 8 {
            assert!(Instant::now() < until, "{} after {before}", ring.head());
            std::thread::sleep(Duration::from_micros(50));
        }
        drop(ring);
        let mut byte = 0_u8;
        // SAFETY: one byte is written, for which there is room.
        assert_eq!(unsafe { libc::pread(number, (&raw mut byte).cast(), 1, 0) }, 1);
        // SAFETY: opened above, and not closed by the drop.
        unsafe { libc::close(number) };
    }

    #[test]
    fn a_file_of_the_program_is_not_taken_for_a_ring() {
        let descriptor = match PerfRing::open(&Attributes::of_switches()) {
            Ok(descriptor) => descriptor,
            Err(why) => return crate::skip_test(why),
        };
        let program = File::open(std::env::current_exe().unwrap()).unwrap();
        // SAFETY: as above.
        let number = unsafe { libc::dup2(program.as_raw_fd(), descriptor.number()) };
        assert!(PerfRing::map(&descriptor, 1).is_err());
        drop(descriptor);
        // SAFETY: opened above, and not closed by the drop.
        unsafe { libc::close(number) };
    }
}
