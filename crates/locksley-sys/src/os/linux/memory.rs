//! What the kernel is told about memory: the size of its pages (`man 2 madvise`), and where they
//! lie (`man 2 mbind`).

use std::io;
use std::ops::Range;

/// More than Linux can be built for.
const MOST_MEMORIES: usize = 1 << 15;

/// The size of a page in bytes.
pub(crate) fn page() -> usize {
    // SAFETY: it reads nothing of ours.
    let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(bytes).unwrap_or(4096)
}

/// What the kernel says of huge pages: the size of one in bytes; `None` if there are none for those
/// who ask.
pub(crate) fn huge_page() -> Option<usize> {
    let of = |file: &str| {
        std::fs::read_to_string(format!("/sys/kernel/mm/transparent_hugepage/{file}")).ok()
    };
    let are_had =
        ["[always]", "[madvise]"].iter().any(|it| of("enabled").unwrap_or_default().contains(it));
    let bytes: Option<usize> = are_had.then(|| of("hpage_pmd_size")?.trim().parse().ok()).flatten();
    bytes.filter(|&bytes| bytes > 0)
}

/// Asks for huge pages in a range of addresses, which begins and ends with a page.
///
/// # Safety
/// The memory is there, and the caller's alone.
pub(crate) unsafe fn ask_for_huge_pages(range: Range<usize>) -> io::Result<()> {
    let length = range.end - range.start;
    // SAFETY: the caller's memory, of which this changes the pages and nothing that can be read.
    let answer = unsafe {
        libc::madvise(
            std::ptr::with_exposed_provenance_mut(range.start),
            length,
            libc::MADV_HUGEPAGE,
        )
    };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Where pages come from that are touched first from now on: the first of these memories that has
/// room, or all of them in turn.
///
/// # Safety
/// As [`ask_for_huge_pages`].
pub(crate) unsafe fn place(
    range: Range<usize>,
    in_turn: bool,
    memories: &[usize],
) -> io::Result<()> {
    if memories.iter().any(|&memory| memory >= MOST_MEMORIES) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let bits = libc::c_ulong::BITS as usize;
    let words = memories.iter().max().map_or(0, |most| most / bits + 1);
    let mut mask: Vec<libc::c_ulong> = vec![0; words];
    for memory in memories {
        mask[memory / bits] |= 1 << (memory % bits);
    }
    let mode = if in_turn { libc::MPOL_INTERLEAVE } else { libc::MPOL_PREFERRED };
    // SAFETY: the caller's memory, of which this changes no contents; the mask has so many bits, of
    // which the kernel reads one less.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_mbind,
            range.start,
            range.end - range.start,
            mode,
            mask.as_ptr(),
            words * bits + 1,
            0,
        )
    };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
