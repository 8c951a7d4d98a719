//! When a thread was last switched in or out, and whether it wanted to run on (`man 2
//! perf_event_open`, `context_switch`).
//!
//! The kernel writes a record into a ring of the thread's own with every context switch. The ring
//! is mapped for reading only, so the kernel overwrites what is oldest and never waits; others look
//! at the newest record, which takes two loads and no system call.

use std::ptr::{self, NonNull};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use super::affinity::on_a_throwaway_thread;
use super::last_error;

const TYPE_SOFTWARE: u32 = 1;
const COUNT_DUMMY: u64 = 9;
const EXCLUDE_KERNEL: u64 = 1 << 5;
const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
const CONTEXT_SWITCH: u64 = 1 << 26;
const CLOSE_ON_EXEC: libc::c_ulong = 1 << 3;

/// Where the page before the ring says how many bytes have been written, ever.
const HEAD: usize = 1024;
/// A record is nothing but its header: type, flags and size.
const RECORD_BYTES: u64 = 8;
const RECORD_SWITCH: u64 = 14;
const SWITCH_OUT: u64 = 1 << (32 + 13);
const PREEMPTED: u64 = 1 << (32 + 14);

/// The first version of the kernel's `perf_event_attr`, which every kernel understands.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup: u32,
    breakpoint: u32,
    config1: u64,
}

/// The last context switch of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Switch {
    /// It runs, or ran when this was read.
    In,
    /// It was switched out though it could have run on.
    Preempted,
    /// It waits for something.
    Blocked,
}

/// A thread's ring. It may be read by any thread.
#[derive(Debug)]
pub(super) struct SwitchRing {
    pages: NonNull<u8>,
    page: usize,
}

// SAFETY: the pages stay mapped while this exists, and are only read, by atomic loads.
unsafe impl Send for SwitchRing {}
// SAFETY: as above.
unsafe impl Sync for SwitchRing {}

impl SwitchRing {
    pub(super) fn of_this_thread() -> Result<Self, String> {
        let attributes = Attributes {
            kind: TYPE_SOFTWARE,
            size: size_of::<Attributes>() as u32,
            config: COUNT_DUMMY,
            flags: EXCLUDE_KERNEL | EXCLUDE_HYPERVISOR | CONTEXT_SWITCH,
            ..Attributes::default()
        };
        let (this_thread, any_processor, no_group) = (0, -1, -1);
        // SAFETY: the kernel reads as many bytes of the attributes as they say they have.
        let file = unsafe {
            libc::syscall(
                libc::SYS_perf_event_open,
                &raw const attributes,
                this_thread,
                any_processor,
                no_group,
                CLOSE_ON_EXEC,
            )
        };
        let file = libc::c_int::try_from(file).map_err(|error| error.to_string())?;
        if file < 0 {
            return Err(last_error());
        }
        let mapped = Self::map(file);
        // SAFETY: the file was opened above and is used nowhere else; a mapping keeps what it needs
        // of it.
        unsafe { libc::close(file) };
        mapped
    }

    fn map(file: libc::c_int) -> Result<Self, String> {
        // SAFETY: no memory is involved.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        let page = usize::try_from(page).map_err(|error| error.to_string())?;
        // SAFETY: a new mapping at an address that the kernel chooses touches no memory that is in
        // use.
        let pages = unsafe {
            libc::mmap(ptr::null_mut(), 2 * page, libc::PROT_READ, libc::MAP_SHARED, file, 0)
        };
        if pages == libc::MAP_FAILED {
            return Err(last_error());
        }
        let pages = NonNull::new(pages.cast()).ok_or("mapped at address 0")?;
        Ok(Self { pages, page })
    }

    /// The last context switch; `None` if the record is not understood.
    pub(super) fn latest(&self) -> Option<Switch> {
        // Acquire pairs with the kernel's write barrier before it moves the head: the record is
        // seen.
        let head = self.word(HEAD).load(Ordering::Acquire);
        let Some(newest) = head.checked_sub(RECORD_BYTES) else { return Some(Switch::In) };
        let offset = newest as usize & (self.page - 1);
        read_record(self.word(self.page + (offset & !7)).load(Ordering::Relaxed))
    }

    /// How often the thread has left its processor and come back since the ring was made.
    pub(super) fn completed(&self) -> u64 {
        // Relaxed: a number, and nothing is read because of it. A record for each way.
        self.word(HEAD).load(Ordering::Relaxed) / (2 * RECORD_BYTES)
    }

    fn word(&self, offset: usize) -> &AtomicU64 {
        debug_assert!(offset.is_multiple_of(8) && offset + 8 <= 2 * self.page);
        // SAFETY: the offset lies within the two pages.
        let word = unsafe { self.pages.add(offset) };
        // SAFETY: the pages are mapped while `self` lives; pages and the offset are aligned to 8
        // bytes; no thread of this process writes there.
        unsafe { AtomicU64::from_ptr(word.cast().as_ptr()) }
    }
}

impl Drop for SwitchRing {
    fn drop(&mut self) {
        // SAFETY: exactly what `map` mapped, and it is not read any more, since that takes a
        // reference to `self`.
        unsafe { libc::munmap(self.pages.as_ptr().cast(), 2 * self.page) };
    }
}

fn read_record(record: u64) -> Option<Switch> {
    if record as u32 as u64 != RECORD_SWITCH || record >> 48 != RECORD_BYTES {
        return None;
    }
    Some(match (record & SWITCH_OUT != 0, record & PREEMPTED != 0) {
        (false, _) => Switch::In,
        (true, true) => Switch::Preempted,
        (true, false) => Switch::Blocked,
    })
}

pub(super) fn probe() -> Result<(), String> {
    static PROBE: OnceLock<Result<(), String>> = OnceLock::new();
    let probe = || {
        on_a_throwaway_thread(|| {
            let ring = SwitchRing::of_this_thread()?;
            let readable = ring.latest() == Some(Switch::In);
            readable.then_some(()).ok_or_else(|| "the ring is not as expected".to_owned())
        })
    };
    PROBE.get_or_init(probe).clone()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::mpsc::channel;
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn a_record_says_how_a_thread_left() {
        let out = RECORD_BYTES << 48 | SWITCH_OUT | RECORD_SWITCH;
        assert_eq!(read_record(out), Some(Switch::Blocked));
        assert_eq!(read_record(out | PREEMPTED), Some(Switch::Preempted));
        assert_eq!(read_record(RECORD_BYTES << 48 | RECORD_SWITCH), Some(Switch::In));
        assert_eq!(read_record(RECORD_BYTES << 48 | 9), None);
        assert_eq!(read_record(16 << 48 | RECORD_SWITCH), None);
    }

    #[test]
    fn a_switch_is_counted_when_it_is_over() {
        if let Err(why) = probe() {
            return crate::skip_test(why);
        }
        std::thread::spawn(|| {
            let ring = SwitchRing::of_this_thread().unwrap();
            let began = Instant::now();
            for least in 1..100 {
                // More, where another program wanted the processor; none, where a sleep was over
                // before it had begun.
                while ring.completed() < least {
                    assert!(
                        began.elapsed() < Duration::from_secs(10),
                        "{} of {least}",
                        ring.completed()
                    );
                    std::thread::sleep(Duration::from_micros(10));
                }
            }
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_thread_that_waits_is_seen_to_be_blocked() {
        if let Err(why) = probe() {
            return crate::skip_test(why);
        }
        let (send_ring, rings) = channel();
        let (end, wait_for_end) = channel::<()>();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let _ = send_ring.send(SwitchRing::of_this_thread());
                let _ = wait_for_end.recv();
            });
            let ring = rings.recv().unwrap().unwrap();
            let soon = Instant::now() + Duration::from_secs(20);
            while ring.latest() != Some(Switch::Blocked) {
                assert!(Instant::now() < soon, "{:?}", ring.latest());
                std::thread::yield_now();
            }
            drop(end);
        });
    }
}
