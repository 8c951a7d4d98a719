//! Sets of processors.

use std::error::Error;
use std::fmt;
use std::str::FromStr;

/// The number that a text may name at most: Linux has no more processors.
const LARGEST: usize = 8191;

/// A set of processors, by their numbers.
///
/// Its text is the kernel's list format: `0-3,8`. The empty set has the empty text.
///
/// # Examples
/// ```
/// # use locksley_sys as locksley;
/// use locksley::places::ProcessorSet;
///
/// let set: ProcessorSet = "0-3,8".parse()?;
/// assert_eq!(set, ProcessorSet::from_iter([8, 0, 1, 2, 3]));
/// assert!(set.contains(8) && !set.contains(4));
/// assert_eq!(set.difference(&"1-2".parse()?).to_string(), "0,3,8");
/// assert!("0-x".parse::<ProcessorSet>().is_err());
/// # Ok::<(), locksley::places::PlacesError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct ProcessorSet {
    /// In ascending order, each once.
    numbers: Vec<usize>,
}

impl ProcessorSet {
    /// The empty set.
    #[must_use]
    pub const fn new() -> Self {
        Self { numbers: Vec::new() }
    }

    /// How many processors are in it.
    #[must_use]
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    /// Whether none is in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// Whether `processor` is in it.
    #[must_use]
    pub fn contains(&self, processor: usize) -> bool {
        self.numbers.binary_search(&processor).is_ok()
    }

    /// The processor with the lowest number.
    #[must_use]
    pub fn first(&self) -> Option<usize> {
        self.numbers.first().copied()
    }

    /// The processors, in ascending order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = usize> + '_ {
        self.numbers.iter().copied()
    }

    /// The numbers, in ascending order.
    #[must_use]
    pub fn as_slice(&self) -> &[usize] {
        &self.numbers
    }

    /// Whether all of these are among `others`.
    #[must_use]
    pub fn is_subset(&self, others: &Self) -> bool {
        self.len() <= others.len() && self.iter().all(|processor| others.contains(processor))
    }

    /// Whether none of these is among `others`.
    #[must_use]
    pub fn is_disjoint(&self, others: &Self) -> bool {
        self.iter().all(|processor| !others.contains(processor))
    }

    /// These that are also among `others`.
    #[must_use]
    pub fn intersection(&self, others: &Self) -> Self {
        self.iter().filter(|&processor| others.contains(processor)).collect()
    }

    /// These that are not among `others`.
    #[must_use]
    pub fn difference(&self, others: &Self) -> Self {
        self.iter().filter(|&processor| !others.contains(processor)).collect()
    }

    /// These and `others`.
    #[must_use]
    pub fn union(&self, others: &Self) -> Self {
        self.iter().chain(others.iter()).collect()
    }

    /// Reads the kernel's mask format: hexadecimal words of 32 bits, the highest first, with commas
    /// between them.
    pub(crate) fn from_mask(text: &str) -> Option<Self> {
        let mut numbers = Vec::new();
        for (place, digits) in text.split(',').rev().enumerate() {
            let is_hexadecimal = digits.bytes().all(|b| b.is_ascii_hexdigit());
            let word = u32::from_str_radix(digits, 16).ok().filter(|_| is_hexadecimal)?;
            numbers.extend((0..32).filter(|bit| word >> bit & 1 == 1).map(|bit| 32 * place + bit));
        }
        numbers.last().is_none_or(|&last| last <= LARGEST).then_some(Self { numbers })
    }
}

impl FromIterator<usize> for ProcessorSet {
    fn from_iter<I: IntoIterator<Item = usize>>(processors: I) -> Self {
        let mut numbers: Vec<usize> = processors.into_iter().collect();
        numbers.sort_unstable();
        numbers.dedup();
        Self { numbers }
    }
}

impl fmt::Display for ProcessorSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let runs = self.numbers.chunk_by(|a, b| a + 1 == *b);
        let run = |run: &[usize]| match run {
            [] => String::new(),
            [only] => only.to_string(),
            [first, .., last] => format!("{first}-{last}"),
        };
        f.pad(&runs.map(run).collect::<Vec<_>>().join(","))
    }
}

impl fmt::Debug for ProcessorSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{{self}}}")
    }
}

/// Why processors cannot be divided in this way, or why a text is no
/// [list of processors](ProcessorSet). There is an example at [`Places`](super::Places).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacesError(pub(super) String);

impl fmt::Display for PlacesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for PlacesError {}

/// Reads the kernel's list format. Numbers are at most 8191, and a range does not run backwards.
impl FromStr for ProcessorSet {
    type Err = PlacesError;

    fn from_str(text: &str) -> Result<Self, PlacesError> {
        let refused = || PlacesError(format!("not a list of processors such as 0-3,8: {text:?}"));
        let number = |digits: &str| {
            let is_decimal = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
            let number: Option<usize> = if is_decimal { digits.parse().ok() } else { None };
            number.filter(|&number| number <= LARGEST).ok_or_else(refused)
        };
        let mut numbers = Vec::new();
        for part in text.split(',').map(str::trim).filter(|_| !text.trim().is_empty()) {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last) = (number(first)?, number(last)?);
            if first > last || numbers.len() > LARGEST {
                return Err(refused());
            }
            numbers.extend(first..=last);
        }
        Ok(numbers.into_iter().collect())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn set(text: &str) -> ProcessorSet {
        text.parse().unwrap()
    }

    #[test]
    fn lists_are_read_as_the_kernel_writes_them() {
        for (text, numbers) in [
            ("", &[][..]),
            ("0", &[0]),
            ("0-2,5", &[0, 1, 2, 5]),
            ("7,3-4", &[3, 4, 7]),
            ("1, 3", &[1, 3]),
            ("8190-8191", &[8190, 8191]),
        ] {
            assert_eq!(set(text).as_slice(), numbers, "{text}");
        }
        for wrong in
            ["a", "-", "1-", "-1", "2-1", "0,,1", "0,", "+1", "0x1", "8192", "0-4294967295", "1 2"]
        {
            assert!(wrong.parse::<ProcessorSet>().is_err(), "{wrong}");
        }
        let endless = "0-8191,".repeat(500) + "0";
        assert!(endless.parse::<ProcessorSet>().is_err());
    }

    #[test]
    fn masks_are_read_as_the_kernel_writes_them() {
        for (text, list) in [
            ("0", ""),
            ("00000000,00000000", ""),
            ("f", "0-3"),
            ("00000001,80000001", "0,31-32"),
            ("0000,00000000,00000003", "0-1"),
            ("ffffffff,00000000,00000000", "64-95"),
        ] {
            assert_eq!(ProcessorSet::from_mask(text), Some(set(list)), "{text}");
        }
        let too_many = "1,".to_owned() + &vec!["0"; 256].join(",");
        for wrong in ["", ",", "g", "1,", "123456789", "+1", "0x3", &too_many] {
            assert!(ProcessorSet::from_mask(wrong).is_none(), "{wrong}");
        }
    }

    #[test]
    fn operations_are_those_of_a_set() {
        let mut state = 1_u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as usize
        };
        for _ in 0..300 {
            let mut numbers =
                || -> BTreeSet<usize> { (0..random() % 12).map(|_| random() % 20).collect() };
            let (a, b) = (numbers(), numbers());
            let of = |numbers: &BTreeSet<usize>| numbers.iter().copied().collect::<ProcessorSet>();
            let (x, y) = (of(&a), of(&b));
            assert_eq!(x.union(&y), of(&(&a | &b)));
            assert_eq!(x.intersection(&y), of(&(&a & &b)));
            assert_eq!(x.difference(&y), of(&(&a - &b)));
            assert_eq!(x.is_subset(&y), a.is_subset(&b));
            assert_eq!(x.is_disjoint(&y), a.is_disjoint(&b));
            assert_eq!((x.len(), x.first()), (a.len(), a.first().copied()));
            assert!((0..20).all(|n| x.contains(n) == a.contains(&n)));
            assert_eq!(set(&x.to_string()), x);
            assert_eq!(a.iter().rev().copied().collect::<ProcessorSet>(), x);
        }
    }

    #[test]
    fn the_text_is_a_list() {
        assert_eq!(set("5,1,2,3,9-10").to_string(), "1-3,5,9-10");
        assert_eq!(format!("{:?}", set("0,2")), "{0,2}");
        assert_eq!(format!("{:>5}|", set("0-1")), "  0-1|");
    }
}
