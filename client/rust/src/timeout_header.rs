//! The header that tells the server how long the client will wait.

use std::time::Duration;

use http::{HeaderMap, HeaderValue};

pub(crate) const GRPC_TIMEOUT: &str = "grpc-timeout";

/// The most digits that the header may have, as the number that no longer fits.
const TOO_MUCH: u128 = 100_000_000;

/// The header's value, in the finest unit that holds it.
pub(crate) fn formatted(timeout: Duration) -> HeaderValue {
    let (amount, unit) = [(timeout.as_micros(), 'u'), (timeout.as_millis(), 'm'), (timeout.as_secs().into(), 'S')]
        .into_iter()
        .find(|(amount, _)| *amount < TOO_MUCH)
        .unwrap_or((TOO_MUCH - 1, 'S'));
    HeaderValue::try_from(format!("{amount}{unit}")).expect("digits and a letter are a header's value")
}

/// What the caller set on this request; None if nothing, or nothing that can be read.
pub(crate) fn parsed(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(GRPC_TIMEOUT)?.to_str().ok()?;
    let (amount, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let amount: u64 = amount.parse::<u32>().ok()?.into();
    Some(match unit {
        "H" => Duration::from_secs(amount * 3600),
        "M" => Duration::from_secs(amount * 60),
        "S" => Duration::from_secs(amount),
        "m" => Duration::from_millis(amount),
        "u" => Duration::from_micros(amount),
        "n" => Duration::from_nanos(amount),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &'static str) -> Option<Duration> {
        parsed(&HeaderMap::from_iter([(http::HeaderName::from_static(GRPC_TIMEOUT), HeaderValue::from_static(text))]))
    }

    #[test]
    fn it_is_written_in_the_finest_unit_that_fits() {
        let written = |timeout| formatted(timeout).to_str().expect("ascii").to_owned();
        assert_eq!(written(Duration::from_micros(1500)), "1500u");
        assert_eq!(written(Duration::from_secs(30)), "30000000u");
        assert_eq!(written(Duration::from_secs(120)), "120000m");
        assert_eq!(written(Duration::from_secs(200_000)), "200000S");
        assert_eq!(written(Duration::MAX), "99999999S");
        assert_eq!(written(Duration::ZERO), "0u");
    }

    #[test]
    fn it_is_read_in_every_unit() {
        assert_eq!(read("2H"), Some(Duration::from_secs(7200)));
        assert_eq!(read("3M"), Some(Duration::from_secs(180)));
        assert_eq!(read("4S"), Some(Duration::from_secs(4)));
        assert_eq!(read("5m"), Some(Duration::from_millis(5)));
        assert_eq!(read("6u"), Some(Duration::from_micros(6)));
        assert_eq!(read("7n"), Some(Duration::from_nanos(7)));
        for strange in ["", "S", "5", "5x", "-5S"] {
            assert_eq!(read(strange), None, "{strange}");
        }
    }
}
