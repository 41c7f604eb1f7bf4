//! Creating, reading, updating and deleting sessions.

use std::time::{Duration, SystemTime};

use crate::call::duration;
use crate::v1::expiry::Kind;
use crate::v1::{
    CreateSessionRequest, DeleteExpiredSessionsRequest, DeleteSessionRequest, Expiry, GetSessionRequest, ListSessionsRequest,
    UpdateSessionRequest,
};
use crate::{Call, Client, Json, List, SessionHandle};

impl SessionHandle {
    /// Creates the session. Of a handle with an empty id, the server generates the id; it is in the answer.
    ///
    /// Errors: SESSION_ALREADY_EXISTS (unless [`return_existing`](Call::return_existing)), INVALID_FIELD.
    pub fn create(&self) -> Call<CreateSessionRequest> {
        Call::new(&self.client, CreateSessionRequest { session: self.place(), ..Default::default() })
    }

    /// Returns the metadata and the counters of the session. Errors: SESSION_NOT_FOUND, AMBIGUOUS_SESSION.
    pub fn get(&self) -> Call<GetSessionRequest> {
        Call::new(&self.client, GetSessionRequest::default()).with(|request| request.session = self.place())
    }

    /// Updates the session: what is set, and nothing else. Returns the session after it.
    ///
    /// Errors: SESSION_NOT_FOUND, VERSION_MISMATCH (of the etag), INVALID_FIELD.
    pub fn update(&self) -> Call<UpdateSessionRequest> {
        Call::new(&self.client, UpdateSessionRequest { session: self.place(), ..Default::default() })
    }

    /// Deletes the session and its events. Succeeds if it does not exist.
    pub fn delete(&self) -> Call<DeleteSessionRequest> {
        Call::new(&self.client, DeleteSessionRequest { session: self.place(), ..Default::default() })
    }
}

impl Client {
    /// Lists the sessions of the client's app and user, newest first; for others see [`all_users`](Self::all_users).
    ///
    /// Errors: INVALID_FIELD.
    pub fn sessions(&self) -> List<ListSessionsRequest> {
        self.list(ListSessionsRequest::default())
    }

    /// Deletes sessions of the client's app and user that have expired, at most 1,000; the response says whether more remain.
    /// For other apps and users see [`all_users`](Self::all_users). The server also deletes them automatically.
    pub fn delete_expired_sessions(&self) -> Call<DeleteExpiredSessionsRequest> {
        Call::new(self, self.own_expired(DeleteExpiredSessionsRequest::default()))
    }
}

impl Call<CreateSessionRequest> {
    /// Expires the session after this time from now. Default: the server's, 60 days.
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.request.expiry = Some(Expiry { kind: Some(Kind::Ttl(duration(ttl))) });
        self
    }

    /// Expires the session at this time.
    pub fn expire_time(mut self, time: SystemTime) -> Self {
        self.request.expiry = Some(Expiry { kind: Some(Kind::ExpireTime(time.into())) });
        self
    }

    /// Keeps the session until it is deleted.
    pub fn never_expires(mut self) -> Self {
        self.request.expiry = Some(Expiry { kind: Some(Kind::NeverExpires(true)) });
        self
    }

    /// Sets the metadata: a JSON object, at most 256 KiB, stored verbatim.
    pub fn metadata(mut self, metadata: impl Into<Json>) -> Self {
        self.request.metadata_json = metadata.into().into();
        self
    }

    /// Adds a label; at most 64.
    pub fn label(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.request.labels.insert(key.into(), value.into());
        self
    }

    /// Sets the default size of contexts, in bytes; 0 means the server's.
    pub fn context_bytes(mut self, bytes: i64) -> Self {
        self.request.context_bytes = bytes;
        self
    }

    /// Sets the start of an imported conversation. Default: now.
    pub fn create_time(mut self, time: SystemTime) -> Self {
        self.request.create_time = Some(time.into());
        self
    }

    /// Fails if another user of the app has a session with this id: SESSION_ALREADY_EXISTS.
    pub fn unique_in_app(mut self) -> Self {
        self.request.unique_in_app = true;
        self
    }

    /// Returns a session that exists, unchanged, instead of an error; `created` of the answer is then false.
    pub fn return_existing(mut self) -> Self {
        self.request.return_existing = true;
        self
    }
}

impl Call<UpdateSessionRequest> {
    fn masked(mut self, path: &str) -> Self {
        let paths = &mut self.request.update_mask.get_or_insert_default().paths;
        if !paths.iter().any(|each| each == path) {
            paths.push(path.to_owned());
        }
        self
    }

    fn expires(mut self, kind: Kind) -> Self {
        self.request.expiry = Some(Expiry { kind: Some(kind) });
        self.masked("expiry")
    }

    /// Expires the session after this time from now.
    pub fn ttl(self, ttl: Duration) -> Self {
        self.expires(Kind::Ttl(duration(ttl)))
    }

    /// Expires the session at this time.
    pub fn expire_time(self, time: SystemTime) -> Self {
        self.expires(Kind::ExpireTime(time.into()))
    }

    /// Keeps the session until it is deleted.
    pub fn never_expires(self) -> Self {
        self.expires(Kind::NeverExpires(true))
    }

    /// Replaces the metadata: a JSON object, stored verbatim; "" removes it.
    pub fn metadata(mut self, metadata: impl Into<Json>) -> Self {
        self.request.metadata_json = metadata.into().into();
        self.masked("metadata_json")
    }

    /// Changes the metadata by a merge patch (RFC 7396): its members replace those of the metadata, and null removes one.
    pub fn metadata_patch(mut self, patch: impl Into<Json>) -> Self {
        self.request.metadata_patch_json = patch.into().into();
        self
    }

    /// Replaces all labels.
    pub fn labels<K: Into<String>, V: Into<String>>(mut self, labels: impl IntoIterator<Item = (K, V)>) -> Self {
        self.request.labels = labels.into_iter().map(|(key, value)| (key.into(), value.into())).collect();
        self.masked("labels")
    }

    /// Adds or replaces one label; the others stay.
    pub fn set_label(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.request.set_labels.insert(key.into(), value.into());
        self
    }

    /// Removes one label; the others stay.
    pub fn remove_label(mut self, key: impl Into<String>) -> Self {
        self.request.remove_labels.push(key.into());
        self
    }

    /// Sets the default size of contexts, in bytes; 0 means the server's.
    pub fn context_bytes(mut self, bytes: i64) -> Self {
        self.request.context_bytes = bytes;
        self.masked("context_bytes")
    }

    /// Requires the session to have this etag, from [`SessionHandle::get`]; otherwise VERSION_MISMATCH: read it again and retry.
    pub fn etag(mut self, etag: impl Into<String>) -> Self {
        self.request.etag = etag.into();
        self
    }
}

impl Call<DeleteSessionRequest> {
    /// Also deletes the memories that came from the session.
    pub fn purge_memories(mut self) -> Self {
        self.request.purge_memories = true;
        self
    }
}

impl Call<DeleteExpiredSessionsRequest> {
    /// Deletes only sessions that expired by this time. Default: now. Errors: INVALID_FIELD for a time in the future.
    pub fn before(mut self, time: SystemTime) -> Self {
        self.request.before = Some(time.into());
        self
    }
}
