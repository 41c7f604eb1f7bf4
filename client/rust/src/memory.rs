//! Long-term memory of a user, across sessions.

use tonic::Status;

use crate::v1::delete_memories_request::Selection;
use crate::v1::{
    AddMemoriesRequest, AddSessionToMemoryRequest, DeleteMemoriesRequest, GetMemoriesRequest, IfMemoryExists,
    ListMemoriesRequest, ListMemoryNamespacesRequest, MemoryEntry, MemoryFilter, MemoryIds, MemoryName, MemoryNames,
    MemoryNamespace, MemoryScope, MemoryWrite, MetadataCondition, MetadataOperator, SearchMemoryRequest, SearchMode, SessionRef,
    UpsertMemoriesRequest,
};
use crate::{Call, Client, Json, List, Unary, new_event_id, user};

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

/// Returns the name of an entry: its id in a namespace, whose labels are given outermost first; without any, the root.
pub fn memory_name<T: Into<String>>(namespace: impl IntoIterator<Item = T>, id: impl Into<String>) -> MemoryName {
    MemoryName { namespace: labels(namespace), id: id.into() }
}

/// Returns a comparison of a top-level value of metadata with a JSON value. Values are compared by their JSON type, numbers as
/// numbers; a missing key matches NOT_EQUAL only. IN compares with an array, of at most 100.
pub fn condition(key: impl Into<String>, operator: MetadataOperator, value: impl Into<Json>) -> MetadataCondition {
    MetadataCondition { key: key.into(), operator: operator.into(), value_json: value.into().into() }
}

fn labels<T: Into<String>>(given: impl IntoIterator<Item = T>) -> Vec<String> {
    given.into_iter().map(Into::into).collect()
}

impl From<MemoryEntry> for MemoryWrite {
    fn from(entry: MemoryEntry) -> Self {
        Self { memory: Some(entry), expected_etag: None }
    }
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

    /// Writes entries, all or none: those with the same namespace and id are replaced. Entries without an id get one here. A
    /// [`MemoryWrite`] has a precondition: the `etag` of the stored entry, "" if there must be none.
    ///
    /// Errors: VERSION_MISMATCH of an expected etag, EVENT_TOO_LARGE, BATCH_TOO_LARGE.
    pub fn upsert<T: Into<MemoryWrite>>(&self, writes: impl IntoIterator<Item = T>) -> Call<UpsertMemoriesRequest> {
        let mut writes: Vec<MemoryWrite> = writes.into_iter().map(Into::into).collect();
        let entries = writes.iter_mut().filter_map(|write| write.memory.as_mut());
        entries.filter(|entry| entry.id.is_empty()).for_each(|entry| entry.id = new_event_id());
        Call::new(&self.client, UpsertMemoriesRequest { scope: self.scope(), writes, ..Default::default() })
    }

    /// Returns the entries with these names, at most 1,000, in order; None in place of those that do not exist. Large entries
    /// take several requests, each with the timeout.
    pub fn get(&self, names: impl IntoIterator<Item = MemoryName>) -> Call<GetMemoriesRequest> {
        Call::new(&self.client, GetMemoriesRequest::default()).with(|request| {
            request.scope = self.scope();
            request.names = names.into_iter().collect();
        })
    }

    /// Lists the namespaces that have entries, in order; the root has no labels.
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

    /// Lists the entries, most recently written first.
    pub fn list(&self) -> List<ListMemoriesRequest> {
        self.client.list(ListMemoriesRequest { scope: self.scope(), ..Default::default() })
    }

    /// Deletes the entries with these ids in the root namespace permanently; the response is a receipt.
    pub fn delete<T: Into<String>>(&self, ids: impl IntoIterator<Item = T>) -> Call<DeleteMemoriesRequest> {
        self.deleting(Selection::Ids(MemoryIds { ids: ids.into_iter().map(Into::into).collect() }))
    }

    /// Deletes the entries with these names permanently; the response is a receipt.
    pub fn delete_names(&self, names: impl IntoIterator<Item = MemoryName>) -> Call<DeleteMemoriesRequest> {
        self.deleting(Selection::Names(MemoryNames { names: names.into_iter().collect() }))
    }

    /// Deletes the entries in the namespace with these labels, at least one, and below it; the response is a receipt.
    pub fn delete_namespace<T: Into<String>>(&self, namespace: impl IntoIterator<Item = T>) -> Call<DeleteMemoriesRequest> {
        self.deleting(Selection::Namespace(MemoryNamespace { labels: labels(namespace) }))
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

impl Unary for GetMemoriesRequest {
    type Answer = Vec<Option<MemoryEntry>>;

    async fn send(mut self, client: &Client) -> Result<Self::Answer, Status> {
        let mut found = Vec::new();
        while !self.names.is_empty() {
            let lookups = client.raw().memories().get_memories(self.clone()).await?.into_inner().memories;
            let returned: Vec<_> = lookups.into_iter().take_while(|each| !each.omitted).map(|each| each.entry).collect();
            if returned.is_empty() {
                return Err(Status::internal("the server returned no entry for the first name"));
            }
            self.names.drain(..returned.len().min(self.names.len()));
            found.extend(returned);
        }
        Ok(found)
    }
}

impl Call<GetMemoriesRequest> {
    /// Lets the returned entries expire one ttl from now; needs the role WRITER.
    pub fn refresh_ttl(mut self) -> Self {
        self.request.refresh_ttl = true;
        self
    }
}

impl Call<UpsertMemoriesRequest> {
    /// Keeps entries that exist as they are. Default: they are replaced.
    pub fn keep_existing(mut self) -> Self {
        self.request.if_exists = IfMemoryExists::Ignore.into();
        self
    }
}

impl List<ListMemoriesRequest> {
    /// Lets the returned entries expire one ttl from now; needs the role WRITER.
    pub fn refresh_ttl(self) -> Self {
        self.with(|request| request.refresh_ttl = true)
    }
}

impl List<ListMemoryNamespacesRequest> {
    /// Keeps only namespaces with these first labels; "*" matches any.
    pub fn prefix<T: Into<String>>(self, given: impl IntoIterator<Item = T>) -> Self {
        self.with(|request| request.prefix = labels(given))
    }

    /// Keeps only namespaces with these last labels; "*" matches any.
    pub fn suffix<T: Into<String>>(self, given: impl IntoIterator<Item = T>) -> Self {
        self.with(|request| request.suffix = labels(given))
    }

    /// Returns only so many labels of longer namespaces, each result once. Default: no limit.
    pub fn max_depth(self, labels: u32) -> Self {
        self.with(|request| request.max_depth = labels.try_into().unwrap_or(i32::MAX))
    }
}

impl Call<SearchMemoryRequest> {
    /// Lets the found entries expire one ttl from now; needs the role WRITER.
    pub fn refresh_ttl(mut self) -> Self {
        self.request.refresh_ttl = true;
        self
    }

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
