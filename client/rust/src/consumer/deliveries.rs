//! The deliveries of a consumer's member.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::{FutureExt, Stream, StreamExt};
use tokio::sync::mpsc;
use tokio::time::{Sleep, sleep, timeout};
use tonic::{Status, Streaming};

use super::member::Member;
use crate::backoff::Backoff;
use crate::v1::{self, Change, ConsumeResponse, JoinConsumer};
use crate::{Client, Error};

/// Time without a message after which a stream is considered dead: two heartbeats of the server.
const SILENCE: Duration = Duration::from_secs(30);
/// Time that a leaving member waits until the server confirms its acknowledgments.
const FAREWELL: Duration = Duration::from_secs(10);

/// The deliveries of a member, as a stream. It joins again when its stream breaks, and ends after an error that no retry
/// resolves. [`leave`](Self::leave) confirms the acknowledgments; dropping it leaves at once.
#[must_use = "nothing is delivered until the stream is read"]
pub struct Deliveries {
    client: Client,
    join: JoinConsumer,
    member: Arc<Member>,
    stream: Link,
    silence: Option<Pin<Box<Sleep>>>,
    backoff: Backoff,
    /// Work by partition. A partition that is here has a delivery in `ready` or with the caller; the others wait for it.
    lanes: HashMap<i32, VecDeque<v1::Delivery>>,
    ready: VecDeque<v1::Delivery>,
    settled: mpsc::UnboundedReceiver<i32>,
    settling: mpsc::UnboundedSender<i32>,
}

/// One stream of the member.
enum Link {
    New,
    Pausing(Pin<Box<Sleep>>),
    Opening(BoxFuture<'static, Result<Streaming<ConsumeResponse>, Status>>),
    Open(Box<Streaming<ConsumeResponse>>),
    Over,
}

/// One change to handle. The handler of [`run`](super::ConsumerHandle::run) returns its outcome; of
/// [`deliveries`](super::ConsumerHandle::deliveries), call a method of it. A delivery that is dropped is rejected.
#[derive(Debug)]
pub struct Delivery {
    /// The complete change, of any size; never a checkpoint.
    pub change: Change,
    /// Number of the attempt, from 1. A higher one was delivered before and not acknowledged.
    pub attempt: u32,
    /// Id of the parked change that is replayed; else empty.
    pub parked_id: String,
    ticket: Option<Ticket>,
}

/// The obligation to acknowledge or reject a delivery.
#[derive(Debug)]
pub(super) struct Ticket {
    member: Arc<Member>,
    delivery: v1::Delivery,
    settling: mpsc::UnboundedSender<i32>,
    is_settled: bool,
}

impl Delivery {
    /// Acknowledges the delivery: it is not delivered again.
    pub fn acknowledge(mut self) {
        if let Some(ticket) = self.ticket.take() {
            ticket.acknowledge();
        }
    }

    /// Rejects the delivery for this reason: it is delivered again after a pause, or parked after the last attempt.
    pub fn reject(mut self, reason: &str) {
        if let Some(ticket) = self.ticket.take() {
            ticket.reject(reason, false);
        }
    }

    /// Parks the change for this reason: it is not delivered again until it is replayed.
    pub fn park(mut self, reason: &str) {
        if let Some(ticket) = self.ticket.take() {
            ticket.reject(reason, true);
        }
    }

    pub(super) fn take_ticket(&mut self) -> Option<Ticket> {
        self.ticket.take()
    }
}

impl Ticket {
    pub(super) fn acknowledge(mut self) {
        self.member.acknowledge(self.delivery.delivery_id);
        self.is_settled = true;
    }

    pub(super) fn reject(mut self, reason: &str, park: bool) {
        self.member.reject(&self.delivery, reason, park);
        self.is_settled = true;
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if !self.is_settled {
            self.member.reject(&self.delivery, "the delivery was dropped", false);
        }
        let _ = self.settling.send(self.delivery.partition);
    }
}

impl Deliveries {
    pub(super) fn new(client: Client, join: JoinConsumer) -> Self {
        let (settling, settled) = mpsc::unbounded_channel();
        Self {
            client,
            join,
            member: Arc::default(),
            stream: Link::New,
            silence: None,
            backoff: Backoff::default(),
            lanes: HashMap::new(),
            ready: VecDeque::new(),
            settled,
            settling,
        }
    }

    fn open(&mut self) {
        self.member = Arc::default();
        let mut stub = self.client.raw().consumers();
        let requests = Arc::clone(&self.member).requests(self.join.clone());
        self.stream = Link::Opening(async move { Ok(stub.consume(requests).await?.into_inner()) }.boxed());
        self.heard();
    }

    fn heard(&mut self) {
        self.silence = Some(Box::pin(sleep(SILENCE)));
    }

    /// Starts no more deliveries; the outcome of those that were delivered is still sent.
    pub(super) fn stop(&mut self) {
        self.member.stop();
    }

    /// Leaves the consumer: sends the outcomes that are waiting, and waits at most 10 seconds until the server confirms them.
    pub async fn leave(mut self) {
        self.member.leave();
        if matches!(self.stream, Link::Opening(_) | Link::Open(_)) {
            let ended = poll_fn(|context| {
                while let Ok(Some(_)) = ready!(self.poll_frame(context)) {}
                Poll::Ready(())
            });
            let _ = timeout(FAREWELL, ended).await;
        }
    }

    /// Returns the next message; None when a pause is over.
    fn poll_frame(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<ConsumeResponse>, Error>> {
        loop {
            match &mut self.stream {
                Link::New => return Poll::Ready(Ok(None)),
                Link::Over => return Poll::Pending,
                Link::Pausing(pause) => {
                    ready!(pause.poll_unpin(context));
                    return Poll::Ready(Ok(None));
                }
                Link::Opening(opening) => match opening.poll_unpin(context) {
                    Poll::Ready(opened) => self.stream = Link::Open(Box::new(opened?)),
                    Poll::Pending => return self.poll_silence(context),
                },
                Link::Open(frames) => match frames.poll_next_unpin(context) {
                    Poll::Ready(Some(frame)) => return Poll::Ready(Ok(Some(frame?))),
                    Poll::Ready(None) => return Poll::Ready(Err(Status::unavailable("the server ended the stream").into())),
                    Poll::Pending => return self.poll_silence(context),
                },
            }
        }
    }

    fn poll_silence<T>(&mut self, context: &mut Context<'_>) -> Poll<Result<T, Error>> {
        let Some(silence) = &mut self.silence else { return Poll::Pending };
        ready!(silence.poll_unpin(context));
        Poll::Ready(Err(Status::unavailable(format!("no heartbeat from the server for {SILENCE:?}")).into()))
    }

    fn take(&mut self, frame: ConsumeResponse) {
        self.backoff.reset();
        self.heard();
        if let Some(joined) = frame.joined {
            self.member.joined(joined.consumer.unwrap_or_default().max_attempts);
        }
        for delivery in frame.deliveries {
            if let Some(waiting) = self.lanes.get_mut(&delivery.partition) {
                waiting.push_back(delivery);
            } else {
                self.lanes.insert(delivery.partition, VecDeque::new());
                self.ready.push_back(delivery);
            }
        }
    }

    /// Lets the next delivery of a partition follow.
    fn release(&mut self, partition: i32) {
        match self.lanes.get_mut(&partition).map(VecDeque::pop_front) {
            Some(Some(next)) => self.ready.push_back(next),
            _ => drop(self.lanes.remove(&partition)),
        }
    }

    /// Pauses before it joins again, or returns the error. Deliveries that have not started are void.
    fn recover(&mut self, error: Error) -> Result<(), Error> {
        self.member.leave();
        self.stream = Link::Over;
        for delivery in self.ready.drain(..) {
            self.lanes.remove(&delivery.partition);
        }
        self.lanes.values_mut().for_each(VecDeque::clear);
        if self.client.shared.closed.is_cancelled() {
            return Err(error);
        }
        let why = error.to_string();
        let pause = self.backoff.pause(error)?;
        tracing::info!(consumer = self.join.name, ?pause, why, "the consumer is joined again");
        self.stream = Link::Pausing(Box::pin(sleep(pause)));
        Ok(())
    }
}

impl Stream for Deliveries {
    type Item = Result<Delivery, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        loop {
            while let Poll::Ready(Some(partition)) = this.settled.poll_recv(context) {
                this.release(partition);
            }
            if let Some(delivery) = this.ready.pop_front() {
                if !this.member.counts(&delivery) {
                    this.release(delivery.partition);
                    continue;
                }
                let (member, settling) = (Arc::clone(&this.member), this.settling.clone());
                let mut ticket = Ticket { member, delivery, settling, is_settled: false };
                return Poll::Ready(Some(Ok(Delivery {
                    change: ticket.delivery.change.take().unwrap_or_default(),
                    attempt: ticket.delivery.attempt.try_into().unwrap_or(1),
                    parked_id: ticket.delivery.parked_id.clone(),
                    ticket: Some(ticket),
                })));
            }
            if matches!(this.stream, Link::Over) {
                return Poll::Ready(None);
            }
            match ready!(this.poll_frame(context)) {
                Ok(Some(frame)) => this.take(frame),
                Ok(None) => this.open(),
                Err(error) => {
                    if let Err(error) = this.recover(error) {
                        return Poll::Ready(Some(Err(error)));
                    }
                }
            }
        }
    }
}

impl Drop for Deliveries {
    fn drop(&mut self) {
        self.member.leave();
    }
}

impl fmt::Debug for Deliveries {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Deliveries").field("consumer", &self.join.name).finish_non_exhaustive()
    }
}
