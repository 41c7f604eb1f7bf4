//! The session of a call.

use crate::v1::SessionRef;

/// A session: an id, which the client completes with its app and user, or a complete [`SessionRef`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionLike {
    /// An id in the client's app and user.
    Id(String),
    /// A complete reference.
    Ref(SessionRef),
}

impl<T: AsRef<str>> From<T> for SessionLike {
    fn from(id: T) -> Self {
        Self::Id(id.as_ref().to_owned())
    }
}

impl From<SessionRef> for SessionLike {
    fn from(session: SessionRef) -> Self {
        Self::Ref(session)
    }
}

impl From<&SessionRef> for SessionLike {
    fn from(session: &SessionRef) -> Self {
        Self::Ref(session.clone())
    }
}
