//! The memory service.

use adk_rs::core::{MemoryEntry, MemoryService, SearchMemoryResponse, Session};
use adk_rs::error::Result;
use adk_rs::genai_types::{Content, Role};
use async_trait::async_trait;
use threadkeep::v1::part::Content as Kind;
use threadkeep::v1::{self, MemoryScope, MemoryWrite};
use threadkeep::{Client, ErrorReason, SearchMode, UserMemory};
use uuid::Uuid;

use crate::errors::failed;
use crate::events::{seconds_of, time_of};
use crate::parts::{Names, content_of, message_of};

const QUERY_CHARACTERS: usize = 1_024;
const ENTRIES_AT_ONCE: usize = 100;

/// Long-term memory in Threadkeep, for the tools `load_memory` and `preload_memory`:
/// `Runner::builder().memory_service(Arc::new(ThreadkeepMemoryService::new(&client)))`.
///
/// A session can be added again, whenever it has grown: only what is new is added, and what was deleted stays deleted. Every method
/// may fail with `ServiceError::Backend`, such as that the server has no long-term memory.
#[derive(Clone, Debug)]
pub struct ThreadkeepMemoryService {
    client: Client,
    mode: SearchMode,
    top_k: u32,
}

impl ThreadkeepMemoryService {
    /// Searches return at most 10 memories; the server chooses how a query is read.
    #[must_use]
    pub fn new(client: &Client) -> Self {
        Self { client: client.clone(), mode: SearchMode::Unspecified, top_k: 10 }
    }

    /// Sets how a query is read.
    #[must_use]
    pub fn with_mode(mut self, mode: SearchMode) -> Self {
        self.mode = mode;
        self
    }

    /// Sets the most memories of a search, 1 to 1,000.
    #[must_use]
    pub fn with_top_k(mut self, count: u32) -> Self {
        self.top_k = count;
        self
    }

    fn memory(&self, app_name: &str, user_id: &str) -> UserMemory {
        self.client.memory_of(MemoryScope { app: app_name.into(), user_id: user_id.into() })
    }
}

#[async_trait]
impl MemoryService for ThreadkeepMemoryService {
    /// Adds the events of a session that have text, without reasoning. Of a session that Threadkeep keeps, these are all of its
    /// events; of another one, those that it has.
    async fn add_session_to_memory(&self, session: &Session) -> Result<()> {
        let memory = self.memory(&session.app_name, &session.user_id);
        match memory.add_session(&session.id).await {
            Err(error) if error.is(ErrorReason::SessionNotFound) => {}
            added => return added.map(|_| ()).map_err(failed),
        }
        let entries: Vec<v1::MemoryEntry> = entries_of(session).collect();
        for some in entries.chunks(ENTRIES_AT_ONCE) {
            memory.upsert(some.iter().cloned().map(MemoryWrite::from)).keep_existing().await.map_err(failed)?;
        }
        Ok(())
    }

    /// Returns the memories that match a query, best first. Of a longer query, the first 1,024 characters count.
    async fn search_memory(&self, app_name: &str, user_id: &str, query: &str) -> Result<SearchMemoryResponse> {
        let query: String = query.chars().take(QUERY_CHARACTERS).collect();
        if query.trim().is_empty() {
            return Ok(SearchMemoryResponse::default());
        }
        let search = self.memory(app_name, user_id).search(query).mode(self.mode).top_k(self.top_k);
        let found = search.await.map_err(failed)?;
        Ok(SearchMemoryResponse { memories: found.entries.into_iter().map(entry_of).collect() })
    }
}

/// The entries of events that Threadkeep does not keep. An entry has an id of its session and event, so it is added once.
fn entries_of(session: &Session) -> impl Iterator<Item = v1::MemoryEntry> {
    session.events.iter().filter_map(|event| {
        let mut message = message_of(event.response.content.as_ref(), &event.author);
        message.parts.retain(|part| matches!(&part.content, Some(Kind::Text(text)) if !text.trim().is_empty()));
        if message.parts.is_empty() {
            return None;
        }
        let named = format!("{}:{}:{}:{}", session.app_name, session.user_id, session.id, event.id);
        Some(v1::MemoryEntry {
            id: Uuid::new_v5(&Uuid::NAMESPACE_URL, named.as_bytes()).to_string(),
            content: Some(message),
            author: event.author.clone(),
            event_time: time_of(event.timestamp),
            session_id: session.id.clone(),
            event_id: event.id.clone(),
            ..v1::MemoryEntry::default()
        })
    })
}

fn entry_of(entry: v1::MemoryEntry) -> MemoryEntry {
    let content = content_of(&entry.content.unwrap_or_default(), &mut Names::new());
    MemoryEntry {
        content: content.unwrap_or(Content { role: Role::Model, parts: vec![] }),
        author: Some(entry.author).filter(|author| !author.is_empty()),
        timestamp: entry.event_time.as_ref().map(seconds_of),
    }
}
