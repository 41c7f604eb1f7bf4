//! Following changes.

use std::time::Duration;
use std::vec;

use tokio::time::timeout;
use tonic::{Status, Streaming};

use crate::backoff::Backoff;
use crate::cursor::Cursor;
use crate::v1::{
    Change, ChangeScope, EventFilter, WatchAllRequest, WatchAllResponse, WatchSessionRequest, WatchSessionResponse, change::Kind,
    watch_all_request, watch_session_request,
};
use crate::{Client, Error, Items, SessionLike};

/// How long a stream may say nothing before it is taken for dead: two heartbeats of the server.
const SILENCE: Duration = Duration::from_secs(30);

/// Where a subscription starts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Start {
    /// With what is committed from now on.
    #[default]
    Now,
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

impl From<WatchSessionRequest> for WatchRequest {
    fn from(request: WatchSessionRequest) -> Self {
        Self::Session(request)
    }
}

impl From<WatchAllRequest> for WatchRequest {
    fn from(request: WatchAllRequest) -> Self {
        Self::All(request)
    }
}

/// A subscription: say how, then take its [`stream`](Self::stream). See [`Client::watch`].
#[derive(Clone, Debug)]
#[must_use = "nothing is followed until the stream is read"]
pub struct Watch {
    client: Client,
    request: WatchRequest,
    checkpoints: bool,
    max_retries: Option<u32>,
    mistake: Option<&'static str>,
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
    /// # use recollect::{Kind, Start};
    /// # async fn example(client: recollect::Client) -> Result<(), recollect::Error> {
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
        self.watch_request(WatchSessionRequest { session: Some(self.session(session)), ..Default::default() })
    }

    /// Follows every change of all sessions of the client's app and user; without them, of any. See [`watch`](Self::watch).
    pub fn watch_all(&self) -> Watch {
        let user_id = self.user_id().to_owned();
        let scope = ChangeScope { app: self.any_app(), user_id, ..Default::default() };
        self.watch_request(WatchAllRequest { scope: Some(scope), ..Default::default() })
    }

    /// Follows what a [`WatchSessionRequest`] or a [`WatchAllRequest`] asks for. See [`watch`](Self::watch).
    pub fn watch_request(&self, request: impl Into<WatchRequest>) -> Watch {
        Watch { client: self.clone(), request: request.into(), checkpoints: false, max_retries: None, mistake: None }
    }
}

impl Watch {
    /// Where to start; by default now.
    pub fn start(mut self, start: Start) -> Self {
        self.mistake = None;
        match &mut self.request {
            WatchRequest::Session(request) => {
                use watch_session_request::Start as Place;
                request.start = Some(match start {
                    Start::Now => Place::LiveOnly(true),
                    Start::Beginning => Place::AfterSeq(0),
                    Start::AfterSeq(seq) => Place::AfterSeq(seq),
                    Start::Token(token) => Place::ResumeToken(token),
                });
            }
            WatchRequest::All(request) => {
                use watch_all_request::Start as Place;
                request.start = match start {
                    Start::Now => Some(Place::LiveOnly(true)),
                    Start::Beginning => Some(Place::FromBeginning(true)),
                    Start::Token(token) => Some(Place::ResumeToken(token)),
                    Start::AfterSeq(_) => {
                        self.mistake = Some("a seq is a place in one session: watch that session");
                        None
                    }
                };
            }
        }
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
        self.max_retries = Some(retries);
        self
    }

    /// The changes. Nothing is read from the server ahead of what is asked for but what one message holds, and dropping the
    /// stream ends it.
    pub fn stream(self) -> Items<Change> {
        self.stream_within(SILENCE)
    }

    fn stream_within(mut self, silence: Duration) -> Items<Change> {
        if !self.has_start() && self.mistake.is_none() {
            self = self.start(Start::Now);
        }
        let follower = Follower {
            backoff: Backoff::new(self.max_retries),
            watch: self,
            silence,
            cursor: Cursor::default(),
            frames: None,
            arrived: Vec::new().into_iter(),
        };
        Items::from_fn(Box::new(follower), |mut follower| async move {
            let change = follower.next().await?;
            Ok(Some((change, follower)))
        })
    }

    fn has_start(&self) -> bool {
        match &self.request {
            WatchRequest::Session(request) => request.start.is_some(),
            WatchRequest::All(request) => request.start.is_some(),
        }
    }
}

/// A subscription under way.
struct Follower {
    watch: Watch,
    silence: Duration,
    cursor: Cursor,
    backoff: Backoff,
    frames: Option<Frames>,
    arrived: vec::IntoIter<Change>,
}

enum Frames {
    Session(Streaming<WatchSessionResponse>),
    All(Streaming<WatchAllResponse>),
}

impl Follower {
    async fn next(&mut self) -> Result<Change, Error> {
        if let Some(mistake) = self.watch.mistake {
            return Err(Error::Usage(mistake.to_owned()));
        }
        loop {
            for part in self.arrived.by_ref() {
                match self.cursor.take(part) {
                    Some(Change { kind: Some(Kind::Checkpoint(_)), .. }) if !self.watch.checkpoints => {}
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
        let address = self.watch.client.address();
        let read = async {
            let frames = match &mut self.frames {
                Some(frames) => frames,
                none => none.insert(open(&self.watch).await?),
            };
            frames.next().await
        };
        match timeout(self.silence, read).await {
            Ok(Ok(Some(changes))) => Ok(changes),
            Ok(Ok(None)) => Err(Status::unavailable(format!("{address} ended the stream")).into()),
            Ok(Err(status)) => Err(status.into()),
            Err(_) => {
                let silence = self.silence;
                Err(Status::unavailable(format!("no sign of life from {address} for {silence:?}")).into())
            }
        }
    }

    /// Waits, so that the stream may be opened again where it stood; or gives the error back.
    async fn recover(&mut self, error: Error) -> Result<(), Error> {
        self.frames = None;
        let pause = self.backoff.pause(error)?;
        self.watch.client.transport.pause(pause).await;
        if let Some(token) = self.cursor.resume() {
            self.watch = self.watch.clone().start(Start::Token(token.to_owned()));
        }
        Ok(())
    }
}

async fn open(watch: &Watch) -> Result<Frames, Status> {
    let mut stub = watch.client.subscriptions();
    match watch.request.clone() {
        WatchRequest::Session(request) => Ok(Frames::Session(stub.watch_session(request).await?.into_inner())),
        WatchRequest::All(request) => Ok(Frames::All(stub.watch_all(request).await?.into_inner())),
    }
}

impl Frames {
    async fn next(&mut self) -> Result<Option<Vec<Change>>, Status> {
        match self {
            Self::Session(stream) => Ok(stream.message().await?.map(|frame| frame.changes)),
            Self::All(stream) => Ok(stream.message().await?.map(|frame| frame.changes)),
        }
    }
}

#[cfg(test)]
#[path = "watch_tests.rs"]
mod tests;
