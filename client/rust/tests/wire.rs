//! The client on the wire, against a scripted server.

mod support;

use std::time::{Duration, Instant};

use prost::Message;
use support::{Reply, message, serve};
use threadkeep::tonic::{Code, Request};
use threadkeep::v1::{self, change::Kind, search_events_request::Scope};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use threadkeep::{Client, Error, ErrorReason, Start, WatchRequest, memory_name, remember, text_of_memory, user};

fn client(address: &str) -> Client {
    Client::builder().address(address).app("a").user_id("u").token("s3cret").build().expect("it can be")
}

fn frame(changes: Vec<v1::Change>) -> Vec<u8> {
    v1::WatchSessionResponse { changes }.encode_to_vec()
}

fn change(token: &str, kind: Kind) -> v1::Change {
    v1::Change { resume_token: token.into(), kind: Some(kind), ..Default::default() }
}

#[tokio::test]
async fn a_safe_call_is_retried_unchanged() {
    let (address, log) = serve(|number| match number {
        0 => Reply::Status(14),
        1 => Reply::Trailers(1),
        2 => Reply::Reset,
        3 => Reply::Http(503),
        _ => message(&v1::AppendEventsResponse { log_version: 7, ..Default::default() }),
    })
    .await;
    let large = "x".repeat(5 * 1024 * 1024);
    let appended = client(&address).session("s").append([user(large)]).create_if_missing().await.expect("the fifth try");
    assert_eq!(appended.log_version, 7);
    let seen = log.seen();
    assert_eq!(seen.len(), 5);
    assert!(seen.iter().all(|each| each.body == seen[0].body && each.body.len() > 5 * 1024 * 1024));
    let left = |n: usize| {
        let header = seen[n].headers["grpc-timeout"].to_str().expect("ascii");
        header.strip_suffix('m').and_then(|millis| millis.parse::<u64>().ok()).expect("milliseconds")
    };
    assert!(left(0) <= 30_000 && left(0) > left(4), "the deadline is that of all tries");
}

#[tokio::test]
async fn the_servers_http_port_is_reported_in_the_error() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let _ =
                socket.write_all(b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\nInvalid HTTP request received.").await;
            let _ = socket.read(&mut [0; 1024]).await;
        }
    });
    let error = client(&address).session("s").compact().await.expect_err("it speaks HTTP/1.1");
    assert_eq!(error.code(), Code::Unavailable);
    let text = error.to_string();
    assert!(text.contains("HTTP port") && text.contains("7443"), "{text}");
}

#[tokio::test]
async fn a_call_is_sent_at_most_five_times() {
    let (address, log) = serve(|_| Reply::Status(14)).await;
    let error = client(&address).session("s").get_context().await.expect_err("it is away");
    assert_eq!((error.code(), log.seen().len()), (Code::Unavailable, 5));
}

#[tokio::test]
async fn an_unsafe_call_or_another_error_is_not_retried() {
    for reply in [|| Reply::Status(14), || Reply::Trailers(14), || Reply::Status(1), || Reply::Reset] {
        let (address, log) = serve(move |_| reply()).await;
        let error = client(&address).session("s").compact().await.expect_err("it is away");
        assert_eq!((error.code(), log.seen().len()), (Code::Unavailable, 1));
    }
    let (address, log) = serve(|_| Reply::Status(5)).await;
    assert_eq!(client(&address).session("s").get_context().await.expect_err("nothing there").code(), Code::NotFound);
    assert_eq!(log.seen().len(), 1);
}

#[tokio::test]
async fn empty_fields_are_sent_as_the_clients_app_and_user() {
    let (address, log) = serve(|_| Reply::Status(5)).await;
    let (client, app) = (client(&address), Some("a".to_owned()));
    let scope = || v1::ChangeScope { labels: [("team".into(), "red".into())].into(), ..Default::default() };
    let watched = || WatchRequest::All(v1::WatchAllRequest { scope: Some(scope()), ..Default::default() });
    let listed = || v1::ListSessionsRequest { labels: scope().labels, ..Default::default() };
    for client in [client.clone(), client.all_users()] {
        client.list(listed()).items().try_next().await.expect_err("refused");
        client.watch_request(watched()).items().try_next().await.expect_err("refused");
        client.search("x").items().try_next().await.expect_err("refused");
        client.delete_expired_sessions().await.expect_err("refused");
    }
    let bodies: Vec<_> = log.seen().into_iter().map(|seen| seen.body[5..].to_vec()).collect();
    let [list, watch, search, delete, all_listed, all_watched, all_searched, all_deleted] = bodies.as_slice() else { panic!() };
    for (body, user_id) in [(list, "u"), (all_listed, "")] {
        let (app, user_id) = (app.clone(), user_id.to_owned());
        assert_eq!(v1::ListSessionsRequest::decode(&**body), Ok(v1::ListSessionsRequest { app, user_id, ..listed() }));
    }
    for (body, user_id) in [(watch, "u"), (all_watched, "")] {
        let sent = v1::WatchAllRequest::decode(&**body).expect("a message").scope;
        assert_eq!(sent, Some(v1::ChangeScope { app: app.clone(), user_id: user_id.to_owned(), ..scope() }));
    }
    for (body, user_id) in [(delete, "u"), (all_deleted, "")] {
        let sent = v1::DeleteExpiredSessionsRequest::decode(&**body).expect("a message");
        assert_eq!((sent.app, sent.user_id.as_str()), (app.clone(), user_id));
    }
    let scope_of = |body: &[u8]| v1::SearchEventsRequest::decode(body).expect("a message").scope;
    assert_eq!(scope_of(search), Some(Scope::User(v1::UserScope { app, user_id: "u".into() })));
    assert_eq!(scope_of(all_searched), Some(Scope::App(v1::AppScope { app: "a".into() })));
}

#[tokio::test]
async fn every_call_sends_the_credential() {
    let (address, log) = serve(|_| Reply::Status(16)).await;
    let client = client(&address);
    let error = client.session("s").get_context().await.expect_err("refused");
    assert_eq!(error.reason(), Some(ErrorReason::Unauthenticated));
    client.session("s").watch().items().next().await.expect("an item").expect_err("refused");
    let seen = log.seen();
    assert_eq!(seen.len(), 2);
    for each in &seen {
        assert_eq!(each.headers["authorization"], "Bearer s3cret");
        assert!(each.headers["user-agent"].to_str().expect("ascii").starts_with("threadkeep-rust/"), "{each:?}");
    }
    assert!(!seen[1].headers.contains_key("grpc-timeout"), "a stream has no deadline");
}

#[tokio::test]
async fn a_missing_server_is_reported_with_address_and_remedy() {
    let client = client("127.0.0.1:1");
    let error = client.session("s").get_context().await.expect_err("nobody listens");
    assert_eq!((error.code(), error.reason_name()), (Code::Unavailable, ""));
    assert!(error.message().starts_with("no server at 127.0.0.1:1 ("), "{error}");
    assert!(error.to_string().ends_with("start one with `make serve`"), "{error}");
    // A retry would wait for 80 ms or more each time; a loaded machine is slow only now and then.
    let mut fastest = Duration::MAX;
    for _ in 0..20 {
        let began = Instant::now();
        let error = client.session("s").compact().await.expect_err("nobody listens");
        assert!(error.message().starts_with("no server at"), "{error}");
        fastest = fastest.min(began.elapsed());
    }
    assert!(fastest < Duration::from_millis(80), "{fastest:?}");
}

#[tokio::test]
async fn a_call_ends_at_its_deadline_in_every_case() {
    let (address, log) = serve(|_| Reply::Silence).await;
    let began = Instant::now();
    let hurried = client(&address).with_timeout(Duration::from_secs(2));
    let error = hurried.session("s").get_context().await.expect_err("nobody answers");
    assert_eq!((error.code(), error.reason()), (Code::DeadlineExceeded, Some(ErrorReason::DeadlineExceeded)));
    log.ended(1, 0).await;

    let mut request = Request::new(v1::CompactSessionRequest::default());
    request.set_timeout(Duration::from_millis(100));
    let status = client(&address).raw().compaction().compact_session(request).await.expect_err("nobody answers");
    assert_eq!(Error::from(status).reason(), Some(ErrorReason::DeadlineExceeded));
    assert!(began.elapsed() < Duration::from_secs(20));
}

#[tokio::test]
async fn closing_ends_calls_streams_and_the_connection() {
    let (address, log) = serve(|number| if number == 0 { Reply::Open(frame(vec![])) } else { Reply::Silence }).await;
    let client = client(&address);
    let mut raw =
        client.raw().subscriptions().watch_session(v1::WatchSessionRequest::default()).await.expect("open").into_inner();
    assert_eq!(raw.message().await.expect("a frame").expect("a frame").changes, []);
    let call = tokio::spawn({
        let client = client.clone();
        async move { client.session("s").get_context().await }
    });
    let mut changes = client.session("s").watch().items();
    let watch = tokio::spawn(async move { changes.next().await.expect("an item") });
    log.arrived(3).await;
    client.close();
    client.close();
    let errors = [
        call.await.expect("no panic").expect_err("it is closed"),
        watch.await.expect("no panic").expect_err("it is closed"),
        raw.message().await.expect_err("it is closed").into(),
        client.session("s").get_context().await.expect_err("it is closed"),
    ];
    for error in errors {
        assert_eq!((error.code(), error.message()), (Code::Cancelled, "the client is closed"));
    }
    drop(raw);
    log.ended(3, 1).await;
}

#[tokio::test]
async fn dropping_a_future_ends_its_call() {
    let (address, log) = serve(|_| Reply::Silence).await;
    let client = client(&address);
    let mut changes = client.session("s").watch().items();
    tokio::select! {
        _ = changes.next() => panic!("nobody answers"),
        () = log.arrived(1) => {}
    }
    drop(changes);
    tokio::select! {
        _ = client.session("s").get_context() => panic!("nobody answers"),
        () = log.arrived(2) => {}
    }
    log.ended(2, 0).await;
    drop(client);
    log.ended(2, 1).await;
}

#[tokio::test]
async fn a_subscription_resumes_where_it_stopped() {
    let checkpoint = || Kind::Checkpoint(v1::Checkpoint::default());
    let batch = || Kind::Batch(v1::EventBatch { events: vec![user("hi")], continues: false, ..Default::default() });
    let (address, log) = serve(move |number| match number {
        0 => Reply::Message(frame(vec![change("t0", checkpoint())])),
        1 => Reply::Reset,
        2 => Reply::Trailers(14),
        _ => Reply::Open(frame(vec![change("t1", batch()), change("t2", checkpoint())])),
    })
    .await;
    let mut changes = client(&address).session("s").watch().from(Start::AfterSeq(4)).items();
    let first = tokio::time::timeout(Duration::from_secs(30), changes.next()).await;
    let first = first.expect("in time").expect("an item").expect("a change");
    assert_eq!(first.resume_token, "t1");
    let starts = log.seen().into_iter().map(|each| v1::WatchSessionRequest::decode(&each.body[5..]).expect("a request").start);
    use v1::watch_session_request::Start::{AfterSeq, ResumeToken};
    let token = || Some(ResumeToken("t0".to_owned()));
    assert_eq!(starts.collect::<Vec<_>>(), [Some(AfterSeq(4)), token(), token(), token()]);
    assert!(tokio::time::timeout(Duration::from_millis(50), changes.next()).await.is_err(), "checkpoints are not returned");
}

#[tokio::test]
async fn pages_are_fetched_when_reached() {
    let (address, log) = serve(|number| {
        let events = vec![user("hi"); 2];
        let next_page_token = if number < 2 { format!("p{number}") } else { String::new() };
        message(&v1::ListEventsResponse { events, next_page_token, ..Default::default() })
    })
    .await;
    let mut events = client(&address).session("s").events().items();
    events.next().await.expect("an item").expect("an event");
    assert_eq!(log.seen().len(), 1, "no page is fetched ahead");
    assert_eq!(events.try_collect::<Vec<_>>().await.expect("three pages").len(), 5);
    let tokens: Vec<_> = log.seen().iter().map(|each| v1::ListEventsRequest::decode(&each.body[5..])).collect();
    let tokens: Vec<_> = tokens.into_iter().map(|request| request.expect("a request").page_token).collect();
    assert_eq!(tokens, ["", "p0", "p1"]);
}

#[tokio::test]
async fn memories_get_ids_before_the_first_attempt() {
    let (address, log) = serve(|number| match number {
        0 => Reply::Status(14),
        _ => message(&v1::AddMemoriesResponse::default()),
    })
    .await;
    let named = v1::MemoryEntry { id: "mine".into(), ..remember("Likes tea.") };
    client(&address).memory().add([remember("Prefers a window seat."), named]).await.expect("the second try");
    let sent: Vec<_> =
        log.seen().iter().map(|each| v1::AddMemoriesRequest::decode(&each.body[5..]).expect("a request")).collect();
    assert_eq!((sent.len(), &sent[0]), (2, &sent[1]));
    assert_eq!(sent[0].scope, Some(v1::MemoryScope { app: "a".into(), user_id: "u".into() }));
    assert_eq!((sent[0].memories[0].id.len(), sent[0].memories[1].id.as_str()), (36, "mine"));
    assert_eq!(text_of_memory(&sent[0].memories[1]), "Likes tea.");
}

#[tokio::test]
async fn a_memory_handle_replaces_the_scope_of_requests() {
    let (address, log) = serve(|number| match number {
        0 => message(&v1::AddSessionToMemoryResponse::default()),
        1 => message(&v1::SearchMemoryResponse::default()),
        2 => message(&v1::ListMemoriesResponse { entries: vec![remember("one")], next_page_token: "more".into() }),
        3 => message(&v1::ListMemoriesResponse { entries: vec![remember("two")], ..Default::default() }),
        _ => message(&v1::DeleteMemoriesResponse::default()),
    })
    .await;
    let scope = v1::MemoryScope { app: "other".into(), user_id: "bob".into() };
    let memory = client(&address).memory_of(scope.clone());
    memory.add_session("s1").await.expect("an answer");
    memory.search("x").top_k(3).await.expect("an answer");
    let listed = memory.list().items().try_collect::<Vec<_>>().await.expect("two pages");
    assert_eq!(listed.iter().map(text_of_memory).collect::<Vec<_>>(), ["one", "two"]);
    memory.delete_all().await.expect("an answer");
    let seen = log.seen();
    let session = v1::AddSessionToMemoryRequest::decode(&seen[0].body[5..]).expect("a request").session;
    assert_eq!(session, Some(v1::SessionRef { app: "other".into(), user_id: "bob".into(), session_id: "s1".into() }));
    let search = v1::SearchMemoryRequest::decode(&seen[1].body[5..]).expect("a request");
    assert_eq!((search.scope.as_ref(), search.top_k), (Some(&scope), 3));
    let deleted = v1::DeleteMemoriesRequest::decode(&seen[4].body[5..]).expect("a request");
    assert_eq!(deleted.scope, Some(scope));
}

#[tokio::test]
async fn a_state_is_of_one_version_although_others_change_it() {
    let (address, log) = serve(|number| {
        let (version, next_key, key) = [(1, "a", "a"), (2, "", "b"), (2, "b", "a"), (2, "", "c")][number];
        let state = v1::State { version, values: [(key.to_owned(), format!("{number}"))].into() };
        message(&v1::GetStateResponse { state: Some(state), next_key: next_key.into() })
    })
    .await;
    let state = client(&address).session("s").state().get().await.expect("four pages");
    let values = [("a".to_owned(), "2".to_owned()), ("c".to_owned(), "3".to_owned())].into();
    assert_eq!(state, v1::State { version: 2, values });
    let requests = log.seen().into_iter().map(|each| v1::GetStateRequest::decode(&each.body[5..]).expect("a request").after_key);
    assert_eq!(requests.collect::<Vec<_>>(), ["", "a", "", "b"]);
}

#[tokio::test]
async fn lookups_repeat_for_what_is_omitted_and_upserts_have_ids() {
    let (address, log) = serve(|number| match number {
        0 => {
            let found = v1::MemoryLookup { entry: Some(remember("one")), ..Default::default() };
            let omitted = v1::MemoryLookup { omitted: true, ..Default::default() };
            message(&v1::GetMemoriesResponse { memories: vec![found, v1::MemoryLookup::default(), omitted] })
        }
        1 => message(&v1::GetMemoriesResponse {
            memories: vec![v1::MemoryLookup { entry: Some(remember("three")), ..Default::default() }],
        }),
        _ => message(&v1::UpsertMemoriesResponse::default()),
    })
    .await;
    let memory = client(&address).memory();
    let names = [memory_name([""; 0], "1"), memory_name([""; 0], "2"), memory_name(["a"], "3")];
    let found = memory.get(names).refresh_ttl().await.expect("two answers");
    assert_eq!(
        found.iter().map(|each| each.as_ref().map(text_of_memory)).collect::<Vec<_>>(),
        [Some("one".into()), None, Some("three".into())]
    );
    memory.upsert([remember("Window seat.")]).keep_existing().await.expect("an answer");
    let seen = log.seen();
    assert_eq!(v1::GetMemoriesRequest::decode(&seen[1].body[5..]).expect("a request").names, [memory_name(["a"], "3")]);
    let upsert = v1::UpsertMemoriesRequest::decode(&seen[2].body[5..]).expect("a request");
    assert_eq!(
        (upsert.if_exists(), upsert.writes[0].memory.as_ref().map(|entry| entry.id.len())),
        (v1::IfMemoryExists::Ignore, Some(36))
    );
}
