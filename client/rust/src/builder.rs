//! The configuration of a client.

use std::fmt::{self, Display};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::{FutureExt, TryFutureExt};
use http::{HeaderMap, HeaderValue};
use tokio_util::sync::CancellationToken;
use tonic::Status;
#[cfg(feature = "tls")]
use tonic::transport::ClientTlsConfig;
use tonic::transport::Endpoint;

use crate::address::{self, Address};
use crate::backoff::Retry;
use crate::client::{DEFAULT_TIMEOUT, Shared};
use crate::scope::Reach;
use crate::{Client, DEFAULT_ADDRESS, Error, VERSION};

type BoxError = Box<dyn std::error::Error + Send + Sync>;
pub(crate) type TokenProvider = Arc<dyn Fn() -> BoxFuture<'static, Result<String, BoxError>> + Send + Sync>;
pub(crate) type Interceptor = Arc<dyn Fn(&str, &mut HeaderMap) -> Result<(), Status> + Send + Sync>;
type Configure = Arc<dyn Fn(Endpoint) -> Endpoint + Send + Sync>;

/// How a client authenticates.
#[derive(Debug)]
pub(crate) enum Credential {
    Fixed(HeaderValue),
    Supplied(Hidden<TokenProvider>),
}

/// A value without a text.
pub(crate) struct Hidden<T>(pub(crate) T);

impl<T> fmt::Debug for Hidden<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("..")
    }
}

/// Configures a client. See [`Client::builder`].
#[derive(Clone, Default)]
#[must_use]
pub struct Builder {
    address: Option<String>,
    token: Option<String>,
    provider: Option<TokenProvider>,
    interceptors: Vec<Interceptor>,
    endpoint: Option<Configure>,
    retry: Retry,
    timeout: Option<Option<Duration>>,
    allow_plaintext_token: bool,
    app: String,
    user_id: String,
    #[cfg(feature = "tls")]
    tls: Option<ClientTlsConfig>,
}

impl Builder {
    /// Address: "host:port", or "host" for port 7443; "https://host:port" turns TLS on. Default: the value of
    /// THREADKEEP_ADDRESS, else 127.0.0.1:7443.
    pub fn address(mut self, address: impl Into<String>) -> Self {
        self.address = Some(address.into());
        self
    }

    /// Token, sent as "authorization: Bearer TOKEN"; over plaintext to this machine only. Default: the value of
    /// THREADKEEP_TOKEN, else none; "" sends none.
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.token = Some(token.into());
        self
    }

    /// Supplies the token, called before each call; not with [`token`](Self::token). If it fails, the call is UNAUTHENTICATED.
    ///
    /// ```
    /// # use threadkeep::Client;
    /// let client = Client::builder().token_provider(|| async { std::fs::read_to_string("/run/secrets/threadkeep") });
    /// ```
    pub fn token_provider<F, Fut, E>(mut self, provider: F) -> Self
    where
        F: Fn() -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<String, E>> + Send + 'static,
        E: Into<BoxError> + 'static,
    {
        self.provider = Some(Arc::new(move || provider().map_err(Into::into).boxed()));
        self
    }

    /// Calls this before each attempt of a call, with the path of its method and its headers, for example to add trace headers.
    /// An error ends the call. Several are called in this order.
    pub fn interceptor(
        mut self,
        interceptor: impl Fn(&str, &mut HeaderMap) -> Result<(), Status> + Send + Sync + 'static,
    ) -> Self {
        self.interceptors.push(Arc::new(interceptor));
        self
    }

    /// Changes the endpoint, for settings of the connection without a method of their own.
    pub fn endpoint(mut self, configure: impl Fn(Endpoint) -> Endpoint + Send + Sync + 'static) -> Self {
        self.endpoint = Some(Arc::new(configure));
        self
    }

    /// Sets how calls are retried that are safe to repeat. Default: [`Retry::default`].
    pub fn retry(mut self, retry: Retry) -> Self {
        self.retry = retry;
        self
    }

    /// Sets the timeout of calls, retries included; None for no limit. Default: 30 seconds. Streams have none.
    pub fn timeout(mut self, limit: impl Into<Option<Duration>>) -> Self {
        self.timeout = Some(limit.into());
        self
    }

    /// Sends the token over plaintext to other machines, where it can be intercepted. Use it for networks that encrypt traffic.
    pub fn allow_plaintext_token(mut self) -> Self {
        self.allow_plaintext_token = true;
        self
    }

    /// App of sessions that are specified by id alone, and of requests that leave it empty. Default: none.
    pub fn app(mut self, app: impl Into<String>) -> Self {
        self.app = app.into();
        self
    }

    /// User of sessions that are specified by id alone, and of requests that leave it empty. Default: none, for tokens that are
    /// bound to a user.
    pub fn user_id(mut self, user_id: impl Into<String>) -> Self {
        self.user_id = user_id.into();
        self
    }

    /// Custom TLS configuration. Default: plaintext, or TLS with the system's root certificates if the scheme is https.
    #[cfg(feature = "tls")]
    pub fn tls(mut self, config: ClientTlsConfig) -> Self {
        self.tls = Some(config);
        self
    }

    /// Creates the client, which connects with its first call. Errors: [`Error::Usage`] for an invalid address, token or TLS
    /// configuration, and for a token that would cross a network in plaintext.
    pub fn build(self) -> Result<Client, Error> {
        let given = self.address.clone().or_else(|| environment("THREADKEEP_ADDRESS"));
        let given = given.unwrap_or_else(|| DEFAULT_ADDRESS.to_owned());
        let wrong = |problem: &dyn Display| Error::Usage(format!("the address {given:?}: {problem}"));
        let server = address::parse(&given).map_err(|problem| wrong(&problem))?;
        let credential = self.credential()?;
        let is_encrypted = server.is_https || self.has_tls();
        if credential.is_some() && !is_encrypted && !server.is_loopback && !self.allow_plaintext_token {
            return Err(Error::Usage(format!(
                "the token would cross the network to {0} in plaintext: use https://{0} or, if the network encrypts traffic, \
                 allow_plaintext_token()",
                server.authority
            )));
        }
        let endpoint = self.connection(&server, is_encrypted).map_err(|problem| wrong(&problem))?;
        let endpoint = self.endpoint.as_ref().map_or(endpoint.clone(), |configure| configure(endpoint));
        let shared = Shared {
            address: server.authority,
            app: self.app,
            user_id: self.user_id,
            credential,
            interceptors: Hidden(self.interceptors),
            retry: self.retry,
            endpoint,
            channel: Mutex::default(),
            closed: CancellationToken::new(),
        };
        let timeout = self.timeout.unwrap_or(Some(DEFAULT_TIMEOUT));
        Ok(Client { shared: Arc::new(shared), timeout, reach: Reach::default() })
    }

    fn credential(&self) -> Result<Option<Credential>, Error> {
        if let Some(provider) = &self.provider {
            if self.token.is_some() {
                return Err(Error::Usage("set either token or token_provider".to_owned()));
            }
            return Ok(Some(Credential::Supplied(Hidden(Arc::clone(provider)))));
        }
        let token = self.token.clone().or_else(|| environment("THREADKEEP_TOKEN")).filter(|token| !token.is_empty());
        token.map(|token| Ok(Credential::Fixed(bearer(&token).map_err(|problem| Error::Usage(problem.to_owned()))?))).transpose()
    }

    #[cfg(feature = "tls")]
    fn has_tls(&self) -> bool {
        self.tls.is_some()
    }

    #[cfg(feature = "tls")]
    fn connection(&self, server: &Address, is_encrypted: bool) -> Result<Endpoint, String> {
        if !is_encrypted {
            return endpoint(&server.authority, "http");
        }
        let config = self.tls.clone().unwrap_or_else(|| ClientTlsConfig::new().with_enabled_roots());
        endpoint(&server.authority, "https")?.tls_config(config).map_err(|error| format!("{error:?}"))
    }

    #[cfg(not(feature = "tls"))]
    fn has_tls(&self) -> bool {
        false
    }

    #[cfg(not(feature = "tls"))]
    fn connection(&self, server: &Address, is_encrypted: bool) -> Result<Endpoint, String> {
        if is_encrypted {
            return Err("https requires the feature \"tls\" of the crate threadkeep, which is disabled".to_owned());
        }
        endpoint(&server.authority, "http")
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("Builder");
        shown.field("address", &self.address).field("app", &self.app).field("user_id", &self.user_id).finish_non_exhaustive()
    }
}

/// Returns the value of the header of a token.
pub(crate) fn bearer(token: &str) -> Result<HeaderValue, &'static str> {
    let mut value = HeaderValue::try_from(format!("Bearer {token}"))
        .map_err(|_| "the token contains characters that a header cannot contain")?;
    value.set_sensitive(true);
    Ok(value)
}

fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn endpoint(authority: &str, scheme: &str) -> Result<Endpoint, String> {
    let endpoint = Endpoint::from_shared(format!("{scheme}://{authority}"));
    let named = endpoint.and_then(|endpoint| endpoint.user_agent(format!("threadkeep-rust/{VERSION}")));
    Ok(named
        .map_err(|error| format!("{error:?}"))?
        .connect_timeout(Duration::from_secs(10))
        .http2_keep_alive_interval(Duration::from_secs(30))
        .keep_alive_timeout(Duration::from_secs(10)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_address_or_token_is_rejected_by_build() {
        for builder in [Client::builder().address("no host"), Client::builder().token("line\nfeed")] {
            let error = builder.build().expect_err("it cannot be");
            assert!(matches!(error, Error::Usage(_)), "{error:?}");
        }
    }

    #[test]
    fn a_token_is_not_sent_over_plaintext_to_another_machine() {
        let at = |address: &str| Client::builder().address(address).token("s3cret");
        for refused in ["memory.example", "http://memory.example:7443"] {
            let error = at(refused).build().expect_err("it would be read").to_string();
            assert!(error.contains("allow_plaintext_token") && !error.contains("s3cret"), "{error}");
        }
        at("127.0.0.1:1").build().expect("it stays here");
        at("memory.example").allow_plaintext_token().build().expect("it is allowed");
        at("memory.example").token("").build().expect("there is no token");
        let supplied = || Client::builder().token_provider(|| async { Ok::<_, std::io::Error>("s3cret".to_owned()) });
        supplied().address("memory.example").build().expect_err("a supplied token would be read too");
        supplied().address("127.0.0.1").token("other").build().expect_err("there are two");
    }

    #[cfg(feature = "tls")]
    #[test]
    fn an_https_address_turns_tls_on() {
        let scheme = |builder: Builder| builder.build().expect("it can be").shared.endpoint.uri().scheme_str().map(str::to_owned);
        let at = |address: &str| Client::builder().address(address);
        assert_eq!(scheme(at("https://memory.example").token("s3cret")).as_deref(), Some("https"));
        assert_eq!(scheme(at("memory.example").token("s3cret").tls(ClientTlsConfig::new())).as_deref(), Some("https"));
        assert_eq!(scheme(at("http://memory.example")).as_deref(), Some("http"));
    }

    #[cfg(not(feature = "tls"))]
    #[test]
    fn an_https_address_without_the_tls_feature_names_it() {
        let error = Client::builder().address("https://memory.example").build().expect_err("it cannot be").to_string();
        assert!(error.contains("feature \"tls\""), "{error}");
    }

    #[test]
    fn debug_output_of_a_builder_hides_the_token() {
        let builder = Client::builder().token("s3cret");
        let printed = format!("{builder:?} {:?}", builder.clone().build().expect("it can be"));
        assert!(!printed.contains("s3cret"), "{printed}");
    }
}
