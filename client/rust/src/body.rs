//! The bodies of answers.

use std::pin::Pin;
use std::task::{Context, Poll};

use http::response::Parts;
use http::{HeaderMap, Response};
use http_body::{Body as HttpBody, Frame, SizeHint};
use http_body_util::{BodyExt, Collected, LengthLimitError, Limited};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};
use tonic::body::Body;
use tonic::codegen::Bytes;
use tonic::{Code, Status};

use crate::client::MAX_MESSAGE_BYTES;
use crate::transport::closed;

/// The five bytes before a gRPC message: whether it is compressed, and its length.
const PREFIX: usize = 5;

/// The whole answer of a unary call.
pub(crate) async fn collected(body: Body, address: &str) -> Result<Collected<Bytes>, Status> {
    let read = Limited::new(body, MAX_MESSAGE_BYTES + PREFIX).collect().await;
    read.map_err(|error| match error.downcast::<Status>() {
        Ok(status) => broken(*status, address),
        Err(error) if error.is::<LengthLimitError>() => {
            Status::resource_exhausted(format!("the answer is larger than {MAX_MESSAGE_BYTES} bytes"))
        }
        Err(error) => Status::unknown(error.to_string()),
    })
}

/// The answer of a unary call, read to its end.
pub(crate) struct Whole {
    pub(crate) head: Parts,
    pub(crate) body: Collected<Bytes>,
}

impl Whole {
    pub(crate) fn is_unavailable(&self) -> bool {
        match self.status_headers().get("grpc-status") {
            Some(status) => status.as_bytes() == b"14",
            None => matches!(self.head.status.as_u16(), 429 | 502 | 503 | 504), // a proxy's own words for it
        }
    }

    pub(crate) fn status(&self) -> Option<Status> {
        Status::from_header_map(self.status_headers())
    }

    pub(crate) fn into_response(self) -> Response<Body> {
        Response::from_parts(self.head, Body::new(self.body))
    }

    /// Where the status is: after the body, or before it if there is none.
    fn status_headers(&self) -> &HeaderMap {
        self.body.trailers().unwrap_or(&self.head.headers)
    }
}

/// The status of a connection that broke under an answer. A server that ends a call says so in trailers, not in this way.
fn broken(status: Status, address: &str) -> Status {
    match status.code() {
        Code::Unknown | Code::Internal | Code::Cancelled | Code::Unavailable => {
            Status::unavailable(format!("the connection to {address} broke: {}", status.message()))
        }
        _ => status,
    }
}

/// The answer of a stream, which ends when the client is closed.
pub(crate) struct UntilClosed {
    body: Body,
    closed: Pin<Box<WaitForCancellationFutureOwned>>,
    address: String,
}

impl UntilClosed {
    pub(crate) fn new(body: Body, until: CancellationToken, address: String) -> Self {
        Self { body, closed: Box::pin(until.cancelled_owned()), address }
    }
}

impl HttpBody for UntilClosed {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        if self.closed.as_mut().poll(context).is_ready() {
            return Poll::Ready(Some(Err(closed())));
        }
        let frame = Pin::new(&mut self.body).poll_frame(context);
        frame.map_err(|status| broken(status, &self.address))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
