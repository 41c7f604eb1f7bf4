//! Which session a call means.

use crate::v1::{Session, SessionRef};

/// A session as functions take it: an id, which the client completes with its app and user, or a [`SessionRef`] or
/// [`Session`], which are taken as they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionLike {
    /// An id of the client's app and user.
    Id(String),
    /// A session by its full name.
    Ref(SessionRef),
}

impl SessionLike {
    /// The reference that it means; `app` and `user_id` complete an id and nothing else.
    pub(crate) fn completed(self, app: &str, user_id: &str) -> SessionRef {
        match self {
            Self::Ref(session) => session,
            Self::Id(session_id) => SessionRef { app: app.to_owned(), user_id: user_id.to_owned(), session_id },
        }
    }
}

impl From<&str> for SessionLike {
    fn from(id: &str) -> Self {
        Self::Id(id.to_owned())
    }
}

impl From<String> for SessionLike {
    fn from(id: String) -> Self {
        Self::Id(id)
    }
}

impl From<&String> for SessionLike {
    fn from(id: &String) -> Self {
        Self::Id(id.clone())
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

impl From<&Session> for SessionLike {
    fn from(session: &Session) -> Self {
        Self::Ref(session.r#ref.clone().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn app_and_user_complete_an_id_and_nothing_else() {
        let full = SessionRef { app: "a".into(), user_id: "u".into(), session_id: "s".into() };
        assert_eq!(SessionLike::from("s").completed("a", "u"), full);
        let bare = SessionRef { session_id: "s".into(), ..Default::default() };
        assert_eq!(SessionLike::from(&bare).completed("a", "u"), bare);
        let session = Session { r#ref: Some(full.clone()), ..Default::default() };
        assert_eq!(SessionLike::from(&session).completed("b", "v"), full);
    }
}
