//! The client: where the server is, and what its calls have in common.

use std::time::Duration;

use http::HeaderValue;
#[cfg(feature = "tls")]
use tonic::transport::ClientTlsConfig;
use tonic::transport::Endpoint;

use crate::session::SessionLike;
use crate::transport::Transport;
use crate::v1::compaction_service_client::CompactionServiceClient;
use crate::v1::consumer_service_client::ConsumerServiceClient;
use crate::v1::event_service_client::EventServiceClient;
use crate::v1::recall_service_client::RecallServiceClient;
use crate::v1::server_service_client::ServerServiceClient;
use crate::v1::session_service_client::SessionServiceClient;
use crate::v1::subscription_service_client::SubscriptionServiceClient;
use crate::{Error, SessionRef, VERSION};

/// Where a server is looked for unless told otherwise.
pub const DEFAULT_ADDRESS: &str = "127.0.0.1:7443";
/// How long a call may take unless told otherwise, its retries included.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);
pub(crate) const MAX_MESSAGE_BYTES: usize = 64 * 1024 * 1024;

/// A client of one server. Clones are cheap and share its connection, which the first call opens, and which then belongs to
/// the tokio runtime that call ran on. A connection that was lost is made again by the next call.
#[derive(Clone, Debug)]
pub struct Client {
    pub(crate) transport: Transport,
    app: String,
    user_id: String,
}

/// How to reach a server. See [`Client::builder`].
#[derive(Clone, Default)]
#[must_use]
pub struct Builder {
    address: Option<String>,
    token: Option<String>,
    app: String,
    user_id: String,
    timeout: Option<Option<Duration>>,
    #[cfg(feature = "tls")]
    tls: Option<ClientTlsConfig>,
}

impl Builder {
    /// "host:port". By default the value of RECOLLECT_ADDRESS, else 127.0.0.1:7443.
    pub fn address(mut self, address: impl Into<String>) -> Self {
        self.address = Some(address.into());
        self
    }

    /// Sent as "authorization: Bearer TOKEN". By default the value of RECOLLECT_TOKEN, else none is sent; "" sends none.
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.token = Some(token.into());
        self
    }

    /// The app of sessions that are given by their id alone. By default none.
    pub fn app(mut self, app: impl Into<String>) -> Self {
        self.app = app.into();
        self
    }

    /// The user of sessions that are given by their id alone. By default none, which is for tokens that name the user.
    pub fn user_id(mut self, user_id: impl Into<String>) -> Self {
        self.user_id = user_id.into();
        self
    }

    /// How long a call may take, its retries included; None for no limit. By default 30 seconds. Streams have no limit.
    pub fn timeout(mut self, timeout: impl Into<Option<Duration>>) -> Self {
        self.timeout = Some(timeout.into());
        self
    }

    /// TLS with the system's root certificates. By default the connection is plaintext.
    #[cfg(feature = "tls")]
    pub fn tls(self) -> Self {
        self.tls_config(ClientTlsConfig::new().with_enabled_roots())
    }

    /// TLS with roots, a client certificate or a server name of one's own.
    #[cfg(feature = "tls")]
    pub fn tls_config(mut self, config: ClientTlsConfig) -> Self {
        self.tls = Some(config);
        self
    }

    /// The client; it connects with its first call. Errors: [`Error::Usage`] for an address, a token or a TLS configuration
    /// that cannot be.
    pub fn build(self) -> Result<Client, Error> {
        let address = self.address.filter(|address| !address.is_empty()).or_else(|| environment("RECOLLECT_ADDRESS"));
        let address = address.unwrap_or_else(|| DEFAULT_ADDRESS.to_owned());
        let token = self.token.or_else(|| environment("RECOLLECT_TOKEN")).filter(|token| !token.is_empty());
        #[cfg(feature = "tls")]
        let endpoint = match self.tls {
            Some(config) => endpoint(&address, "https")?
                .tls_config(config)
                .map_err(|error| Error::Usage(format!("the TLS configuration cannot be used: {error}")))?,
            None => endpoint(&address, "http")?,
        };
        #[cfg(not(feature = "tls"))]
        let endpoint = endpoint(&address, "http")?;
        let authorization = token.map(|token| credential(&token)).transpose()?;
        let timeout = self.timeout.unwrap_or(Some(DEFAULT_TIMEOUT));
        let transport = Transport::new(address, authorization, endpoint, timeout);
        Ok(Client { transport, app: self.app, user_id: self.user_id })
    }
}

/// The token is left out.
impl std::fmt::Debug for Builder {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Builder")
            .field("address", &self.address)
            .field("app", &self.app)
            .field("user_id", &self.user_id)
            .finish_non_exhaustive()
    }
}

fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn credential(token: &str) -> Result<HeaderValue, Error> {
    let mut value = HeaderValue::try_from(format!("Bearer {token}"))
        .map_err(|_| Error::Usage("the token holds characters that no header can".to_owned()))?;
    value.set_sensitive(true);
    Ok(value)
}

fn endpoint(address: &str, scheme: &str) -> Result<Endpoint, Error> {
    let cannot = |error| Error::Usage(format!("{address:?} is no \"host:port\": {error}"));
    let endpoint = Endpoint::from_shared(format!("{scheme}://{address}")).map_err(cannot)?;
    let endpoint = endpoint.user_agent(format!("recollect-rust/{VERSION}")).map_err(cannot)?;
    Ok(endpoint
        .connect_timeout(Duration::from_secs(10))
        .http2_keep_alive_interval(Duration::from_secs(30))
        .keep_alive_timeout(Duration::from_secs(10)))
}

/// The generated clients, one for each service, over the client's connection.
macro_rules! services {
    ($($(#[$doc:meta])* $name:ident: $client:ident),* $(,)?) => {$(
        $(#[$doc])*
        pub fn $name(&self) -> $client<Transport> {
            $client::new(self.transport.clone())
                .max_decoding_message_size(MAX_MESSAGE_BYTES)
                .max_encoding_message_size(MAX_MESSAGE_BYTES)
        }
    )*};
}

impl Client {
    /// How to reach a server; what is not said has a default.
    ///
    /// ```
    /// # use recollect::Client;
    /// let client = Client::builder().address("127.0.0.1:7443").app("travel").user_id("ada").build()?;
    /// # Ok::<(), recollect::Error>(())
    /// ```
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// The same client with another limit to how long its calls may take; None for no limit.
    #[must_use]
    pub fn with_timeout(&self, timeout: impl Into<Option<Duration>>) -> Self {
        Self { transport: self.transport.with_timeout(timeout.into()), ..self.clone() }
    }

    /// Closes the connection, for all clones. Calls and streams under way end with a CANCELLED error that says so, and so do
    /// later ones. Closing twice does nothing. Dropping the last clone closes too.
    pub fn close(&self) {
        self.transport.close();
    }

    /// "host:port" of the server.
    pub fn address(&self) -> &str {
        self.transport.address()
    }

    /// The app of sessions that are given by their id alone.
    pub fn app(&self) -> &str {
        &self.app
    }

    /// The user of sessions that are given by their id alone.
    pub fn user_id(&self) -> &str {
        &self.user_id
    }

    /// The full name of a session: what requests of the generated clients take.
    pub fn session(&self, session: impl Into<SessionLike>) -> SessionRef {
        session.into().completed(&self.app, &self.user_id)
    }

    services! {
        /// Creating, reading, listing, updating and deleting sessions.
        sessions: SessionServiceClient,
        /// Appending and reading events, and reading contexts.
        events: EventServiceClient,
        /// Compacting sessions, and the policies by which the server does.
        compaction: CompactionServiceClient,
        /// Searching events.
        recall: RecallServiceClient,
        /// What the server is and what its limits are.
        server: ServerServiceClient,
        /// Streams of changes as the server sends them; [`watch`](Self::watch) resumes them.
        subscriptions: SubscriptionServiceClient,
        /// Named consumers, whose members share the changes among them.
        consumers: ConsumerServiceClient,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_is_told_before_anything_is_sent() {
        for builder in [Client::builder().address("no host"), Client::builder().token("line\nfeed")] {
            let error = builder.build().expect_err("it cannot be");
            assert!(matches!(error, Error::Usage(_)), "{error:?}");
        }
    }

    #[test]
    fn no_one_learns_the_token_by_printing_the_client() {
        let builder = Client::builder().token("s3cret");
        let printed = format!("{builder:?} {:?}", builder.clone().build().expect("it can be"));
        assert!(!printed.contains("s3cret"), "{printed}");
    }

    #[test]
    fn a_session_is_completed_by_the_client() {
        let client = Client::builder().address("127.0.0.1:1").app("a").user_id("u").build().expect("it can be");
        let expected = SessionRef { app: "a".into(), user_id: "u".into(), session_id: "s".into() };
        assert_eq!((client.session("s"), client.address()), (expected, "127.0.0.1:1"));
    }
}
