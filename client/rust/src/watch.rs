//! Watches changes.

use std::time::Duration;
use std::vec;

use futures_util::stream::{self, BoxStream, StreamExt, TryStreamExt};
use tokio::time::{sleep, timeout};
use tonic::Status;

use crate::backoff::Backoff;
use crate::cursor::Cursor;
use crate::v1::{Change, WatchAllRequest, WatchSessionRequest, change::Kind, watch_all_request, watch_session_request};
use crate::{Client, Error, EventFilter, Items};

/// Time without a message after which a stream is considered dead: two heartbeats of the server.
const SILENCE: Duration = Duration::from_secs(30);

/// The start of a subscription.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Start {
    /// With changes committed from now on.
    Now,
    /// With the session's first change, or the oldest that the feed still has.
    Beginning,
    /// After this seq; for one session only.
    AfterSeq(i64),
    /// After the change with this `resume_token`.
    Token(String),
}

/// A request of either kind of stream.
#[derive(Clone, Debug, PartialEq)]
pub enum WatchRequest {
    /// One session.
    Session(WatchSessionRequest),
    /// All sessions of a scope.
    All(WatchAllRequest),
}

type Frames = BoxStream<'static, Result<Vec<Change>, Status>>;

/// A subscription: set its options, then take its [`items`](Self::items). See [`Client::watch_all`]
/// and [`SessionHandle::watch`](crate::SessionHandle::watch).
#[must_use = "nothing is watched until the stream is read"]
pub struct Watch {
    client: Client,
    request: WatchRequest,
    start: Option<Start>,
    checkpoints: bool,
    silence: Duration,
    cursor: Cursor,
    backoff: Backoff,
    frames: Option<Frames>,
    arrived: vec::IntoIter<Change>,
}

impl Client {
    /// Watches the changes of all sessions of the client's app and user; for others see [`all_users`](Self::all_users). See
    /// [`SessionHandle::watch`](crate::SessionHandle::watch).
    pub fn watch_all(&self) -> Watch {
        self.watch_request(WatchRequest::All(WatchAllRequest::default()))
    }

    /// Watches the changes that a request selects, for example of sessions with some labels. An app or user that the scope
    /// leaves empty is the client's. See [`watch_all`](Self::watch_all).
    pub fn watch_request(&self, request: WatchRequest) -> Watch {
        let request = match request {
            WatchRequest::All(request) => WatchRequest::All(self.own_changes(request)),
            WatchRequest::Session(_) => request,
        };
        Watch {
            client: self.clone(),
            request,
            start: None,
            checkpoints: false,
            silence: SILENCE,
            cursor: Cursor::default(),
            backoff: Backoff::default(),
            frames: None,
            arrived: vec::IntoIter::default(),
        }
    }
}

impl Watch {
    /// Sets the start; default: changes committed from now on.
    pub fn from(mut self, start: Start) -> Self {
        self.start = Some(start).filter(|start| *start != Start::Now);
        self
    }

    /// Sets the events to deliver; last_n and page are not allowed. An append without matching events is not delivered.
    /// Default: all.
    pub fn filter(mut self, filter: impl Into<EventFilter>) -> Self {
        let filter = filter.into().into();
        match &mut self.request {
            WatchRequest::Session(request) => request.filter = Some(filter),
            WatchRequest::All(request) => request.filter = Some(filter),
        }
        self
    }

    /// Watches only sessions with this label; several labels must all be there. No effect on the watch of one session.
    pub fn label(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        if let WatchRequest::All(request) = &mut self.request {
            request.scope.get_or_insert_default().labels.insert(key.into(), value.into());
        }
        self
    }

    /// Delivers checkpoints too. The first item is then one of kind STARTED, which confirms that no change committed later will
    /// be missed.
    pub fn checkpoints(mut self) -> Self {
        self.checkpoints = true;
        self
    }

    /// Sets the maximum number of consecutive failures; default: any number. Any message resets the count.
    pub fn max_retries(mut self, retries: u32) -> Self {
        self.backoff.max_retries = Some(retries);
        self
    }

    /// Returns the changes. At most one message is read ahead, and dropping the stream ends it. Errors: those that end
    /// it, and [`Error::Usage`] for a start after a seq in more than one session.
    pub fn items(self) -> Items<Change> {
        let next = async |mut watch: Box<Self>| Ok(Some((watch.next().await?, watch)));
        Items::new(stream::try_unfold(Box::new(self), next))
    }

    async fn next(&mut self) -> Result<Change, Error> {
        loop {
            for part in self.arrived.by_ref() {
                match self.cursor.take(part) {
                    Some(Change { kind: Some(Kind::Checkpoint(_)), .. }) if !self.checkpoints => {}
                    Some(change) => return Ok(change),
                    None => {}
                }
            }
            match self.frame().await {
                Ok(changes) => {
                    self.backoff.reset();
                    self.arrived = changes.into_iter();
                }
                Err(error) => self.recover(error).await?,
            }
        }
    }

    /// Returns the next message. Silence and an orderly end are failures too, because a subscription has no end.
    async fn frame(&mut self) -> Result<Vec<Change>, Error> {
        let silence = self.silence;
        let read = async {
            let frames = match &mut self.frames {
                Some(frames) => frames,
                none => none.insert(open(&self.client, started(self.request.clone(), self.start.clone())?).await?),
            };
            Ok(frames.next().await.ok_or_else(|| Status::unavailable("the server ended the stream"))??)
        };
        let silent = |_| Err(Status::unavailable(format!("no heartbeat from the server for {silence:?}")).into());
        timeout(silence, read).await.unwrap_or_else(silent)
    }

    /// Waits before the stream is reopened where it stopped, or returns the error.
    async fn recover(&mut self, error: Error) -> Result<(), Error> {
        self.frames = None;
        let why = error.to_string();
        let pause = self.backoff.pause(error)?;
        tracing::info!(?pause, why, "the watch is reopened");
        let pause = sleep(pause);
        self.client.shared.closed.run_until_cancelled(pause).await;
        if let Some(token) = self.cursor.resume() {
            self.start = Some(Start::Token(token.to_owned()));
        }
        Ok(())
    }
}

async fn open(client: &Client, request: WatchRequest) -> Result<Frames, Status> {
    let mut stub = client.raw().subscriptions();
    Ok(match request {
        WatchRequest::Session(request) => stub.watch_session(request).await?.into_inner().map_ok(|frame| frame.changes).boxed(),
        WatchRequest::All(request) => stub.watch_all(request).await?.into_inner().map_ok(|frame| frame.changes).boxed(),
    })
}

/// Returns the request that starts there; None leaves it unchanged.
fn started(mut request: WatchRequest, start: Option<Start>) -> Result<WatchRequest, Error> {
    use {watch_all_request::Start as InAll, watch_session_request::Start as InSession};
    match (&mut request, start) {
        (_, None | Some(Start::Now)) => {}
        (WatchRequest::Session(request), Some(Start::Beginning)) => request.start = Some(InSession::AfterSeq(0)),
        (WatchRequest::Session(request), Some(Start::AfterSeq(seq))) => request.start = Some(InSession::AfterSeq(seq)),
        (WatchRequest::Session(request), Some(Start::Token(token))) => request.start = Some(InSession::ResumeToken(token)),
        (WatchRequest::All(request), Some(Start::Beginning)) => request.start = Some(InAll::FromBeginning(true)),
        (WatchRequest::All(request), Some(Start::Token(token))) => request.start = Some(InAll::ResumeToken(token)),
        (WatchRequest::All(_), Some(Start::AfterSeq(_))) => {
            return Err(Error::Usage("a start after a seq requires a session".to_owned()));
        }
    }
    Ok(request)
}

impl std::fmt::Debug for Watch {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Watch").field("request", &self.request).field("start", &self.start).finish_non_exhaustive()
    }
}

#[cfg(test)]
#[path = "watch_tests.rs"]
mod tests;
