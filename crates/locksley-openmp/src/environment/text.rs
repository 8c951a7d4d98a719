//! The values of environment variables, word by word. As in libgomp, numbers and spaces are those
//! of C: a negative number wraps around.

use locksley_sys::os::Assists;

use crate::icv::{Kind, Schedule};

/// What is left to read of a value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Text<'a>(pub(super) &'a [u8]);

impl Text<'_> {
    pub(super) fn skip_spaces(&mut self) {
        while let [b' ' | b'\t'..=b'\r', rest @ ..] = self.0 {
            self.0 = rest;
        }
    }

    /// Reads that character, if it is the next one.
    pub(super) fn accept(&mut self, character: u8) -> bool {
        let rest = self.0.strip_prefix(&[character]);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    /// Skips spaces, and then does as [`accept`](Self::accept).
    pub(super) fn accept_next(&mut self, character: u8) -> bool {
        self.skip_spaces();
        self.accept(character)
    }

    /// Reads one of these words, in either case, and returns its value.
    pub(super) fn word<T: Copy>(&mut self, words: &[(&str, T)]) -> Option<T> {
        self.skip_spaces();
        let is_next = |word: &str| {
            self.0.get(..word.len()).is_some_and(|it| it.eq_ignore_ascii_case(word.as_bytes()))
        };
        let &(word, value) = words.iter().find(|(word, _)| is_next(word))?;
        self.0 = &self.0[word.len()..];
        Some(value)
    }

    /// A decimal number, as `strtoul` reads it.
    pub(super) fn number(&mut self) -> Option<u64> {
        self.unsigned(false)
    }

    /// A number below 65536 that may be hexadecimal or octal.
    pub(super) fn any_number(&mut self) -> Option<usize> {
        self.unsigned(true).filter(|&it| it < 65536).map(|it| it as usize)
    }

    fn unsigned(&mut self, has_prefix: bool) -> Option<u64> {
        let (is_negative, number) = self.sign_and_number(has_prefix)?;
        Some(if is_negative { number.wrapping_neg() } else { number })
    }

    /// A decimal number, as `strtol` reads it.
    pub(super) fn signed(&mut self) -> Option<i64> {
        let (is_negative, number) = self.sign_and_number(false)?;
        let number = i128::from(number);
        i64::try_from(if is_negative { -number } else { number }).ok()
    }

    fn sign_and_number(&mut self, has_prefix: bool) -> Option<(bool, u64)> {
        self.skip_spaces();
        let is_negative = self.accept(b'-');
        if !is_negative {
            self.accept(b'+');
        }
        let radix = match self.0 {
            [b'0', b'x' | b'X', next, ..] if has_prefix && next.is_ascii_hexdigit() => {
                self.0 = &self.0[2..];
                16
            }
            [b'0', ..] if has_prefix => 8,
            _ => 10,
        };
        let end = self.0.iter().position(|it| !char::from(*it).is_digit(radix));
        let (digits, rest) = self.0.split_at(end.unwrap_or(self.0.len()));
        self.0 = rest;
        let number = u64::from_str_radix(str::from_utf8(digits).ok()?, radix).ok()?;
        Some((is_negative, number))
    }

    /// A number that is at least `least` and not negative.
    pub(super) fn number_from(&mut self, least: u64) -> Option<u64> {
        self.number().filter(|&it| it >= least && i64::try_from(it).is_ok())
    }

    /// True if only spaces are left.
    pub(super) fn is_over(&mut self) -> bool {
        self.skip_spaces();
        self.0.is_empty()
    }
}

/// The rest, as pools read it: nothing means the usual ones.
pub(super) fn assists(text: &mut Text<'_>) -> Option<Assists> {
    match std::str::from_utf8(std::mem::take(&mut text.0)).ok()? {
        "" => Some(Assists::ALL),
        names => names.parse().ok(),
    }
}

pub(super) fn boolean(text: &mut Text<'_>) -> Option<bool> {
    text.word(&[("true", true), ("false", false)])
}

/// What `item` reads, once or more, with commas between.
pub(super) fn list<T>(
    text: &mut Text<'_>,
    item: impl Fn(&mut Text<'_>) -> Option<T>,
) -> Option<Vec<T>> {
    let mut items = vec![item(text)?];
    while text.accept_next(b',') {
        items.push(item(text)?);
    }
    Some(items)
}

/// Numbers of at least 1.
pub(super) fn numbers(text: &mut Text<'_>) -> Option<Vec<u32>> {
    list(text, |it| Some(it.number_from(1)?.min(i32::MAX as u64) as u32))
}

/// A size in kibibytes, or in the unit that its last letter says: B, K, M or G. In bytes.
pub(super) fn size(text: &mut Text<'_>) -> Option<usize> {
    let number = text.number()?;
    let shift = text.word(&[("b", 0), ("k", 10), ("m", 20), ("g", 30)]).unwrap_or(10);
    usize::try_from(number.checked_mul(1 << shift)?).ok()
}

/// How often a wait polls, which is read for its warning.
pub(super) fn spins(text: &mut Text<'_>) -> Option<()> {
    let is_endless = text.word(&[("infinite", ()), ("infinity", ())]).is_some();
    if !is_endless {
        text.number()?;
        text.word(&[("k", ()), ("m", ()), ("g", ()), ("t", ())]);
    }
    Some(())
}

/// `[modifier:]kind[,chunk]`. What comes before a fault counts, as in libgomp.
pub(super) fn schedule(text: &mut Text<'_>) -> (Schedule, Result<(), &'static str>) {
    const UNKNOWN: &str = "Unknown value for environment variable OMP_SCHEDULE";
    const CHUNK: &str = "Invalid value for chunk size in environment variable OMP_SCHEDULE";
    const KINDS: [(&str, Kind); 4] = [
        ("static", Kind::Static),
        ("dynamic", Kind::Dynamic),
        ("guided", Kind::Guided),
        ("auto", Kind::Auto),
    ];
    let modifier = text.word(&[("monotonic", true), ("nonmonotonic", false)]);
    let is_unknown = modifier.is_some() && !text.accept_next(b':');
    let Some(kind) = text.word(&KINDS).filter(|_| !is_unknown) else {
        return (Schedule::new(Kind::Dynamic, false, 1), Err(UNKNOWN));
    };
    let is_monotonic = modifier.unwrap_or(kind == Kind::Static);
    let with = |chunk| Schedule::new(kind, is_monotonic, chunk);
    if text.is_over() {
        return (with(i64::from(kind != Kind::Static)), Ok(()));
    }
    if !text.accept(b',') {
        return (with(1), Err(UNKNOWN));
    }
    let chunk = text.number().and_then(|it| i32::try_from(it.cast_signed()).ok());
    match chunk.filter(|_| text.is_over()) {
        Some(chunk) => (with(chunk.into()), Ok(())),
        None => (with(1), Err(CHUNK)),
    }
}

/// The number by which `omp_get_proc_bind` reports each word; a list of them.
pub(super) fn binds(text: &mut Text<'_>) -> Option<Vec<i32>> {
    const WORDS: [(&str, i32); 4] = [("master", 2), ("primary", 2), ("close", 3), ("spread", 4)];
    if let Some(is_bound) = boolean(text) {
        return Some(vec![is_bound.into()]);
    }
    list(text, |it| it.word(&WORDS))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<T>(value: &str, parse: fn(&mut Text<'_>) -> Option<T>) -> Option<T> {
        let mut text = Text(value.as_bytes());
        parse(&mut text).filter(|_| text.is_over())
    }

    #[test]
    fn numbers_are_those_of_c() {
        let number = |value| read(value, |it| it.number());
        assert_eq!([number("\u{b}+4 "), number("-1"), number("010")], [4, u64::MAX, 10].map(Some));
        assert_eq!(
            [number("4x"), number(""), number("- 1"), number("18446744073709551616")],
            [None; 4]
        );
        let any = |value| read(value, |it| it.any_number());
        assert_eq!([any("0x1F"), any("010"), any("0"), any(" 9")], [31, 8, 0, 9].map(Some));
        assert_eq!([any("08"), any("0x")], [None; 2]);
        assert_eq!([any("+0x1F"), any("-0"), any("+010")], [31, 0, 8].map(Some));
        assert_eq!([any("0x 1"), any("0x-1"), any("-0x1"), any("65536")], [None; 4]);
        let signed = |value| read(value, |it| it.signed());
        assert_eq!([signed("-9223372036854775808"), signed(" +7")], [i64::MIN, 7].map(Some));
        assert_eq!([signed("9223372036854775808"), signed("-")], [None; 2]);
    }

    #[test]
    fn sizes_have_units() {
        let size = |value| read(value, super::size);
        assert_eq!([size("3"), size(" 7 M "), size("5b")], [3 << 10, 7 << 20, 5].map(Some));
        assert_eq!([size("-1"), size("10Q"), size(""), size("99999999999999G")], [None; 4]);
        assert_eq!(
            ["infinity ", "5 K", "5kk"].map(|it| read(it, spins)),
            [Some(()), Some(()), None]
        );
    }

    #[test]
    fn schedules_have_modifiers_and_chunks_and_count_up_to_a_fault() {
        let read = |value: &str| {
            let (it, fault) = schedule(&mut Text(value.as_bytes()));
            (it.number(), it.chunk, fault.is_ok())
        };
        assert_eq!(read("dynamic"), (2, 1, true));
        assert_eq!(read(" Monotonic : DYNAMIC , 5"), (0x8000_0002, 5, true));
        assert_eq!(read("static"), (0x8000_0001, 0, true));
        assert_eq!(read("nonmonotonic:static,-1"), (1, 0, true));
        assert_eq!(read("guided,0"), (3, 1, true));
        assert_eq!([read("foo"), read("monotonic")], [(2, 1, false); 2]);
        assert_eq!([read("static,x"), read("static 5")], [(0x8000_0001, 1, false); 2]);
    }

    #[test]
    fn lists_are_read_whole_or_not_at_all() {
        let numbers = |value| read(value, super::numbers);
        assert_eq!(numbers("4 , 3,99999999999"), Some(vec![4, 3, i32::MAX.cast_unsigned()]));
        assert_eq!([numbers("4,x"), numbers("0"), numbers(""), numbers("-4")], [const { None }; 4]);
        let binds = |value| read(value, super::binds);
        assert_eq!([binds("Spread , close"), binds("TRUE")], [Some(vec![4, 3]), Some(vec![1])]);
        assert_eq!([binds("x"), binds("true,close"), binds("close,false")], [const { None }; 3]);
    }
}
