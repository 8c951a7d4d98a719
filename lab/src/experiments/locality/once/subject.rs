//! What is measured, and how much of it.

use crate::fault::{Fault, Outcome};

/// The most bytes, integers or rows.
const MOST: u64 = 1 << 32;
/// A matrix of more rows takes days.
const MOST_ROWS: u64 = 1 << 14;

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The cache stress: arrays of so many bytes.
    Stress,
    /// Merge sort: so many integers.
    Sort,
    /// Block matrix multiplication: so many rows.
    Multiply,
}

/// Something to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Subject {
    /// What.
    pub kind: Kind,
    /// How much of it.
    pub size: u64,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 3] = [Kind::Stress, Kind::Sort, Kind::Multiply];

    /// Its name on the command line and in records.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Stress => "stress",
            Kind::Sort => "sort",
            Kind::Multiply => "multiply",
        }
    }

    /// The kind of that name.
    pub fn find(name: &str) -> Outcome<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(|| {
            let known = Kind::ALL.map(Kind::name).join(", ");
            Fault::input(format!("unknown kind '{name}'; there are {known}"))
        })
    }
}

impl Subject {
    /// The subject that a command line or a record names.
    pub fn find(kind: &str, size: &str) -> Outcome<Subject> {
        let kind = Kind::find(kind)?;
        let (least, most) = match kind {
            Kind::Stress => (4, MOST),
            Kind::Sort => (1, MOST),
            Kind::Multiply => (1, MOST_ROWS),
        };
        let size = size.parse().ok().filter(|size| (least..=most).contains(size));
        let name = kind.name();
        let size = size.ok_or_else(|| {
            Fault::input(format!("the size of {name} is a number from {least} to {most}"))
        })?;
        Ok(Subject { kind, size })
    }

    /// What is measured, in words.
    pub fn about(self) -> String {
        let size = self.size;
        match self.kind {
            Kind::Stress => format!("cache stress, arrays of {size} bytes"),
            Kind::Sort => format!("merge sort, {size} integers"),
            Kind::Multiply => format!("block matrix multiplication, {size} rows"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read() {
        let find = |kind, size| Subject::find(kind, size).map(|subject| subject.size);
        assert_eq!(find("stress", "4"), Ok(4));
        assert_eq!(find("sort", "4194304"), Ok(1 << 22));
        assert_eq!(find("multiply", "16384"), Ok(MOST_ROWS));
        for (kind, size) in
            [("stress", "3"), ("sort", "0"), ("sort", "x"), ("multiply", "16385"), ("wait", "1")]
        {
            assert!(matches!(Subject::find(kind, size), Err(Fault::Input(_))), "{kind} {size}");
        }
    }
}
