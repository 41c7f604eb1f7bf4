//! Appends events.

use std::ops::Deref;
use std::pin::Pin;
use std::time::Duration;

use crate::v1::append_events_request::Precondition;
use crate::v1::{AppendEventsRequest, AppendEventsResponse, CreateIfMissing, IfExists, RemovalMode, SessionEvent};
use crate::{Error, SessionHandle, with_ids};

/// What the caller expects of the log; otherwise an append fails with VERSION_MISMATCH.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Expect {
    /// The log_version of the session is this.
    LogVersion(i64),
    /// The last event of the session has this id; "" for an empty log.
    LastEventId(String),
}

/// An append: set its options, then await it. See [`SessionHandle::append`].
#[derive(Clone, Debug)]
#[must_use = "an append is sent when it is awaited"]
pub struct Append {
    session: SessionHandle,
    request: AppendEventsRequest,
}

/// The result of an append: the fields of [`AppendEventsResponse`], and whether it was dropped.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Appended {
    /// The answer of the server; empty if the append was dropped.
    pub response: AppendEventsResponse,
    /// True if nothing was sent, because the session's memory provider does not write.
    pub dropped: bool,
}

impl Deref for Appended {
    type Target = AppendEventsResponse;

    fn deref(&self) -> &AppendEventsResponse {
        &self.response
    }
}

impl SessionHandle {
    /// Appends events, all or none. When it completes, they are on durable storage.
    ///
    /// Events without an id get one here, so that the client's retries store nothing twice. To retry after an error, await a
    /// clone of the append, or append the same [`with_ids`] again. The server sets the size limits: `client.info()`.
    ///
    /// Errors: SESSION_NOT_FOUND, VERSION_MISMATCH, EVENT_ID_CONFLICT, OPERATION_CONFLICT, EVENT_TOO_LARGE, BATCH_TOO_LARGE,
    /// STATE_TOO_LARGE.
    ///
    /// ```no_run
    /// # use threadkeep::{Client, Expect, assistant};
    /// # async fn example(client: Client) -> Result<(), threadkeep::Error> {
    /// let trip = client.session("trip");
    /// let appended = trip.append([assistant("Boarding now.")]).expect(Expect::LogVersion(3)).await?;
    /// assert_eq!(appended.log_version, 4);
    /// # Ok(())
    /// # }
    /// ```
    pub fn append(&self, events: impl IntoIterator<Item = SessionEvent>) -> Append {
        let request = AppendEventsRequest { session: self.place(), events: with_ids(events), ..Default::default() };
        Append { session: self.clone(), request }
    }

    /// Says that an append was dropped.
    pub(crate) fn drop_append(&self) -> Appended {
        tracing::info!(session = self.id(), "append dropped: the memory provider of the session does not write");
        Appended { dropped: true, ..Default::default() }
    }
}

impl Append {
    /// Creates a missing session with the server's defaults.
    pub fn create_if_missing(self) -> Self {
        self.create_if_missing_with(CreateIfMissing::default())
    }

    /// Creates a missing session with this expiry, these labels, metadata and first values of its state.
    pub fn create_if_missing_with(mut self, how: CreateIfMissing) -> Self {
        self.request.create_if_missing = Some(how);
        self
    }

    /// Appends only if this is so; otherwise VERSION_MISMATCH. The last expectation counts.
    pub fn expect(mut self, expected: Expect) -> Self {
        self.request.precondition = Some(match expected {
            Expect::LogVersion(version) => Precondition::ExpectedLogVersion(version),
            Expect::LastEventId(id) => Precondition::ExpectedLastEventId(id),
        });
        self
    }

    /// Sets how stored event ids are handled. Default: the same content is a replay, other content EVENT_ID_CONFLICT.
    pub fn if_exists(mut self, how: IfExists) -> Self {
        self.request.if_exists = how.into();
        self
    }

    /// Names the append. The server remembers the id with the outcome; a repeated append with the same id and content returns
    /// that, also after a crash of the caller, and stores nothing. Errors: OPERATION_CONFLICT.
    pub fn operation_id(mut self, id: impl Into<String>) -> Self {
        self.request.operation_id = id.into();
        self
    }

    /// With [`IfExists::Replace`]: erases the content of replaced events instead of archiving them; needs the role ADMIN.
    pub fn erase_replaced(mut self) -> Self {
        self.request.replaced = RemovalMode::Erase.into();
        self
    }

    /// Sets another timeout of this call, retries included; None for no limit. Default: that of the client.
    pub fn timeout(mut self, limit: impl Into<Option<Duration>>) -> Self {
        self.session.client = self.session.client.with_timeout(limit);
        self
    }

    /// Changes the request, for fields without a method of their own.
    pub fn with(mut self, change: impl FnOnce(&mut AppendEventsRequest)) -> Self {
        change(&mut self.request);
        self
    }
}

impl IntoFuture for Append {
    type Output = Result<Appended, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            if !self.session.is_written() {
                return Ok(self.session.drop_append());
            }
            let response = self.session.client.raw().events().append_events(self.request).await?.into_inner();
            Ok(Appended { response, dropped: false })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::v1::{StateDelta, StatePatch};
    use crate::{Client, MemoryProvider, user};

    fn session() -> SessionHandle {
        Client::builder().address("127.0.0.1:1").app("a").user_id("u").build().expect("it can be").session("s")
    }

    #[test]
    fn append_options_set_the_request() {
        let append = session().append([user("hi")]).create_if_missing().if_exists(IfExists::Ignore).expect(Expect::LogVersion(3));
        let append = append.operation_id("a1").user_state(StatePatch::default().setting("trips", "1"));
        let request = append.clone().request;
        assert_eq!(request.session.as_ref().expect("a session").session_id, "s");
        assert_eq!((request.if_exists(), request.create_if_missing.is_some()), (IfExists::Ignore, true));
        assert_eq!(request.precondition, Some(Precondition::ExpectedLogVersion(3)));
        let trips = StateDelta { user: Some(StatePatch::default().setting("trips", "1")), ..Default::default() };
        assert_eq!((request.operation_id.as_str(), request.state_delta), ("a1", Some(trips)));
        assert!(!request.events[0].event_id.is_empty());
        assert_eq!(request.events, append.request.events, "a clone repeats the same events");
        let last = append.expect(Expect::LastEventId("e".into())).request;
        assert_eq!(last.precondition, Some(Precondition::ExpectedLastEventId("e".into())));
    }

    #[tokio::test]
    async fn an_append_of_a_provider_that_does_not_write_is_dropped() {
        for provider in [MemoryProvider::read_only(), MemoryProvider::none()] {
            let appended = session().with_memory(provider).append([user("hi")]).await.expect("nothing is sent");
            assert!(appended.dropped && appended.events.is_empty());
        }
        session().with_memory(MemoryProvider::write_only()).append([user("hi")]).await.expect_err("nobody listens");
    }
}
