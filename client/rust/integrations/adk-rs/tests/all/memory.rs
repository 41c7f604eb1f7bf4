//! The rules of `MemoryService`.

use adk_rs::core::{Event, MemoryService, Session, SessionService};
use threadkeep::SearchMode;
use threadkeep_adk_rs::{ThreadkeepMemoryService, ThreadkeepSessionService};

use crate::server::shared;

#[tokio::test]
async fn session_that_threadkeep_keeps_is_found_by_its_user_alone_and_once() {
    let (client, app) = shared();
    let (sessions, memory) = (ThreadkeepSessionService::new(&client), ThreadkeepMemoryService::new(&client));
    let mut session = sessions.create_session(&app, "ada", None, Some("s")).await.unwrap();
    sessions.append_event(&mut session, Event::user_text("My cat is called Minka.")).await.unwrap();
    memory.add_session_to_memory(&session).await.unwrap();
    sessions.append_event(&mut session, Event::model_text("agent", "Minka is a lovely name.")).await.unwrap();
    for _ in 0..2 {
        memory.add_session_to_memory(&session).await.unwrap();
    }
    let found = memory.search_memory(&app, "ada", "Minka").await.unwrap().memories;
    let mut texts: Vec<_> = found.iter().map(|entry| entry.content.text_concat()).collect();
    texts.sort();
    assert_eq!(texts, ["Minka is a lovely name.", "My cat is called Minka."]);
    assert!(found.iter().all(|entry| entry.author.is_some() && entry.timestamp.is_some()));
    assert!(memory.search_memory(&app, "bob", "Minka").await.unwrap().memories.is_empty());
    assert!(memory.search_memory(&app, "ada", " ").await.unwrap().memories.is_empty());
}

#[tokio::test]
async fn session_of_another_service_is_added_once() {
    let (client, app) = shared();
    let memory = ThreadkeepMemoryService::new(&client).with_top_k(3).with_mode(SearchMode::Substring);
    let mut session = Session::new(&app, "ada", "elsewhere");
    session.events = (0..5).map(|n| Event::user_text(format!("Trip {n} to Lisbon"))).collect();
    session.events.push(Event::user_text(" "));
    for _ in 0..2 {
        memory.add_session_to_memory(&session).await.unwrap();
    }
    assert_eq!(memory.search_memory(&app, "ada", "to lisbon").await.unwrap().memories.len(), 3);
    let all = memory.with_top_k(100).search_memory(&app, "ada", "Lisbon").await.unwrap().memories;
    assert_eq!(all.len(), 5);
}
