use std::time::Instant;

use tokio::net::TcpListener;
use tonic::Code;

use super::*;

fn client(address: &str) -> Client {
    Client::builder().address(address).app("a").user_id("u").build().expect("it can be")
}

#[test]
fn a_subscription_starts_now_by_default() {
    use watch_session_request::Start as Place;
    let place = |start| match started(client("127.0.0.1:1").session("s").watch().request, start) {
        Ok(WatchRequest::Session(request)) => request.start,
        other => panic!("{other:?}"),
    };
    assert_eq!(place(None), None, "which is now");
    assert_eq!(place(Some(Start::Beginning)), Some(Place::AfterSeq(0)));
    assert_eq!(place(Some(Start::AfterSeq(7))), Some(Place::AfterSeq(7)));
    assert_eq!(place(Some(Start::Token("t".into()))), Some(Place::ResumeToken("t".into())));
}

#[test]
fn a_scope_accepts_every_start_except_a_seq() {
    use watch_all_request::Start as Place;
    let place = |start| match started(client("127.0.0.1:1").watch_all().request, start) {
        Ok(WatchRequest::All(request)) => request.start,
        other => panic!("{other:?}"),
    };
    assert_eq!(place(None), None);
    assert_eq!(place(Some(Start::Beginning)), Some(Place::FromBeginning(true)));
    assert_eq!(place(Some(Start::Token("t".into()))), Some(Place::ResumeToken("t".into())));
}

#[test]
fn an_empty_scope_is_the_clients_and_no_app_means_any() {
    let scope = |client: Client| match client.watch_all().request {
        WatchRequest::All(request) => request.scope.expect("a scope"),
        WatchRequest::Session(_) => panic!("it is of all"),
    };
    let own = scope(client("127.0.0.1:1"));
    assert_eq!((own.app.as_deref(), own.user_id.as_str()), (Some("a"), "u"));
    let any = scope(Client::builder().address("127.0.0.1:1").build().expect("it can be"));
    assert_eq!((any.app, any.user_id.as_str()), (None, ""));
}

#[tokio::test]
async fn a_start_after_a_seq_in_a_scope_is_rejected() {
    let mut changes = client("127.0.0.1:1").watch_all().from(Start::AfterSeq(3)).items();
    assert!(matches!(changes.next().await, Some(Err(Error::Usage(_)))));
    assert!(changes.next().await.is_none());
}

#[tokio::test]
async fn a_silent_stream_is_reopened_until_the_maximum() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let silent = client(&listener.local_addr().expect("an address").to_string());
    let began = Instant::now();
    let mut watch = silent.session("s").watch().max_retries(2);
    watch.silence = Duration::from_millis(50);
    let mut changes = watch.items();
    let error = changes.next().await.expect("an item").expect_err("nobody answers");
    assert_eq!(error.code(), Code::Unavailable);
    assert!(error.to_string().contains("no heartbeat"), "{error}");
    assert!(began.elapsed() >= Duration::from_millis(150), "it was opened three times");
    assert!(changes.next().await.is_none());
}

#[tokio::test]
async fn closing_the_client_ends_a_subscription_in_its_pause() {
    let gone = client("127.0.0.1:1");
    let changes = tokio::spawn({
        let mut changes = gone.session("s").watch().items();
        async move { changes.next().await }
    });
    tokio::time::sleep(Duration::from_millis(300)).await;
    gone.close();
    let ended = timeout(Duration::from_secs(30), changes).await.expect("in time").expect("no panic");
    let error = ended.expect("an item").expect_err("the client is closed");
    assert_eq!((error.code(), error.message()), (Code::Cancelled, "the client is closed"));
}
