//! Events, and a script that replaces a model.

use std::sync::Arc;

use adk_rs::core::{Event, LlmRequest, LlmResponse, Model};
use adk_rs::error::Result;
use adk_rs::genai_types::{Content, FunctionCall, Part, Role};
use parking_lot::Mutex;
use serde_json::{Value, json};

/// An event of the model with these parts.
pub(crate) fn said(parts: Vec<Part>) -> Event {
    let content = Some(Content { role: Role::Model, parts });
    Event::new("agent", LlmResponse { content, ..LlmResponse::default() })
}

/// An event with a change of state.
pub(crate) fn changing(key: &str, value: Value) -> Event {
    let mut event = Event::model_text("agent", format!("{key} changes"));
    event.actions.state_delta.insert(key.into(), value);
    event
}

/// A call of a tool.
pub(crate) fn call(id: &str, name: &str) -> Part {
    Part::FunctionCall(FunctionCall::new(name, json!({ "city": "Lisbon" })).with_id(id))
}

/// Replaces a model: gives these parts in turn. `requests` are those that it received.
#[derive(Debug)]
pub(crate) struct Script {
    replies: Mutex<Vec<Part>>,
    pub(crate) requests: Mutex<Vec<LlmRequest>>,
}

impl Script {
    pub(crate) fn new(mut replies: Vec<Part>) -> Arc<Self> {
        replies.reverse();
        Arc::new(Self { replies: Mutex::new(replies), requests: Mutex::default() })
    }
}

#[async_trait::async_trait]
impl Model for Script {
    fn name(&self) -> &str {
        "script"
    }

    fn supported_models(&self) -> &'static [&'static str] {
        &["script"]
    }

    async fn generate_content(&self, request: LlmRequest) -> Result<LlmResponse> {
        self.requests.lock().push(request);
        let part = self.replies.lock().pop().expect("one more reply");
        let content = Some(Content { role: Role::Model, parts: vec![part] });
        Ok(LlmResponse { content, ..LlmResponse::default() })
    }
}
