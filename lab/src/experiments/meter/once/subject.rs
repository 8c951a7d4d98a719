//! What can be measured.

use crate::apps;
use crate::experiments::forkjoin::once::Subject as Recursion;
use crate::experiments::meter::plan::{
    LEAST_LEAF, MOST_FOR_A_FORK, MOST_WITH_APPS, MOST_WITH_LEAVES,
};
use crate::fault::{Fault, Outcome};

/// What subjects have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Forks, and nothing else.
    Fork,
    /// Leaves of a known time.
    Leaves,
    /// Regions with nothing in them.
    Regions,
    /// The laboratory's applications.
    Apps,
}

/// A computation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// The n-th Fibonacci number, doubly recursive.
    Fork(u32),
    /// The same, by two functions that call each other. Only in records of the former meter, which
    /// had a table for each call site.
    Apart(u32),
    /// A tree of joins.
    Leaves {
        /// How many leaves it has.
        number: u64,
        /// How long each takes, in nanoseconds, where the machine is at its quickest.
        nanos: u64,
    },
    /// So many regions, one after the other.
    Regions(u64),
    /// An application.
    App {
        /// Its name.
        app: String,
        /// Its parameters.
        size: String,
    },
}

const FORK: &str = "fork";
const APART: &str = "apart";
const LEAVES: &str = "leaves";
const REGIONS: &str = "regions";

/// The most leaves, how long one may take, and the most regions: some seconds.
const MOST_LEAVES: u64 = 10_000_000;
const MOST_NANOS: u64 = 10_000_000;
const MOST_LEAF_NANOS: u64 = 10_000_000_000;
const MOST_REGIONS: u64 = 10_000;

impl Kind {
    /// All of them, in the order in which they are measured.
    pub const ALL: [Kind; 4] = [Kind::Fork, Kind::Leaves, Kind::Apps, Kind::Regions];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Fork => FORK,
            Kind::Leaves => LEAVES,
            Kind::Regions => REGIONS,
            Kind::Apps => "apps",
        }
    }

    /// The one of that name.
    pub fn find(name: &str) -> Outcome<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(|| {
            let known = Kind::ALL.map(Kind::name).join(", ");
            Fault::input(format!("unknown kind '{name}'; there are {known}"))
        })
    }

    /// What a time is that of.
    pub fn unit(self) -> &'static str {
        match self {
            Kind::Fork => "ns a fork",
            Kind::Leaves => "µs a leaf, with its fork",
            Kind::Regions => "µs a region",
            Kind::Apps => "ms",
        }
    }

    /// A nanosecond in that.
    fn scale(self) -> f64 {
        match self {
            Kind::Fork => 1.0,
            Kind::Leaves | Kind::Regions => 1e-3,
            Kind::Apps => 1e-6,
        }
    }

    /// Whether what the profiler costs is told as a ratio of times, and not as their difference.
    pub fn is_ratio(self) -> bool {
        matches!(self, Kind::Leaves | Kind::Apps)
    }
}

impl Subject {
    /// What `kind` and `size` name; any other kind is an application.
    pub fn find(kind: &str, size: &str) -> Outcome<Subject> {
        let wrong = || Fault::input(format!("there is no {kind} of size '{size}'"));
        match kind {
            FORK | APART => match Recursion::find(Recursion::FIB, size)? {
                Recursion::Fib(n) if kind == FORK => Ok(Subject::Fork(n)),
                Recursion::Fib(n) => Ok(Subject::Apart(n)),
                Recursion::Tree(_) | Recursion::Stuck(_) => Err(wrong()),
            },
            LEAVES => {
                let (number, nanos) = size.split_once('x').ok_or_else(wrong)?;
                let number = number.parse().ok().filter(|n| (2..=MOST_LEAVES).contains(n));
                let nanos = nanos.parse().ok().filter(|n| (1..=MOST_NANOS).contains(n));
                let found = number.zip(nanos);
                let found = found.filter(|(number, nanos)| number * nanos <= MOST_LEAF_NANOS);
                let (number, nanos) = found.ok_or_else(wrong)?;
                Ok(Subject::Leaves { number, nanos })
            }
            REGIONS => {
                let number = size.parse().ok().filter(|n| (1..=MOST_REGIONS).contains(n));
                Ok(Subject::Regions(number.ok_or_else(wrong)?))
            }
            _ => {
                let app = apps::find(kind)?;
                app.problem(size).map_err(|_| wrong())?;
                Ok(Subject::App { app: kind.to_owned(), size: size.to_owned() })
            }
        }
    }

    /// By which names it is found.
    pub fn names(&self) -> (String, String) {
        let kind = match self {
            Subject::Fork(_) => FORK,
            Subject::Apart(_) => APART,
            Subject::Leaves { .. } => LEAVES,
            Subject::Regions(_) => REGIONS,
            Subject::App { app, .. } => app,
        };
        let size = match self {
            Subject::Fork(n) | Subject::Apart(n) => n.to_string(),
            Subject::Leaves { number, nanos } => format!("{number}x{nanos}"),
            Subject::Regions(number) => number.to_string(),
            Subject::App { size, .. } => size.clone(),
        };
        (kind.to_owned(), size)
    }

    /// What it has in common with others.
    pub fn kind(&self) -> Kind {
        match self {
            Subject::Fork(_) | Subject::Apart(_) => Kind::Fork,
            Subject::Leaves { .. } => Kind::Leaves,
            Subject::Regions(_) => Kind::Regions,
            Subject::App { .. } => Kind::Apps,
        }
    }

    /// In words.
    pub fn about(&self) -> String {
        match self {
            Subject::Fork(n) => format!("fib {n}"),
            Subject::Apart(n) => format!("fib {n}, functions in turn"),
            Subject::Leaves { number, nanos } => {
                format!("{number} leaves of {} µs", *nanos as f64 / 1e3)
            }
            Subject::Regions(_) => "an empty region".to_owned(),
            Subject::App { app, size } => format!("{app} {size}"),
        }
    }

    /// How many things it has that a time is divided by.
    pub fn number(&self) -> u64 {
        match self {
            Subject::Fork(n) | Subject::Apart(n) => Recursion::Fib(*n).forks(),
            Subject::Leaves { number, .. } | Subject::Regions(number) => *number,
            Subject::App { .. } => 1,
        }
    }

    /// A time of all of it, for each of those, in the [unit](Kind::unit).
    pub fn each(&self, nanos: u64) -> f64 {
        nanos as f64 * self.kind().scale() / self.number() as f64
    }

    /// What the profiler costs, by such a pair of times: the difference for each, or the ratio.
    pub fn cost(&self, [off, on]: [u64; 2]) -> f64 {
        match self.kind().is_ratio() {
            true => on as f64 / off as f64,
            false => self.each(on) - self.each(off),
        }
    }

    /// What it may cost at most; `None` where nobody said so.
    pub fn target(&self) -> Option<f64> {
        match self {
            Subject::Fork(_) | Subject::Apart(_) => Some(MOST_FOR_A_FORK),
            Subject::Leaves { nanos, .. } => (*nanos >= LEAST_LEAF).then_some(MOST_WITH_LEAVES),
            Subject::App { .. } => Some(MOST_WITH_APPS),
            Subject::Regions(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_is_found_by_its_names() {
        let app = Subject::App { app: "msort".to_owned(), size: "10K".to_owned() };
        let leaves = Subject::Leaves { number: 64, nanos: 1000 };
        for subject in [Subject::Fork(9), Subject::Apart(9), leaves, Subject::Regions(3), app] {
            let (kind, size) = subject.names();
            assert_eq!(Subject::find(&kind, &size).unwrap(), subject);
        }
        for (kind, size) in [
            ("fork", "1"),
            ("apart", "many"),
            ("leaves", "10"),
            ("leaves", "1x1000"),
            ("leaves", "10x0"),
            ("leaves", "10000000x10000000"),
            ("leaves", "10x10x10"),
            ("regions", "0"),
            ("msort", "many"),
            ("nothing", "1"),
        ] {
            assert!(matches!(Subject::find(kind, size), Err(Fault::Input(_))), "{kind} {size}");
        }
    }

    #[test]
    fn costs_are_differences_for_each_or_ratios() {
        // fib(5) has 7 forks.
        assert_eq!(Subject::Fork(5).cost([700, 2100]), 200.0);
        assert_eq!(Subject::Regions(10).cost([10_000, 2_010_000]), 200.0);
        assert_eq!(Subject::Leaves { number: 2, nanos: 100 }.cost([200, 300]), 1.5);
        assert_eq!(Subject::Leaves { number: 2, nanos: 100 }.each(3000), 1.5);
        let app = Subject::find("msort", "10K").unwrap();
        assert_eq!((app.cost([200, 100]), app.each(3_000_000)), (0.5, 3.0));
    }

    #[test]
    fn short_leaves_and_regions_have_no_target() {
        let of = |kind: &str, size: &str| Subject::find(kind, size).unwrap().target();
        let targets =
            [of("fork", "9"), of("apart", "9"), of("leaves", "9x1000"), of("leaves", "9x9999")];
        assert_eq!(targets, [Some(30.0), Some(30.0), Some(1.05), Some(1.05)]);
        assert_eq!(
            [of("leaves", "9x999"), of("regions", "9"), of("ep", "1")],
            [None, None, Some(1.01)]
        );
    }
}
