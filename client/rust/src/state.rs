//! State: values by key, of a session, of a user in an app, or of an app.

use tonic::Status;

use crate::v1::{
    CreateSessionRequest, GetStateRequest, PatchStateRequest, SessionRef, State, StateDelta, StatePatch, StateScope,
};
use crate::{Append, Call, Client, Json, SessionHandle, Unary};

/// A handle on the state of a session, of a user in an app, or of an app, which makes no call. Calls may fail with
/// SESSION_NOT_FOUND and AMBIGUOUS_SESSION for a session, and with PERMISSION_DENIED beyond the token's reach.
#[derive(Clone, Debug)]
pub struct StateHandle {
    client: Client,
    scope: StateScope,
    reference: SessionRef,
}

impl SessionHandle {
    /// Returns a handle on the state of this session.
    ///
    /// ```no_run
    /// # use threadkeep::Client;
    /// # async fn example(client: Client) -> Result<(), threadkeep::Error> {
    /// let state = client.session("trip").state();
    /// let seen = state.get().await?;
    /// println!("{:?}", seen.values.get("cart"));
    /// state.patch().set("cart", r#"{"items": 3}"#).remove("draft").expected_version(seen.version).await?;
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn state(&self) -> StateHandle {
        StateHandle { client: self.client.clone(), scope: StateScope::Session, reference: self.reference.clone() }
    }
}

impl Client {
    /// Returns a handle on the state of the client's user in its app.
    #[must_use]
    pub fn user_state(&self) -> StateHandle {
        self.user_state_of(self.shared.app.clone(), self.shared.user_id.clone())
    }

    /// Returns a handle on the state of this user in this app; "" means no app.
    #[must_use]
    pub fn user_state_of(&self, app: impl Into<String>, user_id: impl Into<String>) -> StateHandle {
        let reference = SessionRef { app: app.into(), user_id: user_id.into(), session_id: String::new() };
        StateHandle { client: self.clone(), scope: StateScope::User, reference }
    }

    /// Returns a handle on the state of the client's app, which all its users share.
    #[must_use]
    pub fn app_state(&self) -> StateHandle {
        self.app_state_of(self.shared.app.clone())
    }

    /// Returns a handle on the state of this app.
    #[must_use]
    pub fn app_state_of(&self, app: impl Into<String>) -> StateHandle {
        let reference = SessionRef { app: app.into(), ..Default::default() };
        StateHandle { client: self.clone(), scope: StateScope::App, reference }
    }
}

impl StateHandle {
    /// Returns the values, as JSON texts by key, and their version, page by page, each with the timeout. If others change the
    /// state between two pages, it starts over, so that all values are of one version.
    pub fn get(&self) -> Call<GetStateRequest> {
        let (scope, session) = (self.scope.into(), Some(self.reference.clone()));
        Call::new(&self.client, GetStateRequest { scope, session, ..Default::default() })
    }

    /// Sets values and removes keys, all or none; the answer is the version afterwards. A patch that changes nothing keeps the
    /// version. At most 1,000 keys.
    ///
    /// Errors: STATE_TOO_LARGE, and VERSION_MISMATCH if the state is not at the expected version, also if a retry of the client
    /// finds its own first attempt.
    pub fn patch(&self) -> Call<PatchStateRequest> {
        let (scope, session) = (self.scope.into(), Some(self.reference.clone()));
        Call::new(&self.client, PatchStateRequest { scope, session, patch: Some(StatePatch::default()), ..Default::default() })
    }
}

impl Unary for GetStateRequest {
    type Answer = State;

    async fn send(mut self, client: &Client) -> Result<State, Status> {
        let mut found = State::default();
        loop {
            let answer = client.raw().states().get_state(self.clone()).await?.into_inner();
            let page = answer.state.unwrap_or_default();
            if !self.after_key.is_empty() && self.as_of_log_version.is_none() && page.version != found.version {
                found.values.clear();
                self.after_key.clear();
                continue;
            }
            found.version = page.version;
            found.values.extend(page.values);
            if answer.next_key.is_empty() {
                return Ok(found);
            }
            self.after_key = answer.next_key;
        }
    }
}

impl Call<GetStateRequest> {
    /// Reads this key; several may be given, at most 1,000. A key without a value is left out. Default: all.
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.request.keys.push(key.into());
        self
    }

    /// Reads only keys that begin like this.
    pub fn key_prefix(mut self, prefix: impl Into<String>) -> Self {
        self.request.key_prefix = prefix.into();
        self
    }

    /// Reads the state of a session as it was at this log version. Not for users and apps.
    pub fn as_of_log_version(mut self, version: i64) -> Self {
        self.request.as_of_log_version = Some(version);
        self
    }
}

impl Call<PatchStateRequest> {
    /// Sets a value: JSON text, kept verbatim, or with the feature `serde_json` a `serde_json::Value`. A null is a value; it does
    /// not remove the key.
    pub fn set(self, key: impl Into<String>, value: impl Into<Json>) -> Self {
        self.with(|request| request.patch.get_or_insert_default().put(key.into(), value.into()))
    }

    /// Removes a key. One without a value changes nothing.
    pub fn remove(self, key: impl Into<String>) -> Self {
        self.with(|request| request.patch.get_or_insert_default().remove.push(key.into()))
    }

    /// Patches only a state at this version, from [`StateHandle::get`]; otherwise VERSION_MISMATCH.
    pub fn expected_version(mut self, version: i64) -> Self {
        self.request.expected_version = Some(version);
        self
    }
}

impl StatePatch {
    fn put(&mut self, key: String, value: Json) {
        self.set.insert(key, value.into());
    }

    /// Sets a value, as [`StateHandle::patch`] does.
    #[must_use]
    pub fn setting(mut self, key: impl Into<String>, value: impl Into<Json>) -> Self {
        self.put(key.into(), value.into());
        self
    }

    /// Removes a key.
    #[must_use]
    pub fn removing(mut self, key: impl Into<String>) -> Self {
        self.remove.push(key.into());
        self
    }
}

/// Changes of state that are committed with the events.
impl Append {
    fn changing(self, change: impl FnOnce(&mut StateDelta)) -> Self {
        self.with(|request| change(request.state_delta.get_or_insert_default()))
    }

    /// Changes the state of the session: `StatePatch::default().setting("cart", "3").removing("draft")`.
    pub fn state(self, patch: StatePatch) -> Self {
        self.changing(|delta| delta.session = Some(patch))
    }

    /// Changes the state of the session's user in its app.
    pub fn user_state(self, patch: StatePatch) -> Self {
        self.changing(|delta| delta.user = Some(patch))
    }

    /// Changes the state of the session's app.
    pub fn app_state(self, patch: StatePatch) -> Self {
        self.changing(|delta| delta.app = Some(patch))
    }
}

impl Call<CreateSessionRequest> {
    /// Sets a first value of the session's state, as [`StateHandle::patch`] does. At most 1,000.
    pub fn state(mut self, key: impl Into<String>, value: impl Into<Json>) -> Self {
        self.request.state.insert(key.into(), value.into().into());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client() -> Client {
        Client::builder().address("127.0.0.1:1").app("shop").user_id("alice").build().expect("it can be")
    }

    #[test]
    fn a_patch_is_of_its_scope() {
        let client = client();
        for (handle, scope, app, user, session) in [
            (client.session("s").state(), StateScope::Session, "shop", "alice", "s"),
            (client.user_state(), StateScope::User, "shop", "alice", ""),
            (client.user_state_of("", "bob"), StateScope::User, "", "bob", ""),
            (client.app_state(), StateScope::App, "shop", "", ""),
            (client.app_state_of("bank"), StateScope::App, "bank", "", ""),
        ] {
            let request = handle.patch().set("cart", "3").remove("draft").expected_version(2).request;
            let whose = SessionRef { app: app.into(), user_id: user.into(), session_id: session.into() };
            assert_eq!((request.scope(), request.session, request.expected_version), (scope, Some(whose.clone()), Some(2)));
            assert_eq!(request.patch, Some(StatePatch::default().setting("cart", "3").removing("draft")));
            let read = handle.get().key("cart").key_prefix("c").as_of_log_version(0).request;
            assert_eq!((read.scope(), read.session, read.keys), (scope, Some(whose), vec!["cart".to_owned()]));
            assert_eq!((read.key_prefix.as_str(), read.as_of_log_version), ("c", Some(0)));
        }
    }

    #[test]
    fn a_created_session_has_its_first_values() {
        let request = client().session("s").create().state("cart", "{}").request;
        assert_eq!(request.state.get("cart").map(String::as_str), Some("{}"));
    }
}
