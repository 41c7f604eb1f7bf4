//! Takes events out of a session, or replaces them.

use crate::v1::rewind_session_request;
use crate::v1::{
    ClearEventsRequest, EraseEventsRequest, ForkSessionRequest, PopEventsRequest, RemovalMode, ReplaceSuffixRequest,
    RewindSessionRequest, SessionEvent,
};
use crate::{Call, SessionHandle, new_event_id, with_ids};

/// A point in the history of a session. If a compaction or a removal stored the event of a point, all of that change belongs to the
/// point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Point {
    /// The event with this seq, at least 1.
    Seq(i64),
    /// The event with this id.
    EventId(String),
    /// The end of the invocation with this id, which is its last event.
    InvocationId(String),
    /// The moment directly after the change that gave the session this log version; 0 is the empty log.
    LogVersion(i64),
}

impl From<Point> for rewind_session_request::Point {
    fn from(point: Point) -> Self {
        match point {
            Point::Seq(seq) => Self::AtSeq(seq),
            Point::EventId(id) => Self::AtEventId(id),
            Point::InvocationId(id) => Self::AtInvocationId(id),
            Point::LogVersion(version) => Self::AtLogVersion(version),
        }
    }
}

/// Each call has a new operation id, so that the client's own retries are safe; give your own to retry after a crash. What leaves
/// the window is archived: it stays in the history and is found by searches.
impl SessionHandle {
    /// Takes the newest events out of the window and returns them, the newest last: of concurrent calls, each event is returned
    /// to one. At most 1,000.
    ///
    /// Errors: SESSION_NOT_FOUND, OPERATION_CONFLICT.
    pub fn pop(&self, count: u32) -> Call<PopEventsRequest> {
        Call::new(&self.client, PopEventsRequest::default()).with(|request| {
            request.session = self.place();
            request.count = count.try_into().unwrap_or(i32::MAX);
            request.operation_id = new_event_id();
        })
    }

    /// Empties the active window. The session stays, with labels, policy and watchers; the log continues with the next seq.
    ///
    /// Errors: SESSION_NOT_FOUND, OPERATION_CONFLICT.
    pub fn clear(&self) -> Call<ClearEventsRequest> {
        Call::new(&self.client, ClearEventsRequest::default()).with(|request| {
            request.session = self.place();
            request.operation_id = new_event_id();
        })
    }

    /// Goes back to a point: what came after it leaves the window, what left the window since is active again unless it was erased,
    /// and the session's state has the values of then. At most 10,000 events leave or come back; [`erase`](Call::erase) erases
    /// everything that came after, archived or not.
    ///
    /// Errors: SESSION_NOT_FOUND, EVENT_NOT_FOUND, VERSION_MISMATCH, HISTORY_UNKNOWN, OPERATION_CONFLICT.
    ///
    /// ```no_run
    /// # use threadkeep::{Point, SessionHandle};
    /// # async fn example(trip: SessionHandle) -> Result<(), threadkeep::Error> {
    /// let rewound = trip.rewind(Point::EventId("m12".into())).expected_log_version(9).await?;
    /// println!("{} events left, {} came back", rewound.removed, rewound.restored);
    /// # Ok(())
    /// # }
    /// ```
    pub fn rewind(&self, to: Point) -> Call<RewindSessionRequest> {
        Call::new(&self.client, RewindSessionRequest::default()).with(|request| {
            request.session = self.place();
            request.point = Some(to.into());
            request.operation_id = new_event_id();
        })
    }

    /// Erases the content of at most 1,000 events, active or archived, in all their versions; the answer has a receipt.
    ///
    /// Errors: EVENT_NOT_FOUND, PERMISSION_DENIED.
    pub fn erase_events<T: Into<String>>(&self, event_ids: impl IntoIterator<Item = T>) -> Call<EraseEventsRequest> {
        Call::new(&self.client, EraseEventsRequest::default()).with(|request| {
            request.session = self.place();
            request.event_ids = event_ids.into_iter().map(Into::into).collect();
            request.operation_id = new_event_id();
        })
    }

    /// Erases the content of the events of these invocations, at most 64: of at most 1,000 events, so while the answer has `more`,
    /// call again. See [`erase_events`](Self::erase_events).
    pub fn erase_invocations<T: Into<String>>(&self, invocation_ids: impl IntoIterator<Item = T>) -> Call<EraseEventsRequest> {
        let invocation_ids = invocation_ids.into_iter().map(Into::into).collect();
        self.erase_events(Vec::<String>::new()).with(|request| request.invocation_ids = invocation_ids)
    }

    /// Erases the content of the events of exactly this branch, which is not the root: of at most 1,000 events, so while the answer
    /// has `more`, call again. See [`erase_events`](Self::erase_events).
    pub fn erase_branch(&self, branch: impl Into<String>) -> Call<EraseEventsRequest> {
        self.erase_events(Vec::<String>::new()).with(|request| request.branch = branch.into())
    }

    /// Replaces the newest events of the window, if their ids are exactly these, oldest first. Without ids the events are
    /// appended.
    ///
    /// Errors: VERSION_MISMATCH for another suffix, EVENT_ID_CONFLICT.
    pub fn replace_suffix<T: Into<String>>(
        &self,
        expected_event_ids: impl IntoIterator<Item = T>,
        events: impl IntoIterator<Item = SessionEvent>,
    ) -> Call<ReplaceSuffixRequest> {
        Call::new(&self.client, ReplaceSuffixRequest::default()).with(|request| {
            request.session = self.place();
            request.expected_event_ids = expected_event_ids.into_iter().map(Into::into).collect();
            request.events = with_ids(events);
            request.operation_id = new_event_id();
        })
    }
}

impl Call<RewindSessionRequest> {
    /// Makes it a change also if the session is at the point already: its versions grow.
    pub fn always(mut self) -> Self {
        self.request.always = true;
        self
    }
}

macro_rules! erasing {
    ($($request:ty),*) => {$(
        impl Call<$request> {
            /// Erases the content of what is removed, instead of archiving it; needs the role ADMIN.
            pub fn erase(mut self) -> Self {
                self.request.mode = RemovalMode::Erase.into();
                self
            }
        }
    )*};
}

erasing!(PopEventsRequest, ClearEventsRequest, RewindSessionRequest, ReplaceSuffixRequest);

macro_rules! identified {
    ($($request:ty),*) => {$(
        impl Call<$request> {
            /// Names the call. The server remembers the id with the outcome; a repeated call with the same id and content returns
            /// that, and changes nothing. Default: a new one.
            pub fn operation_id(mut self, id: impl Into<String>) -> Self {
                self.request.operation_id = id.into();
                self
            }
        }
    )*};
}

identified!(
    PopEventsRequest,
    ClearEventsRequest,
    RewindSessionRequest,
    EraseEventsRequest,
    ReplaceSuffixRequest,
    ForkSessionRequest
);

macro_rules! expecting {
    ($($request:ty),*) => {$(
        impl Call<$request> {
            /// Removes only from a log at this version, which was read; otherwise VERSION_MISMATCH.
            pub fn expected_log_version(mut self, version: i64) -> Self {
                self.request.expected_log_version = Some(version);
                self
            }
        }
    )*};
}

expecting!(PopEventsRequest, ClearEventsRequest, RewindSessionRequest, EraseEventsRequest);

macro_rules! branching {
    ($($request:ty),*) => {$(
        impl Call<$request> {
            /// Removes events of exactly this branch; "" is the root. Default: of all branches.
            pub fn branch(mut self, branch: impl Into<String>) -> Self {
                self.request.branch = Some(branch.into());
                self
            }
        }
    )*};
}

branching!(PopEventsRequest, ReplaceSuffixRequest);
