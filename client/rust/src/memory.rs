//! Long-term memory of a user, across sessions.

use crate::v1::delete_memories_request::Selection;
use crate::v1::{
    AddMemoriesRequest, AddSessionToMemoryRequest, DeleteMemoriesRequest, GetMemoriesRequest, ListMemoriesRequest,
    ListMemoryNamespacesRequest, MemoryEntry, MemoryFilter, MemoryIds, MemoryName, MemoryScope, MemoryWrite, SearchMemoryRequest,
    SearchMode, SessionRef, UpsertMemoriesRequest,
};
use crate::{Call, Client, List, new_event_id, user};

/// A handle on the long-term memory of one user in one app, from [`Client::memory`], which makes no call. Every call may fail
/// with MEMORY_NOT_CONFIGURED.
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
    pub fn add(&self, entries: impl IntoIterator<Item = MemoryEntry>) -> Call<AddMemoriesRequest> {
        let mut memories: Vec<_> = entries.into_iter().collect();
        memories.iter_mut().filter(|entry| entry.id.is_empty()).for_each(|entry| entry.id = new_event_id());
        Call::new(&self.client, AddMemoriesRequest::default()).with(|request| {
            request.scope = self.scope();
            request.memories = memories;
        })
    }

    /// Writes entries, all or none: those that exist are replaced. Each needs an id; see [`Call::with`] for what else to do.
    ///
    /// Errors: VERSION_MISMATCH of an expected etag, INVALID_FIELD.
    pub fn upsert(&self, writes: impl IntoIterator<Item = MemoryWrite>) -> Call<UpsertMemoriesRequest> {
        Call::new(&self.client, UpsertMemoriesRequest::default()).with(|request| {
            request.scope = self.scope();
            request.writes = writes.into_iter().collect();
        })
    }

    /// Returns entries by their namespaces and ids.
    pub fn get(&self, names: impl IntoIterator<Item = MemoryName>) -> Call<GetMemoriesRequest> {
        Call::new(&self.client, GetMemoriesRequest::default()).with(|request| {
            request.scope = self.scope();
            request.names = names.into_iter().collect();
        })
    }

    /// Lists the namespaces that have entries.
    pub fn namespaces(&self) -> List<ListMemoryNamespacesRequest> {
        self.client.list(ListMemoryNamespacesRequest { scope: self.scope(), ..Default::default() })
    }

    /// Ingests a session: adds one entry per event with text. Existing entries are unchanged and deleted entries stay deleted,
    /// so the call can be repeated. To select events or include tools, see [`Call::with`].
    ///
    /// Errors: SESSION_NOT_FOUND, AMBIGUOUS_SESSION.
    pub fn add_session(&self, session_id: impl Into<String>) -> Call<AddSessionToMemoryRequest> {
        let MemoryScope { app, user_id } = self.scope.clone();
        let session = Some(SessionRef { app, user_id, session_id: session_id.into() });
        Call::new(&self.client, AddSessionToMemoryRequest { session, ..Default::default() })
    }

    /// Searches entries, best first. The query has at most 1,024 characters; an empty one returns nothing.
    ///
    /// Errors: INVALID_FIELD, EMBEDDER_NOT_CONFIGURED, EMBEDDER_FAILED.
    pub fn search(&self, query: impl Into<String>) -> Call<SearchMemoryRequest> {
        Call::new(&self.client, SearchMemoryRequest { scope: self.scope(), query: query.into(), ..Default::default() })
    }

    /// Lists the entries, most recently added first.
    pub fn list(&self) -> List<ListMemoriesRequest> {
        self.client.list(ListMemoriesRequest { scope: self.scope(), ..Default::default() })
    }

    /// Deletes the entries with these ids permanently; the response is a receipt.
    pub fn delete<T: Into<String>>(&self, ids: impl IntoIterator<Item = T>) -> Call<DeleteMemoriesRequest> {
        self.deleting(Selection::Ids(MemoryIds { ids: ids.into_iter().map(Into::into).collect() }))
    }

    /// Deletes the entries that came from this session permanently; the response is a receipt.
    pub fn delete_session(&self, session_id: impl Into<String>) -> Call<DeleteMemoriesRequest> {
        self.deleting(Selection::SessionId(session_id.into()))
    }

    /// Deletes all entries permanently; the response is a receipt.
    pub fn delete_all(&self) -> Call<DeleteMemoriesRequest> {
        self.deleting(Selection::All(true))
    }

    fn deleting(&self, selection: Selection) -> Call<DeleteMemoriesRequest> {
        Call::new(&self.client, DeleteMemoriesRequest::default()).with(|request| {
            request.scope = self.scope();
            request.selection = Some(selection);
        })
    }

    fn scope(&self) -> Option<MemoryScope> {
        Some(self.scope.clone())
    }
}

impl Call<SearchMemoryRequest> {
    /// Sets the maximum number of entries. Default: 10.
    pub fn top_k(mut self, count: u32) -> Self {
        self.request.top_k = count.try_into().unwrap_or(i32::MAX);
        self
    }

    /// Sets how to search. Default: the server chooses.
    pub fn mode(mut self, mode: SearchMode) -> Self {
        self.request.mode = mode.into();
        self
    }

    /// Leaves out entries with a lower score.
    pub fn min_score(mut self, score: f64) -> Self {
        self.request.min_score = Some(score);
        self
    }

    /// Searches only entries that match. Default: all.
    pub fn filter(mut self, filter: MemoryFilter) -> Self {
        self.request.filter = Some(filter);
        self
    }
}
