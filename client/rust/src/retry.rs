//! When a call is sent again, and after what pause.

use std::time::Duration;

use tonic::{Code, Status};
use tonic_types::StatusExt;

use crate::backoff::random;
use crate::retryable::RETRYABLE;

const ATTEMPTS: u32 = 5;
const INITIAL: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(2);

/// Whether the method's idempotency_level lets a client send it again.
pub(crate) fn is_repeatable(path: &str) -> bool {
    RETRYABLE.contains(&path)
}

/// The tries of one call.
pub(crate) struct Retries {
    repeatable: bool,
    tries: u32,
}

impl Retries {
    pub(crate) fn new(repeatable: bool) -> Self {
        Self { repeatable, tries: 0 }
    }

    /// How long to wait after this failure before the call is sent again; None: it is not. `left`: until the deadline.
    pub(crate) fn pause(&mut self, status: Option<&Status>, left: Option<Duration>) -> Option<Duration> {
        self.tries += 1;
        if !self.repeatable || self.tries >= ATTEMPTS || status.is_some_and(|status| status.code() != Code::Unavailable) {
            return None;
        }
        let asked = match status.map(wish) {
            Some(Wish::Never) => return None,
            Some(Wish::After(asked)) => asked,
            Some(Wish::Nothing) | None => Duration::ZERO,
        };
        if left.is_some_and(|left| asked > left) {
            return None; // the deadline would pass in vain, and hide what the server said
        }
        let backoff = LONGEST.min(INITIAL * 2u32.pow(self.tries - 1)).mul_f64(0.8 + 0.4 * random());
        Some(asked.max(backoff))
    }

    /// The same where nothing was sent, so that no method is repeated by it. A channel that failed to connect while nobody
    /// waited tells so to the next call, so one such failure is not believed.
    pub(crate) fn pause_unsent(&mut self, status: &Status, left: Option<Duration>) -> Option<Duration> {
        if self.tries == 0 && status.code() == Code::Unavailable {
            self.tries = 1;
            return Some(Duration::ZERO);
        }
        self.pause(Some(status), left)
    }
}

enum Wish {
    Nothing,
    After(Duration),
    Never,
}

/// What the server wants of a client that would come back: gRPC's pushback, or RetryInfo.
fn wish(status: &Status) -> Wish {
    if let Some(pushback) = status.metadata().get("grpc-retry-pushback-ms") {
        let millis = pushback.to_str().ok().and_then(|text| text.parse().ok());
        return millis.map_or(Wish::Never, |millis| Wish::After(Duration::from_millis(millis)));
    }
    let delay = status.get_details_retry_info().and_then(|info| info.retry_delay);
    delay.map_or(Wish::Nothing, Wish::After)
}

#[cfg(test)]
mod tests {
    use tonic_types::ErrorDetails;

    use super::*;

    fn away() -> Status {
        Status::unavailable("away")
    }

    #[test]
    fn five_tries_with_growing_pauses() {
        let mut retries = Retries::new(true);
        let pauses: Vec<_> = std::iter::from_fn(|| retries.pause(Some(&away()), None)).collect();
        assert_eq!(pauses.len(), 4);
        for (pause, about) in pauses.iter().zip([100, 200, 400, 800]) {
            let about = Duration::from_millis(about);
            assert!(*pause >= about.mul_f64(0.79) && *pause <= about.mul_f64(1.21), "{pauses:?}");
        }
    }

    #[test]
    fn only_what_is_unavailable_and_may_be_repeated() {
        assert!(Retries::new(true).pause(Some(&Status::aborted("stale")), None).is_none());
        assert!(Retries::new(false).pause(Some(&away()), None).is_none());
        assert!(Retries::new(true).pause(None, None).is_some(), "a proxy said so without a gRPC status");
        assert!(is_repeatable("/recollect.v1.EventService/AppendEvents"));
        assert!(!is_repeatable("/recollect.v1.SessionService/CreateSession"));
    }

    #[test]
    fn a_failure_to_connect_may_be_stale_once() {
        for repeatable in [true, false] {
            assert_eq!(Retries::new(repeatable).pause_unsent(&away(), None), Some(Duration::ZERO));
        }
        let mut create = Retries::new(false);
        create.pause_unsent(&away(), None);
        assert_eq!(create.pause_unsent(&away(), None), None);
    }

    #[test]
    fn the_server_says_when_or_never() {
        let asks = ErrorDetails::with_retry_info(Some(Duration::from_secs(3)));
        let asks = Status::with_error_details(Code::Unavailable, "draining", asks);
        assert_eq!(Retries::new(true).pause(Some(&asks), None), Some(Duration::from_secs(3)));
        assert_eq!(Retries::new(true).pause(Some(&asks), Some(Duration::from_secs(2))), None);
        for (pushback, expected) in [("1500", Some(Duration::from_millis(1500))), ("-1", None), ("x", None)] {
            let mut status = away();
            status.metadata_mut().insert("grpc-retry-pushback-ms", pushback.parse().expect("ascii"));
            assert_eq!(Retries::new(true).pause(Some(&status), None), expected, "{pushback}");
        }
    }
}
