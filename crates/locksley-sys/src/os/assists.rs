//! Which of the kernel's assists a pool makes use of.

use std::fmt;
use std::str::FromStr;

/// Which of the kernel's assists a pool makes use of, where they work: see
/// [`assists`](super::assists). Without any, it does the same work and keeps the same promises,
/// more slowly at times.
///
/// # Examples
/// ```
/// # use locksley_sys as locksley;
/// use locksley::os::Assists;
///
/// let most = Assists::ALL.without(Assists::RUN_STATE); // for `PoolBuilder::assists`
/// assert!(most.has(Assists::SHORT_TIME_SLICES) && !most.has(Assists::RUN_STATE));
/// let two = Assists::RUN_STATE.with(Assists::SHORT_TIME_SLICES);
/// assert_eq!("run-state,short-time-slices".parse(), Ok(two));
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Assists(u8);

/// A text that names no assist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownAssist(String);

const NAMES: [(&str, Assists); 6] = [
    ("membarrier", Assists::MEMBARRIER),
    ("run-state", Assists::RUN_STATE),
    ("switch-records", Assists::SWITCH_RECORDS),
    ("short-time-slices", Assists::SHORT_TIME_SLICES),
    ("runnable-threads", Assists::RUNNABLE_THREADS),
    ("board", Assists::BOARD),
];

impl Default for Assists {
    /// All of the kernel's.
    fn default() -> Self {
        Self::ALL
    }
}

impl Assists {
    /// All of the kernel's: what a pool uses unless it is told otherwise.
    pub const ALL: Self = Self(0x1F);
    /// None of them.
    pub const NONE: Self = Self(0);
    /// Barriers on all threads at once, which let a worker fork without a fence, and run a process
    /// network of its own without.
    pub const MEMBARRIER: Self = Self(1);
    /// The processor that each worker ran on last.
    pub const RUN_STATE: Self = Self(1 << 1);
    /// The record of each worker's context switches.
    pub const SWITCH_RECORDS: Self = Self(1 << 2);
    /// Shorter time slices than the usual ones.
    pub const SHORT_TIME_SLICES: Self = Self(1 << 3);
    /// The number of threads of all programs that can run.
    pub const RUNNABLE_THREADS: Self = Self(1 << 4);
    /// The board, where pools of one user divide the processors: not among [`ALL`](Self::ALL),
    /// since fewer workers than are set may be active then.
    pub const BOARD: Self = Self(1 << 5);

    /// These and `others`.
    #[must_use]
    pub const fn with(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    /// These, but for `others`.
    #[must_use]
    pub const fn without(self, others: Self) -> Self {
        Self(self.0 & !others.0)
    }

    /// Whether all of `others` are among these.
    #[must_use]
    pub const fn has(self, others: Self) -> bool {
        self.0 & others.0 == others.0
    }
}

impl fmt::Debug for Assists {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set()
            .entries(NAMES.iter().filter(|name| self.has(name.1)).map(|name| name.0))
            .finish()
    }
}

/// Names with commas between them: `membarrier`, `run-state`, `switch-records`,
/// `short-time-slices`, `runnable-threads`, `board`; or `all`, which does not include `board`; or
/// `none`.
impl FromStr for Assists {
    type Err = UnknownAssist;

    fn from_str(text: &str) -> Result<Self, UnknownAssist> {
        let one = |word: &str| match word {
            "all" => Ok(Self::ALL),
            "none" => Ok(Self::NONE),
            _ => {
                let known = NAMES.iter().find(|name| name.0 == word);
                known.map(|name| name.1).ok_or_else(|| UnknownAssist(word.to_owned()))
            }
        };
        text.split(',').try_fold(Self::NONE, |sum, word| Ok(sum.with(one(word.trim())?)))
    }
}

impl fmt::Display for UnknownAssist {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = NAMES.map(|name| name.0).join(", ");
        write!(f, "unknown assist '{}'; there are {known}, all, none", self.0)
    }
}

impl std::error::Error for UnknownAssist {}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn every_assist_has_a_name_and_a_bit_of_its_own() {
        let mut all = Assists::NONE;
        for (name, assist) in NAMES {
            assert_eq!(name.parse(), Ok(assist));
            assert!(!all.has(assist));
            all = all.with(assist);
        }
        assert_eq!(all, Assists::ALL.with(Assists::BOARD));
        assert_eq!("all".parse(), Ok(Assists::ALL));
    }

    #[test]
    fn a_list_is_read_and_a_wrong_word_is_named() {
        assert_eq!(
            "membarrier, run-state".parse(),
            Ok(Assists::MEMBARRIER.with(Assists::RUN_STATE))
        );
        let error = "membarrier,telepathy".parse::<Assists>().unwrap_err();
        assert!(error.to_string().starts_with("unknown assist 'telepathy'; there are membarrier,"));
    }

    #[test]
    fn sets_are_joined_and_taken_apart() {
        let both = Assists::RUN_STATE.with(Assists::SHORT_TIME_SLICES);
        assert!(both.has(Assists::RUN_STATE) && !both.has(Assists::ALL));
        assert_eq!(both.without(Assists::RUN_STATE), Assists::SHORT_TIME_SLICES);
        assert_eq!(format!("{both:?}"), r#"{"run-state", "short-time-slices"}"#);
    }
}
