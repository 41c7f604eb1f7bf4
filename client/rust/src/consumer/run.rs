//! Working for a consumer with a handler.

use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt, TryFutureExt};

use super::deliveries::{Deliveries, Delivery};
use super::member::Park;
use crate::Error;

type BoxError = Box<dyn std::error::Error + Send + Sync>;
type Handler = Box<dyn Fn(Delivery) -> BoxFuture<'static, Result<(), BoxError>> + Send>;

/// Work for a consumer: await it. See [`ConsumerHandle::run`](super::ConsumerHandle::run).
#[must_use = "nothing is delivered until it is awaited"]
pub struct Run {
    deliveries: Deliveries,
    concurrency: usize,
    handler: Handler,
    until: BoxFuture<'static, ()>,
}

impl Run {
    pub(super) fn new<F, Fut, E>(deliveries: Deliveries, concurrency: usize, handler: F) -> Self
    where
        F: Fn(Delivery) -> Fut + Send + 'static,
        Fut: Future<Output = Result<(), E>> + Send + 'static,
        E: Into<BoxError> + 'static,
    {
        let handler: Handler = Box::new(move |delivery| handler(delivery).map_err(Into::into).boxed());
        Self { deliveries, concurrency, handler, until: std::future::pending().boxed() }
    }

    /// Stops when this completes: starts no more handlers, waits for the running ones, and at most 10 seconds until the server
    /// confirms their acknowledgments. Default: never.
    pub fn until(mut self, stop: impl Future<Output = ()> + Send + 'static) -> Self {
        self.until = stop.boxed();
        self
    }

    /// Handles deliveries until it is stopped or fails, and the running handlers end.
    async fn work(mut self) -> Result<(), Error> {
        let mut running = FuturesUnordered::new();
        let mut outcome = None;
        poll_fn(|context| self.poll(context, &mut running, &mut outcome)).await;
        if let Some(Err(error)) = outcome {
            return Err(error);
        }
        self.deliveries.leave().await;
        Ok(())
    }

    fn poll(
        &mut self,
        context: &mut Context<'_>,
        running: &mut FuturesUnordered<BoxFuture<'static, ()>>,
        outcome: &mut Option<Result<(), Error>>,
    ) -> Poll<()> {
        loop {
            while let Poll::Ready(Some(())) = running.poll_next_unpin(context) {}
            if outcome.is_none() && self.until.poll_unpin(context).is_ready() {
                self.deliveries.stop();
                *outcome = Some(Ok(()));
            }
            if outcome.is_some() && running.is_empty() {
                return Poll::Ready(());
            }
            if outcome.is_some() || running.len() >= self.concurrency {
                return Poll::Pending;
            }
            match self.deliveries.poll_next_unpin(context) {
                Poll::Ready(Some(Ok(delivery))) => running.push(self.handled(delivery)),
                Poll::Ready(Some(Err(error))) => *outcome = Some(Err(error)),
                Poll::Ready(None) => *outcome = Some(Ok(())),
                Poll::Pending => return Poll::Pending,
            }
        }
    }

    fn handled(&self, mut delivery: Delivery) -> BoxFuture<'static, ()> {
        let ticket = delivery.take_ticket();
        let handled = (self.handler)(delivery);
        async move {
            let outcome = handled.await;
            let Some(ticket) = ticket else { return };
            match outcome {
                Ok(()) => ticket.acknowledge(),
                Err(error) => ticket.reject(&error.to_string(), error.is::<Park>()),
            }
        }
        .boxed()
    }
}

impl IntoFuture for Run {
    type Output = Result<(), Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.work())
    }
}

impl fmt::Debug for Run {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Run").field("deliveries", &self.deliveries).finish_non_exhaustive()
    }
}
