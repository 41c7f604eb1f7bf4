//! The sessions that a call covers.

use crate::Client;
use crate::v1::search_events_request::Scope;
use crate::v1::{
    AppScope, ChangeScope, DeleteExpiredSessionsRequest, ListSessionsRequest, ListUserEventsRequest, ListUsersRequest,
    SearchEventsRequest, UserScope, WatchAllRequest,
};

/// How far a client reaches beyond its own app and user.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reach {
    all_users: bool,
    all_apps: bool,
}

impl Client {
    /// Returns the same client, whose lists, searches, watches and deletions cover every user within the token's reach, unless
    /// a request specifies one. Otherwise a user that a request leaves empty is the client's.
    ///
    /// ```no_run
    /// # use threadkeep::Client;
    /// # async fn example(client: Client) -> Result<(), threadkeep::Error> {
    /// let mut sessions = client.all_users().sessions().label("team", "eu").items();
    /// while let Some(session) = sessions.try_next().await? {
    ///     println!("{:?}", session.r#ref);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn all_users(&self) -> Self {
        Self { reach: Reach { all_users: true, ..self.reach }, ..self.clone() }
    }

    /// Returns the same client, whose lists, searches, watches and deletions cover every app, unless a request specifies one.
    /// Otherwise an app that a request leaves empty is the client's; an app that is set to "" means sessions without an app.
    #[must_use]
    pub fn all_apps(&self) -> Self {
        Self { reach: Reach { all_apps: true, ..self.reach }, ..self.clone() }
    }

    pub(crate) fn own_expired(&self, request: DeleteExpiredSessionsRequest) -> DeleteExpiredSessionsRequest {
        DeleteExpiredSessionsRequest { app: self.app_or(request.app), user_id: self.user_or(request.user_id), ..request }
    }

    pub(crate) fn own_sessions(&self, request: ListSessionsRequest) -> ListSessionsRequest {
        ListSessionsRequest { app: self.app_or(request.app), user_id: self.user_or(request.user_id), ..request }
    }

    pub(crate) fn own_users(&self, request: ListUsersRequest) -> ListUsersRequest {
        ListUsersRequest { app: self.app_or(request.app), ..request }
    }

    /// These are of one user; without one the server decides by the token.
    pub(crate) fn own_events(&self, request: ListUserEventsRequest) -> ListUserEventsRequest {
        ListUserEventsRequest { app: self.app_or(request.app), user_id: self.user_or(request.user_id), ..request }
    }

    pub(crate) fn own_scope(&self, scope: ChangeScope) -> ChangeScope {
        ChangeScope { app: self.app_or(scope.app), user_id: self.user_or(scope.user_id), ..scope }
    }

    pub(crate) fn own_changes(&self, request: WatchAllRequest) -> WatchAllRequest {
        WatchAllRequest { scope: Some(self.own_scope(request.scope.unwrap_or_default())), ..request }
    }

    /// All users are the scope of an app.
    pub(crate) fn own_search(&self, request: SearchEventsRequest) -> SearchEventsRequest {
        let user = match request.scope {
            None => UserScope::default(),
            Some(Scope::User(user)) => user,
            Some(Scope::Session(_) | Scope::App(_)) => return request,
        };
        let (app, user_id) = (self.app_or(user.app), self.user_or(user.user_id));
        let is_of_an_app = user_id.is_empty() && self.reach.all_users && !self.reach.all_apps;
        let scope = if is_of_an_app {
            Scope::App(AppScope { app: app.unwrap_or_default() })
        } else {
            Scope::User(UserScope { app, user_id })
        };
        SearchEventsRequest { scope: Some(scope), ..request }
    }

    pub(crate) fn user_or(&self, given: String) -> String {
        if given.is_empty() && !self.reach.all_users { self.shared.user_id.clone() } else { given }
    }

    /// None means any app, also for a client without one.
    pub(crate) fn app_or(&self, given: Option<String>) -> Option<String> {
        let own = || (!self.reach.all_apps && !self.shared.app.is_empty()).then(|| self.shared.app.clone());
        given.or_else(own)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::v1::{ChangeScope, SessionRef};

    fn client() -> Client {
        Client::builder().address("127.0.0.1:1").app("shop").user_id("alice").build().expect("it can be")
    }

    fn text(given: &str) -> Option<String> {
        Some(given.to_owned())
    }

    #[test]
    fn a_request_with_empty_app_or_user_uses_the_clients() {
        let (own, users, apps) = (client(), client().all_users(), client().all_apps());
        let all = users.all_apps();
        for (client, app, user, wanted) in [
            (&own, None, "", (text("shop"), "alice")),
            (&own, None, "bob", (text("shop"), "bob")),
            (&own, text("travel"), "", (text("travel"), "alice")),
            (&own, text(""), "", (text(""), "alice")),
            (&users, None, "", (text("shop"), "")),
            (&apps, None, "", (None, "alice")),
            (&all, None, "", (None, "")),
            (&all, text(""), "bob", (text(""), "bob")),
        ] {
            let (user_id, labels) = (user.to_owned(), [("team".to_owned(), "red".to_owned())].into());
            let listed = ListSessionsRequest { app: app.clone(), user_id, labels, ..Default::default() };
            let scope = ChangeScope { app: app.clone(), user_id: user.to_owned(), labels: listed.labels.clone() };
            let listed = client.own_sessions(listed);
            let watched = client.own_changes(WatchAllRequest { scope: Some(scope), ..Default::default() });
            let watched = watched.scope.expect("a scope");
            assert_eq!((listed.app.clone(), listed.user_id.as_str()), wanted);
            let users = client.own_users(ListUsersRequest { app, ..Default::default() });
            assert_eq!(users.app, listed.app);
            assert_eq!((watched.app, watched.user_id, watched.labels), (listed.app, listed.user_id, listed.labels));
        }
    }

    #[test]
    fn a_search_with_empty_app_or_user_uses_the_clients() {
        let of = |app: Option<&str>, user: &str| Scope::User(UserScope { app: app.map(Into::into), user_id: user.into() });
        let of_app = |app: &str| Scope::App(AppScope { app: app.into() });
        let session = Scope::Session(SessionRef { session_id: "s".into(), ..Default::default() });
        let (own, users, apps) = (client(), client().all_users(), client().all_apps());
        for (client, scope, wanted) in [
            (&own, None, of(Some("shop"), "alice")),
            (&own, Some(of(None, "bob")), of(Some("shop"), "bob")),
            (&own, Some(of(Some(""), "")), of(Some(""), "alice")),
            (&own, Some(of_app("travel")), of_app("travel")),
            (&own, Some(session.clone()), session),
            (&users, None, of_app("shop")),
            (&users, Some(of(Some(""), "")), of_app("")),
            (&users, Some(of(None, "bob")), of(Some("shop"), "bob")),
            (&apps, None, of(None, "alice")),
            (&users.all_apps(), None, of(None, "")),
        ] {
            assert_eq!(client.own_search(SearchEventsRequest { scope, ..Default::default() }).scope, Some(wanted));
        }
    }

    #[test]
    fn all_users_and_all_apps_change_only_the_reach() {
        let own = client().with_timeout(None);
        let wide = own.all_users().all_apps();
        assert_eq!((wide.timeout, wide.session("s").reference()), (None, own.session("s").reference()));
        assert_eq!(own.own_sessions(ListSessionsRequest::default()).user_id, "alice");
        assert_eq!(wide.with_timeout(None).own_sessions(ListSessionsRequest::default()).user_id, "");
    }
}
