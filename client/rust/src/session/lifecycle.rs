//! Creating, reading, updating and deleting sessions.

use std::time::{Duration, SystemTime};

use crate::call::duration;
use crate::v1::expiry::Kind;
use crate::v1::fork_session_request;
use crate::v1::{
    CreateSessionRequest, DeleteExpiredSessionsRequest, DeleteSessionRequest, Expiry, ForkSessionRequest, GetSessionRequest,
    ListBranchesRequest, ListSessionsRequest, ListUsageRequest, LoadSessionRequest, MoveSessionRequest, SessionParent, SortOrder,
    StateScope, UpdateSessionRequest,
};
use crate::{Call, Client, EventFilter, Json, List, MemoryProvider, Point, SessionHandle, new_event_id};

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

    /// Returns the session, its state, and a page of its events or a context, all as of one moment. The events continue with the
    /// token of the page.
    ///
    /// Errors: SESSION_NOT_FOUND, AMBIGUOUS_SESSION.
    pub fn load(&self) -> Call<LoadSessionRequest> {
        Call::new(&self.client, LoadSessionRequest { session: self.place(), ..Default::default() })
    }

    /// Lists the branches that have events, with their counts: the root first. Errors: SESSION_NOT_FOUND.
    pub fn branches(&self) -> List<ListBranchesRequest> {
        self.client.list(ListBranchesRequest { session: self.place(), ..Default::default() })
    }

    /// Lists the token usage by turn, invocation and branch. A turn in two pages has an entry of each. Errors: SESSION_NOT_FOUND.
    pub fn usage(&self) -> List<ListUsageRequest> {
        self.client.list(ListUsageRequest { session: self.place(), ..Default::default() })
    }

    /// Updates the session: what is set, and nothing else. Returns the session after it.
    ///
    /// Errors: SESSION_NOT_FOUND, VERSION_MISMATCH (of the etag), OPERATION_CONFLICT, INVALID_FIELD.
    pub fn update(&self) -> Call<UpdateSessionRequest> {
        Call::new(&self.client, UpdateSessionRequest { session: self.place(), ..Default::default() })
    }

    /// Creates a session that is a copy of this one, of the same user: as it is or, with [`at`](Call::at), as of a point. For an
    /// empty id the server generates one; it is in the answer.
    ///
    /// The copy has the events up to the point, archived ones included, with their ids, seqs and times, and the window, the
    /// compactions and the session's state of then. Its `parent` names this session. Writers continue while it is copied. Its
    /// expiry is that of a new session.
    ///
    /// Errors: SESSION_NOT_FOUND, EVENT_NOT_FOUND, SESSION_ALREADY_EXISTS, HISTORY_UNKNOWN, OPERATION_CONFLICT, QUOTA_EXCEEDED.
    ///
    /// ```no_run
    /// # use threadkeep::{Point, SessionHandle};
    /// # async fn example(trip: SessionHandle) -> Result<(), threadkeep::Error> {
    /// let fork = trip.fork("trip-again").at(Point::Seq(12)).label("kind", "retry").await?;
    /// println!("{:?}", fork.session.and_then(|session| session.parent));
    /// # Ok(())
    /// # }
    /// ```
    pub fn fork(&self, new_session_id: impl Into<String>) -> Call<ForkSessionRequest> {
        Call::new(&self.client, ForkSessionRequest::default()).with(|request| {
            request.session = self.place();
            request.new_session_id = new_session_id.into();
            request.operation_id = new_event_id();
        })
    }

    /// Gives the session to another user of its app, with its events, state, labels and policy. Returns the session of its new
    /// owner; this handle does not find it any more. Requires a credential with the role admin that is not bound to a user.
    /// Memories that came from it stay with the former owner.
    ///
    /// Errors: SESSION_NOT_FOUND, SESSION_ALREADY_EXISTS, OPERATION_CONFLICT, PERMISSION_DENIED.
    pub fn move_to(&self, new_user_id: impl Into<String>) -> Call<MoveSessionRequest> {
        Call::new(
            &self.client,
            MoveSessionRequest { session: self.place(), new_user_id: new_user_id.into(), operation_id: new_event_id() },
        )
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

macro_rules! expiring {
    ($($request:ty),*) => {$(
        impl Call<$request> {
            /// Expires the new session after this time from now. Default: the server's, 60 days.
            pub fn ttl(mut self, ttl: Duration) -> Self {
                self.request.expiry = Some(Expiry { kind: Some(Kind::Ttl(duration(ttl))) });
                self
            }

            /// Expires the new session at this time.
            pub fn expire_time(mut self, time: SystemTime) -> Self {
                self.request.expiry = Some(Expiry { kind: Some(Kind::ExpireTime(time.into())) });
                self
            }

            /// Keeps the new session until it is deleted.
            pub fn never_expires(mut self) -> Self {
                self.request.expiry = Some(Expiry { kind: Some(Kind::NeverExpires(true)) });
                self
            }
        }
    )*};
}

expiring!(CreateSessionRequest, ForkSessionRequest);

impl Call<ForkSessionRequest> {
    /// Copies the session as of a point. Default: all of the present.
    pub fn at(mut self, point: Point) -> Self {
        self.request.point = Some(match point {
            Point::Seq(seq) => fork_session_request::Point::AtSeq(seq),
            Point::EventId(id) => fork_session_request::Point::AtEventId(id),
            Point::InvocationId(id) => fork_session_request::Point::AtInvocationId(id),
            Point::LogVersion(version) => fork_session_request::Point::AtLogVersion(version),
        });
        self
    }

    /// Sets the metadata: a JSON object, at most 256 KiB, stored verbatim; "" is none. Default: that of the session.
    pub fn metadata(mut self, metadata: impl Into<Json>) -> Self {
        self.request.metadata_json = Some(metadata.into().into());
        self
    }

    /// Adds a label to those of the session, or replaces it; at most 64.
    pub fn label(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.request.labels.insert(key.into(), value.into());
        self
    }

    /// Copies no labels of the session.
    pub fn without_parent_labels(mut self) -> Self {
        self.request.without_parent_labels = true;
        self
    }

    /// Sets the default size of contexts, in bytes; 0 means the server's. Default: that of the session.
    pub fn context_bytes(mut self, bytes: i64) -> Self {
        self.request.context_bytes = Some(bytes);
        self
    }
}

impl Call<CreateSessionRequest> {
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

    /// Names the origin of an imported session that is a fork: a record for lists of forks, which the server does not look up. Its
    /// app and user are those of the session, or empty; its session id and uid are required.
    pub fn parent(mut self, parent: SessionParent) -> Self {
        self.request.parent = Some(parent);
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

impl Call<MoveSessionRequest> {
    /// Sets the id of the call: a repeated call with the same id changes nothing and returns the session. Default: a new one, so
    /// that the client's own retries are safe.
    pub fn operation_id(mut self, id: impl Into<String>) -> Self {
        self.request.operation_id = id.into();
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

    /// Names the update. The server remembers the id; a repeated update with the same id and content changes nothing and returns
    /// the session as it is now, also if its etag changed since. Default: none; every call updates.
    pub fn operation_id(mut self, id: impl Into<String>) -> Self {
        self.request.operation_id = id.into();
        self
    }
}

impl Call<LoadSessionRequest> {
    /// Loads only events that match. Default: all.
    pub fn filter(mut self, filter: impl Into<EventFilter>) -> Self {
        self.request.filter = Some(filter.into().into());
        self
    }

    /// Loads the newest events first. Default: the oldest.
    pub fn newest_first(mut self) -> Self {
        self.request.order = SortOrder::Descending.into();
        self
    }

    /// Loads the context that this provider reads, in place of a page of events.
    pub fn context(mut self, provider: impl Into<MemoryProvider>) -> Self {
        self.request.spec = Some(provider.into().into());
        self
    }

    /// Loads neither events nor a context.
    pub fn exclude_events(mut self) -> Self {
        self.request.exclude_events = true;
        self
    }

    /// Loads the state of this scope; several may be given. Default: all that the token has access to.
    pub fn state_scope(mut self, scope: StateScope) -> Self {
        self.request.state_scopes.push(scope.into());
        self
    }

    /// Also loads the last event of the log.
    pub fn with_newest_event(mut self) -> Self {
        self.request.with_newest_event = true;
        self
    }
}

impl List<ListUsageRequest> {
    /// Lists the usage of events of exactly this branch; "" is the root. Default: of all branches.
    pub fn branch(self, branch: impl Into<String>) -> Self {
        self.with(|request| request.branch = Some(branch.into()))
    }

    /// Lists the usage of events whose seqs exceed this.
    pub fn after_seq(self, seq: i64) -> Self {
        self.with(|request| request.after_seq = Some(seq))
    }

    /// Lists the usage of events whose seqs precede this.
    pub fn before_seq(self, seq: i64) -> Self {
        self.with(|request| request.before_seq = Some(seq))
    }
}

impl Call<DeleteSessionRequest> {
    /// Also deletes the memories that came from the session, and its archives.
    pub fn purge_memories(mut self) -> Self {
        self.request.purge_memories = true;
        self
    }

    /// Deletes the session only if it has this uid. Errors: VERSION_MISMATCH if it was deleted and created again.
    pub fn uid(mut self, uid: impl Into<String>) -> Self {
        self.request.uid = uid.into();
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
