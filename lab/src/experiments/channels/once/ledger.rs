//! What processes note when they are done: sums, and when the first of them began and the last one ended.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use super::Timed;

#[derive(Default)]
pub(super) struct Ledger(Mutex<Account>);

#[derive(Default)]
struct Account {
    sum: u64,
    begun: Option<Instant>,
    ended: Option<Instant>,
}

impl Ledger {
    pub(super) fn open() -> Arc<Ledger> {
        Arc::default()
    }

    /// A process has begun, after warming up.
    pub(super) fn begun(&self, at: Instant) {
        self.note(|account| {
            account.begun = Some(account.begun.map_or(at, |first| first.min(at)));
        });
    }

    /// A process has ended, and this is its sum.
    pub(super) fn ended(&self, at: Instant, sum: u64) {
        self.note(|account| {
            account.sum = account.sum.wrapping_add(sum);
            account.ended = Some(account.ended.map_or(at, |last| last.max(at)));
        });
    }

    fn note(&self, entry: impl FnOnce(&mut Account)) {
        entry(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// What it comes to.
    pub(super) fn timed(&self) -> Result<Timed, String> {
        let account = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (Some(begun), Some(ended)) = (account.begun, account.ended) else {
            return Err("no process has begun, or none has ended".to_owned());
        };
        let seconds = ended.saturating_duration_since(begun).as_secs_f64();
        Ok(Timed { seconds, answer: account.sum, apart: None })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Ledger;

    #[test]
    fn time_is_from_the_first_beginning_to_the_last_end() {
        let ledger = Ledger::open();
        assert!(ledger.timed().is_err());
        let now = std::time::Instant::now();
        let at = |seconds| now + Duration::from_secs(seconds);
        ledger.begun(at(3));
        assert!(ledger.timed().is_err());
        ledger.begun(at(2));
        ledger.ended(at(9), u64::MAX);
        ledger.ended(at(7), 5);
        let timed = ledger.timed().unwrap();
        assert!((timed.seconds - 7.0).abs() < 1e-9);
        assert_eq!(timed.answer, 4);
    }
}
