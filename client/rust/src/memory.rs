//! Long-term memory: what is remembered of a user across sessions.

use crate::v1::delete_memories_request::Selection;
use crate::v1::{
    AddMemoriesRequest, AddMemoriesResponse, AddSessionToMemoryRequest, AddSessionToMemoryResponse, DeleteMemoriesRequest,
    DeleteMemoriesResponse, ListMemoriesRequest, MemoryEntry, MemoryFilter, MemoryScope, SearchMemoryRequest,
    SearchMemoryResponse, SessionRef,
};
use crate::{Client, Error, Items, new_event_id, user};

/// What is remembered of one user in one app: a handle, made without a call by [`Client::memory`]. The scope of requests is the
/// handle's, whatever they say. Every call may fail with MEMORY_NOT_CONFIGURED.
#[derive(Clone, Debug)]
pub struct UserMemory {
    client: Client,
    scope: MemoryScope,
}

/// An entry to add: a text, as the user's. What else it may carry is set with update syntax, as of events.
pub fn remember(text: impl Into<String>) -> MemoryEntry {
    MemoryEntry { content: user(text).message, ..Default::default() }
}

impl Client {
    /// The memory of the client's user in its app.
    #[must_use]
    pub fn memory(&self) -> UserMemory {
        self.memory_of(MemoryScope { app: self.shared.app.clone(), user_id: self.shared.user_id.clone() })
    }

    /// The memory of this scope, as it is.
    #[must_use]
    pub fn memory_of(&self, scope: MemoryScope) -> UserMemory {
        UserMemory { client: self.clone(), scope }
    }
}

impl UserMemory {
    /// Remembers entries, all or none. Those without an id get one here, so the client's own retries remember nothing twice; the
    /// same id with the same content is a replay.
    ///
    /// Errors: MEMORY_ID_CONFLICT, EVENT_TOO_LARGE, BATCH_TOO_LARGE.
    pub async fn add(&self, entries: impl IntoIterator<Item = MemoryEntry>) -> Result<AddMemoriesResponse, Error> {
        let mut memories: Vec<_> = entries.into_iter().collect();
        memories.iter_mut().filter(|entry| entry.id.is_empty()).for_each(|entry| entry.id = new_event_id());
        let request = AddMemoriesRequest { scope: self.scope(), memories };
        Ok(self.client.memories().add_memories(request).await?.into_inner())
    }

    /// Remembers a session: one entry for each event with text. What is remembered already is left as it is and what was deleted
    /// stays so: call it as often as you like. For some of its events, or tools too, see [`Client::memories`].
    ///
    /// Errors: SESSION_NOT_FOUND, AMBIGUOUS_SESSION.
    pub async fn add_session(&self, session_id: impl Into<String>) -> Result<AddSessionToMemoryResponse, Error> {
        let MemoryScope { app, user_id } = self.scope.clone();
        let session = Some(SessionRef { app, user_id, session_id: session_id.into() });
        let request = AddSessionToMemoryRequest { session, ..Default::default() };
        Ok(self.client.memories().add_session_to_memory(request).await?.into_inner())
    }

    /// The entries that answer the request's query, best first; an empty query finds nothing.
    ///
    /// Errors: INVALID_FIELD, EMBEDDER_NOT_CONFIGURED, EMBEDDER_FAILED.
    pub async fn search(&self, request: SearchMemoryRequest) -> Result<SearchMemoryResponse, Error> {
        let request = SearchMemoryRequest { scope: self.scope(), ..request };
        Ok(self.client.memories().search_memory(request).await?.into_inner())
    }

    /// The entries that match the filter, all by default, the last added first.
    pub fn list(&self, filter: impl Into<Option<MemoryFilter>>) -> Items<MemoryEntry> {
        self.client.pages(ListMemoriesRequest { scope: self.scope(), filter: filter.into(), ..Default::default() })
    }

    /// Forgets entries, for good; the answer is the receipt.
    pub async fn delete(&self, selection: Selection) -> Result<DeleteMemoriesResponse, Error> {
        let request = DeleteMemoriesRequest { scope: self.scope(), selection: Some(selection) };
        Ok(self.client.memories().delete_memories(request).await?.into_inner())
    }

    fn scope(&self) -> Option<MemoryScope> {
        Some(self.scope.clone())
    }
}
