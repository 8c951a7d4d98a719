//! The memory that this process holds.

use crate::fault::{Fault, Outcome};

/// The resident memory, in bytes; else why it is not known.
#[cfg(target_os = "linux")]
pub(crate) fn resident() -> Outcome<u64> {
    let path = "/proc/self/statm";
    let text = std::fs::read_to_string(path)
        .map_err(|error| Fault::Missing(format!("{path} cannot be read: {error}")))?;
    let pages =
        pages(&text).ok_or_else(|| Fault::Missing(format!("{path} says '{}'", text.trim())))?;
    Ok(pages * rustix::param::page_size() as u64)
}

/// The resident memory, in bytes; else why it is not known.
#[cfg(not(target_os = "linux"))]
pub(crate) fn resident() -> Outcome<u64> {
    Err(Fault::Missing("this system does not tell how much memory a process holds".to_owned()))
}

/// Whether the system tells.
pub(super) fn can_be_told() -> bool {
    resident().is_ok()
}

/// The second of the numbers: the resident pages.
#[cfg(target_os = "linux")]
fn pages(statm: &str) -> Option<u64> {
    statm.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_second_number_counts() {
        assert_eq!(pages("1200 345 67 8 0 9 0\n"), Some(345));
        assert_eq!(pages("1200\n"), None);
        assert_eq!(pages("1200 many"), None);
    }

    #[test]
    fn what_is_written_to_is_resident() {
        let bytes = std::hint::black_box(vec![1u8; 128 << 20]);
        // Of what else there is, other tests take some and give some back.
        assert!(resident().unwrap() >= 128 << 20);
        drop(bytes);
    }
}
