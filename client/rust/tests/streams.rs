//! Consumers and streams of appends, and the options of the client, on the wire.

mod support;

use std::collections::BTreeSet;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use prost::Message;
use support::duplex::{self, Streams};
use support::{Reply, message, serve};
use threadkeep::v1::consume_request::Request;
use threadkeep::v1::{self, AppendStreamRequest, ConsumeRequest, ConsumeResponse, append_stream_result::Outcome};
use threadkeep::{Client, ErrorReason, MemoryProvider, Park, Parked, Point, Retry, StreamExt, user};
use tokio::sync::Notify;

fn client(address: &str) -> Client {
    Client::builder().address(address).app("a").user_id("u").token("s3cret").build().expect("it can be")
}

fn delivery(delivery_id: i64, partition: i32, attempt: i32) -> v1::Delivery {
    let change = Some(v1::Change { resume_token: delivery_id.to_string(), ..Default::default() });
    v1::Delivery { delivery_id, partition, attempt, change, ..Default::default() }
}

fn joined(deliveries: Vec<v1::Delivery>) -> Vec<Vec<u8>> {
    let consumer = Some(v1::Consumer { max_attempts: 3, ..Default::default() });
    let joined = Some(v1::Joined { consumer, member_id: "m".into() });
    vec![ConsumeResponse { joined, deliveries, ..Default::default() }.encode_to_vec()]
}

fn sent(streams: &Streams, number: usize) -> Vec<Request> {
    let messages = streams.lock().expect("no poison")[number].clone();
    messages.iter().map(|each| ConsumeRequest::decode(each.as_slice()).expect("a request").request.expect("a kind")).collect()
}

/// The ids that a stream acknowledged, and the ids and reasons of those that it rejected.
fn outcomes(streams: &Streams, number: usize) -> (BTreeSet<i64>, Vec<(i64, String, bool)>) {
    let (mut acknowledged, mut rejected) = (BTreeSet::new(), Vec::new());
    for request in sent(streams, number) {
        match request {
            Request::Acknowledge(ids) => acknowledged.extend(ids.delivery_ids),
            Request::Reject(reject) => rejected.push((reject.delivery_id, reject.reason, reject.park)),
            Request::Join(_) => {}
        }
    }
    (acknowledged, rejected)
}

#[tokio::test]
async fn a_consumer_acknowledges_what_its_handler_handles_and_leaves() {
    let (address, streams) = duplex::serve(|_, message, _| {
        Some(if message == 0 { joined(vec![delivery(1, 0, 1), delivery(2, 0, 1), delivery(3, 1, 1)]) } else { vec![] })
    })
    .await;
    let (handled, done) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Notify::new()));
    let (seen, finished) = (Arc::clone(&handled), Arc::clone(&done));
    let consumer = client(&address).consumer("indexer").label("team", "red").max_attempts(3).from_beginning();
    let run = consumer.run(move |delivery| {
        let (seen, finished) = (Arc::clone(&seen), Arc::clone(&finished));
        async move {
            let mut seen = seen.lock().expect("no poison");
            seen.push(delivery.change.resume_token.clone());
            if seen.len() == 3 {
                finished.notify_one();
            }
            Ok::<_, io::Error>(())
        }
    });
    let run = run.until(async move { done.notified().await });
    tokio::time::timeout(Duration::from_secs(20), run.into_future()).await.expect("in time").expect("it leaves");
    let mut handled = handled.lock().expect("no poison").clone();
    assert!(handled.iter().position(|id| id == "1") < handled.iter().position(|id| id == "2"), "{handled:?}");
    handled.sort();
    assert_eq!(handled, ["1", "2", "3"]);
    assert_eq!(outcomes(&streams, 0), (BTreeSet::from([1, 2, 3]), vec![]));
    let Request::Join(join) = &sent(&streams, 0)[0] else { panic!("it joins first") };
    let scope = join.scope.as_ref().expect("a scope");
    assert_eq!((scope.app.as_deref(), scope.user_id.as_str(), scope.labels["team"].as_str()), (Some("a"), "u", "red"));
    assert_eq!((join.name.as_str(), join.max_attempts, join.from_beginning), ("indexer", 3, true));
}

#[tokio::test]
async fn a_failed_delivery_comes_again_before_those_after_it_and_park_ends_it() {
    let (address, streams) = duplex::serve(|_, _, request| {
        let request = ConsumeRequest::decode(request).expect("a request").request.expect("a kind");
        Some(match request {
            Request::Join(_) => joined(vec![delivery(1, 0, 1), delivery(2, 0, 1)]),
            Request::Reject(reject) if reject.delivery_id == 1 => {
                let deliveries = vec![delivery(3, 0, 2), delivery(4, 0, 1)];
                vec![ConsumeResponse { deliveries, ..Default::default() }.encode_to_vec()]
            }
            _ => vec![],
        })
    })
    .await;
    let (calls, done) = (Arc::new(AtomicUsize::new(0)), Arc::new(Notify::new()));
    let finished = Arc::clone(&done);
    let run = client(&address).consumer("indexer").run(move |delivery| {
        let (call, finished) = (calls.fetch_add(1, Ordering::SeqCst), Arc::clone(&finished));
        async move {
            let id = delivery.change.resume_token.as_str();
            assert_eq!(id, ["1", "3", "4"][call], "2 is void");
            match id {
                "1" => Err("not now".into()),
                "3" => Ok::<_, Box<dyn std::error::Error + Send + Sync>>(()),
                _ => {
                    finished.notify_one();
                    Err(Park::new("never").into())
                }
            }
        }
    });
    let run = run.until(async move { done.notified().await });
    tokio::time::timeout(Duration::from_secs(20), run.into_future()).await.expect("in time").expect("it leaves");
    let rejected = vec![(1, "not now".to_owned(), false), (4, "never".to_owned(), true)];
    assert_eq!(outcomes(&streams, 0), (BTreeSet::from([3]), rejected));
}

#[tokio::test]
async fn a_consumer_joins_again_when_its_connection_breaks() {
    let (address, streams) = duplex::serve(|stream, message, _| match (stream, message) {
        (0, 0) => Some(joined(vec![delivery(1, 0, 1)])),
        (0, _) => None,
        (_, 0) => Some(joined(vec![delivery(7, 0, 2)])),
        _ => Some(vec![]),
    })
    .await;
    let mut deliveries = client(&address).consumer("indexer").deliveries();
    let first = deliveries.next().await.expect("an item").expect("a delivery");
    first.reject("breaks the connection");
    let second = deliveries.next().await.expect("an item").expect("a delivery");
    assert_eq!((second.attempt, second.change.resume_token.as_str()), (2, "7"));
    second.acknowledge();
    deliveries.leave().await;
    assert_eq!(outcomes(&streams, 1), (BTreeSet::from([7]), vec![]));
}

#[tokio::test]
async fn a_delivery_that_is_dropped_is_rejected_and_its_partition_waits_for_it() {
    let (address, streams) = duplex::serve(|_, message, _| {
        Some(if message == 0 { joined(vec![delivery(1, 0, 3), delivery(2, 0, 1)]) } else { vec![] })
    })
    .await;
    let mut deliveries = client(&address).consumer("indexer").deliveries();
    let first = deliveries.next().await.expect("an item").expect("a delivery");
    assert!(tokio::time::timeout(Duration::from_millis(50), deliveries.next()).await.is_err(), "one at a time");
    drop(first); // it was the last attempt, so the next one counts
    deliveries.next().await.expect("an item").expect("a delivery").acknowledge();
    deliveries.leave().await;
    let dropped = vec![(1, "the delivery was dropped".to_owned(), false)];
    assert_eq!(outcomes(&streams, 0), (BTreeSet::from([2]), dropped));
}

#[tokio::test]
async fn closing_the_client_ends_a_consumer() {
    let (address, streams) = duplex::serve(|_, _, _| Some(joined(vec![]))).await;
    let client = client(&address);
    let run = client.consumer("indexer").run(async |_| Ok::<_, io::Error>(()));
    let working = tokio::spawn(run.into_future());
    while streams.lock().expect("no poison").first().is_none_or(Vec::is_empty) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    client.close();
    let error = tokio::time::timeout(Duration::from_secs(20), working).await.expect("in time").expect("no panic");
    assert_eq!(error.expect_err("it is closed").message(), "the client is closed");
    let mut deliveries = client.consumer("indexer").deliveries();
    deliveries.next().await.expect("an item").expect_err("it is closed");
    assert!(deliveries.next().await.is_none(), "it ends after an error");
}

#[tokio::test]
async fn no_ids_of_parked_changes_are_not_all() {
    let (address, log) = serve(|_| message(&v1::ReplayParkedChangesResponse { replayed: 2 })).await;
    let consumer = client(&address).consumer("indexer");
    assert_eq!(consumer.replay_parked(Parked::Ids(vec![])).await.expect("no call"), 0);
    assert_eq!(consumer.delete_parked(Parked::Ids(vec![])).await.expect("no call"), 0);
    assert_eq!(log.seen().len(), 0);
    assert_eq!(consumer.replay_parked(Parked::All).await.expect("an answer"), 2);
}

fn appended(index: i64, message: &[u8]) -> Vec<Vec<u8>> {
    let append = AppendStreamRequest::decode(message).expect("a request").append.expect("an append");
    let error = v1::AppendError { code: 10, message: "stale".into(), reason: "VERSION_MISMATCH".into(), ..Default::default() };
    let outcome = if append.events.len() == 2 {
        Outcome::Error(error)
    } else {
        Outcome::Appended(v1::AppendEventsResponse { last_seq: index + 1, ..Default::default() })
    };
    let results = vec![v1::AppendStreamResult { index, outcome: Some(outcome) }];
    vec![v1::AppendStreamResponse { results }.encode_to_vec()]
}

#[tokio::test]
async fn a_stream_of_appends_reports_each_batch() {
    let (address, streams) = duplex::serve(|_, index, message| Some(appended(index as i64, message))).await;
    let mut stream = client(&address).session("s").append_stream().max_outstanding(1).open();
    let first = stream.send([user("one")]).await.expect("it is open");
    let second = stream.send([user("two"), user("three")]).await.expect("it is open");
    let third = stream.send([user("four")]).await.expect("it is open");
    stream.finish().await.expect("it ends well");
    assert_eq!(first.await.expect("appended").last_seq, 1);
    assert!(second.await.expect_err("stale").is(ErrorReason::VersionMismatch));
    assert_eq!(third.await.expect("appended").last_seq, 3);
    assert_eq!(streams.lock().expect("no poison")[0].len(), 3);
}

#[tokio::test]
async fn a_stream_of_appends_waits_for_room_and_fails_as_a_whole() {
    let (address, streams) = duplex::serve(|_, index, _| (index == 0).then(Vec::new)).await;
    let mut stream = client(&address).session("s").append_stream().max_outstanding(2).open();
    let first = stream.send([user("one")]).await.expect("there is room");
    while streams.lock().expect("no poison").first().is_none_or(Vec::is_empty) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let second = stream.send([user("two")]).await.expect("there is room"); // ends the connection
    let third = stream.send([user("three")]).await;
    assert!(third.expect_err("it broke while waiting for room").is_transient());
    assert!(first.await.expect_err("no result").is_transient() && second.await.expect_err("no result").is_transient());
    stream.finish().await.expect_err("it broke");
}

#[tokio::test]
async fn a_handle_that_does_not_write_sends_no_append() {
    let (address, log) = serve(|_| message(&v1::GetContextResponse::default())).await;
    let critic = client(&address).session("s").with_memory(MemoryProvider::read_only().max_turns(2));
    assert!(critic.append([user("hi")]).create_if_missing().await.expect("it is dropped").dropped);
    let mut stream = critic.append_stream().open();
    assert!(stream.send([user("hi")]).await.expect("it is open").await.expect("it is dropped").dropped);
    critic.get_context().await.expect("it reads");
    let seen = log.seen();
    let spec = v1::GetContextRequest::decode(&seen[0].body[5..]).expect("a request").spec.expect("a spec");
    assert_eq!((seen.len(), spec.mode(), spec.max_turns), (1, v1::ContextMode::ReadOnly, Some(2)));
}

#[tokio::test]
async fn an_update_masks_what_it_sets() {
    let (address, log) = serve(|_| message(&v1::UpdateSessionResponse::default())).await;
    let trip = client(&address).session("trip");
    trip.update().labels([("team", "us")]).ttl(Duration::from_secs(60)).metadata("").etag("e").await.expect("an answer");
    trip.update().metadata_patch(r#"{"a":null}"#).set_label("x", "1").remove_label("y").await.expect("an answer");
    let requests: Vec<_> =
        log.seen().iter().map(|each| v1::UpdateSessionRequest::decode(&each.body[5..]).expect("a request")).collect();
    let mask = requests[0].update_mask.clone().expect("a mask").paths;
    assert_eq!((mask, requests[0].etag.as_str()), (["labels", "expiry", "metadata_json"].map(str::to_owned).to_vec(), "e"));
    assert_eq!((requests[1].update_mask.as_ref(), requests[1].metadata_patch_json.as_str()), (None, r#"{"a":null}"#));
    assert_eq!((requests[1].set_labels["x"].as_str(), requests[1].remove_labels.as_slice()), ("1", &["y".to_owned()][..]));
}

#[tokio::test]
async fn an_erasure_is_repeated_until_nothing_is_left() {
    let (address, log) = serve(|number| {
        let receipt = Some(v1::ErasureReceipt { deleted_sessions: number as i64 + 1, ..Default::default() });
        if number == 3 {
            return message(&v1::DeleteSessionResponse { deleted: true, ..Default::default() });
        }
        message(&v1::DeleteByLabelResponse { receipt, more: number < 2 })
    })
    .await;
    let steps = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&steps);
    let erasure = client(&address).delete_by_label([("team", "red")]).request_id("r").purge_memories();
    let erasure = erasure.progress(move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
    });
    assert_eq!(erasure.await.expect("a receipt").deleted_sessions, 3);
    let first = v1::DeleteByLabelRequest::decode(&log.seen()[0].body[5..]).expect("a request");
    assert_eq!((first.app.as_deref(), first.user_id.as_str(), first.purge_memories), (Some("a"), "u", true));
    assert_eq!((log.seen().len(), steps.load(Ordering::SeqCst)), (3, 3));
    assert!(client(&address).session("s").delete().uid("u1").await.expect("an answer").deleted);
    assert_eq!(v1::DeleteSessionRequest::decode(&log.seen()[3].body[5..]).expect("a request").uid, "u1");
}

#[tokio::test]
async fn a_removal_that_is_retried_has_one_operation_id() {
    let (address, log) = serve(|number| match number {
        0 => Reply::Status(14),
        _ => message(&v1::PopEventsResponse { log_version: 4, ..Default::default() }),
    })
    .await;
    let popped = client(&address).session("s").pop(2).erase().await.expect("the second attempt");
    let sent: Vec<_> = log.seen().iter().map(|each| v1::PopEventsRequest::decode(&each.body[5..]).expect("a request")).collect();
    assert_eq!((popped.log_version, sent[0].count, sent[0].mode()), (4, 2, v1::RemovalMode::Erase));
    assert_eq!((sent.len(), &sent[0], sent[0].operation_id.len()), (2, &sent[1], 36));
}

#[tokio::test]
async fn a_fork_has_what_was_set_and_an_operation_id_of_its_own() {
    let (address, log) = serve(|_| message(&v1::ForkSessionResponse { replayed: true, ..Default::default() })).await;
    let trip = client(&address).session("s");
    assert!(trip.fork("").await.expect("an answer").replayed);
    let fork = trip.fork("again").at(Point::InvocationId("i1".into())).never_expires().metadata("").label("kind", "retry");
    fork.without_parent_labels().context_bytes(0).operation_id("f1").await.expect("an answer");
    let sent: Vec<_> =
        log.seen().iter().map(|each| v1::ForkSessionRequest::decode(&each.body[5..]).expect("a request")).collect();
    let bare = v1::ForkSessionRequest {
        session: sent[0].session.clone(),
        operation_id: sent[0].operation_id.clone(),
        ..Default::default()
    };
    assert_eq!(
        (&sent[0], sent[0].operation_id.len(), sent[0].session.as_ref().map(|each| each.session_id.as_str())),
        (&bare, 36, Some("s"))
    );
    let set = v1::ForkSessionRequest {
        new_session_id: "again".into(),
        point: Some(v1::fork_session_request::Point::AtInvocationId("i1".into())),
        expiry: Some(v1::Expiry { kind: Some(v1::expiry::Kind::NeverExpires(true)) }),
        metadata_json: Some(String::new()),
        labels: [("kind".to_owned(), "retry".to_owned())].into(),
        without_parent_labels: true,
        context_bytes: Some(0),
        operation_id: "f1".into(),
        ..bare
    };
    assert_eq!(sent[1], set);
}

#[tokio::test]
async fn a_rewind_and_an_erasure_say_what_they_mean() {
    let (address, log) = serve(|_| message(&v1::RewindSessionResponse { removed: 2, ..Default::default() })).await;
    let trip = client(&address).session("s");
    let points = [Point::Seq(2), Point::EventId("e2".into()), Point::InvocationId("i1".into()), Point::LogVersion(0)];
    for point in points.clone() {
        let rewound = trip.rewind(point).erase().expected_log_version(9).operation_id("r1").await.expect("an answer");
        assert_eq!(rewound.removed, 2);
    }
    trip.erase_invocations(["i1"]).await.expect("an answer");
    trip.erase_branch("b").await.expect("an answer");
    let seen = log.seen();
    for (point, each) in points.into_iter().zip(&seen) {
        let sent = v1::RewindSessionRequest::decode(&each.body[5..]).expect("a request");
        assert_eq!(
            (sent.point.clone(), sent.mode(), sent.operation_id.as_str()),
            (Some(point.into()), v1::RemovalMode::Erase, "r1")
        );
        assert_eq!(sent.expected_log_version, Some(9));
    }
    let [by_invocation, by_branch] =
        [4, 5].map(|number| v1::EraseEventsRequest::decode(&seen[number].body[5..]).expect("a request"));
    assert_eq!((by_invocation.invocation_ids, by_invocation.branch.as_str()), (vec!["i1".to_owned()], ""));
    assert_eq!((by_branch.invocation_ids.len(), by_branch.event_ids.len(), by_branch.branch.as_str()), (0, 0, "b"));
}

#[tokio::test]
async fn one_page_has_its_token() {
    let (address, log) = serve(|_| {
        let sessions = vec![v1::Session { log_version: 4, ..Default::default() }];
        message(&v1::ListSessionsResponse { sessions, next_page_token: "next".into(), ..Default::default() })
    })
    .await;
    let page = client(&address).sessions().label("team", "eu").page_size(1).page_token("p").with_state().forked_from("f");
    let page = page.page().await.expect("a page");
    assert_eq!((page.sessions[0].log_version, page.next_page_token.as_str()), (4, "next"));
    let request = v1::ListSessionsRequest::decode(&log.seen()[0].body[5..]).expect("a request");
    assert_eq!((request.page_size, request.page_token.as_str(), request.user_id.as_str()), (1, "p", "u"));
    assert_eq!((request.with_state, request.forked_from.as_str()), (true, "f"));
}

#[tokio::test]
async fn a_token_is_supplied_for_each_call_and_interceptors_see_each_attempt() {
    let (address, log) =
        serve(|number| if number == 0 { Reply::Status(14) } else { message(&v1::GetSessionResponse::default()) }).await;
    let tokens = AtomicUsize::new(0);
    let builder = Client::builder().address(&address).token_provider(move || {
        let number = tokens.fetch_add(1, Ordering::SeqCst);
        async move { if number < 2 { Ok(format!("t{number}\n")) } else { Err(io::Error::other("the vault is sealed")) } }
    });
    let builder = builder.interceptor(|path, headers| {
        headers.insert("traceparent", path.rsplit('/').next().expect("a name").parse().expect("ascii"));
        Ok(())
    });
    let client = builder.build().expect("it can be");
    client.session("s").get().await.expect("the second attempt");
    client.session("s").get().await.expect("an answer");
    let error = client.session("s").get().await.expect_err("no token");
    assert!(error.is(ErrorReason::Unauthenticated) && error.message().contains("the vault is sealed"), "{error}");
    let headers =
        |name: &str| log.seen().iter().map(|each| each.headers[name].to_str().expect("ascii").to_owned()).collect::<Vec<_>>();
    assert_eq!(headers("authorization"), ["Bearer t0", "Bearer t0", "Bearer t1"]);
    assert_eq!(headers("traceparent"), ["GetSession"; 3]);
}

#[tokio::test]
async fn retries_are_those_of_the_client() {
    for (retry, sent) in [(Retry::never(), 1), (Retry::default().max_attempts(2).pauses(Duration::ZERO, Duration::ZERO), 2)] {
        let (address, log) = serve(|_| Reply::Status(14)).await;
        let client = Client::builder().address(&address).retry(retry).build().expect("it can be");
        client.session("s").get().await.expect_err("it is away");
        assert_eq!(log.seen().len(), sent);
    }
}
