//! Parses server addresses.

use std::net::{IpAddr, Ipv6Addr};

use http::uri::Authority;

/// The default port of a server.
pub(crate) const DEFAULT_PORT: u16 = 7443;

/// The endpoint of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    /// "host:port".
    pub(crate) authority: String,
    /// The scheme is https.
    pub(crate) is_https: bool,
    /// Traffic stays on this machine.
    pub(crate) is_loopback: bool,
}

/// Parses "host:port", "host", "https://host:port" or "http://host:port". The error describes the valid forms.
pub(crate) fn parse(address: &str) -> Result<Address, String> {
    let (scheme, rest) = address.split_once("://").unwrap_or(("http", address));
    let is_https = scheme.eq_ignore_ascii_case("https");
    if !is_https && !scheme.eq_ignore_ascii_case("http") {
        return Err(format!("its scheme must be https or http, not {scheme}"));
    }
    let rest = if rest.len() < address.len() { rest.strip_suffix('/').unwrap_or(rest) } else { rest };
    let rest = if rest.parse::<Ipv6Addr>().is_ok() { format!("[{rest}]") } else { rest.to_owned() };
    let malformed = || "it must be \"host:port\" or \"https://host:port\", without a path".to_owned();
    let authority: Authority = rest.parse().map_err(|_| malformed())?;
    let host = authority.host();
    if host.is_empty() || rest.contains('@') {
        return Err(malformed());
    }
    let port = match rest[host.len()..].strip_prefix(':') {
        None => DEFAULT_PORT,
        Some(port) => match port.parse() {
            Ok(0) | Err(_) => return Err(format!("its port must be from 1 to 65535, not {port:?}")),
            Ok(port) => port,
        },
    };
    Ok(Address { authority: format!("{host}:{port}"), is_https, is_loopback: is_loopback(host) })
}

fn is_loopback(host: &str) -> bool {
    let ip = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    ip.map_or_else(|_| host == "localhost" || host.ends_with(".localhost"), |ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_parsed_in_every_form() {
        for (given, authority, is_https, is_loopback) in [
            ("127.0.0.1:7443", "127.0.0.1:7443", false, true),
            ("localhost", "localhost:7443", false, true),
            ("memory.example", "memory.example:7443", false, false),
            ("http://memory.example:1/", "memory.example:1", false, false),
            ("https://memory.example", "memory.example:7443", true, false),
            ("HTTPS://memory.example:443", "memory.example:443", true, false),
            ("::1", "[::1]:7443", false, true),
            ("[2001:db8::1]:5", "[2001:db8::1]:5", false, false),
            ("https://threadkeep.localhost:80", "threadkeep.localhost:80", true, true),
        ] {
            assert_eq!(parse(given), Ok(Address { authority: authority.into(), is_https, is_loopback }), "{given}");
        }
    }

    #[test]
    fn an_invalid_address_is_rejected_with_the_valid_form() {
        for (given, words) in [
            ("two words", "host:port"),
            ("memory.example:grpc", "from 1 to 65535"),
            ("memory.example:0", "from 1 to 65535"),
            ("memory.example:70000", "from 1 to 65535"),
            ("https://memory.example/v1", "without a path"),
            ("memory.example/", "without a path"),
            ("https://", "host:port"),
            ("me@memory.example", "host:port"),
            (":7443", "host:port"),
            ("ftp://memory.example", "https or http"),
        ] {
            let error = parse(given).expect_err(given);
            assert!(error.contains(words), "{given}: {error}");
        }
    }
}
