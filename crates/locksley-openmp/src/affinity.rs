//! The text that describes a thread and its affinity (OpenMP 5.0, section 6.14).

use std::sync::Mutex;

use locksley_sys::places::ProcessorSet;

use crate::environment::settings;
use crate::mutex::lock;

/// What `omp_set_affinity_format` has set.
static FORMAT: Mutex<Option<String>> = Mutex::new(None);

/// The format that is set.
pub(crate) fn format() -> String {
    lock(&FORMAT).clone().unwrap_or_else(|| settings().affinity_format.clone())
}

pub(crate) fn set_format(text: String) {
    *lock(&FORMAT) = Some(text);
}

/// What the fields of a format stand for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Thread {
    pub(crate) team_number: u32,
    pub(crate) teams: u32,
    pub(crate) level: u32,
    pub(crate) number: u32,
    pub(crate) threads: u32,
    pub(crate) ancestor: i32,
}

/// Fills a format: `%t`, `%5t`, `%.5t`, `%0.5t` or `%{team_num}`. An empty one stands for the one
/// that is set.
pub(crate) fn describe(format: &str, thread: &Thread) -> String {
    if format.is_empty() {
        let set = self::format();
        return if set.is_empty() { set } else { describe(&set, thread) };
    }
    let mut text = String::new();
    let mut rest = format;
    while let Some((before, after)) = rest.split_once('%') {
        text.push_str(before);
        if let Some(after) = after.strip_prefix('%') {
            text.push('%');
            rest = after;
            continue;
        }
        rest = field(&mut text, after, thread);
    }
    text + rest
}

/// Fields are padded to at most so many characters.
const LARGEST_WIDTH: usize = 1 << 20;

/// Writes the field that begins behind the per cent sign, and returns what follows it.
fn field<'a>(text: &mut String, format: &'a str, thread: &Thread) -> &'a str {
    let is_zero = format.starts_with('0');
    let format = format.strip_prefix('0').unwrap_or(format);
    let is_right = format.starts_with('.');
    let format = format.strip_prefix('.').unwrap_or(format);
    let digits = format.find(|it: char| !it.is_ascii_digit()).unwrap_or(format.len());
    let width: usize = format[..digits].parse().unwrap_or(0);
    let format = &format[digits..];
    let (name, rest) = match format.strip_prefix('{').and_then(|it| it.split_once('}')) {
        Some((name, rest)) => (name, rest),
        None => format.split_at(format.chars().next().map_or(0, char::len_utf8)),
    };
    let value = value(name, thread);
    // Not by `write!`, which panics at a width above 65,535.
    let fill = width.min(LARGEST_WIDTH).saturating_sub(value.chars().count());
    let is_padded_by_zeros = is_right && is_zero && value.parse::<i64>().is_ok();
    let (sign, digits) = value.split_at(usize::from(is_padded_by_zeros && value.starts_with('-')));
    let padding = if is_padded_by_zeros { "0" } else { " " }.repeat(fill);
    let (before, after) = if is_right { (&*padding, "") } else { ("", &*padding) };
    [sign, before, digits, after].iter().for_each(|part| text.push_str(part));
    rest
}

fn value(name: &str, thread: &Thread) -> String {
    match name {
        "t" | "team_num" => thread.team_number.to_string(),
        "T" | "num_teams" => thread.teams.to_string(),
        "L" | "nesting_level" => thread.level.to_string(),
        "n" | "thread_num" => thread.number.to_string(),
        "N" | "num_threads" => thread.threads.to_string(),
        "a" | "ancestor_tnum" => thread.ancestor.to_string(),
        "H" | "host" => rustix::system::uname().nodename().to_string_lossy().into_owned(),
        "P" | "process_id" => std::process::id().to_string(),
        "i" | "native_thread_id" => rustix::thread::gettid().as_raw_nonzero().to_string(),
        "A" | "thread_affinity" => processors(),
        _ => "undefined".to_owned(),
    }
}

/// The processors that this thread may run on, as ranges: `0-3,6`.
fn processors() -> String {
    let Ok(set) = rustix::thread::sched_getaffinity(None) else { return "undefined".to_owned() };
    let allowed = (0..rustix::thread::CpuSet::MAX_CPU).filter(|&it| set.is_set(it));
    allowed.collect::<ProcessorSet>().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_have_a_width_and_an_adjustment() {
        let thread =
            Thread { team_number: 0, teams: 1, level: 2, number: 3, threads: 4, ancestor: -1 };
        let text = |format| describe(format, &thread);
        assert_eq!(text("level %L of %{num_threads}%%"), "level 2 of 4%");
        assert_eq!(text("[%5n][%.5n][%0.5n]"), "[3    ][    3][00003]");
        assert_eq!(text("%a|%?|%0.4a|100%"), "-1|undefined|-001|100undefined");
        assert_eq!((text("%70000n").len(), text("%0.99999999999n").len()), (70_000, LARGEST_WIDTH));
    }
}
