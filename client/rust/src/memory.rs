//! Long-term memory of a user, across sessions.

use crate::v1::delete_memories_request::Selection;
use crate::v1::{
    AddMemoriesRequest, AddMemoriesResponse, AddSessionToMemoryRequest, AddSessionToMemoryResponse, DeleteMemoriesRequest,
    DeleteMemoriesResponse, ListMemoriesRequest, MemoryEntry, MemoryFilter, MemoryScope, SearchMemoryRequest,
    SearchMemoryResponse, SessionRef,
};
use crate::{Client, Error, Items, new_event_id, user};

/// A handle on the long-term memory of one user in one app, from [`Client::memory`], which makes no call. The handle's scope
/// replaces the scope of requests. Every call may fail with MEMORY_NOT_CONFIGURED.
#[derive(Clone, Debug)]
pub struct UserMemory {
    client: Client,
    scope: MemoryScope,
}

/// Returns an entry to add, with a text as a user message. Set other fields with update syntax, as for events.
pub fn remember(text: impl Into<String>) -> MemoryEntry {
    MemoryEntry { content: user(text).message, ..Default::default() }
}

impl Client {
    /// Returns the memory of the client's user in its app.
    #[must_use]
    pub fn memory(&self) -> UserMemory {
        self.memory_of(MemoryScope { app: self.shared.app.clone(), user_id: self.shared.user_id.clone() })
    }

    /// Returns the memory of this scope, which is used unchanged.
    #[must_use]
    pub fn memory_of(&self, scope: MemoryScope) -> UserMemory {
        UserMemory { client: self.clone(), scope }
    }
}

impl UserMemory {
    /// Adds entries, all or none. Entries without an id get one here, so that the client's retries add nothing twice; an
    /// existing id with the same content is a replay.
    ///
    /// Errors: MEMORY_ID_CONFLICT, EVENT_TOO_LARGE, BATCH_TOO_LARGE.
    pub async fn add(&self, entries: impl IntoIterator<Item = MemoryEntry>) -> Result<AddMemoriesResponse, Error> {
        let mut memories: Vec<_> = entries.into_iter().collect();
        memories.iter_mut().filter(|entry| entry.id.is_empty()).for_each(|entry| entry.id = new_event_id());
        let request = AddMemoriesRequest { scope: self.scope(), memories };
        Ok(self.client.memories().add_memories(request).await?.into_inner())
    }

    /// Ingests a session: adds one entry per event with text. Existing entries are unchanged and deleted entries stay deleted,
    /// so the call can be repeated. To select events or include tools, see [`Client::memories`].
    ///
    /// Errors: SESSION_NOT_FOUND, AMBIGUOUS_SESSION.
    pub async fn add_session(&self, session_id: impl Into<String>) -> Result<AddSessionToMemoryResponse, Error> {
        let MemoryScope { app, user_id } = self.scope.clone();
        let session = Some(SessionRef { app, user_id, session_id: session_id.into() });
        let request = AddSessionToMemoryRequest { session, ..Default::default() };
        Ok(self.client.memories().add_session_to_memory(request).await?.into_inner())
    }

    /// Searches entries, best first. An empty query returns nothing.
    ///
    /// Errors: INVALID_FIELD, EMBEDDER_NOT_CONFIGURED, EMBEDDER_FAILED.
    pub async fn search(&self, request: SearchMemoryRequest) -> Result<SearchMemoryResponse, Error> {
        let request = SearchMemoryRequest { scope: self.scope(), ..request };
        Ok(self.client.memories().search_memory(request).await?.into_inner())
    }

    /// Lists the entries that match the filter, by default all, most recently added first.
    pub fn list(&self, filter: impl Into<Option<MemoryFilter>>) -> Items<MemoryEntry> {
        self.client.pages(ListMemoriesRequest { scope: self.scope(), filter: filter.into(), ..Default::default() })
    }

    /// Deletes entries permanently; the response is a receipt.
    pub async fn delete(&self, selection: Selection) -> Result<DeleteMemoriesResponse, Error> {
        let request = DeleteMemoriesRequest { scope: self.scope(), selection: Some(selection) };
        Ok(self.client.memories().delete_memories(request).await?.into_inner())
    }

    fn scope(&self) -> Option<MemoryScope> {
        Some(self.scope.clone())
    }
}
