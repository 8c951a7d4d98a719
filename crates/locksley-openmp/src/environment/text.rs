//! The values of environment variables, word by word.

use std::io::Write;

use crate::icv::{Kind, Schedule};

/// Prints a message as libgomp does.
pub(crate) fn warn(message: &str) {
    // One write keeps the message whole. A failure cannot be reported.
    let _ = std::io::stderr().write_all(format!("\nlibgomp: {message}\n").as_bytes());
}

pub(super) fn boolean(text: &str) -> Option<bool> {
    match text.trim() {
        it if it.eq_ignore_ascii_case("true") => Some(true),
        it if it.eq_ignore_ascii_case("false") => Some(false),
        _ => None,
    }
}

/// A number that is at least `least`.
pub(super) fn number(text: &str, least: u64) -> Option<u64> {
    text.trim().trim_start_matches('+').parse().ok().filter(|&it| it >= least)
}

/// Numbers of at least 1, with commas between them.
pub(super) fn numbers(text: &str) -> Option<Vec<u32>> {
    let one = |word: &str| number(word, 1).and_then(|it| i32::try_from(it).ok());
    text.split(',').map(|word| one(word).map(i32::cast_unsigned)).collect()
}

/// A size in kibibytes, or in the unit that its last letter says: B, K, M or G. In bytes.
pub(super) fn size(text: &str) -> Option<usize> {
    let text = text.trim();
    let digits = text.trim_end_matches(|it: char| it.is_ascii_alphabetic()).trim_end();
    let unit = match text[digits.len()..].trim_start().to_ascii_lowercase().as_str() {
        "b" => 1,
        "" | "k" => 1 << 10,
        "m" => 1 << 20,
        "g" => 1 << 30,
        _ => return None,
    };
    usize::try_from(number(digits, 0)?).ok()?.checked_mul(unit)
}

/// What is wrong with a schedule.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ScheduleFault {
    Kind,
    Chunk,
}

/// `[modifier:]kind[,chunk]`.
pub(super) fn schedule(text: &str) -> Result<Schedule, ScheduleFault> {
    let lower = text.to_ascii_lowercase();
    let (modifier, rest) = match lower.split_once(':') {
        None => (None, lower.as_str()),
        Some((modifier, rest)) => match modifier.trim() {
            "monotonic" => (Some(true), rest),
            "nonmonotonic" => (Some(false), rest),
            _ => return Err(ScheduleFault::Kind),
        },
    };
    let (kind, chunk) = match rest.split_once(',') {
        None => (rest, None),
        Some((kind, chunk)) => (kind, Some(chunk)),
    };
    let kind = match kind.trim() {
        "static" => Kind::Static,
        "dynamic" => Kind::Dynamic,
        "guided" => Kind::Guided,
        "auto" => Kind::Auto,
        _ => return Err(ScheduleFault::Kind),
    };
    let chunk = match chunk {
        None => 0,
        Some(chunk) => {
            number(chunk, 0).and_then(|it| i32::try_from(it).ok()).ok_or(ScheduleFault::Chunk)?
        }
    };
    let is_monotonic = modifier.unwrap_or(kind == Kind::Static);
    Ok(Schedule::new(kind, is_monotonic, i64::from(chunk)))
}

/// The number by which `omp_get_proc_bind` reports each word; a list of them.
pub(super) fn binds(text: &str) -> Option<Vec<i32>> {
    match boolean(text) {
        Some(is_bound) => Some(vec![i32::from(is_bound)]),
        None => text
            .split(',')
            .map(|word| match word.trim().to_ascii_lowercase().as_str() {
                "master" | "primary" => Some(2),
                "close" => Some(3),
                "spread" => Some(4),
                _ => None,
            })
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        assert_eq!(size("3"), Some(3 << 10));
        assert_eq!(size(" 7 M "), Some(7 << 20));
        assert_eq!(size("5b"), Some(5));
        assert_eq!(
            (size("-1"), size("10Q"), size(""), size("99999999999999G")),
            (None, None, None, None)
        );
    }

    #[test]
    fn schedules_have_modifiers_and_chunks() {
        let dynamic = |is_monotonic, chunk| Ok(Schedule::new(Kind::Dynamic, is_monotonic, chunk));
        assert_eq!(schedule("dynamic"), dynamic(false, 1));
        assert_eq!(schedule(" Monotonic : DYNAMIC , 5"), dynamic(true, 5));
        assert_eq!(schedule("foo"), Err(ScheduleFault::Kind));
        assert_eq!(schedule("static,x"), Err(ScheduleFault::Chunk));
        assert_eq!(schedule("static").map(|it| it.number()), Ok(0x8000_0001));
    }

    #[test]
    fn lists_are_read_whole_or_not_at_all() {
        assert_eq!(numbers("4, 3,2"), Some(vec![4, 3, 2]));
        assert_eq!((numbers("4,x"), numbers("0"), numbers("")), (None, None, None));
        assert_eq!(binds("spread,close"), Some(vec![4, 3]));
        assert_eq!((binds("TRUE"), binds("x")), (Some(vec![1]), None));
    }
}
