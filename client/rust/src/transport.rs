//! What every call goes through: the credential, the deadline, the retry policy, and the end when the client is closed.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use http::header::{AUTHORIZATION, HeaderValue};
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tonic::body::Body;
use tonic::transport::{Channel, Endpoint};
use tonic::{ConnectError, Status, TimeoutExpired};
use tower_service::Service;

use crate::body::{UntilClosed, Whole, collected};
use crate::retry::{self, Retries};
use crate::timeout_header::{GRPC_TIMEOUT, formatted, parsed};

/// Methods that are streams: they are opened once, and have no deadline unless the caller gives one.
const STREAMS: &[&str] = &[
    "/recollect.v1.ConsumerService/Consume",
    "/recollect.v1.EventService/AppendStream",
    "/recollect.v1.SubscriptionService/WatchAll",
    "/recollect.v1.SubscriptionService/WatchSession",
];

/// The connection under the generated clients. Its errors are statuses.
#[derive(Clone, Debug)]
pub struct Transport {
    shared: Arc<Shared>,
    timeout: Option<Duration>,
}

#[derive(Debug)]
struct Shared {
    address: String,
    authorization: Option<HeaderValue>,
    endpoint: Endpoint,
    channel: Mutex<Option<Channel>>,
    closed: CancellationToken,
}

type Answer = Result<Response<Body>, Status>;

impl Transport {
    pub(crate) fn new(
        address: String,
        authorization: Option<HeaderValue>,
        endpoint: Endpoint,
        timeout: Option<Duration>,
    ) -> Self {
        let (channel, closed) = (Mutex::new(None), CancellationToken::new());
        Self { shared: Arc::new(Shared { address, authorization, endpoint, channel, closed }), timeout }
    }

    pub(crate) fn address(&self) -> &str {
        &self.shared.address
    }

    pub(crate) fn with_timeout(&self, timeout: Option<Duration>) -> Self {
        Self { shared: Arc::clone(&self.shared), timeout }
    }

    /// Ends the calls under way and lets go of the connection.
    pub(crate) fn close(&self) {
        self.shared.closed.cancel();
        self.shared.channel.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// Waits, but not beyond the end of the client.
    pub(crate) async fn pause(&self, pause: Duration) {
        self.shared.closed.run_until_cancelled(sleep(pause)).await;
    }

    /// The channel; the first call makes it, which then belongs to the runtime that it runs on.
    fn channel(&self) -> Result<Channel, Status> {
        let mut channel = self.shared.channel.lock().unwrap_or_else(PoisonError::into_inner);
        if self.shared.closed.is_cancelled() {
            return Err(closed());
        }
        Ok(channel.get_or_insert_with(|| self.shared.endpoint.connect_lazy()).clone())
    }

    async fn exchange(&self, mut request: Request<Body>) -> Answer {
        if let Some(value) = &self.shared.authorization {
            request.headers_mut().entry(AUTHORIZATION).or_insert_with(|| value.clone());
        }
        if STREAMS.contains(&request.uri().path()) {
            let address = self.shared.address.clone();
            let until = self.shared.closed.clone();
            let answer = self.attempt(request).await.map_err(|failure| failure.status)?;
            return Ok(answer.map(|body| Body::new(UntilClosed::new(body, until, address))));
        }
        let Some(limit) = parsed(request.headers()).or(self.timeout) else {
            return self.repeat(request, None).await;
        };
        let deadline = Instant::now().checked_add(limit);
        match timeout(limit, self.repeat(request, deadline)).await {
            Ok(answer) => answer,
            Err(_) => Err(self.expired(limit)),
        }
    }

    /// A unary call: sent, its answer read, and if that is UNAVAILABLE and the method may be repeated, sent again.
    async fn repeat(&self, request: Request<Body>, deadline: Option<Instant>) -> Answer {
        let (mut parts, body) = request.into_parts();
        let body = body.collect().await?.to_bytes();
        let mut retries = Retries::new(retry::is_repeatable(parts.uri.path()));
        loop {
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if let Some(left) = left {
                parts.headers.insert(GRPC_TIMEOUT, formatted(left));
            }
            let again = Request::from_parts(parts.clone(), Body::new(Full::new(body.clone())));
            let (outcome, pause) = match self.whole(again).await {
                Ok(answer) if !answer.is_unavailable() => return Ok(answer.into_response()),
                Ok(answer) => {
                    let pause = retries.pause(answer.status().as_ref(), left);
                    (Ok(answer.into_response()), pause)
                }
                Err(Failure { status, unsent: true }) => {
                    let pause = retries.pause_unsent(&status, left);
                    (Err(status), pause)
                }
                Err(Failure { status, .. }) => {
                    let pause = retries.pause(Some(&status), left);
                    (Err(status), pause)
                }
            };
            let Some(pause) = pause else { return outcome };
            sleep(pause).await;
        }
    }

    /// One try of a unary call, its answer read to the end: where it breaks must not matter to the retry policy.
    async fn whole(&self, request: Request<Body>) -> Result<Whole, Failure> {
        let (head, body) = self.attempt(request).await?.into_parts();
        let body = collected(body, &self.shared.address).await.map_err(Failure::sent)?;
        Ok(Whole { head, body })
    }

    async fn attempt(&self, request: Request<Body>) -> Result<Response<Body>, Failure> {
        let mut channel = self.channel().map_err(Failure::sent)?;
        let ready = std::future::poll_fn(|context| channel.poll_ready(context)).await;
        let answer = match ready {
            Ok(()) => channel.call(request).await,
            Err(error) => Err(error),
        };
        answer.map_err(|error| self.failure(&error))
    }

    /// What a try that got no answer means: no server, or a connection that broke.
    fn failure(&self, error: &(dyn std::error::Error + 'static)) -> Failure {
        let address = &self.shared.address;
        let (mut cause, mut unsent) = (error, false);
        loop {
            if let Some(status) = cause.downcast_ref::<Status>() {
                return Failure::sent(Status::new(status.code(), status.message()));
            }
            if cause.is::<TimeoutExpired>() {
                return Failure::sent(Status::deadline_exceeded(format!("no answer from {address} in time")));
            }
            unsent |= cause.is::<ConnectError>();
            match cause.source() {
                Some(deeper) => cause = deeper,
                None => break,
            }
        }
        let message = if unsent {
            format!("no server at {address} ({cause}); start one with `make serve`")
        } else {
            format!("the connection to {address} broke: {cause}")
        };
        Failure { status: Status::unavailable(message), unsent }
    }

    fn expired(&self, limit: Duration) -> Status {
        Status::deadline_exceeded(format!("no answer from {} within {limit:?}", self.shared.address))
    }
}

impl Service<Request<Body>> for Transport {
    type Response = Response<Body>;
    type Error = Status;
    type Future = Pin<Box<dyn Future<Output = Answer> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Status>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let transport = self.clone();
        Box::pin(async move {
            let answer = transport.shared.closed.run_until_cancelled(transport.exchange(request)).await;
            answer.unwrap_or_else(|| Err(closed()))
        })
    }
}

/// A try without an answer. `unsent`: there was no connection, so the server cannot have seen it.
struct Failure {
    status: Status,
    unsent: bool,
}

impl Failure {
    fn sent(status: Status) -> Self {
        Self { status, unsent: false }
    }
}

pub(crate) fn closed() -> Status {
    Status::cancelled("the client is closed")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_streams_are_those_of_the_generated_clients() {
        let generated = include_str!("gen/recollect.v1.rs");
        let mut streams: Vec<_> = generated
            .split("PathAndQuery::from_static(")
            .skip(1)
            .filter(|method| !method.split(".await").next().is_some_and(|call| call.contains("self.inner.unary(")))
            .filter_map(|method| method.split('"').nth(1))
            .collect();
        streams.sort_unstable();
        assert_eq!(streams, STREAMS);
    }
}
