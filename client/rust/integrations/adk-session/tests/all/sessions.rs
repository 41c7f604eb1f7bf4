//! The rules of `SessionService`.

use std::sync::Arc;

use adk_core::{AdkError, ErrorCategory};
use adk_session::{DeleteRequest, GetRequest, Session, SessionService as _};
use chrono::{TimeDelta, Utc};
use serde_json::json;
use threadkeep_adk_session::ThreadkeepSessionService;

use crate::server::client_of;
use crate::support::{Service, changing, saying, texts};

fn error<T>(result: adk_core::Result<T>) -> AdkError {
    result.err().expect("an error")
}

fn ids(sessions: &[Box<dyn Session>]) -> Vec<&str> {
    sessions.iter().map(|session| session.id()).collect()
}

#[tokio::test]
async fn session_that_does_not_exist_is_not_found_and_its_deletion_does_nothing() {
    let service = Service::new();
    let missing = error(service.get("ada", "none").await);
    assert!(missing.is_not_found());
    assert_eq!(missing.code, "session.not_found");
    assert!(error(service.append("ada", "none", saying("lost")).await).is_not_found());
    assert!(error(service.inner.append_event(&format!("none-{}", service.app), saying("lost")).await).is_not_found());
    let DeleteRequest { app_name, user_id, session_id } =
        DeleteRequest { app_name: service.app.clone(), user_id: "ada".into(), session_id: "none".into() };
    service.inner.delete(DeleteRequest { app_name, user_id, session_id }).await.unwrap();
    assert!(service.list("ada", None, None).await.is_empty());
}

#[tokio::test]
async fn invalid_names_are_invalid_input() {
    let service = Service::new();
    for (user, id) in [("", "s"), ("ada", ""), ("ada", "a\0b"), ("ada", &"x".repeat(600)), ("ada", &"x".repeat(300))] {
        assert_eq!(error(service.get(user, id).await).category, ErrorCategory::InvalidInput, "{user:?} {id:?}");
        assert_eq!(error(service.create(user, Some(id), &[]).await).category, ErrorCategory::InvalidInput, "{user:?} {id:?}");
    }
    assert_eq!(error(service.inner.append_event("", saying("lost")).await).category, ErrorCategory::InvalidInput);
    assert_eq!(error(service.inner.rewind("s", "").await).category, ErrorCategory::InvalidInput);
    assert_eq!(error(service.inner.delete_all_sessions(&service.app, "").await).category, ErrorCategory::InvalidInput);
}

#[tokio::test]
async fn session_that_is_created_is_read_with_the_state_of_its_scopes() {
    let service = Service::new();
    let state = [
        ("app:locale", json!("pt")),
        ("user:name", json!("Ada")),
        ("seed", json!({"n": 1.5})),
        ("none", json!(null)),
        ("temp:t", json!(1)),
    ];
    let created = service.create("ada", None, &state).await.unwrap();
    assert!(!created.id().is_empty());
    assert_eq!((created.app_name(), created.user_id()), (service.app.as_str(), "ada"));
    let read = service.get("ada", created.id()).await.unwrap();
    assert_eq!(read.state().all(), created.state().all());
    assert_eq!(read.state().all().len(), 4, "temp: is not stored");
    assert_eq!((read.state().get("seed"), read.state().get("none")), (Some(json!({"n": 1.5})), Some(json!(null))));
    assert!(read.last_update_time() > Utc::now() - TimeDelta::minutes(5));
    let sibling = service.create("ada", Some("sibling"), &[]).await.unwrap();
    assert_eq!((sibling.state().get("app:locale"), sibling.state().get("user:name")), (Some(json!("pt")), Some(json!("Ada"))));
    let other = service.create("bob", Some("sibling"), &[]).await.unwrap();
    assert_eq!((other.state().get("app:locale"), other.state().get("user:name")), (Some(json!("pt")), None));
}

#[tokio::test]
async fn session_of_a_taken_id_is_refused_for_this_user_alone() {
    let service = Service::new();
    service.create("ada", Some("s"), &[]).await.unwrap();
    let again = error(service.create("ada", Some("s"), &[("k", json!(1))]).await);
    assert_eq!((again.code, again.category), ("session.already_exists", ErrorCategory::InvalidInput));
    service.create("bob", Some("s"), &[]).await.unwrap();
    service.append("bob", "s", saying("bob's")).await.unwrap();
    assert!(texts(&*service.get("ada", "s").await.unwrap()).is_empty());
    let identity = service.naming("ada", "s").try_identity().unwrap();
    service.inner.delete_for_identity(&identity).await.unwrap();
    assert!(error(service.inner.get_for_identity(&identity).await).is_not_found());
    assert_eq!(texts(&*service.get("bob", "s").await.unwrap()), ["bob's"]);
}

#[tokio::test]
async fn changes_of_state_go_to_their_scopes_and_those_of_temp_nowhere() {
    let service = Service::new();
    service.create("ada", Some("s"), &[("k", json!(0))]).await.unwrap();
    service.create("ada", Some("other"), &[]).await.unwrap();
    let mut event = changing("k", json!(1));
    for (key, value) in [("user:u", json!(2)), ("app:a", json!(3)), ("temp:t", json!(4))] {
        event.actions.state_delta.insert(key.into(), value);
    }
    service.append("ada", "s", event).await.unwrap();
    let read = service.get("ada", "s").await.unwrap();
    assert_eq!(read.state().get("k"), Some(json!(1)));
    assert_eq!(read.state().all().len(), 3);
    assert_eq!(read.events().at(0).unwrap().actions.state_delta.len(), 3, "its event is without temp: too");
    let other = service.get("ada", "other").await.unwrap();
    assert_eq!(
        (other.state().get("user:u"), other.state().get("app:a"), other.state().get("k")),
        (Some(json!(2)), Some(json!(3)), None)
    );
}

#[tokio::test]
async fn read_takes_the_newest_events_and_of_these_those_since_a_time() {
    let service = Service::new();
    service.create("ada", Some("s"), &[]).await.unwrap();
    let began = Utc::now() - TimeDelta::seconds(50);
    for n in [0, 1, 2, 4, 3] {
        let mut event = saying(&format!("m{n}"));
        event.timestamp = began + TimeDelta::seconds(n);
        service.append("ada", "s", event).await.unwrap();
    }
    let read = async |num_recent_events, seconds: Option<i64>| {
        let after = seconds.map(|seconds| began + TimeDelta::seconds(seconds));
        let request = GetRequest { num_recent_events, after, ..service.naming("ada", "s") };
        texts(&*service.inner.get(request).await.unwrap())
    };
    assert_eq!(read(None, None).await, ["m0", "m1", "m2", "m4", "m3"], "the order of the log");
    assert_eq!(read(Some(2), None).await, ["m4", "m3"]);
    assert_eq!(read(None, Some(3)).await, ["m4", "m3"], "the time itself too");
    assert_eq!(read(Some(1), Some(4)).await, [""; 0], "the newest first, then the time");
    assert_eq!(read(Some(0), None).await, [""; 0]);
    assert_eq!(read(Some(99), None).await.len(), 5);
}

#[tokio::test]
async fn list_has_the_sessions_of_a_user_the_most_recently_updated_first_and_their_state() {
    let service = Service::new();
    for id in ["a", "b", "c"] {
        service.create("ada", Some(id), &[("is", json!(id)), ("user:shared", json!(true))]).await.unwrap();
    }
    service.create("bob", Some("bobs"), &[]).await.unwrap();
    service.append("ada", "a", saying("newest")).await.unwrap();
    let all = service.list("ada", None, None).await;
    assert_eq!(ids(&all), ["a", "c", "b"]);
    assert_eq!((all[0].state().get("is"), all[0].state().get("user:shared")), (Some(json!("a")), Some(json!(true))));
    assert!(all[0].events().is_empty());
    assert_eq!(ids(&service.list("ada", Some(1), Some(1)).await), ["c"]);
    assert_eq!(ids(&service.list("ada", Some(2), None).await), ["b"]);
    assert!(service.list("ada", Some(10_001), None).await.is_empty());
    assert!(service.list("ada", None, Some(0)).await.is_empty());
}

#[tokio::test]
async fn list_of_more_sessions_than_a_page_has_is_whole() {
    let service = Service::new();
    for n in 0..205 {
        service.inner.handle(&service.app, "ada", &format!("s{n}")).create().await.unwrap();
    }
    assert_eq!(service.list("ada", None, None).await.len(), 205);
    assert_eq!(service.list("ada", Some(3), Some(201)).await.len(), 201);
    service.inner.delete_all_sessions(&service.app, "ada").await.unwrap();
    assert!(service.list("ada", None, None).await.is_empty());
}

#[tokio::test]
async fn all_sessions_of_a_user_are_deleted_and_no_others() {
    let service = Service::new();
    for (user, id) in [("ada", "a"), ("ada", "b"), ("bob", "a")] {
        service.create(user, Some(id), &[]).await.unwrap();
    }
    service.inner.delete_all_sessions(&service.app, "ada").await.unwrap();
    assert!(service.list("ada", None, None).await.is_empty());
    assert_eq!(ids(&service.list("bob", None, None).await), ["a"]);
}

#[tokio::test]
async fn event_is_appended_by_an_id_that_one_session_has_and_refused_where_two_have_it() {
    let service = Service::new();
    let id = format!("only-{}", service.app);
    service.create("ada", Some(&id), &[]).await.unwrap();
    service.inner.append_event(&id, changing("k", json!(1))).await.unwrap();
    let read = service.get("ada", &id).await.unwrap();
    assert_eq!((texts(&*read).len(), read.state().get("k")), (1, Some(json!(1))));
    service.create("bob", Some(&id), &[]).await.unwrap();
    assert_eq!(error(service.inner.append_event(&id, saying("whose?")).await).category, ErrorCategory::InvalidInput);
}

#[tokio::test]
async fn rewind_keeps_an_event_and_what_is_before_it_with_the_state_of_then() {
    let service = Service::new();
    let id = format!("rewound-{}", service.app);
    service.create("ada", Some(&id), &[]).await.unwrap();
    let events: Vec<_> = (1..=4).map(|n| changing("k", json!(n))).collect();
    for event in &events {
        service.inner.append_event(&id, event.clone()).await.unwrap();
    }
    let unchanged = service.inner.rewind_steps(&id, 0).await.unwrap();
    assert_eq!((unchanged.events().len(), unchanged.state().get("k")), (4, Some(json!(4))));
    let back = service.inner.rewind(&id, &events[2].id).await.unwrap();
    assert_eq!((back.events().len(), back.state().get("k")), (3, Some(json!(3))));
    let back = service.inner.rewind_steps(&id, 1).await.unwrap();
    assert_eq!((back.events().len(), back.state().get("k")), (2, Some(json!(2))));
    assert_eq!(back.events().at(1).unwrap().id, events[1].id);
    assert_eq!(error(service.inner.rewind_steps(&id, 3).await).category, ErrorCategory::InvalidInput);
    assert!(error(service.inner.rewind(&id, "none").await).is_not_found());
    let empty = service.inner.rewind_steps(&id, 2).await.unwrap();
    assert_eq!((empty.events().len(), empty.state().get("k")), (0, None));
    let log: Vec<threadkeep::SessionEvent> =
        service.inner.handle(&service.app, "ada", &id).events().items().try_collect().await.unwrap();
    assert_eq!(log.len(), 4, "the log keeps what left");
    assert!(error(service.inner.rewind("none-at-all", "e").await).is_not_found());
}

#[tokio::test]
async fn event_that_is_delivered_again_is_stored_once_and_another_one_of_its_id_is_refused() {
    let service = Service::new();
    service.create("ada", Some("s"), &[]).await.unwrap();
    let event = saying("once");
    for _ in 0..2 {
        service.append("ada", "s", event.clone()).await.unwrap();
    }
    let mut other = saying("another");
    other.id.clone_from(&event.id);
    assert_eq!(error(service.append("ada", "s", other).await).code, "session.event_id_conflict");
    assert_eq!(texts(&*service.get("ada", "s").await.unwrap()), ["once"]);
}

#[tokio::test]
async fn part_of_an_event_that_is_being_streamed_is_not_stored() {
    let service = Service::new();
    service.create("ada", Some("s"), &[]).await.unwrap();
    let mut event = saying("hel");
    event.llm_response.partial = true;
    service.append("ada", "s", event.clone()).await.unwrap();
    event.llm_response = saying("hello").llm_response;
    service.append("ada", "s", event).await.unwrap();
    assert_eq!(texts(&*service.get("ada", "s").await.unwrap()), ["hello"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_64_concurrent_writers_all_are_stored() {
    let service = Arc::new(Service::new());
    service.create("ada", Some("s"), &[]).await.unwrap();
    let writers: Vec<_> = (0..64)
        .map(|n| {
            let service = service.clone();
            tokio::spawn(async move { service.append("ada", "s", changing(&format!("k{n}"), json!(n))).await.unwrap() })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    let read = service.get("ada", "s").await.unwrap();
    assert_eq!((read.events().len(), read.state().all().len()), (64, 64));
}

#[tokio::test]
async fn read_of_more_events_than_a_page_has_is_whole() {
    let service = Service::new();
    service.create("ada", Some("s"), &[]).await.unwrap();
    let handle = service.inner.handle(&service.app, "ada", "s");
    for batch in 0..3 {
        handle.append((0..500).map(|n| threadkeep::user(format!("m{}", batch * 500 + n)))).await.unwrap();
    }
    let read = texts(&*service.get("ada", "s").await.unwrap());
    assert_eq!((read.len(), read[1499].as_str()), (1500, "m1499"));
}

#[tokio::test]
async fn health_is_that_of_the_server() {
    Service::new().inner.health_check().await.unwrap();
    let client = client_of("127.0.0.1:1").with_timeout(std::time::Duration::from_millis(300));
    let failed = error(ThreadkeepSessionService::new(&client).health_check().await);
    assert!(matches!(failed.category, ErrorCategory::Unavailable | ErrorCategory::Timeout), "{failed:?}");
}
