//! Which session a call means.

use crate::v1::SessionRef;

/// A session as functions take it: an id, which the client completes with its app and user, or a [`SessionRef`], which is taken
/// as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionLike {
    /// An id of the client's app and user.
    Id(String),
    /// A session by its full name.
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
