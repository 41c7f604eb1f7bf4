//! The transport of all calls: credential, deadline, retries, and closing.

use std::error::Error as StdError;
use std::iter::successors;
use std::pin::Pin;
use std::sync::{Arc, PoisonError};
use std::task::{Context, Poll};

use futures_util::stream;
use http::header::AUTHORIZATION;
use http::{HeaderValue, Request, Response};
use http_body_util::{BodyExt, Full, StreamBody};
use tokio::time::{Instant, sleep, timeout};
use tonic::body::Body;
use tonic::{Code, ConnectError, Status, TimeoutExpired};
use tower::{Service, ServiceExt};

use crate::Client;
use crate::address::DEFAULT_PORT;
use crate::builder::{Credential, bearer};
use crate::error::Closed;
use crate::retryable::RETRYABLE;

/// Streaming methods: they are opened once, and have no deadline unless the caller sets one.
const STREAMS: &[&str] = &[
    "/threadkeep.v1.ConsumerService/Consume",
    "/threadkeep.v1.EventService/AppendStream",
    "/threadkeep.v1.SubscriptionService/WatchAll",
    "/threadkeep.v1.SubscriptionService/WatchSession",
];

/// The error of parsing an HTTP/1.1 response as HTTP/2.
const NOT_HTTP2: &str = "frame with invalid size";

type Answer = Result<Response<Body>, Status>;

/// The connection of the generated clients, for [`Client::raw`].
#[derive(Clone, Debug)]
pub struct Transport(Client);

impl Transport {
    pub(crate) fn new(client: Client) -> Self {
        Self(client)
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
        let client = self.0.clone();
        Box::pin(async move {
            let answer = client.shared.closed.run_until_cancelled(client.exchange(request)).await;
            answer.unwrap_or_else(|| Err(closed()))
        })
    }
}

impl Client {
    async fn exchange(&self, mut request: Request<Body>) -> Answer {
        if let Some(credential) = &self.shared.credential {
            let value = credential.header().await?;
            request.headers_mut().entry(AUTHORIZATION).or_insert(value);
        }
        if STREAMS.contains(&request.uri().path()) {
            return Ok(self.attempt(request).await?.map(|body| self.until_closed(body)));
        }
        let Some(limit) = self.timeout else { return self.repeat(request, None).await };
        let answer = timeout(limit, self.repeat(request, Instant::now().checked_add(limit))).await;
        answer.unwrap_or_else(|_| Err(Status::deadline_exceeded(format!("no response from {} in time", self.shared.address))))
    }

    /// Sends a unary call and reads its response; if that is UNAVAILABLE, or CANCELLED by the server, and the method may be
    /// repeated, sends it again. A caller cancels by dropping this, and closing the client drops it.
    async fn repeat(&self, request: Request<Body>, deadline: Option<Instant>) -> Answer {
        let (head, body) = request.into_parts();
        let body = body.collect().await?.to_bytes();
        let is_repeatable = RETRYABLE.contains(&head.uri.path());
        let mut tries = 0;
        loop {
            tries += 1;
            let mut request = Request::from_parts(head.clone(), Body::new(Full::new(body.clone())));
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if let Some(left) = left {
                let millis = format!("{}m", left.as_millis().min(99_999_999)); // the protocol allows eight digits
                request.headers_mut().entry("grpc-timeout").or_insert(millis.parse().expect("it is ascii"));
            }
            let failure = match self.whole(request).await {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            if tries == 1 && causes(&failure).any(|cause| cause.is::<ConnectError>()) {
                continue; // a channel that failed to connect without a waiting call reports that to the next call
            }
            match self.shared.retry.before_retry(tries, &failure, left).filter(|_| is_repeatable) {
                Some(pause) => {
                    tracing::debug!(method = head.uri.path(), tries, ?pause, why = failure.message(), "the call is retried");
                    sleep(pause).await;
                }
                None => return Err(failure),
            }
        }
    }

    /// Makes one attempt of a unary call and reads its response to the end, so that retries also cover a response that breaks.
    async fn whole(&self, request: Request<Body>) -> Answer {
        let (head, body) = self.attempt(request).await?.into_parts();
        let body = body.collect().await.map_err(|error| self.failure(error))?;
        match Status::from_header_map(body.trailers().unwrap_or(&head.headers)) {
            Some(status) if status.code() != Code::Ok => Err(status),
            None if matches!(head.status.as_u16(), 429 | 502 | 503 | 504) => {
                Err(Status::unavailable(format!("a proxy before {} responded with {}", self.shared.address, head.status)))
            }
            _ => Ok(Response::from_parts(head, Body::new(body))),
        }
    }

    async fn attempt(&self, mut request: Request<Body>) -> Answer {
        let path = request.uri().path().to_owned();
        for intercept in &self.shared.interceptors.0 {
            intercept(&path, request.headers_mut())?;
        }
        let channel = {
            let mut channel = self.shared.channel.lock().unwrap_or_else(PoisonError::into_inner);
            if self.shared.closed.is_cancelled() {
                return Err(closed());
            }
            channel.get_or_insert_with(|| self.shared.endpoint.connect_lazy()).clone()
        };
        channel.oneshot(request).await.map_err(|error| self.failure(error))
    }

    /// Returns the error of a missing or truncated response. A server that ends a call says so in its response instead.
    fn failure(&self, error: impl StdError + Send + Sync + 'static) -> Status {
        let address = &self.shared.address;
        let cause = causes(&error).last().map(ToString::to_string).unwrap_or_default();
        let mut status = if causes(&error).any(|cause| cause.is::<TimeoutExpired>()) {
            Status::deadline_exceeded(format!("no response from {address} in time"))
        } else if causes(&error).any(|cause| cause.is::<ConnectError>()) {
            Status::unavailable(format!("no server at {address} ({cause}); start one with `make serve`"))
        } else if cause.contains(NOT_HTTP2) {
            Status::unavailable(format!(
                "{address} does not respond in gRPC; it may be the server's HTTP port. The default gRPC port is \
                 {DEFAULT_PORT} ({cause})"
            ))
        } else {
            Status::unavailable(format!("the connection to {address} broke: {cause}"))
        };
        status.set_source(Arc::new(error));
        status
    }

    /// The response of a stream, which ends when the client is closed.
    fn until_closed(&self, body: Body) -> Body {
        let frames = stream::unfold((self.clone(), body), async |(client, mut body)| {
            let frame = match client.shared.closed.run_until_cancelled(body.frame()).await {
                Some(frame) => frame?.map_err(|error| client.failure(error)),
                None => Err(closed()),
            };
            Some((frame, (client, body)))
        });
        Body::new(StreamBody::new(frames))
    }
}

impl Credential {
    async fn header(&self) -> Result<HeaderValue, Status> {
        match self {
            Self::Fixed(value) => Ok(value.clone()),
            Self::Supplied(provider) => {
                let token = provider.0().await.map_err(|error| {
                    let mut status = Status::unauthenticated(format!("the token provider failed: {error}"));
                    status.set_source(error.into());
                    status
                })?;
                bearer(token.trim_end()).map_err(Status::unauthenticated)
            }
        }
    }
}

/// Returns the error and its sources, the deepest last.
fn causes<'a>(error: &'a (dyn StdError + 'static)) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    successors(Some(error), |error| (*error).source())
}

fn closed() -> Status {
    let mut status = Status::cancelled("the client is closed");
    status.set_source(Arc::new(Closed));
    status
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_match_those_of_the_generated_clients() {
        let generated = include_str!("gen/threadkeep.v1.rs");
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
