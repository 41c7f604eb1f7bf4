//! Builds events and reads their text.
//!
//! Set other fields of an event with Rust's update syntax:
//!
//! ```
//! use threadkeep::{SessionEvent, user};
//! let event = SessionEvent { author: "ada".into(), branch: "planner".into(), ..user("Is BA117 on time?") };
//! assert_eq!(event.author, "ada");
//! ```

use uuid::Uuid;

use crate::v1::{
    ChatMessage, MediaPart, MemoryEntry, Part, ReasoningPart, Role, SessionEvent, ToolCallPart, ToolResultPart, media_part,
    part::Content,
};

/// Returns a user message. On the root branch it starts a turn.
pub fn user(text: impl Into<String>) -> SessionEvent {
    event(Role::User, [text_part(text)])
}

/// Returns a model message.
pub fn assistant(text: impl Into<String>) -> SessionEvent {
    event(Role::Assistant, [text_part(text)])
}

/// Returns instructions to the model.
pub fn system(text: impl Into<String>) -> SessionEvent {
    event(Role::System, [text_part(text)])
}

/// Returns a model message, followed by its tool calls; see [`tool_call`]. An empty text is left out.
pub fn assistant_with_calls(text: impl Into<String>, calls: impl IntoIterator<Item = Part>) -> SessionEvent {
    let text = text.into();
    event(Role::Assistant, (!text.is_empty()).then(|| text_part(text)).into_iter().chain(calls))
}

/// Returns the result of one tool call.
pub fn tool_result(call_id: impl Into<String>, name: impl Into<String>, output: impl Into<ToolOutput>) -> SessionEvent {
    result(call_id.into(), name.into(), output.into(), false)
}

/// Returns the failure of one tool call.
pub fn tool_error(call_id: impl Into<String>, name: impl Into<String>, output: impl Into<ToolOutput>) -> SessionEvent {
    result(call_id.into(), name.into(), output.into(), true)
}

fn result(call_id: String, name: String, output: ToolOutput, is_error: bool) -> SessionEvent {
    let (parts, structured_json) = match output {
        ToolOutput::Text(text) => (vec![text_part(text)], String::new()),
        ToolOutput::Json(json) => (Vec::new(), json),
    };
    let result = ToolResultPart { call_id, name, parts, structured_json, is_error };
    event(Role::Tool, [Part { content: Some(Content::ToolResult(result)) }])
}

fn event(role: Role, parts: impl IntoIterator<Item = Part>) -> SessionEvent {
    let message = ChatMessage { role: role.into(), parts: parts.into_iter().collect() };
    SessionEvent { message: Some(message), ..Default::default() }
}

/// Returns a part of the model's reasoning, for [`assistant_with_parts`].
pub fn reasoning(text: impl Into<String>) -> Part {
    Part { content: Some(Content::Reasoning(ReasoningPart { text: text.into(), ..Default::default() })) }
}

/// Returns a part of media at this URI, for [`user_with_parts`] and [`assistant_with_parts`].
pub fn media(mime_type: impl Into<String>, uri: impl Into<String>) -> Part {
    let source = Some(media_part::Source::Uri(uri.into()));
    Part { content: Some(Content::Media(MediaPart { mime_type: mime_type.into(), source, ..Default::default() })) }
}

/// Returns a part of plain text, which keyword filters and search look at.
pub fn text(text: impl Into<String>) -> Part {
    text_part(text)
}

/// Returns a user message of several parts.
pub fn user_with_parts(parts: impl IntoIterator<Item = Part>) -> SessionEvent {
    event(Role::User, parts)
}

/// Returns a model message of several parts.
pub fn assistant_with_parts(parts: impl IntoIterator<Item = Part>) -> SessionEvent {
    event(Role::Assistant, parts)
}

fn text_part(text: impl Into<String>) -> Part {
    Part { content: Some(Content::Text(text.into())) }
}

/// Returns a tool call of kind "function", with arguments as the model wrote them.
pub fn tool_call(id: impl Into<String>, name: impl Into<String>, arguments: impl Into<Json>) -> Part {
    let arguments_json = arguments.into().into();
    let call = ToolCallPart { id: id.into(), name: name.into(), kind: "function".into(), arguments_json };
    Part { content: Some(Content::ToolCall(call)) }
}

/// The result of a tool. A `&str` or a `String` is text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolOutput {
    /// Text.
    Text(String),
    /// JSON text, stored verbatim.
    Json(String),
}

impl From<&str> for ToolOutput {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for ToolOutput {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&String> for ToolOutput {
    fn from(text: &String) -> Self {
        Self::Text(text.clone())
    }
}

impl From<Json> for ToolOutput {
    fn from(json: Json) -> Self {
        Self::Json(json.0)
    }
}

#[cfg(feature = "serde_json")]
impl From<serde_json::Value> for ToolOutput {
    fn from(value: serde_json::Value) -> Self {
        Self::Json(value.to_string())
    }
}

/// JSON text, which is sent verbatim. With the feature `serde_json`, a `serde_json::Value` is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Json(String);

impl From<&str> for Json {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl From<String> for Json {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl From<&String> for Json {
    fn from(text: &String) -> Self {
        Self(text.clone())
    }
}

#[cfg(feature = "serde_json")]
impl From<serde_json::Value> for Json {
    fn from(value: serde_json::Value) -> Self {
        Self(value.to_string())
    }
}

impl From<Json> for String {
    fn from(json: Json) -> Self {
        json.0
    }
}

/// Returns the text of the event as search sees it: its text parts, joined by line feeds. Empty if there is none.
pub fn text_of(event: &SessionEvent) -> String {
    joined(event.message.as_ref())
}

/// Returns the text of a memory entry, like [`text_of`].
pub fn text_of_memory(entry: &MemoryEntry) -> String {
    joined(entry.content.as_ref())
}

fn joined(message: Option<&ChatMessage>) -> String {
    let contents = message.into_iter().flat_map(|message| &message.parts).filter_map(|part| part.content.as_ref());
    let texts = contents.filter_map(|content| if let Content::Text(text) = content { Some(text.as_str()) } else { None });
    texts.collect::<Vec<_>>().join("\n")
}

/// Returns a UUIDv7. Ids sort by creation time.
pub fn new_event_id() -> String {
    Uuid::now_v7().to_string()
}

/// Returns the events with ids. Appending clones of them again after an error stores nothing twice.
pub fn with_ids(events: impl IntoIterator<Item = SessionEvent>) -> Vec<SessionEvent> {
    let mut events: Vec<_> = events.into_iter().collect();
    for event in events.iter_mut().filter(|event| event.event_id.is_empty()) {
        event.event_id = new_event_id();
    }
    events
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(event: &SessionEvent) -> &ChatMessage {
        event.message.as_ref().expect("a built event has a message")
    }

    #[test]
    fn text_builders_set_the_role_and_no_id() {
        for (built, role) in [(user("hi"), Role::User), (assistant("hi"), Role::Assistant), (system("hi"), Role::System)] {
            assert_eq!((message(&built).role(), text_of(&built).as_str()), (role, "hi"));
            assert!(built.event_id.is_empty());
        }
    }

    #[test]
    fn tool_calls_follow_the_text_with_verbatim_arguments() {
        let built = assistant_with_calls("Let me look.", [tool_call("c1", "status", "{ \"flight\":\"BA117\" }")]);
        assert_eq!(message(&built).parts.len(), 2);
        let Some(Content::ToolCall(call)) = &message(&built).parts[1].content else { panic!("{built:?}") };
        assert_eq!((call.id.as_str(), call.name.as_str(), call.kind.as_str()), ("c1", "status", "function"));
        assert_eq!(call.arguments_json, "{ \"flight\":\"BA117\" }");
        assert_eq!(message(&assistant_with_calls("", [tool_call("c1", "status", "{}")])).parts.len(), 1);
    }

    #[test]
    fn tool_results_are_text_or_json_and_may_be_errors() {
        let result = |event: SessionEvent| match message(&event).parts[0].content.clone() {
            Some(Content::ToolResult(result)) => result,
            other => panic!("{other:?}"),
        };
        let text = result(tool_result("c1", "status", "on time"));
        assert_eq!((text.parts, text.structured_json.as_str(), text.is_error), (vec![text_part("on time")], "", false));
        let json = result(tool_error("c1", "status", ToolOutput::Json("{\"late\": 5}".into())));
        assert_eq!((json.parts.len(), json.structured_json.as_str(), json.is_error), (0, "{\"late\": 5}", true));
    }

    #[cfg(feature = "serde_json")]
    #[test]
    fn a_json_value_is_json_text() {
        let value = || serde_json::json!({"at": 5});
        assert_eq!(ToolOutput::from(value()), ToolOutput::Json("{\"at\":5}".into()));
        assert_eq!(String::from(Json::from(value())), "{\"at\":5}");
    }

    #[test]
    fn text_of_joins_the_text_parts() {
        let parts = [text("one"), tool_call("c", "f", "{}"), reasoning("so"), media("image/png", "s3://a"), text("two")];
        assert_eq!(text_of(&assistant_with_parts(parts)), "one\ntwo");
        assert_eq!(text_of(&SessionEvent::default()), "");
    }

    #[test]
    fn ids_are_version_7_sort_by_time_and_spare_those_given() {
        let events = with_ids([user("a"), SessionEvent { event_id: "mine".into(), ..user("b") }, user("c")]);
        assert_eq!(events[1].event_id, "mine");
        assert!(events[0].event_id < events[2].event_id);
        assert_eq!(Uuid::parse_str(&events[0].event_id).expect("a UUID").get_version_num(), 7);
    }
}
