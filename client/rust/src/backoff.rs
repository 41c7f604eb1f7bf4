//! How long a stream that broke waits before it is opened again.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use crate::Error;

/// The upper bound of the first pause, which doubles with every failure in a row, and where it stays.
const FIRST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(5);

/// Exponential backoff with full jitter, so that clients that lost one server do not come back all at once.
#[derive(Debug)]
pub(crate) struct Backoff {
    max_retries: Option<u32>,
    failures: u32,
}

impl Backoff {
    /// `max_retries`: failures in a row that are borne; None means any number.
    pub(crate) fn new(max_retries: Option<u32>) -> Self {
        Self { max_retries, failures: 0 }
    }

    /// The stream is alive: the failures before it no longer count.
    pub(crate) fn reset(&mut self) {
        self.failures = 0;
    }

    /// How long to wait after this failure, at least what the server asked for. The error itself if no retry can mend it.
    pub(crate) fn pause(&mut self, error: Error) -> Result<Duration, Error> {
        if !error.is_transient() || self.max_retries.is_some_and(|most| self.failures >= most) {
            return Err(error);
        }
        let longest = LONGEST.min(FIRST * 2u32.pow(self.failures.min(10)));
        self.failures = self.failures.saturating_add(1);
        Ok(error.retry_after().unwrap_or_default() + longest.mul_f64(random()))
    }
}

/// A number from 0 to 1 that spreads load and guards nothing.
pub(crate) fn random() -> f64 {
    RandomState::new().hash_one(0u8) as f64 / u64::MAX as f64
}

#[cfg(test)]
mod tests {
    use tonic::{Code, Status};
    use tonic_types::{ErrorDetails, StatusExt};

    use super::*;

    fn away() -> Error {
        Status::unavailable("away").into()
    }

    #[test]
    fn pauses_grow_to_five_seconds_and_are_spread() {
        let mut backoff = Backoff::new(None);
        let pauses: Vec<_> = (0..40).map(|_| backoff.pause(away()).expect("it goes on")).collect();
        for (n, pause) in pauses.iter().enumerate() {
            assert!(*pause <= LONGEST.min(FIRST * 2u32.pow(n.min(10) as u32)), "{n}: {pause:?}");
        }
        assert!(pauses.iter().any(|pause| *pause > Duration::from_secs(2)));
        backoff.reset();
        assert!(backoff.pause(away()).expect("it goes on") <= FIRST);
    }

    #[test]
    fn so_many_failures_in_a_row_are_borne() {
        let mut backoff = Backoff::new(Some(2));
        for _ in 0..3 {
            assert!(backoff.pause(away()).is_ok() && backoff.pause(away()).is_ok());
            assert_eq!(backoff.pause(away()).expect_err("two were borne").code(), Code::Unavailable);
            backoff.reset();
        }
        assert!(Backoff::new(Some(0)).pause(away()).is_err());
    }

    #[test]
    fn what_the_server_asks_for_is_waited_at_least_and_other_errors_end_it() {
        let asked = ErrorDetails::with_retry_info(Some(Duration::from_secs(7)));
        let busy = Status::with_error_details(Code::ResourceExhausted, "busy", asked);
        assert!(Backoff::new(None).pause(busy.into()).expect("it goes on") >= Duration::from_secs(7));
        let expired = Status::out_of_range("the position expired");
        assert_eq!(Backoff::new(None).pause(expired.into()).expect_err("no retry mends it").code(), Code::OutOfRange);
    }
}
