//! Appends batch after batch without waiting for each response.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use futures_util::{FutureExt, stream};
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::JoinHandle;
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt};

use super::append::Appended;
use crate::error::DOMAIN;
use crate::v1::append_stream_result::Outcome;
use crate::v1::{AppendError, AppendEventsRequest, AppendStreamRequest, AppendStreamResult, SessionEvent};
use crate::{Client, Error, SessionHandle, with_ids};

/// Batches that may wait for their result, unless the caller sets another number.
const OUTSTANDING: usize = 64;

/// Configures a stream of appends. See [`SessionHandle::append_stream`].
#[derive(Clone, Debug)]
#[must_use = "nothing is sent before the stream is opened"]
pub struct AppendStreamOptions {
    session: SessionHandle,
    outstanding: usize,
}

/// A stream of appends: each batch is atomic, and its [`Receipt`] completes when it is on durable storage.
///
/// Nothing is retried: to resume a broken stream, send the batches without a result again, with the same [`with_ids`].
/// Dropping it lets the batches that were sent finish; [`finish`](Self::finish) waits for them.
#[derive(Debug)]
pub struct AppendStream {
    session: SessionHandle,
    shared: Arc<Shared>,
    requests: mpsc::UnboundedSender<AppendStreamRequest>,
    reader: JoinHandle<()>,
}

/// The outcome of one batch, to await. Dropping it does not cancel the batch.
#[derive(Debug)]
#[must_use = "a batch is on durable storage when its receipt completes"]
pub struct Receipt(oneshot::Receiver<Result<Appended, Error>>);

#[derive(Debug)]
struct Shared {
    room: Semaphore,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<oneshot::Sender<Result<Appended, Error>>>,
    /// Why the stream ended.
    over: Option<Status>,
}

impl SessionHandle {
    /// Appends batch after batch without waiting for each response.
    ///
    /// ```no_run
    /// # use threadkeep::{Client, user};
    /// # async fn example(client: Client) -> Result<(), threadkeep::Error> {
    /// let mut stream = client.session("import").append_stream().open();
    /// let mut receipts = Vec::new();
    /// for line in ["one", "two"] {
    ///     receipts.push(stream.send([user(line)]).await?);
    /// }
    /// stream.finish().await?;
    /// for receipt in receipts {
    ///     println!("seq {}", receipt.await?.last_seq);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn append_stream(&self) -> AppendStreamOptions {
        AppendStreamOptions { session: self.clone(), outstanding: OUTSTANDING }
    }
}

impl AppendStreamOptions {
    /// Sets how many batches may wait for their result, at least 1; [`AppendStream::send`] waits for room. Default: 64.
    pub fn max_outstanding(mut self, batches: usize) -> Self {
        self.outstanding = batches.max(1);
        self
    }

    /// Opens the stream, on the current tokio runtime. Its first batch connects.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    #[must_use]
    pub fn open(self) -> AppendStream {
        let (requests, receiver) = mpsc::unbounded_channel();
        let shared = Arc::new(Shared { room: Semaphore::new(self.outstanding), state: Mutex::default() });
        let reader = tokio::spawn(read(self.session.client.clone(), receiver, Arc::clone(&shared)));
        AppendStream { session: self.session, shared, requests, reader }
    }
}

impl AppendStream {
    /// Sends one batch, once fewer than [`max_outstanding`](AppendStreamOptions::max_outstanding) wait for their result.
    /// Events without an id get one.
    ///
    /// Errors: that with which the stream ended. The receipt has the error of the batch, which does not end the stream.
    pub async fn send(&mut self, events: impl IntoIterator<Item = SessionEvent>) -> Result<Receipt, Error> {
        let (outcome, receipt) = oneshot::channel();
        if !self.session.is_written() {
            let _ = outcome.send(Ok(self.session.drop_append()));
            return Ok(Receipt(receipt));
        }
        let append = AppendEventsRequest { session: self.session.place(), events: with_ids(events), ..Default::default() };
        if let Ok(permit) = self.shared.room.acquire().await {
            permit.forget(); // the reader returns it with the result
        }
        let mut state = self.shared.state();
        if let Some(over) = &state.over {
            return Err(over.clone().into());
        }
        state.waiting.push_back(outcome);
        let _ = self.requests.send(AppendStreamRequest { append: Some(append) });
        Ok(Receipt(receipt))
    }

    /// Ends the stream and waits for the results of all batches. Errors: that with which the stream broke.
    pub async fn finish(self) -> Result<(), Error> {
        drop(self.requests);
        let _ = self.reader.await;
        match self.shared.state().over.take() {
            Some(status) if status.code() != Code::Ok => Err(status.into()),
            _ => Ok(()),
        }
    }
}

impl Future for Receipt {
    type Output = Result<Appended, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let lost = |_| Err(Status::unavailable("the stream of appends was dropped").into());
        self.0.poll_unpin(context).map(|outcome| outcome.unwrap_or_else(lost))
    }
}

impl Shared {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn settle(&self, result: AppendStreamResult) {
        let outcome = match result.outcome {
            Some(Outcome::Appended(response)) => Ok(Appended { response, dropped: false }),
            Some(Outcome::Error(error)) => Err(failure(error)),
            None => Err(Status::internal("the result of the batch is of an unknown kind").into()),
        };
        if let Some(waiting) = self.state().waiting.pop_front() {
            let _ = waiting.send(outcome);
        }
        self.room.add_permits(1);
    }

    fn end(&self, status: Status) {
        let mut state = self.state();
        for waiting in state.waiting.drain(..) {
            let _ = waiting.send(Err(status.clone().into()));
        }
        state.over = Some(status);
        self.room.close();
    }
}

/// Reads the results until the stream ends.
async fn read(client: Client, requests: mpsc::UnboundedReceiver<AppendStreamRequest>, shared: Arc<Shared>) {
    let sent = stream::unfold(requests, async |mut requests| requests.recv().await.map(|request| (request, requests)));
    let results = async {
        let mut responses = client.raw().events().append_stream(sent).await?.into_inner();
        while let Some(response) = responses.message().await? {
            response.results.into_iter().for_each(|result| shared.settle(result));
        }
        let is_whole = shared.state().waiting.is_empty();
        Err::<(), _>(if is_whole { Status::ok("") } else { Status::unavailable("the server ended the stream") })
    };
    let ended = results.await.expect_err("it ends with a status");
    shared.end(ended);
}

/// Returns the error of one batch, like that of a call.
fn failure(error: AppendError) -> Error {
    let details = ErrorDetails::with_error_info(error.reason, DOMAIN, error.metadata);
    Status::with_error_details(Code::from_i32(error.code), error.message, details).into()
}
