//! An HTTP/2 server that responds as a test scripts and records requests.

#![allow(unreachable_pub, dead_code)]

pub mod duplex;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use h2::server::SendResponse;
use http::{HeaderMap, Request, Response};
use prost::Message;
use threadkeep::tonic::codegen::Bytes;
use tokio::net::{TcpListener, TcpStream};

/// The reply to one request.
pub enum Reply {
    /// A message and the status OK.
    Message(Vec<u8>),
    /// A message of a stream that then stays silent.
    Open(Vec<u8>),
    /// This gRPC status, before any body.
    Status(u8),
    /// This gRPC status, after headers.
    Trailers(u8),
    /// This HTTP status, without gRPC.
    Http(u16),
    /// A reset of the stream.
    Reset,
    /// No reply.
    Silence,
}

/// One request.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

#[derive(Clone, Default)]
pub struct Log {
    pub seen: Arc<Mutex<Vec<Seen>>>,
    /// Streams that the client ended, and lost connections.
    pub ended: Arc<Mutex<(u32, u32)>>,
}

impl Log {
    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().expect("no poison").clone()
    }

    /// Waits until this many requests arrived.
    pub async fn arrived(&self, count: usize) {
        while self.seen.lock().expect("no poison").len() < count {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Waits until the client ended this many streams and connections.
    pub async fn ended(&self, streams: u32, connections: u32) {
        let reached = async {
            while *self.ended.lock().expect("no poison") != (streams, connections) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let waited = tokio::time::timeout(Duration::from_secs(30), reached).await;
        assert!(waited.is_ok(), "it is {:?}", self.ended.lock());
    }
}

/// Starts the server; `script` returns the reply to the nth request, from 0. Returns its address and its log.
pub async fn serve(script: impl Fn(usize) -> Reply + Send + Sync + 'static) -> (String, Log) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let (address, log, script) = (listener.local_addr().expect("an address"), Log::default(), Arc::new(script));
    let logged = log.clone();
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            tokio::spawn(connection(socket, logged.clone(), Arc::clone(&script)));
        }
    });
    (address.to_string(), log)
}

async fn connection(socket: TcpStream, log: Log, script: Arc<impl Fn(usize) -> Reply + Send + Sync + 'static>) {
    let Ok(mut connection) = h2::server::handshake(socket).await else { return };
    while let Some(Ok((request, respond))) = connection.accept().await {
        tokio::spawn(stream(request, respond, log.clone(), Arc::clone(&script)));
    }
    log.ended.lock().expect("no poison").1 += 1;
}

async fn stream(
    request: Request<h2::RecvStream>,
    mut respond: SendResponse<Bytes>,
    log: Log,
    script: Arc<impl Fn(usize) -> Reply + Send + Sync + 'static>,
) {
    let (head, mut incoming) = request.into_parts();
    let mut seen = Seen { headers: head.headers, ..Default::default() };
    while let Some(Ok(chunk)) = incoming.data().await {
        incoming.flow_control().release_capacity(chunk.len()).expect("it was received");
        seen.body.extend_from_slice(&chunk);
    }
    let number = {
        let mut all = log.seen.lock().expect("no poison");
        all.push(seen);
        all.len() - 1
    };
    let reset = match answer(&mut respond, script(number)) {
        Ok(Open::Body(mut body)) => std::future::poll_fn(|context| body.poll_reset(context)).await.is_ok(),
        Ok(Open::Request) => std::future::poll_fn(|context| respond.poll_reset(context)).await.is_ok(),
        Ok(Open::Nothing) | Err(_) => false,
    };
    log.ended.lock().expect("no poison").0 += u32::from(reset);
}

/// State that stays open after a reply.
enum Open {
    Nothing,
    Request,
    Body(h2::SendStream<Bytes>),
}

/// Sends the reply.
fn answer(respond: &mut SendResponse<Bytes>, reply: Reply) -> Result<Open, h2::Error> {
    let response = |status: u16| Response::builder().status(status).header("content-type", "application/grpc");
    let head = |status: u16| response(status).body(()).expect("a response");
    let only = |code: u8| response(200).header("grpc-status", code.to_string()).body(()).expect("a response");
    match reply {
        Reply::Message(message) => {
            let mut body = respond.send_response(head(200), false)?;
            body.send_data(framed(&message), false)?;
            body.send_trailers(trailers(0))?;
        }
        Reply::Open(message) => {
            let mut body = respond.send_response(head(200), false)?;
            body.send_data(framed(&message), false)?;
            return Ok(Open::Body(body));
        }
        Reply::Status(code) => drop(respond.send_response(only(code), true)?),
        Reply::Trailers(code) => respond.send_response(head(200), false)?.send_trailers(trailers(code))?,
        Reply::Http(status) => drop(respond.send_response(head(status), true)?),
        Reply::Reset => respond.send_reset(h2::Reason::INTERNAL_ERROR),
        Reply::Silence => return Ok(Open::Request),
    }
    Ok(Open::Nothing)
}

fn trailers(code: u8) -> HeaderMap {
    HeaderMap::from_iter([("grpc-status".parse().expect("a name"), u16::from(code).into())])
}

fn framed(message: &[u8]) -> Bytes {
    let mut frame = vec![0];
    frame.extend_from_slice(&u32::try_from(message.len()).expect("a small message").to_be_bytes());
    frame.extend_from_slice(message);
    frame.into()
}

/// Returns the reply with this message.
pub fn message(message: &impl Message) -> Reply {
    Reply::Message(message.encode_to_vec())
}
