//! The rules of `SessionService`.

use std::sync::Arc;

use adk_rs::core::{Event, GetSessionConfig, SessionService, State};
use adk_rs::error::{Error, ServiceError};
use adk_rs::genai_types::Part;
use parking_lot::Mutex;
use serde_json::json;
use threadkeep_adk_rs::ThreadkeepSessionService;

use crate::server::shared;
use crate::support::{changing, said};

const ALL: GetSessionConfig = GetSessionConfig { num_recent_events: None, after_timestamp: None };

fn service() -> (ThreadkeepSessionService, String) {
    let (client, app) = shared();
    (ThreadkeepSessionService::new(&client), app)
}

#[tokio::test]
async fn session_that_is_created_is_read_with_its_state() {
    let (service, app) = service();
    let state = State::from_iter([("a".to_owned(), json!({"n": 1})), ("temp:t".to_owned(), json!(1))]);
    let created = service.create_session(&app, "ada", Some(state), Some("s")).await.unwrap();
    assert_eq!((created.id.as_str(), created.app_name.as_str(), created.user_id.as_str()), ("s", app.as_str(), "ada"));
    assert_eq!(created.state.map.len(), 1, "temp: is not stored");
    assert_eq!(service.get_session(&app, "ada", "s", ALL).await.unwrap(), Some(created));
}

#[tokio::test]
async fn session_without_an_id_gets_one() {
    let (service, app) = service();
    let created = service.create_session(&app, "ada", None, None).await.unwrap();
    assert!(!created.id.is_empty());
    assert!(service.get_session(&app, "ada", &created.id, ALL).await.unwrap().is_some());
}

#[tokio::test]
async fn session_of_a_taken_id_is_already_there_for_this_user_alone() {
    let (service, app) = service();
    service.create_session(&app, "ada", None, Some("s")).await.unwrap();
    let again = service.create_session(&app, "ada", None, Some("s")).await;
    assert!(matches!(again, Err(Error::AlreadyExists(_))), "{again:?}");
    service.create_session(&app, "bob", None, Some("s")).await.unwrap();
    service.delete_session(&app, "ada", "s").await.unwrap();
    assert!(service.get_session(&app, "bob", "s", ALL).await.unwrap().is_some());
}

#[tokio::test]
async fn session_that_does_not_exist_is_none_and_its_deletion_does_nothing() {
    let (service, app) = service();
    assert!(service.get_session(&app, "ada", "none", ALL).await.unwrap().is_none());
    assert!(service.get_session(&app, "ada", " ", ALL).await.unwrap().is_none());
    service.delete_session(&app, "ada", "none").await.unwrap();
    assert!(service.list_sessions(&app, "ada").await.unwrap().sessions.is_empty());
}

#[tokio::test]
async fn list_has_the_sessions_of_a_user_the_least_recently_updated_first() {
    let (service, app) = service();
    for id in ["one", "two", "three"] {
        service.create_session(&app, "ada", None, Some(id)).await.unwrap();
    }
    service.create_session(&app, "bob", None, Some("four")).await.unwrap();
    let mut one = service.get_session(&app, "ada", "one", ALL).await.unwrap().unwrap();
    service.append_event(&mut one, Event::user_text("later")).await.unwrap();
    let listed = service.list_sessions(&app, "ada").await.unwrap().sessions;
    assert_eq!(listed.iter().map(|meta| meta.id.as_str()).collect::<Vec<_>>(), ["two", "three", "one"]);
    assert!(listed[2].last_update_time >= one.events[0].timestamp - 60.0);
}

#[tokio::test]
async fn append_stores_the_event_and_changes_the_session_of_the_caller() {
    let (service, app) = service();
    let mut session = service.create_session(&app, "ada", None, Some("s")).await.unwrap();
    let event = service.append_event(&mut session, changing("n", json!(null))).await.unwrap();
    assert_eq!((session.events.as_slice(), session.state.get("n")), ([event.clone()].as_slice(), Some(&json!(null))));
    let read = service.get_session(&app, "ada", "s", ALL).await.unwrap().unwrap();
    assert_eq!((read.events, read.state), (vec![event], session.state), "null is stored, not removed");
}

#[tokio::test]
async fn state_is_shared_by_the_user_and_by_the_app_as_its_prefix_says() {
    let (service, app) = service();
    let mut session = service.create_session(&app, "ada", None, Some("s")).await.unwrap();
    for (key, value) in [("own", json!(1)), ("user:name", json!("Ada")), ("app:flag", json!(true)), ("temp:t", json!(2))] {
        service.append_event(&mut session, changing(key, value)).await.unwrap();
    }
    assert_eq!(session.state.get("temp:t"), Some(&json!(2)), "for the rest of the invocation");
    let other = service.create_session(&app, "ada", None, Some("other")).await.unwrap().state;
    assert_eq!(
        (other.get("own"), other.get("user:name"), other.get("app:flag")),
        (None, Some(&json!("Ada")), Some(&json!(true)))
    );
    let bobs = service.create_session(&app, "bob", None, Some("s")).await.unwrap().state;
    assert_eq!((bobs.get("user:name"), bobs.get("app:flag"), bobs.len()), (None, Some(&json!(true)), 1));
    let read = service.get_session(&app, "ada", "s", ALL).await.unwrap().unwrap();
    assert_eq!(read.state.len(), 3);
    assert!(read.events.iter().all(|event| !event.actions.state_delta.contains_key("temp:t")));
}

#[tokio::test]
async fn state_that_a_session_begins_with_is_divided_by_scope() {
    let (service, app) = service();
    let state = State::from_iter([("user:name".to_owned(), json!("Ada")), ("own".to_owned(), json!(1))]);
    let created = service.create_session(&app, "ada", Some(state), None).await.unwrap();
    assert_eq!(created.state.len(), 2);
    let other = service.create_session(&app, "ada", None, None).await.unwrap();
    assert_eq!(other.state.map.keys().collect::<Vec<_>>(), ["user:name"]);
}

#[tokio::test]
async fn partial_event_is_returned_and_not_stored() {
    let (service, app) = service();
    let mut session = service.create_session(&app, "ada", None, Some("s")).await.unwrap();
    let mut event = Event::model_text("agent", "Hel");
    event.partial = Some(true);
    let returned = service.append_event(&mut session, event.clone()).await.unwrap();
    let lock = Arc::new(Mutex::new(session));
    assert_eq!(service.append_event_locked(&lock, event).await.unwrap(), returned);
    assert!(lock.lock().events.is_empty());
    assert!(service.get_session(&app, "ada", "s", ALL).await.unwrap().unwrap().events.is_empty());
}

#[tokio::test]
async fn append_to_a_session_that_does_not_exist_fails_and_leaves_the_callers_session() {
    let (service, app) = service();
    let mut session = service.create_session(&app, "ada", None, Some("s")).await.unwrap();
    service.delete_session(&app, "ada", "s").await.unwrap();
    let failed = service.append_event(&mut session, Event::user_text("lost")).await;
    assert!(matches!(failed, Err(Error::Service(ServiceError::SessionNotFound(_)))), "{failed:?}");
    assert!(session.events.is_empty());
}

#[tokio::test]
async fn event_that_is_delivered_again_is_stored_once_and_another_one_of_its_id_is_refused() {
    let (service, app) = service();
    let mut session = service.create_session(&app, "ada", None, Some("s")).await.unwrap();
    let event = service.append_event(&mut session, Event::user_text("once")).await.unwrap();
    service.append_event(&mut session, event.clone()).await.unwrap();
    assert_eq!(session.events, std::slice::from_ref(&event));
    let mut other = Event::user_text("another");
    other.id = event.id.clone();
    let refused = service.append_event(&mut session, other).await;
    assert!(matches!(refused, Err(Error::AlreadyExists(_))), "{refused:?}");
    assert_eq!(service.get_session(&app, "ada", "s", ALL).await.unwrap().unwrap().events, [event]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_64_concurrent_writers_with_one_lock_and_with_snapshots_all_are_stored() {
    let (service, app) = service();
    let session = service.create_session(&app, "ada", None, Some("s")).await.unwrap();
    let lock = Arc::new(Mutex::new(session.clone()));
    let writers: Vec<_> = (0..64)
        .map(|n| {
            let (service, event) = (service.clone(), changing(&format!("k{n}"), json!(n)));
            let lock = if n % 2 == 0 { lock.clone() } else { Arc::new(Mutex::new(session.clone())) };
            tokio::spawn(async move { service.append_event_locked(&lock, event).await.unwrap() })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    let read = service.get_session(&app, "ada", "s", ALL).await.unwrap().unwrap();
    assert_eq!((read.events.len(), read.state.len(), lock.lock().events.len()), (64, 64, 32));
}

#[tokio::test]
async fn read_selects_events_since_a_time_and_of_these_the_newest() {
    let (service, app) = service();
    let mut session = service.create_session(&app, "ada", None, Some("s")).await.unwrap();
    let began = session.last_update_time - 50.0;
    for n in 0..5 {
        let mut event = said(vec![Part::text(format!("m{n}"))]);
        event.timestamp = began + f64::from(n);
        service.append_event(&mut session, event).await.unwrap();
    }
    let texts = async |num_recent_events, after_timestamp| {
        let config = GetSessionConfig { num_recent_events, after_timestamp };
        let read = service.get_session(&app, "ada", "s", config).await.unwrap().unwrap();
        read.events.iter().map(|event| event.response.content.as_ref().unwrap().text_concat()).collect::<Vec<_>>()
    };
    assert_eq!(texts(Some(0), None).await, [""; 0]);
    assert_eq!(texts(Some(2), None).await, ["m3", "m4"]);
    assert_eq!(texts(None, Some(began + 3.0)).await, ["m3", "m4"], "the time itself too");
    assert_eq!(texts(Some(1), Some(began + 1.0)).await, ["m4"]);
    assert_eq!(texts(Some(99), None).await.len(), 5);
}

#[tokio::test]
async fn read_of_more_events_than_a_page_has_is_whole() {
    let (service, app) = service();
    service.create_session(&app, "ada", None, Some("s")).await.unwrap();
    let handle = service.handle(&app, "ada", "s");
    for batch in 0..3 {
        handle.append((0..500).map(|n| threadkeep::user(format!("m{}", batch * 500 + n)))).await.unwrap();
    }
    let events = service.get_session(&app, "ada", "s", ALL).await.unwrap().unwrap().events;
    assert_eq!(events.len(), 1500);
    assert_eq!(events[1499].response.content.as_ref().unwrap().text_concat(), "m1499");
}
