//! How many threads want to run on this machine (`man 5 proc_loadavg`).

use super::file;

/// How many threads of all programs run or wait for a processor at this moment, the caller
/// included. In a container this may be the whole machine's number, or the container's own.
pub fn runnable_threads() -> Option<usize> {
    let mut buffer = [0; 128];
    let text = file::read(c"/proc/loadavg", &mut buffer).ok()?;
    parse(std::str::from_utf8(text).ok()?)
}

/// The fourth word is, for example, `2/345`: of 345 threads, 2 can run.
fn parse(text: &str) -> Option<usize> {
    text.split_ascii_whitespace().nth(3)?.split_once('/')?.0.parse().ok()
}

pub(crate) fn probe() -> Result<(), String> {
    runnable_threads().map(drop).ok_or_else(|| "/proc/loadavg is not as expected".to_owned())
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::parse;

    #[test]
    fn the_fourth_word_begins_with_the_number() {
        assert_eq!(parse("0.20 0.18 0.12 3/80 11206\n"), Some(3));
        assert_eq!(parse("0.20 0.18 0.12\n"), None);
        assert_eq!(parse("0.20 0.18 0.12 x/80 11206"), None);
        assert_eq!(parse("0.20 0.18 0.12 380 11206"), None);
    }
}
