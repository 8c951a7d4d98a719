//! Where the pages of a program's memory come from, and how large they are.

use std::io;
use std::ops::Range;

use crate::os;

/// Which memory pages come from when they are touched first.
///
/// Without any policy, a page comes from the memory that is next to the processor which touches it
/// first. So a program that fills its data where it will be used (a loop by places) needs none.
///
/// # Examples
/// See [`place_memory`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MemoryPolicy {
    /// From the memory of that number ([`Region::number`](super::Region::number)), as long as it
    /// has room.
    Preferred(usize),
    /// From each of these in turn, page by page.
    InTurn(Vec<usize>),
}

/// Asks for huge pages where `memory` is. Returns how many bytes of it were asked for: whole huge
/// pages.
///
/// Programs that go through much memory miss less often where an address is mapped (the TLB). Pages
/// become huge when they are touched first, or later, as the system finds the time. What is there
/// stays as it is; memory that is freed may keep its pages.
///
/// # Errors
/// [`Unsupported`](io::ErrorKind::Unsupported) where the system has no huge pages on request,
/// [`InvalidInput`](io::ErrorKind::InvalidInput) if `memory` holds no whole huge page, and what the
/// system says where it refuses.
///
/// # Examples
/// ```
/// # use locksley_sys as locksley;
/// use locksley::places::ask_for_huge_pages;
///
/// let mut heights: Vec<f32> = Vec::with_capacity(10_000_000);
/// match ask_for_huge_pages(heights.spare_capacity_mut()) {
///     Ok(bytes) => println!("huge pages for {bytes} bytes"),
///     Err(error) => println!("{error}"), // it works without
/// }
/// heights.resize(10_000_000, 0.0);
///
/// assert!(ask_for_huge_pages(&mut [0_u8; 100]).is_err()); // less than a page
/// ```
pub fn ask_for_huge_pages<T>(memory: &mut [T]) -> io::Result<usize> {
    let page = os::huge_page().ok_or(io::ErrorKind::Unsupported)?;
    let range = pages_in(memory, page)?;
    let bytes = range.len();
    // SAFETY: it lies in `memory`, which is borrowed for us alone.
    unsafe { os::ask_for_huge_pages(range) }?;
    Ok(bytes)
}

/// Says which memory those pages in `memory` come from that are touched first from now on. Returns
/// for how many bytes this was said: whole pages.
///
/// Pages that have been touched stay where they are, and so does what is in them. Memory that is
/// freed and used again keeps its policy.
///
/// # Errors
/// [`Unsupported`](io::ErrorKind::Unsupported) where the system knows no such policies,
/// [`InvalidInput`](io::ErrorKind::InvalidInput) if `memory` holds no whole page or if there are no
/// memories to take turns, and what the system says where it refuses: for example, where the
/// machine has no memory of that number.
///
/// # Examples
/// ```
/// # use locksley_sys as locksley;
/// use locksley::places::{MemoryPolicy, Topology, place_memory};
///
/// let machine = Topology::of_this_machine();
/// let memories = machine.memories().iter().filter_map(|memory| memory.number()).collect();
/// let mut table: Vec<u64> = Vec::with_capacity(1_000_000);
/// // All processors will read it: with two memories, each half is near to half of them.
/// if let Err(error) = place_memory(table.spare_capacity_mut(), &MemoryPolicy::InTurn(memories)) {
///     println!("{error}"); // it works without
/// }
/// table.resize(1_000_000, 0);
/// ```
pub fn place_memory<T>(memory: &mut [T], policy: &MemoryPolicy) -> io::Result<usize> {
    let (in_turn, memories) = match policy {
        MemoryPolicy::Preferred(memory) => (false, std::slice::from_ref(memory)),
        MemoryPolicy::InTurn(memories) => (true, &memories[..]),
    };
    if memories.is_empty() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "no memory was named"));
    }
    let range = pages_in(memory, os::page())?;
    let bytes = range.len();
    // SAFETY: it lies in `memory`, which is borrowed for us alone.
    unsafe { os::place_memory(range, in_turn, memories) }?;
    Ok(bytes)
}

/// The addresses of the whole pages of that size in `memory`.
fn pages_in<T>(memory: &mut [T], page: usize) -> io::Result<Range<usize>> {
    let range = memory.as_mut_ptr_range();
    let (start, end) = (range.start.expose_provenance(), range.end.addr());
    let start = start.checked_next_multiple_of(page);
    let end = end - end % page;
    let range = start.filter(|&start| start < end).map(|start| start..end);
    range.ok_or_else(|| {
        let problem = format!("there is no whole page of {page} bytes in it");
        io::Error::new(io::ErrorKind::InvalidInput, problem)
    })
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn only_whole_pages_are_meant() {
        let page = 4096;
        let mut memory = vec![0_u8; 5 * page];
        let all = memory.as_mut_ptr_range().start.addr()..memory.as_mut_ptr_range().end.addr();
        let pages = pages_in(&mut memory, page).unwrap();
        assert!(pages.start % page == 0 && pages.end % page == 0);
        assert!(all.start <= pages.start && pages.start < all.start + page);
        assert!(pages.end <= all.end && all.end - page < pages.end);
        let first = pages.start - all.start;
        for (few, is_page) in [
            (first..first + page, true),
            (first..first + page - 1, false),
            (first + 1..first + page + page - 1, false),
            (first + 1..first + 2 * page, true),
            (0..0, false),
        ] {
            let pages = pages_in(&mut memory[few.clone()], page);
            assert_eq!(pages.is_ok_and(|pages| pages.len() == page), is_page, "{few:?}");
        }
    }

    #[test]
    fn what_is_there_stays() {
        let mut memory: Vec<u32> = (0..3 << 20).collect();
        // Wherever it fails, the system is the reason.
        let is_the_systems = |error: &io::Error| {
            error.kind() == io::ErrorKind::Unsupported || error.raw_os_error().is_some()
        };
        match ask_for_huge_pages(&mut memory[..]) {
            Ok(bytes) => assert!(bytes > 0 && bytes.is_multiple_of(os::page()), "{bytes}"),
            Err(error) => assert!(is_the_systems(&error), "{error}"),
        }
        for policy in [MemoryPolicy::Preferred(0), MemoryPolicy::InTurn(vec![0])] {
            match place_memory(&mut memory[..], &policy) {
                Ok(bytes) => assert!(bytes > 11 << 20, "{bytes}"),
                Err(error) => assert!(is_the_systems(&error), "{error}"),
            }
        }
        assert!(memory.iter().zip(0..).all(|(&a, b)| a == b));
    }

    #[test]
    fn what_is_not_there_is_refused() {
        let mut memory = vec![0_u8; 1 << 16];
        let mut refused = |policy| place_memory(&mut memory[..], &policy).unwrap_err();
        let nowhere = refused(MemoryPolicy::InTurn(Vec::new()));
        assert_eq!(nowhere.to_string(), "no memory was named");
        let far = refused(MemoryPolicy::Preferred(100_000));
        assert!(far.kind() != io::ErrorKind::Other, "{far}");
        let none = place_memory(&mut [0_u8; 10], &MemoryPolicy::Preferred(0)).unwrap_err();
        assert_eq!(none.kind(), io::ErrorKind::InvalidInput);
        assert!(none.to_string().contains(&os::page().to_string()));
    }
}
