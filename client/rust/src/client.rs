//! The client: its configuration and the settings that its calls share.

use std::fmt::Display;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::HeaderValue;
use tokio_util::sync::CancellationToken;
#[cfg(feature = "tls")]
use tonic::transport::ClientTlsConfig;
use tonic::transport::{Channel, Endpoint};

use crate::address::{self, Address};
use crate::scope::Reach;
use crate::session::SessionLike;
use crate::{Error, SessionRef, VERSION, v1};

/// The default address of the server.
pub const DEFAULT_ADDRESS: &str = "127.0.0.1:7443";
/// The default timeout of a call, retries included.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);
const MAX_MESSAGE_BYTES: usize = 64 * 1024 * 1024;

/// A client of one server. Clones are cheap and share its connection. The first call opens it, on that call's tokio runtime; a
/// later call reopens a lost connection.
#[derive(Clone, Debug)]
pub struct Client {
    pub(crate) shared: Arc<Shared>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) reach: Reach,
}

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) address: String,
    pub(crate) app: String,
    pub(crate) user_id: String,
    pub(crate) authorization: Option<HeaderValue>,
    pub(crate) endpoint: Endpoint,
    pub(crate) channel: Mutex<Option<Channel>>,
    pub(crate) closed: CancellationToken,
}

/// Configures a client. See [`Client::builder`].
#[derive(Clone, Default)]
#[must_use]
pub struct Builder {
    address: Option<String>,
    token: Option<String>,
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
        let token = self.token.clone().or_else(|| environment("THREADKEEP_TOKEN")).filter(|token| !token.is_empty());
        let authorization = token.map(|token| HeaderValue::try_from(format!("Bearer {token}"))).transpose();
        let mut authorization =
            authorization.map_err(|_| Error::Usage("the token contains characters that a header cannot contain".to_owned()))?;
        authorization.iter_mut().for_each(|value| value.set_sensitive(true));
        let is_encrypted = server.is_https || self.has_tls();
        if authorization.is_some() && !is_encrypted && !server.is_loopback && !self.allow_plaintext_token {
            return Err(Error::Usage(format!(
                "the token would cross the network to {0} in plaintext: use https://{0} or, if the network encrypts traffic, \
                 allow_plaintext_token()",
                server.authority
            )));
        }
        let endpoint = self.endpoint(&server, is_encrypted).map_err(|problem| wrong(&problem))?;
        let (address, channel, closed) = (server.authority, Mutex::default(), CancellationToken::new());
        let shared = Shared { address, app: self.app, user_id: self.user_id, authorization, endpoint, channel, closed };
        Ok(Client { shared: Arc::new(shared), timeout: Some(DEFAULT_TIMEOUT), reach: Reach::default() })
    }

    #[cfg(feature = "tls")]
    fn has_tls(&self) -> bool {
        self.tls.is_some()
    }

    #[cfg(feature = "tls")]
    fn endpoint(&self, server: &Address, is_encrypted: bool) -> Result<Endpoint, String> {
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
    fn endpoint(&self, server: &Address, is_encrypted: bool) -> Result<Endpoint, String> {
        if is_encrypted {
            return Err("https requires the feature \"tls\" of the crate threadkeep, which is disabled".to_owned());
        }
        endpoint(&server.authority, "http")
    }
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

/// Returns the generated client of each service, over the client's connection.
macro_rules! services {
    ($($(#[$doc:meta])* $name:ident: $module:ident::$client:ident),* $(,)?) => {$(
        $(#[$doc])*
        pub fn $name(&self) -> v1::$module::$client<Self> {
            v1::$module::$client::new(self.clone())
                .max_decoding_message_size(MAX_MESSAGE_BYTES)
                .max_encoding_message_size(MAX_MESSAGE_BYTES)
        }
    )*};
}

impl Client {
    /// Configures a client; all settings have defaults.
    ///
    /// ```
    /// # use threadkeep::Client;
    /// let client = Client::builder().address("127.0.0.1:7443").app("travel").user_id("ada").build()?;
    /// # Ok::<(), threadkeep::Error>(())
    /// ```
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Returns the same client with another timeout of calls, retries included; None for no limit. Default: 30 seconds. Streams
    /// have no timeout. The `set_timeout` of a request applies to each attempt, within this timeout.
    #[must_use]
    pub fn with_timeout(&self, timeout: impl Into<Option<Duration>>) -> Self {
        Self { timeout: timeout.into(), ..self.clone() }
    }

    /// Closes the connection, for all clones. Active and later calls and streams fail with a CANCELLED error that says so.
    /// Closing twice has no effect. Dropping the last clone also closes the connection.
    pub fn close(&self) {
        self.shared.closed.cancel();
        self.shared.channel.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// Returns the complete reference of a session, for requests of the generated clients.
    pub fn session(&self, session: impl Into<SessionLike>) -> SessionRef {
        match session.into() {
            SessionLike::Ref(session) => session,
            SessionLike::Id(session_id) => {
                SessionRef { app: self.shared.app.clone(), user_id: self.shared.user_id.clone(), session_id }
            }
        }
    }

    services! {
        /// Creates, reads, lists, updates and deletes sessions.
        sessions: session_service_client::SessionServiceClient,
        /// Appends and reads events, and reads contexts.
        events: event_service_client::EventServiceClient,
        /// Compacts sessions and manages compaction policies.
        compaction: compaction_service_client::CompactionServiceClient,
        /// Searches events.
        searches: search_service_client::SearchServiceClient,
        /// Long-term memory; [`memory`](Self::memory) is a handle on that of a user.
        memories: memory_service_client::MemoryServiceClient,
        /// The recall tools for models, run by the server.
        tools: tool_service_client::ToolServiceClient,
        /// Version, capabilities and limits of the server.
        server: server_service_client::ServerServiceClient,
        /// Streams of changes as the server sends them; [`watch`](Self::watch) resumes them.
        subscriptions: subscription_service_client::SubscriptionServiceClient,
        /// Named consumers, whose members share the changes.
        consumers: consumer_service_client::ConsumerServiceClient,
    }
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
        let printed = format!("{:?}", Client::builder().token("s3cret").build().expect("it can be"));
        assert!(!printed.contains("s3cret"), "{printed}");
    }

    #[test]
    fn app_and_user_complete_only_an_id() {
        let client = Client::builder().address("127.0.0.1:1").app("a").user_id("u").build().expect("it can be");
        let full = SessionRef { app: "a".into(), user_id: "u".into(), session_id: "s".into() };
        assert_eq!((client.session("s"), client.session(String::from("s"))), (full.clone(), full));
        let bare = SessionRef { session_id: "s".into(), ..Default::default() };
        assert_eq!((client.session(&bare), client.session(bare.clone())), (bare.clone(), bare));
    }
}
