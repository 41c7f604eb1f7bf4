//! Following changes.

use std::time::Duration;
use std::vec;

use futures_util::stream::{self, BoxStream, StreamExt, TryStreamExt};
use tokio::time::{sleep, timeout};
use tonic::Status;

use crate::backoff::Backoff;
use crate::cursor::Cursor;
use crate::v1::{
    Change, EventFilter, WatchAllRequest, WatchSessionRequest, change::Kind, watch_all_request, watch_session_request,
};
use crate::{Client, Error, Items, SessionLike};

/// How long a stream may say nothing before it is taken for dead: two heartbeats of the server.
const SILENCE: Duration = Duration::from_secs(30);

/// Where a subscription starts, unless it is with what is committed from now on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Start {
    /// With the session's first change, or the oldest that the feed still has.
    Beginning,
    /// With what comes after this seq; for one session only.
    AfterSeq(i64),
    /// After the change that bore this `resume_token`.
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

/// A subscription: say how, then take its [`stream`](Self::stream). See [`Client::watch`].
#[must_use = "nothing is followed until the stream is read"]
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
    /// Follows every change of one session, which need not exist yet: in order, each once, an append as a whole.
    ///
    /// It starts with what is committed from now on, unless [`Watch::start`] says otherwise, and has no deadline. When the
    /// server is unavailable or silent for 30 seconds it opens the stream again where it stood, after a pause of up to 0.1
    /// seconds that doubles up to 5, and as long as the server asks for. Keep a change's `resume_token` once it is handled: a
    /// watch of the same session or scope and filter that starts with it goes on after it.
    ///
    /// Errors end it: SESSION_NOT_FOUND and AMBIGUOUS_SESSION for a session without user, INVALID_RESUME_TOKEN, QUOTA_EXCEEDED,
    /// and RESUME_POSITION_EXPIRED when the feed no longer holds what comes next: then changes were missed, so read the sessions
    /// again before you start at its metadata's "oldest_resume_token".
    ///
    /// ```no_run
    /// # use threadkeep::{Kind, Start, StreamExt};
    /// # async fn example(client: threadkeep::Client) -> Result<(), threadkeep::Error> {
    /// let mut changes = client.watch("trip").start(Start::Beginning).stream();
    /// while let Some(change) = changes.next().await {
    ///     if let Some(Kind::Batch(batch)) = change?.kind {
    ///         println!("{} events", batch.events.len());
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn watch(&self, session: impl Into<SessionLike>) -> Watch {
        let session = Some(self.session(session));
        self.watch_request(WatchRequest::Session(WatchSessionRequest { session, ..Default::default() }))
    }

    /// Follows every change of all sessions of the client's app and user; of others see [`all_users`](Self::all_users). See
    /// [`watch`](Self::watch).
    pub fn watch_all(&self) -> Watch {
        self.watch_request(WatchRequest::All(WatchAllRequest::default()))
    }

    /// Follows what a request asks for, for example the sessions with some labels. An app or user that the scope leaves empty is the
    /// client's. See [`watch_all`](Self::watch_all).
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
    /// Where to start; by default with what is committed from now on.
    pub fn start(mut self, start: Start) -> Self {
        self.start = Some(start);
        self
    }

    /// Which events to deliver, without a window; an append of which nothing is left is not told. By default all.
    pub fn filter(mut self, filter: EventFilter) -> Self {
        match &mut self.request {
            WatchRequest::Session(request) => request.filter = Some(filter),
            WatchRequest::All(request) => request.filter = Some(filter),
        }
        self
    }

    /// Checkpoints are handed out too. The first item is then one of kind STARTED, which says that nothing that is committed
    /// later will be missed.
    pub fn checkpoints(mut self) -> Self {
        self.checkpoints = true;
        self
    }

    /// How many failures in a row are borne; by default any number. Any message begins a new row.
    pub fn max_retries(mut self, retries: u32) -> Self {
        self.backoff.max_retries = Some(retries);
        self
    }

    /// The changes. Nothing is read from the server ahead of what is asked for but what one message holds, and dropping the
    /// stream ends it. Errors: besides those that end it, [`Error::Usage`] for a seq to start after in more than one session.
    pub fn stream(self) -> Items<Change> {
        let next = async |mut watch: Box<Self>| Ok(Some((watch.next().await?, watch)));
        stream::try_unfold(Box::new(self), next).boxed()
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

    /// The next message. Silence and an orderly end are failures too: a subscription has no end.
    async fn frame(&mut self) -> Result<Vec<Change>, Error> {
        let silence = self.silence;
        let read = async {
            let frames = match &mut self.frames {
                Some(frames) => frames,
                none => none.insert(open(&self.client, started(self.request.clone(), self.start.clone())?).await?),
            };
            Ok(frames.next().await.ok_or_else(|| Status::unavailable("the server ended the stream"))??)
        };
        let silent = |_| Err(Status::unavailable(format!("no sign of life from the server for {silence:?}")).into());
        timeout(silence, read).await.unwrap_or_else(silent)
    }

    /// Waits, so that the stream may be opened again where it stood; or gives the error back.
    async fn recover(&mut self, error: Error) -> Result<(), Error> {
        self.frames = None;
        let pause = sleep(self.backoff.pause(error)?);
        self.client.shared.closed.run_until_cancelled(pause).await;
        if let Some(token) = self.cursor.resume() {
            self.start = Some(Start::Token(token.to_owned()));
        }
        Ok(())
    }
}

async fn open(client: &Client, request: WatchRequest) -> Result<Frames, Status> {
    let mut stub = client.subscriptions();
    Ok(match request {
        WatchRequest::Session(request) => stub.watch_session(request).await?.into_inner().map_ok(|frame| frame.changes).boxed(),
        WatchRequest::All(request) => stub.watch_all(request).await?.into_inner().map_ok(|frame| frame.changes).boxed(),
    })
}

/// The request to start there; None leaves it as it is.
fn started(mut request: WatchRequest, start: Option<Start>) -> Result<WatchRequest, Error> {
    use {watch_all_request::Start as InAll, watch_session_request::Start as InSession};
    match (&mut request, start) {
        (_, None) => {}
        (WatchRequest::Session(request), Some(Start::Beginning)) => request.start = Some(InSession::AfterSeq(0)),
        (WatchRequest::Session(request), Some(Start::AfterSeq(seq))) => request.start = Some(InSession::AfterSeq(seq)),
        (WatchRequest::Session(request), Some(Start::Token(token))) => request.start = Some(InSession::ResumeToken(token)),
        (WatchRequest::All(request), Some(Start::Beginning)) => request.start = Some(InAll::FromBeginning(true)),
        (WatchRequest::All(request), Some(Start::Token(token))) => request.start = Some(InAll::ResumeToken(token)),
        (WatchRequest::All(_), Some(Start::AfterSeq(_))) => {
            return Err(Error::Usage("a seq is a place in one session: watch a session to start after it".to_owned()));
        }
    }
    Ok(request)
}

#[cfg(test)]
#[path = "watch_tests.rs"]
mod tests;
