//! Appends events.

use std::pin::Pin;

use crate::v1::append_events_request::Precondition;
use crate::v1::{AppendEventsRequest, AppendEventsResponse, CreateIfMissing, IfExists, SessionEvent};
use crate::{Client, Error, SessionLike, with_ids};

/// An append: set its options, then await it. See [`Client::append`].
#[derive(Clone, Debug)]
#[must_use = "an append is sent when it is awaited"]
pub struct Append {
    client: Client,
    request: AppendEventsRequest,
    contradiction: bool,
}

impl Client {
    /// Appends events, all or none. When it completes, they are on durable storage.
    ///
    /// Events without an id get one here, so that the client's retries store nothing twice. To retry after an error, await a
    /// clone of the append, or append the same [`with_ids`] again. The server sets the size limits: `client.server()`.
    ///
    /// Errors: SESSION_NOT_FOUND, VERSION_MISMATCH, EVENT_ID_CONFLICT, EVENT_TOO_LARGE, BATCH_TOO_LARGE.
    ///
    /// ```no_run
    /// # async fn example(client: threadkeep::Client) -> Result<(), threadkeep::Error> {
    /// let appended = client.append("trip", [threadkeep::user("Is BA117 on time?")]).create().await?;
    /// assert_eq!(appended.events[0].seq, 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn append(&self, session: impl Into<SessionLike>, events: impl IntoIterator<Item = SessionEvent>) -> Append {
        let request =
            AppendEventsRequest { session: Some(self.session(session)), events: with_ids(events), ..Default::default() };
        Append { client: self.clone(), request, contradiction: false }
    }
}

impl Append {
    /// Creates a missing session with the server's defaults; for others see `client.sessions()`.
    pub fn create(mut self) -> Self {
        self.request.create_if_missing = Some(CreateIfMissing::default());
        self
    }

    /// Requires the log_version of the session to be this; otherwise VERSION_MISMATCH. At most one expectation may be set.
    pub fn expected_log_version(self, version: i64) -> Self {
        self.expecting(Precondition::ExpectedLogVersion(version))
    }

    /// Requires the last event of the session to have this id, "" for an empty log; otherwise VERSION_MISMATCH.
    pub fn expected_last_event_id(self, event_id: impl Into<String>) -> Self {
        self.expecting(Precondition::ExpectedLastEventId(event_id.into()))
    }

    /// Accepts event ids that are already stored, regardless of the content.
    pub fn ignore_existing(mut self) -> Self {
        self.request.if_exists = IfExists::Ignore.into();
        self
    }

    fn expecting(mut self, precondition: Precondition) -> Self {
        self.contradiction |= self.request.precondition.is_some();
        self.request.precondition = Some(precondition);
        self
    }
}

impl IntoFuture for Append {
    type Output = Result<AppendEventsResponse, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            if self.contradiction {
                return Err(Error::Usage("set at most one of expected_log_version and expected_last_event_id".to_owned()));
            }
            Ok(self.client.events().append_events(self.request).await?.into_inner())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::user;

    fn client() -> Client {
        Client::builder().address("127.0.0.1:1").app("a").user_id("u").build().expect("it can be")
    }

    #[test]
    fn append_options_set_the_request() {
        let append = client().append("s", [user("hi")]).create().ignore_existing().expected_log_version(3);
        let request = append.clone().request;
        assert_eq!(request.session.as_ref().expect("a session").session_id, "s");
        assert_eq!((request.if_exists(), request.create_if_missing.is_some()), (IfExists::Ignore, true));
        assert_eq!(request.precondition, Some(Precondition::ExpectedLogVersion(3)));
        assert!(!request.events[0].event_id.is_empty());
        assert_eq!(request.events, append.request.events, "a clone repeats the same events");
    }

    #[tokio::test]
    async fn an_append_with_two_expectations_is_rejected() {
        let append = client().append("s", [user("hi")]).expected_log_version(3).expected_last_event_id("e");
        assert!(matches!(append.await, Err(Error::Usage(_))));
    }
}
