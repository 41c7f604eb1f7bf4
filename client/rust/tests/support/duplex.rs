//! An HTTP/2 server of streams that responds while the client sends.

use std::sync::{Arc, Mutex};

use http::Response;
use tokio::net::{TcpListener, TcpStream};

use super::{framed, trailers};

/// The messages of each stream, in order.
pub type Streams = Arc<Mutex<Vec<Vec<Vec<u8>>>>>;
/// Returns the responses to a message: of which stream, which message, from 0. None ends the connection.
pub type Script = Arc<dyn Fn(usize, usize, &[u8]) -> Option<Vec<Vec<u8>>> + Send + Sync>;

/// Starts the server. A stream that the client half-closes ends with OK. Returns its address and the messages.
pub async fn serve(script: impl Fn(usize, usize, &[u8]) -> Option<Vec<Vec<u8>>> + Send + Sync + 'static) -> (String, Streams) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let (address, streams, script) = (listener.local_addr().expect("an address"), Streams::default(), Arc::new(script));
    let seen = Arc::clone(&streams);
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            tokio::spawn(connection(socket, Arc::clone(&seen), script.clone()));
        }
    });
    (address.to_string(), streams)
}

async fn connection(socket: TcpStream, streams: Streams, script: Script) {
    let Ok(mut connection) = h2::server::handshake(socket).await else { return };
    let (over, mut ends) = tokio::sync::mpsc::unbounded_channel();
    loop {
        tokio::select! {
            accepted = connection.accept() => {
                let Some(Ok((request, mut respond))) = accepted else { return };
                let head = Response::builder().header("content-type", "application/grpc").body(()).expect("a response");
                let out = respond.send_response(head, false).expect("it is open");
                tokio::spawn(stream(request.into_body(), out, streams.clone(), script.clone(), over.clone()));
            }
            _ = ends.recv() => return,
        }
    }
}

async fn stream(
    mut incoming: h2::RecvStream,
    mut out: h2::SendStream<threadkeep::tonic::codegen::Bytes>,
    streams: Streams,
    script: Script,
    over: tokio::sync::mpsc::UnboundedSender<()>,
) {
    let number = {
        let mut all = streams.lock().expect("no poison");
        all.push(Vec::new());
        all.len() - 1
    };
    let (mut buffer, mut count) = (Vec::new(), 0);
    while let Some(Ok(chunk)) = incoming.data().await {
        incoming.flow_control().release_capacity(chunk.len()).expect("it was received");
        buffer.extend_from_slice(&chunk);
        while buffer.len() >= 5 {
            let length = u32::from_be_bytes(buffer[1..5].try_into().expect("four bytes")) as usize;
            if buffer.len() < 5 + length {
                break;
            }
            let message = buffer.drain(..5 + length).skip(5).collect::<Vec<_>>();
            streams.lock().expect("no poison")[number].push(message.clone());
            let Some(responses) = script(number, count, &message) else {
                let _ = over.send(());
                return;
            };
            count += 1;
            for response in responses {
                let _ = out.send_data(framed(&response), false);
            }
        }
    }
    let _ = out.send_trailers(trailers(0));
}
