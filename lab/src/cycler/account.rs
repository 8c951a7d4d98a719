//! What a cycler had counted at any moment.

use super::Stamp;

/// The counter over time: from nothing, where the cycler begins, to its sum, where it ends.
#[derive(Debug, Clone, PartialEq)]
pub struct Account {
    /// Later ones have later times, and counts no smaller.
    stamps: Vec<Stamp>,
}

impl Account {
    /// Of a cycler that ran from `begun` to `ended`, by the machine's clock, counted up to `count`,
    /// and left these stamps, in the order of their counts.
    ///
    /// A worker that is suspended between counting and reading the clock leaves a stamp that is too
    /// late: it is left out if a later count has an earlier time.
    pub fn of(stamps: &[Stamp], begun: u64, ended: u64, count: u64) -> Account {
        let mut kept = vec![Stamp { at: ended, count }];
        for &stamp in stamps.iter().rev() {
            if stamp.at < kept[kept.len() - 1].at {
                kept.push(stamp);
            }
        }
        while kept.last().is_some_and(|stamp| stamp.at <= begun) {
            kept.pop();
        }
        kept.push(Stamp { at: begun, count: 0 });
        kept.reverse();
        Account { stamps: kept }
    }

    /// How much it counted from one moment to another. From one stamp to the next it counts evenly;
    /// outside of its life it counts nothing.
    pub fn between(&self, from: u64, to: u64) -> f64 {
        (self.until(to) - self.until(from)).max(0.0)
    }

    fn until(&self, moment: u64) -> f64 {
        let after = self.stamps.partition_point(|stamp| stamp.at <= moment);
        match (after.checked_sub(1).map(|before| self.stamps[before]), self.stamps.get(after)) {
            (None, _) => 0.0,
            (Some(last), None) => last.count as f64,
            (Some(before), Some(after)) => {
                let part = (moment - before.at) as f64 / (after.at - before.at) as f64;
                before.count as f64 + part * (after.count - before.count) as f64
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(at: u64, count: u64) -> Stamp {
        Stamp { at, count }
    }

    #[test]
    fn it_counts_evenly_from_stamp_to_stamp() {
        let account = Account::of(&[stamp(200, 16), stamp(300, 32)], 100, 500, 40);
        for (from, to, count) in [
            (0, 100, 0.0),
            (100, 200, 16.0),
            (150, 250, 16.0),
            (200, 300, 16.0),
            (300, 500, 8.0),
            (400, 450, 2.0),
            (0, 1000, 40.0),
            (500, 900, 0.0),
            (250, 250, 0.0),
            (300, 200, 0.0),
        ] {
            assert_eq!(account.between(from, to), count, "{from} to {to}");
        }
    }

    #[test]
    fn parts_add_up_whatever_the_stamps() {
        // The second was taken late, the last two at one moment, and after the end.
        let stamps = [stamp(50, 16), stamp(90, 32), stamp(70, 48), stamp(120, 64), stamp(120, 80)];
        let account = Account::of(&stamps, 10, 110, 81);
        let whole = account.between(10, 110);
        assert_eq!(whole, 81.0);
        assert_eq!(account.between(10, 50), 16.0);
        assert_eq!(account.between(50, 70), 32.0, "without the late one");
        let parts: f64 = (10..110).map(|at| account.between(at, at + 1)).sum();
        assert!((parts - whole).abs() < 1e-9, "{parts}");
    }

    #[test]
    fn no_stamps_and_no_time_are_no_trouble() {
        assert_eq!(Account::of(&[], 5, 25, 10).between(0, 15), 5.0);
        assert_eq!(Account::of(&[], 5, 5, 0).between(0, 9), 0.0);
        assert_eq!(Account::of(&[stamp(3, 16)], 5, 9, 20).between(5, 7), 10.0, "before its life");
    }
}
