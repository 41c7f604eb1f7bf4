//! A service of a test's own app, and its calls with fewer words.

use adk_core::{Content, Part};
use adk_session::{AppendEventRequest, CreateRequest, Event, GetRequest, ListRequest, Session, SessionService as _};
use serde_json::{Value, json};
use threadkeep_adk_session::ThreadkeepSessionService;

use crate::server::shared;

/// A service with an app of the test's own.
pub(crate) struct Service {
    pub(crate) inner: ThreadkeepSessionService,
    pub(crate) app: String,
}

impl Service {
    pub(crate) fn new() -> Self {
        let (client, app) = shared();
        Self { inner: ThreadkeepSessionService::new(&client), app }
    }

    pub(crate) async fn create(
        &self,
        user: &str,
        id: Option<&str>,
        state: &[(&str, Value)],
    ) -> adk_core::Result<Box<dyn Session>> {
        let state = state.iter().map(|(key, value)| ((*key).into(), value.clone())).collect();
        let (app_name, user_id, session_id) = (self.app.clone(), user.into(), id.map(Into::into));
        self.inner.create(CreateRequest { app_name, user_id, session_id, state }).await
    }

    pub(crate) fn naming(&self, user: &str, id: &str) -> GetRequest {
        let (app_name, user_id, session_id) = (self.app.clone(), user.into(), id.into());
        GetRequest { app_name, user_id, session_id, num_recent_events: None, after: None }
    }

    pub(crate) async fn get(&self, user: &str, id: &str) -> adk_core::Result<Box<dyn Session>> {
        self.inner.get(self.naming(user, id)).await
    }

    pub(crate) async fn append(&self, user: &str, id: &str, event: Event) -> adk_core::Result<()> {
        let identity = self.naming(user, id).try_identity()?;
        self.inner.append_event_for_identity(AppendEventRequest { identity, event }).await
    }

    pub(crate) async fn list(&self, user: &str, offset: Option<usize>, limit: Option<usize>) -> Vec<Box<dyn Session>> {
        let (app_name, user_id) = (self.app.clone(), user.into());
        self.inner.list(ListRequest { app_name, user_id, limit, offset }).await.unwrap()
    }
}

/// An event of the model with these parts.
pub(crate) fn said(parts: Vec<Part>) -> Event {
    let mut event = Event::new("i1");
    event.author = "agent".into();
    event.llm_response.content = Some(Content { role: "model".into(), parts });
    event
}

/// An event of the model with a text.
pub(crate) fn saying(text: &str) -> Event {
    said(vec![Part::Text { text: text.into() }])
}

/// An event with a change of state.
pub(crate) fn changing(key: &str, value: Value) -> Event {
    let mut event = saying(&format!("{key} changes"));
    event.actions.state_delta.insert(key.into(), value);
    event
}

/// A call of a tool.
pub(crate) fn call(id: &str) -> Part {
    let (name, args) = ("weather".into(), json!({ "city": "Lisbon" }));
    Part::FunctionCall { name, args, id: Some(id.into()), thought_signature: None }
}

/// The texts of a session's events.
pub(crate) fn texts(session: &dyn Session) -> Vec<String> {
    let contents = session.events().all().into_iter().filter_map(|event| event.llm_response.content);
    contents.map(|content| content.parts.iter().filter_map(Part::text).collect()).collect()
}
