//! A handle on one session.

mod append;
mod compact_with;
mod erase;
mod lifecycle;
mod removals;
mod stream;
mod windows;

pub use append::{Append, Appended, Expect};
pub use compact_with::CompactWith;
pub use erase::Erasure;
pub use removals::Point;
pub use stream::{AppendStream, AppendStreamOptions, Receipt};
pub use windows::{AsOf, Replacement};

use crate::compaction::PolicyHandle;
use crate::v1::search_events_request::Scope;
use crate::v1::{self, SessionRef};
use crate::{Call, Client, Json, List, MemoryProvider, Watch};

/// A session: an id, which the client completes with its app and user, or a complete [`SessionRef`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionLike {
    /// An id in the client's app and user.
    Id(String),
    /// A complete reference.
    Ref(SessionRef),
}

impl From<&str> for SessionLike {
    fn from(id: &str) -> Self {
        Self::Id(id.to_owned())
    }
}

impl From<String> for SessionLike {
    fn from(id: String) -> Self {
        Self::Id(id)
    }
}

impl From<&String> for SessionLike {
    fn from(id: &String) -> Self {
        Self::Id(id.clone())
    }
}

impl From<SessionRef> for SessionLike {
    fn from(session: SessionRef) -> Self {
        Self::Ref(session)
    }
}

impl From<&SessionRef> for SessionLike {
    fn from(session: &SessionRef) -> Self {
        Self::Ref(session.clone())
    }
}

/// A handle on one session, from [`Client::session`], which makes no call. Clones are cheap.
#[derive(Clone, Debug)]
pub struct SessionHandle {
    pub(crate) client: Client,
    pub(crate) reference: SessionRef,
    pub(crate) memory: Option<MemoryProvider>,
}

impl Client {
    /// Returns a handle on a session, without a call; the session need not exist.
    ///
    /// ```no_run
    /// # use threadkeep::{Client, user};
    /// # async fn example(client: Client) -> Result<(), threadkeep::Error> {
    /// let trip = client.session("trip");
    /// trip.append([user("Is BA117 on time?")]).create_if_missing().await?;
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn session(&self, session: impl Into<SessionLike>) -> SessionHandle {
        let reference = match session.into() {
            SessionLike::Ref(session) => session,
            SessionLike::Id(session_id) => {
                SessionRef { app: self.shared.app.clone(), user_id: self.shared.user_id.clone(), session_id }
            }
        };
        SessionHandle { client: self.clone(), reference, memory: None }
    }
}

impl SessionHandle {
    /// Returns the id of the session.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.reference.session_id
    }

    /// Returns the complete reference of the session, for requests of [`Client::raw`].
    #[must_use]
    pub fn reference(&self) -> &SessionRef {
        &self.reference
    }

    /// Returns the client of the handle.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Returns the same session as a participant with this provider: [`get_context`](Self::get_context) reads by it, and if it
    /// does not write, appends are dropped: nothing is sent, [`Appended::dropped`] is true, and a log line says so.
    #[must_use]
    pub fn with_memory(&self, provider: impl Into<MemoryProvider>) -> Self {
        Self { memory: Some(provider.into()), ..self.clone() }
    }

    pub(crate) fn is_written(&self) -> bool {
        self.memory.as_ref().is_none_or(MemoryProvider::writes)
    }

    pub(crate) fn place(&self) -> Option<SessionRef> {
        Some(self.reference.clone())
    }

    /// Searches the events of this session, archived ones included. The query has at most 1,024 characters.
    ///
    /// Errors: SESSION_NOT_FOUND, INVALID_FIELD.
    pub fn search(&self, query: impl Into<String>) -> List<v1::SearchEventsRequest> {
        let scope = Some(Scope::Session(self.reference.clone()));
        self.client.list(v1::SearchEventsRequest { scope, query: query.into(), ..Default::default() })
    }

    /// Runs a recall tool for this session; see [`Client::tools`]. A failure of the tool is in the answer's `is_error`.
    ///
    /// Errors: INVALID_FIELD for an unknown tool.
    pub fn call_tool(&self, name: impl Into<String>, arguments: impl Into<Json>) -> Call<v1::CallToolRequest> {
        let (session, arguments_json) = (self.place(), arguments.into().into());
        Call::new(&self.client, v1::CallToolRequest { session, name: name.into(), arguments_json })
    }

    /// Returns a handle on the compaction policy of this session.
    #[must_use]
    pub fn policy(&self) -> PolicyHandle {
        PolicyHandle::new(&self.client, v1::policy_scope::Kind::Session(self.reference.clone()))
    }

    /// Watches the changes of the session, which need not exist yet. Each change is delivered once, in order; an append is one
    /// change.
    ///
    /// It starts with changes committed from now on, unless [`Watch::from`] says otherwise, and has no deadline. If the server
    /// is unavailable or silent for 30 seconds, the stream is reopened where it stopped, after a pause of up to 0.1 seconds
    /// that doubles up to 5 seconds, and at least the server's retry delay. Store the `resume_token` of a change after handling
    /// it; a watch of the same session or scope and filter that starts with it resumes after it.
    ///
    /// Errors end it: SESSION_NOT_FOUND and AMBIGUOUS_SESSION for a session without a user, INVALID_RESUME_TOKEN,
    /// QUOTA_EXCEEDED, and RESUME_POSITION_EXPIRED if the feed no longer has the next changes. Changes were then missed, so
    /// read the sessions again before starting at the "oldest_resume_token" of its metadata.
    ///
    /// ```no_run
    /// # use threadkeep::{Client, Kind, Start};
    /// # async fn example(client: Client) -> Result<(), threadkeep::Error> {
    /// let mut changes = client.session("trip").watch().from(Start::Beginning).items();
    /// while let Some(change) = changes.try_next().await? {
    ///     if let Some(Kind::Batch(batch)) = change.kind {
    ///         println!("{} events", batch.events.len());
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn watch(&self) -> Watch {
        self.client
            .watch_request(crate::WatchRequest::Session(v1::WatchSessionRequest { session: self.place(), ..Default::default() }))
    }
}
