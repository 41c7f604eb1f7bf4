//! Measures the cost of the client over the generated stubs: `bench ADDRESS SECONDS` prints one JSON object.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use threadkeep::tonic::Request;
use threadkeep::tonic::transport::{Channel, Endpoint};
use threadkeep::v1::event_service_client::EventServiceClient;
use threadkeep::v1::subscription_service_client::SubscriptionServiceClient;
use threadkeep::v1::{self, AppendEventsRequest, WatchSessionRequest, watch_session_request};
use threadkeep::{Client, Error, Kind, SessionHandle, Start, new_event_id, user};

const BLOCK: usize = 20;
const WARM_UP: usize = 200;
const EVENTS: usize = 20_000;
const BATCH: usize = 10;
const ROUNDS: usize = 3;
const LARGEST: usize = 64 * 1024 * 1024;

#[tokio::main]
async fn main() -> Result<(), Error> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [address, seconds] = arguments.as_slice() else { return Err(Error::Usage("bench ADDRESS SECONDS".to_owned())) };
    let seconds = seconds.parse().map_err(|_| Error::Usage(format!("{seconds} is no number of seconds")))?;
    let client = Client::builder().address(address).app("bench").user_id("rust").build()?;
    let endpoint = Endpoint::from_shared(format!("http://{address}")).map_err(|error| Error::Usage(error.to_string()))?;
    let channel = endpoint.connect_lazy();
    let unary = unary(&client, channel.clone(), Duration::from_secs_f64(seconds)).await?;
    let stream = stream(&client, channel).await?;
    println!("{}", json!({ "language": "rust", "unary": unary, "stream": stream }));
    Ok(())
}

/// Appends one event of 1 KiB at a time, alternating between both, so that disturbances affect both.
async fn unary(client: &Client, channel: Channel, time: Duration) -> Result<Value, Error> {
    let mut stub = EventServiceClient::new(channel);
    let sessions = [created(client).await?, created(client).await?];
    let (mut by_stub, mut by_sdk) = (Vec::new(), Vec::new());
    let mut end = None;
    while end.is_none_or(|end| Instant::now() < end) {
        for _ in 0..BLOCK {
            let began = Instant::now();
            let request = AppendEventsRequest {
                session: Some(sessions[0].reference().clone()),
                events: vec![v1::SessionEvent { event_id: new_event_id(), ..user("x".repeat(1024)) }],
                ..Default::default()
            };
            let mut request = Request::new(request);
            request.set_timeout(threadkeep::DEFAULT_TIMEOUT); // as the SDK does: a deadline also costs the server time
            stub.append_events(request).await?;
            by_stub.push(began.elapsed());
        }
        for _ in 0..BLOCK {
            let began = Instant::now();
            sessions[1].append([user("x".repeat(1024))]).await?;
            by_sdk.push(began.elapsed());
        }
        if end.is_none() && by_sdk.len() >= WARM_UP {
            (by_stub, by_sdk, end) = (Vec::new(), Vec::new(), Some(Instant::now() + time));
        }
    }
    Ok(json!({ "stub": quantiles(by_stub), "sdk": quantiles(by_sdk) }))
}

fn quantiles(mut times: Vec<Duration>) -> Value {
    times.sort_unstable();
    let micros = |part: usize| times[(times.len() * part / 100).min(times.len() - 1)].as_nanos() as f64 / 1000.0;
    json!({ "median_us": micros(50), "p99_us": micros(99), "calls": times.len() })
}

async fn created(client: &Client) -> Result<SessionHandle, Error> {
    let session = client.session(new_event_id());
    session.append([user("begin")]).create_if_missing().await?;
    Ok(session)
}

/// Reads the events of one session from its beginning, alternating between both; keeps the best of each.
async fn stream(client: &Client, channel: Channel) -> Result<Value, Error> {
    let session = created(client).await?;
    for _ in 0..EVENTS / BATCH {
        session.append((0..BATCH).map(|_| user("x".repeat(1024)))).await?;
    }
    let mut stub = SubscriptionServiceClient::new(channel).max_decoding_message_size(LARGEST);
    let (mut by_stub, mut by_sdk) = (0.0_f64, 0.0_f64);
    for _ in 0..ROUNDS {
        let began = Instant::now();
        let start = Some(watch_session_request::Start::AfterSeq(0));
        let request = WatchSessionRequest { session: Some(session.reference().clone()), start, ..Default::default() };
        let (mut frames, mut seen) = (stub.watch_session(request).await?.into_inner(), 0);
        while seen <= EVENTS
            && let Some(frame) = frames.message().await?
        {
            seen += frame.changes.iter().map(count).sum::<usize>();
        }
        by_stub = by_stub.max(seen as f64 / began.elapsed().as_secs_f64());

        let began = Instant::now();
        let (mut changes, mut seen) = (session.watch().from(Start::Beginning).items(), 0);
        while seen <= EVENTS
            && let Some(change) = changes.try_next().await?
        {
            seen += count(&change);
        }
        by_sdk = by_sdk.max(seen as f64 / began.elapsed().as_secs_f64());
    }
    Ok(json!({ "stub_per_s": by_stub, "sdk_per_s": by_sdk, "events": EVENTS }))
}

fn count(change: &v1::Change) -> usize {
    match &change.kind {
        Some(Kind::Batch(batch)) => batch.events.len(),
        _ => 0,
    }
}
