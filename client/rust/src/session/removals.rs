//! Takes events out of a session, or replaces them.

use crate::v1::{ClearEventsRequest, EraseEventsRequest, PopEventsRequest, RemovalMode, ReplaceSuffixRequest, SessionEvent};
use crate::{Call, SessionHandle, new_event_id, with_ids};

/// Each call has a new operation id, so that the client's own retries are safe; [`Call::with`] sets one for retries after a crash.
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

erasing!(PopEventsRequest, ClearEventsRequest, ReplaceSuffixRequest);
