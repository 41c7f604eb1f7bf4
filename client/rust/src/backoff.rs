//! Pauses before a call is retried or a broken stream is reopened.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use tonic::{Code, Status};
use tonic_types::StatusExt;

use crate::Error;

/// The upper bound of the first pause, which doubles with each consecutive failure.
const FIRST: Duration = Duration::from_millis(100);
const LONGEST_OF_STREAM: Duration = Duration::from_secs(5);

/// How calls are retried that are safe to repeat, while the server is unavailable. Streams are resumed without limit instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Retry {
    attempts: u32,
    first: Duration,
    longest: Duration,
}

impl Default for Retry {
    /// At most five attempts, with pauses of 0.1 seconds, doubled each time, up to 2 seconds.
    fn default() -> Self {
        Self { attempts: 5, first: FIRST, longest: Duration::from_secs(2) }
    }
}

impl Retry {
    /// Sends each call once.
    pub fn never() -> Self {
        Self::default().max_attempts(1)
    }

    /// Sets the maximum number of attempts, at least 1.
    pub fn max_attempts(self, attempts: u32) -> Self {
        Self { attempts: attempts.max(1), ..self }
    }

    /// Sets the first and the longest pause between two attempts. The server may specify a longer one.
    pub fn pauses(self, first: Duration, longest: Duration) -> Self {
        Self { first, longest, ..self }
    }

    /// Returns the pause before a retry after this many failures, or None for no retry. `left` is the time until the deadline.
    pub(crate) fn before_retry(self, tries: u32, status: &Status, left: Option<Duration>) -> Option<Duration> {
        let retry_info = status.get_details_retry_info().and_then(|info| info.retry_delay).unwrap_or_default();
        // A pause beyond the deadline would be useless and would hide the server's error.
        let is_away = matches!(status.code(), Code::Unavailable | Code::Cancelled);
        let is_hopeless = !is_away || tries >= self.attempts || left.is_some_and(|left| retry_info > left);
        let backoff = doubled(self.first, tries.saturating_sub(1), self.longest).mul_f64(0.8 + 0.4 * random());
        (!is_hopeless).then(|| retry_info.max(backoff))
    }
}

/// Exponential backoff with full jitter, so that clients of one server do not reconnect at once.
#[derive(Default)]
pub(crate) struct Backoff {
    /// Maximum number of consecutive failures; None means any number.
    pub(crate) max_retries: Option<u32>,
    failures: u32,
}

impl Backoff {
    /// Resets the count of consecutive failures; called when the stream delivers.
    pub(crate) fn reset(&mut self) {
        self.failures = 0;
    }

    /// Returns the pause after this failure, at least the server's retry delay, or the error itself if a retry cannot succeed.
    pub(crate) fn pause(&mut self, error: Error) -> Result<Duration, Error> {
        if !error.is_transient() || self.max_retries.is_some_and(|most| self.failures >= most) {
            return Err(error);
        }
        let longest = doubled(FIRST, self.failures, LONGEST_OF_STREAM);
        self.failures = self.failures.saturating_add(1);
        Ok(error.retry_after().unwrap_or_default() + longest.mul_f64(random()))
    }
}

fn doubled(first: Duration, times: u32, longest: Duration) -> Duration {
    longest.min(first.saturating_mul(2u32.pow(times.min(10))))
}

/// Returns a number from 0 to 1 that spreads load; it is not used for security.
fn random() -> f64 {
    RandomState::new().hash_one(0u8) as f64 / u64::MAX as f64
}

#[cfg(test)]
mod tests {
    use tonic_types::ErrorDetails;

    use super::*;

    #[test]
    fn a_call_has_five_attempts_with_growing_pauses() {
        let pauses: Vec<_> =
            (1..).map_while(|tries| Retry::default().before_retry(tries, &Status::unavailable("away"), None)).collect();
        assert_eq!(pauses.len(), 4);
        for (pause, about) in pauses.iter().zip([100, 200, 400, 800]) {
            let about = Duration::from_millis(about);
            assert!(*pause >= about.mul_f64(0.79) && *pause <= about.mul_f64(1.21), "{pauses:?}");
        }
        assert!(Retry::default().before_retry(1, &Status::cancelled("overloaded"), None).is_some());
        assert_eq!(Retry::default().before_retry(1, &Status::aborted("stale"), None), None);
        assert_eq!(Retry::never().before_retry(1, &Status::unavailable("away"), None), None);
        let brief = Retry::default().max_attempts(2).pauses(Duration::from_millis(1), Duration::from_millis(1));
        assert!(brief.before_retry(1, &Status::unavailable("away"), None).expect("a second") < Duration::from_millis(2));
        assert_eq!(brief.before_retry(2, &Status::unavailable("away"), None), None);
    }

    #[test]
    fn a_retry_waits_for_the_retry_delay_within_the_deadline() {
        let asks = ErrorDetails::with_retry_info(Some(Duration::from_secs(3)));
        let asks = Status::with_error_details(Code::Unavailable, "draining", asks);
        assert_eq!(Retry::default().before_retry(1, &asks, Some(Duration::from_secs(4))), Some(Duration::from_secs(3)));
        assert_eq!(Retry::default().before_retry(1, &asks, Some(Duration::from_secs(2))), None);
    }

    fn away() -> Error {
        Status::unavailable("away").into()
    }

    #[test]
    fn pauses_grow_to_five_seconds_with_jitter() {
        let mut backoff = Backoff::default();
        let pauses: Vec<_> = (0..40).map(|_| backoff.pause(away()).expect("it retries")).collect();
        for (n, pause) in pauses.iter().enumerate() {
            assert!(*pause <= LONGEST_OF_STREAM.min(FIRST * 2u32.pow(n.min(10) as u32)), "{n}: {pause:?}");
        }
        assert!(pauses.iter().any(|pause| *pause > Duration::from_secs(2)));
        backoff.reset();
        assert!(backoff.pause(away()).expect("it retries") <= FIRST);
    }

    #[test]
    fn more_consecutive_failures_than_allowed_return_the_error() {
        let mut backoff = Backoff { max_retries: Some(2), failures: 0 };
        for _ in 0..3 {
            assert!(backoff.pause(away()).is_ok() && backoff.pause(away()).is_ok());
            assert_eq!(backoff.pause(away()).expect_err("two are retried").code(), Code::Unavailable);
            backoff.reset();
        }
        assert!(Backoff { max_retries: Some(0), failures: 0 }.pause(away()).is_err());
    }

    #[test]
    fn a_pause_has_at_least_the_retry_delay_and_other_errors_are_returned() {
        let retry_info = ErrorDetails::with_retry_info(Some(Duration::from_secs(7)));
        let busy = Status::with_error_details(Code::ResourceExhausted, "busy", retry_info);
        assert!(Backoff::default().pause(busy.into()).expect("it retries") >= Duration::from_secs(7));
        let expired = Status::out_of_range("the position expired");
        assert_eq!(Backoff::default().pause(expired.into()).expect_err("it is not retried").code(), Code::OutOfRange);
    }
}
