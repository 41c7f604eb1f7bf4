//! The client: where the server is, and what its calls have in common.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::HeaderValue;
use tokio_util::sync::CancellationToken;
#[cfg(feature = "tls")]
use tonic::transport::ClientTlsConfig;
use tonic::transport::{Channel, Endpoint};

use crate::session::SessionLike;
use crate::{Error, SessionRef, VERSION, v1};

/// Where a server is looked for unless told otherwise.
pub const DEFAULT_ADDRESS: &str = "127.0.0.1:7443";
/// How long a call may take unless told otherwise, its retries included.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);
const MAX_MESSAGE_BYTES: usize = 64 * 1024 * 1024;

/// A client of one server. Clones are cheap and share its connection, which the first call opens, and which then belongs to
/// the tokio runtime that call ran on. A connection that was lost is made again by the next call.
#[derive(Clone, Debug)]
pub struct Client {
    pub(crate) shared: Arc<Shared>,
    pub(crate) timeout: Option<Duration>,
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

/// How to reach a server. See [`Client::builder`].
#[derive(Clone, Default)]
#[must_use]
pub struct Builder {
    address: Option<String>,
    token: Option<String>,
    app: String,
    user_id: String,
    #[cfg(feature = "tls")]
    tls: Option<ClientTlsConfig>,
}

impl Builder {
    /// "host:port". By default the value of THREADKEEP_ADDRESS, else 127.0.0.1:7443.
    pub fn address(mut self, address: impl Into<String>) -> Self {
        self.address = Some(address.into());
        self
    }

    /// Sent as "authorization: Bearer TOKEN". By default the value of THREADKEEP_TOKEN, else none is sent; "" sends none.
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

    /// TLS, for example with the system's root certificates: `ClientTlsConfig::new().with_enabled_roots()`. By default the
    /// connection is plaintext.
    #[cfg(feature = "tls")]
    pub fn tls(mut self, config: ClientTlsConfig) -> Self {
        self.tls = Some(config);
        self
    }

    /// The client; it connects with its first call. Errors: [`Error::Usage`] for an address, a token or a TLS configuration
    /// that cannot be.
    pub fn build(self) -> Result<Client, Error> {
        let address = self.address.or_else(|| environment("THREADKEEP_ADDRESS")).unwrap_or_else(|| DEFAULT_ADDRESS.to_owned());
        let token = self.token.or_else(|| environment("THREADKEEP_TOKEN")).filter(|token| !token.is_empty());
        let authorization = token.map(|token| HeaderValue::try_from(format!("Bearer {token}"))).transpose();
        let mut authorization = authorization.map_err(|_| Error::Usage("no header can hold this token".to_owned()))?;
        authorization.iter_mut().for_each(|value| value.set_sensitive(true));
        #[cfg(feature = "tls")]
        let endpoint = match self.tls {
            Some(config) => endpoint(&address, "https").and_then(|endpoint| endpoint.tls_config(config)),
            None => endpoint(&address, "http"),
        };
        #[cfg(not(feature = "tls"))]
        let endpoint = endpoint(&address, "http");
        let endpoint =
            endpoint.map_err(|error| Error::Usage(format!("{address:?} is no \"host:port\" to connect to: {error:?}")))?;
        let (channel, closed) = (Mutex::default(), CancellationToken::new());
        let shared = Shared { address, app: self.app, user_id: self.user_id, authorization, endpoint, channel, closed };
        Ok(Client { shared: Arc::new(shared), timeout: Some(DEFAULT_TIMEOUT) })
    }
}

fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn endpoint(address: &str, scheme: &str) -> Result<Endpoint, tonic::transport::Error> {
    Ok(Endpoint::from_shared(format!("{scheme}://{address}"))?
        .user_agent(format!("threadkeep-rust/{VERSION}"))?
        .connect_timeout(Duration::from_secs(10))
        .http2_keep_alive_interval(Duration::from_secs(30))
        .keep_alive_timeout(Duration::from_secs(10)))
}

/// The generated clients, one for each service, over the client's connection.
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
    /// How to reach a server; what is not said has a default.
    ///
    /// ```
    /// # use threadkeep::Client;
    /// let client = Client::builder().address("127.0.0.1:7443").app("travel").user_id("ada").build()?;
    /// # Ok::<(), threadkeep::Error>(())
    /// ```
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// The same client with another limit to how long its calls may take, their retries included; None for no limit. By default it
    /// is 30 seconds. Streams have none. A request's own `set_timeout` is that of each try, within this limit.
    #[must_use]
    pub fn with_timeout(&self, timeout: impl Into<Option<Duration>>) -> Self {
        Self { shared: Arc::clone(&self.shared), timeout: timeout.into() }
    }

    /// Closes the connection, for all clones. Calls and streams under way end with a CANCELLED error that says so, and so do
    /// later ones. Closing twice does nothing. Dropping the last clone closes too.
    pub fn close(&self) {
        self.shared.closed.cancel();
        self.shared.channel.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// The full name of a session: what requests of the generated clients take.
    pub fn session(&self, session: impl Into<SessionLike>) -> SessionRef {
        match session.into() {
            SessionLike::Ref(session) => session,
            SessionLike::Id(session_id) => {
                SessionRef { app: self.shared.app.clone(), user_id: self.shared.user_id.clone(), session_id }
            }
        }
    }

    services! {
        /// Creating, reading, listing, updating and deleting sessions.
        sessions: session_service_client::SessionServiceClient,
        /// Appending and reading events, and reading contexts.
        events: event_service_client::EventServiceClient,
        /// Compacting sessions, and the policies by which the server does.
        compaction: compaction_service_client::CompactionServiceClient,
        /// Searching events.
        recall: recall_service_client::RecallServiceClient,
        /// Long-term memory; [`memory`](Self::memory) is a handle on a user's.
        memories: memory_service_client::MemoryServiceClient,
        /// The recall tools for models, run by the server.
        tools: tool_service_client::ToolServiceClient,
        /// What the server is and what its limits are.
        server: server_service_client::ServerServiceClient,
        /// Streams of changes as the server sends them; [`watch`](Self::watch) resumes them.
        subscriptions: subscription_service_client::SubscriptionServiceClient,
        /// Named consumers, whose members share the changes among them.
        consumers: consumer_service_client::ConsumerServiceClient,
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
        let printed = format!("{:?}", Client::builder().token("s3cret").build().expect("it can be"));
        assert!(!printed.contains("s3cret"), "{printed}");
    }

    #[test]
    fn app_and_user_complete_an_id_and_nothing_else() {
        let client = Client::builder().address("127.0.0.1:1").app("a").user_id("u").build().expect("it can be");
        let full = SessionRef { app: "a".into(), user_id: "u".into(), session_id: "s".into() };
        assert_eq!((client.session("s"), client.session(String::from("s"))), (full.clone(), full));
        let bare = SessionRef { session_id: "s".into(), ..Default::default() };
        assert_eq!((client.session(&bare), client.session(bare.clone())), (bare.clone(), bare));
    }
}
