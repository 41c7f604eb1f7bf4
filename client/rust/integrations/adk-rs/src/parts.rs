//! Parts of adk-rs as typed parts of Threadkeep, and back.

use std::collections::HashMap;

use adk_rs::genai_types::part::{FileData, InlineData};
use adk_rs::genai_types::{Content, FunctionCall, FunctionResponse, Part, Role};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Value, json};
use threadkeep::v1::media_part::Source;
use threadkeep::v1::part::Content as Kind;
use threadkeep::v1::{self, DataPart, MediaPart, ReasoningPart, ToolCallPart, ToolResultPart};

/// The type of a part that only Gemini's family of frameworks knows; the same as that of Python's ADK adapter.
const GEMINI: &str = "gemini";
/// Keys of a function's response that alone mean: this is all it returned.
const OUTPUTS: [&str; 3] = ["result", "output", "error"];

/// The names of tools, by the ids of their calls.
pub(crate) type Names = HashMap<String, String>;

/// Returns the message of a content. Results of functions are TOOL; otherwise "user" as author is USER.
pub(crate) fn message_of(content: Option<&Content>, author: &str) -> v1::ChatMessage {
    let parts: Vec<_> = content.into_iter().flat_map(|content| &content.parts).filter_map(typed).collect();
    let is_result = |part: &v1::Part| matches!(part.content, Some(Kind::ToolResult(_)));
    let role = match content {
        _ if parts.iter().any(is_result) => threadkeep::Role::Tool,
        Some(content) if content.role == Role::System => threadkeep::Role::System,
        Some(_) if author == "user" => threadkeep::Role::User,
        _ => threadkeep::Role::Assistant,
    };
    v1::ChatMessage { role: role.into(), parts }
}

/// Returns the content of a message, None without parts. Reasoning has no signature: it is that of another model, or in the native
/// content.
pub(crate) fn content_of(message: &v1::ChatMessage, names: &mut Names) -> Option<Content> {
    let parts: Vec<_> =
        message.parts.iter().filter_map(|part| part.content.as_ref()).flat_map(|kind| rendered(kind, names)).collect();
    let role = if message.role() == threadkeep::Role::Assistant { Role::Model } else { Role::User };
    (!parts.is_empty()).then_some(Content { role, parts })
}

/// Returns the typed part; none of what has neither text nor data, such as redacted reasoning.
fn typed(part: &Part) -> Option<v1::Part> {
    let kind = match part {
        Part::Text(text) => Kind::Text(text.clone()),
        Part::Thought(thought) => Kind::Reasoning(ReasoningPart { text: thought.text.clone(), ..ReasoningPart::default() }),
        Part::RedactedThought(_) => return None,
        Part::InlineData(data) => Kind::Media(MediaPart {
            mime_type: data.mime_type.clone(),
            name: data.display_name.clone().unwrap_or_default(),
            source: Some(Source::Data(data.decode().unwrap_or_default())),
            ..MediaPart::default()
        }),
        Part::FileData(file) => Kind::Media(MediaPart {
            mime_type: file.mime_type.clone(),
            name: file.display_name.clone().unwrap_or_default(),
            source: Some(Source::Uri(file.file_uri.clone())),
            ..MediaPart::default()
        }),
        Part::FunctionCall(call) => Kind::ToolCall(ToolCallPart {
            id: call.id.clone().unwrap_or_default(),
            name: call.name.clone(),
            kind: "function".into(),
            arguments_json: if call.args.is_null() { String::new() } else { call.args.to_string() },
        }),
        Part::FunctionResponse(response) => Kind::ToolResult(result_of(response)),
        Part::ExecutableCode(_) | Part::CodeExecutionResult(_) => {
            Kind::Data(DataPart { r#type: GEMINI.into(), json: snake_case(serde_json::to_value(part).ok()?).to_string() })
        }
    };
    Some(v1::Part { content: Some(kind) })
}

/// The keys of code that a model ran, as Gemini's Python SDK spells them.
fn snake_case(part: Value) -> Value {
    let Value::Object(object) = part else { return part };
    let spelled = |key: String| match key.as_str() {
        "executableCode" => "executable_code".into(),
        "codeExecutionResult" => "code_execution_result".into(),
        _ => key,
    };
    Value::Object(object.into_iter().map(|(key, value)| (spelled(key), value)).collect())
}

/// A response with only "result", "output" or "error" is that value, as ADK makes it of what a tool returns.
fn result_of(response: &FunctionResponse) -> ToolResultPart {
    let mut value = &response.response;
    let is_error = value.get("error").is_some_and(|error| !error.is_null());
    if let Value::Object(object) = value
        && let (1, Some((key, only))) = (object.len(), object.iter().next())
        && OUTPUTS.contains(&key.as_str())
    {
        value = only;
    }
    let mut result = ToolResultPart {
        call_id: response.id.clone().unwrap_or_default(),
        name: response.name.clone(),
        is_error,
        ..ToolResultPart::default()
    };
    match value {
        Value::Null => {}
        Value::String(text) => result.parts.push(threadkeep::text(text)),
        value => result.structured_json = value.to_string(),
    }
    result
}

fn rendered(kind: &Kind, names: &mut Names) -> Vec<Part> {
    match kind {
        Kind::Text(text) if text.is_empty() => vec![],
        Kind::Text(text) => vec![Part::text(text)],
        Kind::Reasoning(reasoning) if reasoning.text.is_empty() => vec![],
        Kind::Reasoning(reasoning) => vec![Part::thought(&reasoning.text)],
        Kind::ToolCall(call) => {
            names.insert(call.id.clone(), call.name.clone());
            vec![Part::FunctionCall(FunctionCall::new(&call.name, object(&call.arguments_json)).with_id(&call.id))]
        }
        Kind::ToolResult(result) => {
            let media = result.parts.iter().filter_map(|part| match &part.content {
                Some(Kind::Media(media)) => Some(media_of(media)),
                _ => None,
            });
            std::iter::once(response_of(result, names)).chain(media).collect()
        }
        Kind::Media(media) => vec![media_of(media)],
        Kind::Data(data) if data.r#type == GEMINI => serde_json::from_str(&data.json).into_iter().collect(),
        Kind::Data(_) => vec![],
    }
}

/// Text is the `output` of a function, or its `error`.
fn response_of(result: &ToolResultPart, names: &Names) -> Part {
    let mut response = if result.structured_json.is_empty() {
        let texts = result.parts.iter().filter_map(|part| match &part.content {
            Some(Kind::Text(text)) => Some(text.as_str()),
            _ => None,
        });
        json!({ "output": texts.collect::<Vec<_>>().join("\n") })
    } else {
        object(&result.structured_json)
    };
    if result.is_error {
        response = match response.get("output") {
            Some(output) => json!({ "error": output }),
            None if response.get("error").is_some() => response,
            None => json!({ "error": response }),
        };
    }
    let known = names.get(&result.call_id).map_or("unknown", String::as_str);
    let name = if result.name.is_empty() { known } else { &result.name };
    Part::FunctionResponse(FunctionResponse::new(name, response).with_id(&result.call_id))
}

/// Returns the JSON object of a text; another value is its "output", and a text that is no JSON too.
fn object(text: &str) -> Value {
    match serde_json::from_str(text) {
        Ok(Value::Object(object)) => Value::Object(object),
        Ok(value) => json!({ "output": value }),
        Err(_) if text.is_empty() => json!({}),
        Err(_) => json!({ "output": text }),
    }
}

fn media_of(media: &MediaPart) -> Part {
    let inline = |mime_type: &str, data: String| {
        Part::InlineData(InlineData { mime_type: mime_type.into(), data, display_name: named(&media.name) })
    };
    match &media.source {
        Some(Source::Data(data)) => inline(&media.mime_type, BASE64.encode(data)),
        Some(Source::Uri(uri) | Source::FileId(uri)) => match uri
            .strip_prefix("data:")
            .and_then(|rest| rest.split_once(";base64,"))
        {
            Some((head, data)) if media.mime_type.is_empty() => inline(head.split(';').next().unwrap_or_default(), data.into()),
            Some((_, data)) => inline(&media.mime_type, data.into()),
            None => {
                let (mime_type, file_uri) = (media.mime_type.clone(), uri.clone());
                Part::FileData(FileData { mime_type, file_uri, display_name: named(&media.name) })
            }
        },
        None => inline(&media.mime_type, String::new()),
    }
}

fn named(name: &str) -> Option<String> {
    (!name.is_empty()).then(|| name.into())
}
