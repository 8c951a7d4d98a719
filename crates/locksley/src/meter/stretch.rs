//! Places in the program, and how much of the critical path runs through them, as they are shown.

use std::fmt;
use std::time::Duration;

use super::site::{Origin, Site};

/// A part of the critical path: what ran in strands that were forked, spawned or called at one place in the program. See
/// [`Report::course`](crate::meter::Report::course).
///
/// # Examples
/// ```
/// use std::thread::sleep;
/// use std::time::Duration;
///
/// let pool = locksley::Pool::new(2)?;
/// let ((), report) = pool.metered(|worker| {
///     worker.scope(|worker, scope| {
///         scope.spawn_on(worker, |_, _| sleep(Duration::from_millis(20)));
///     });
/// });
/// for stretch in &report.course {
///     assert!(stretch.time <= report.critical_path);
///     println!("{:.0}% {stretch}", 100.0 * stretch.share(report.critical_path));
/// }
/// # Ok::<(), locksley::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stretch {
    /// Which place.
    pub origin: Origin,
    /// How much of the critical path it is.
    pub time: Duration,
}

impl Stretch {
    /// As a part of that time, which is the critical path.
    ///
    /// # Examples
    /// See [`Stretch`].
    #[must_use]
    pub fn share(&self, critical_path: Duration) -> f64 {
        (self.time.as_secs_f64() / critical_path.as_secs_f64().max(1e-12)).min(1.0)
    }
}

impl fmt::Display for Stretch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.origin.fmt(f)
    }
}

/// Those that are known, with one for each place in the program, the longest first.
pub(super) fn of(parts: impl Iterator<Item = (Option<Site>, Duration)>) -> Vec<Stretch> {
    let mut stretches: Vec<Stretch> = Vec::new();
    for (site, time) in parts {
        let Some(site) = site.filter(|_| !time.is_zero()) else { continue };
        let origin = site.origin();
        match stretches.iter_mut().find(|stretch| stretch.origin == origin) {
            Some(stretch) => stretch.time += time,
            None => stretches.push(Stretch { origin, time }),
        }
    }
    stretches.sort_by_key(|stretch| std::cmp::Reverse(stretch.time));
    stretches
}

/// So many are shown.
const SHOWN: usize = 4;

/// Those of them that are a hundredth or more, a few at most.
pub(super) fn largest(course: &[Stretch], path: Duration) -> impl Iterator<Item = &Stretch> {
    course.iter().take(SHOWN).filter(move |stretch| stretch.share(path) >= 0.01)
}

/// As few as make up most of the path, in words; `None` if none is known.
pub(super) fn in_words(course: &[Stretch], path: Duration) -> Option<String> {
    const MOST: f64 = 0.75;
    let (mut words, mut sum) = (Vec::new(), 0.0);
    for stretch in largest(course, path) {
        let share = stretch.share(path);
        words.push(format!("{stretch} ({:.0}%)", 100.0 * share));
        sum += share;
        if sum >= MOST {
            break;
        }
    }
    (!words.is_empty()).then(|| words.join(" and "))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// The compiler may have one place twice.
    #[test]
    fn places_are_put_together_and_the_longest_comes_first() {
        let (one, other) = (Site::here(), Site::here());
        let millis = Duration::from_millis;
        let parts = [(Some(one), millis(2)), (None, millis(9)), (Some(other), millis(0))];
        let parts = parts.into_iter().chain([(Some(other), millis(3)), (Some(one), millis(2))]);
        let stretches = of(parts);
        assert_eq!(stretches.iter().map(|it| it.time.as_millis()).collect::<Vec<_>>(), [4, 3]);
        assert_eq!(
            stretches.iter().map(|it| it.origin).collect::<Vec<_>>(),
            [one.origin(), other.origin()]
        );
    }
}
