//! The client: the settings that its calls share, and what is not of one session.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tonic::transport::{Channel, Endpoint};

use crate::backoff::Retry;
use crate::builder::{Credential, Hidden, Interceptor};
use crate::scope::Reach;
use crate::transport::Transport;
use crate::{Builder, Call, List, v1};

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
    pub(crate) credential: Option<Credential>,
    pub(crate) interceptors: Hidden<Vec<Interceptor>>,
    pub(crate) retry: Retry,
    pub(crate) endpoint: Endpoint,
    pub(crate) channel: Mutex<Option<Channel>>,
    pub(crate) closed: CancellationToken,
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

    /// Searches the events of the client's app and user, archived ones included, best hit first. The query has at most 1,024
    /// characters. For others see [`all_users`](Self::all_users), for one session
    /// [`SessionHandle::search`](crate::SessionHandle::search).
    ///
    /// Errors: INVALID_FIELD.
    pub fn search(&self, query: impl Into<String>) -> List<v1::SearchEventsRequest> {
        self.list(v1::SearchEventsRequest { query: query.into(), ..Default::default() })
    }

    /// Lists the events of the client's user over all sessions of its app: session by session in the order of their creation, and
    /// in each in window order.
    ///
    /// Errors: INVALID_FIELD.
    pub fn user_events(&self) -> List<v1::ListUserEventsRequest> {
        self.list(v1::ListUserEventsRequest::default())
    }

    /// Lists the users that have sessions, memories or state in the client's app, each with its app, in a fixed order. For every
    /// app see [`all_apps`](Self::all_apps).
    ///
    /// ```no_run
    /// # async fn example(client: threadkeep::Client) -> Result<(), threadkeep::Error> {
    /// let mut users = client.all_apps().users().items();
    /// while let Some(user) = users.try_next().await? {
    ///     println!("{} {}", user.app, user.user_id);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Errors: INVALID_FIELD, PERMISSION_DENIED with a token that is bound to a user.
    pub fn users(&self) -> List<v1::ListUsersRequest> {
        self.list(v1::ListUsersRequest::default())
    }

    /// Lists the records of the audit log of the server that answers, newest first. A page may be empty and not be the last. Needs
    /// the role admin.
    ///
    /// Errors: INVALID_FIELD, AUDIT_LOG_UNAVAILABLE, RATE_LIMITED.
    pub fn audit_records(&self) -> List<v1::ListAuditRecordsRequest> {
        self.list(v1::ListAuditRecordsRequest::default())
    }

    /// Archives and deletes sessions that the server's retention policies select; set `policies`, `max_sessions` or `dry_run` by
    /// [`Call::with`]. Repeat it with the `next_run_token` of the response as `run_token`, while there is one. Needs the role admin,
    /// and is not repeated by itself.
    ///
    /// Errors: RETENTION_NOT_CONFIGURED, ARCHIVE_FAILED, INVALID_FIELD.
    pub fn run_retention(&self) -> Call<v1::RunRetentionRequest> {
        Call::new(self, v1::RunRetentionRequest::default())
    }

    /// Lists the receipts of sessions that retention deleted, newest first; choose them by [`List::with`]. Needs the role admin.
    ///
    /// Errors: RETENTION_NOT_CONFIGURED, ARCHIVE_FAILED.
    pub fn retention_receipts(&self) -> List<v1::ListRetentionReceiptsRequest> {
        self.list(v1::ListRetentionReceiptsRequest::default())
    }

    /// Stores an archived session again, from its newest archive; another `receipt_id` is set by [`Call::with`]. Repeated, it
    /// changes nothing. Needs the role admin.
    ///
    /// Errors: SESSION_NOT_FOUND if there is no archive of it, RETENTION_NOT_CONFIGURED, ARCHIVE_FAILED.
    pub fn restore_session(&self, session: v1::SessionRef) -> Call<v1::RestoreSessionRequest> {
        Call::new(self, v1::RestoreSessionRequest { session: Some(session), ..Default::default() })
    }

    /// Returns the recall tools for models, which the server runs; see
    /// [`SessionHandle::call_tool`](crate::SessionHandle::call_tool).
    pub fn tools(&self) -> Call<v1::ListToolsRequest> {
        Call::new(self, v1::ListToolsRequest {})
    }

    /// Returns the version, capabilities and limits of the server.
    pub fn info(&self) -> Call<v1::GetServerInfoRequest> {
        Call::new(self, v1::GetServerInfoRequest::default())
    }

    /// Returns the generated clients of all RPCs, with the client's connection, credential, deadlines and retries. Requests are
    /// sent unchanged: app and user are not completed.
    #[must_use]
    pub fn raw(&self) -> Raw {
        Raw(self.clone())
    }
}

impl Call<v1::GetServerInfoRequest> {
    /// Counts sessions and events too, by a scan.
    pub fn totals(mut self) -> Self {
        self.request.include_totals = true;
        self
    }
}

/// The generated clients of all RPCs. See [`Client::raw`].
#[derive(Clone, Debug)]
pub struct Raw(Client);

/// Returns the generated client of each service, over the client's connection.
macro_rules! services {
    ($($(#[$doc:meta])* $name:ident: $module:ident::$client:ident),* $(,)?) => {$(
        $(#[$doc])*
        pub fn $name(&self) -> v1::$module::$client<Transport> {
            v1::$module::$client::new(Transport::new(self.0.clone()))
                .max_decoding_message_size(MAX_MESSAGE_BYTES)
                .max_encoding_message_size(MAX_MESSAGE_BYTES)
        }
    )*};
}

impl Raw {
    services! {
        /// Creates, reads, lists, updates and deletes sessions.
        sessions: session_service_client::SessionServiceClient,
        /// Appends and reads events, and reads contexts.
        events: event_service_client::EventServiceClient,
        /// Reads and changes the state of sessions, users and apps.
        states: state_service_client::StateServiceClient,
        /// Compacts sessions and manages compaction policies.
        compaction: compaction_service_client::CompactionServiceClient,
        /// Searches events.
        searches: search_service_client::SearchServiceClient,
        /// Long-term memory; [`Client::memory`] is a handle on that of a user.
        memories: memory_service_client::MemoryServiceClient,
        /// The recall tools for models, run by the server.
        tools: tool_service_client::ToolServiceClient,
        /// Version, capabilities and limits of the server.
        server: server_service_client::ServerServiceClient,
        /// Streams of changes as the server sends them; [`Client::watch_all`] resumes them.
        subscriptions: subscription_service_client::SubscriptionServiceClient,
        /// Named consumers; [`Client::consumer`] works for one.
        consumers: consumer_service_client::ConsumerServiceClient,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::v1::SessionRef;

    #[test]
    fn app_and_user_complete_only_an_id() {
        let client = Client::builder().address("127.0.0.1:1").app("a").user_id("u").build().expect("it can be");
        let full = SessionRef { app: "a".into(), user_id: "u".into(), session_id: "s".into() };
        assert_eq!(
            (client.session("s").reference().clone(), client.session(String::from("s")).reference().clone()),
            (full.clone(), full)
        );
        let bare = SessionRef { session_id: "s".into(), ..Default::default() };
        assert_eq!(
            (client.session(&bare).reference().clone(), client.session(bare.clone()).reference().clone()),
            (bare.clone(), bare)
        );
    }
}
