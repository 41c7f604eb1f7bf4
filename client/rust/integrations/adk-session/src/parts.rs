//! Parts of adk-rust as typed parts of Threadkeep, and back.

use std::collections::HashMap;

use adk_core::{Content, EmbeddedResource, FileDataPart, FunctionResponseData, InlineDataPart, Part};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Value, json};
use threadkeep::v1::media_part::Source;
use threadkeep::v1::part::Content as Kind;
use threadkeep::v1::{self, DataPart, MediaPart, ReasoningPart, ToolCallPart, ToolResultPart};

/// The type of a part that only adk-rust knows: a call of a tool that the model's provider ran, and its result.
const OWN: &str = "adk-rust";
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
        Some(content) if content.role == "system" => threadkeep::Role::System,
        Some(_) if author == "user" => threadkeep::Role::User,
        _ => threadkeep::Role::Assistant,
    };
    v1::ChatMessage { role: role.into(), parts }
}

/// Returns the content of a message, None without parts. Reasoning has no signature: it is that of another model, or in the native
/// content.
pub(crate) fn content_of(message: &v1::ChatMessage, names: &mut Names) -> Option<Content> {
    let parts: Vec<_> =
        message.parts.iter().filter_map(|part| part.content.as_ref()).filter_map(|kind| rendered(kind, names)).collect();
    let role = match message.role() {
        threadkeep::Role::Assistant => "model",
        threadkeep::Role::Tool => "function",
        threadkeep::Role::System => "system",
        _ => "user",
    };
    (!parts.is_empty()).then(|| Content { role: role.into(), parts })
}

fn typed(part: &Part) -> Option<v1::Part> {
    let kind = match part {
        Part::Text { text } => Kind::Text(text.clone()),
        Part::Thinking { thinking, .. } => Kind::Reasoning(ReasoningPart { text: thinking.clone(), ..ReasoningPart::default() }),
        Part::InlineData { mime_type, data, uri, .. } => Kind::Media(held(mime_type, data, uri.as_deref())),
        Part::FileData { mime_type, file_uri, .. } => Kind::Media(linked(mime_type, file_uri)),
        Part::EmbeddedResource { resource } => Kind::Media(match resource {
            EmbeddedResource::Text(text) => {
                held(text.mime_type.as_deref().unwrap_or("text/plain"), text.text.as_bytes(), Some(&text.uri))
            }
            EmbeddedResource::Blob(blob) => {
                held(blob.mime_type.as_deref().unwrap_or("application/octet-stream"), &blob.data, Some(&blob.uri))
            }
        }),
        Part::FunctionCall { name, args, id, .. } => Kind::ToolCall(ToolCallPart {
            id: id.clone().unwrap_or_default(),
            name: name.clone(),
            kind: "function".into(),
            arguments_json: if args.is_null() { String::new() } else { args.to_string() },
        }),
        Part::FunctionResponse { function_response, id, .. } => Kind::ToolResult(result_of(function_response, id.as_deref())),
        Part::ServerToolCall { .. } | Part::ServerToolResponse { .. } => {
            Kind::Data(DataPart { r#type: OWN.into(), json: serde_json::to_string(part).ok()? })
        }
    };
    Some(v1::Part { content: Some(kind) })
}

fn held(mime_type: &str, data: &[u8], name: Option<&str>) -> MediaPart {
    let (mime_type, name) = (mime_type.into(), name.unwrap_or_default().into());
    MediaPart { mime_type, name, source: Some(Source::Data(data.to_vec())), ..MediaPart::default() }
}

fn linked(mime_type: &str, uri: &str) -> MediaPart {
    MediaPart { mime_type: mime_type.into(), source: Some(Source::Uri(uri.into())), ..MediaPart::default() }
}

/// A response with only "result", "output" or "error" is that value, as ADK makes it of what a tool returns. Its media follow.
fn result_of(data: &FunctionResponseData, id: Option<&str>) -> ToolResultPart {
    let mut value = &data.response;
    let is_error = value.get("error").is_some_and(|error| !error.is_null());
    if let Value::Object(object) = value
        && let (1, Some((key, only))) = (object.len(), object.iter().next())
        && OUTPUTS.contains(&key.as_str())
    {
        value = only;
    }
    let mut result =
        ToolResultPart { call_id: id.unwrap_or_default().into(), name: data.name.clone(), is_error, ..ToolResultPart::default() };
    match value {
        Value::Null => {}
        Value::String(text) => result.parts.push(threadkeep::text(text)),
        value => result.structured_json = value.to_string(),
    }
    let inline = data.inline_data.iter().map(|each| held(&each.mime_type, &each.data, each.uri.as_deref()));
    let media = inline.chain(data.file_data.iter().map(|each| linked(&each.mime_type, &each.file_uri)));
    result.parts.extend(media.map(|media| v1::Part { content: Some(Kind::Media(media)) }));
    result
}

fn rendered(kind: &Kind, names: &mut Names) -> Option<Part> {
    match kind {
        Kind::Text(text) => (!text.is_empty()).then(|| Part::Text { text: text.clone() }),
        Kind::Reasoning(reasoning) => {
            (!reasoning.text.is_empty()).then(|| Part::Thinking { thinking: reasoning.text.clone(), signature: None })
        }
        Kind::ToolCall(call) => {
            names.insert(call.id.clone(), call.name.clone());
            let (name, args) = (call.name.clone(), object(&call.arguments_json));
            Some(Part::FunctionCall { name, args, id: Some(call.id.clone()), thought_signature: None })
        }
        Kind::ToolResult(result) => {
            let (function_response, id) = (response_of(result, names), Some(result.call_id.clone()));
            Some(Part::FunctionResponse { function_response, id, annotations: None })
        }
        Kind::Media(media) => Some(match media_of(media) {
            Media::Held(InlineDataPart { mime_type, data, uri, annotations }) => {
                Part::InlineData { mime_type, data, uri, annotations }
            }
            Media::Linked(FileDataPart { mime_type, file_uri, annotations }) => {
                Part::FileData { mime_type, file_uri, annotations }
            }
        }),
        Kind::Data(data) if data.r#type == OWN => serde_json::from_str(&data.json).ok(),
        Kind::Data(_) => None,
    }
}

/// Text is the `output` of a function, or its `error`.
fn response_of(result: &ToolResultPart, names: &Names) -> FunctionResponseData {
    let mut texts = vec![];
    let (mut inline_data, mut file_data) = (vec![], vec![]);
    for part in &result.parts {
        match &part.content {
            Some(Kind::Text(text)) => texts.push(text.as_str()),
            Some(Kind::Media(media)) => match media_of(media) {
                Media::Held(data) => inline_data.push(data),
                Media::Linked(file) => file_data.push(file),
            },
            _ => {}
        }
    }
    let mut response =
        if result.structured_json.is_empty() { json!({ "output": texts.join("\n") }) } else { object(&result.structured_json) };
    if result.is_error {
        response = match response.get("output") {
            Some(output) => json!({ "error": output }),
            None if response.get("error").is_some() => response,
            None => json!({ "error": response }),
        };
    }
    let known = names.get(&result.call_id).map_or("unknown", String::as_str);
    let name = if result.name.is_empty() { known } else { &result.name };
    FunctionResponseData { name: name.into(), response, inline_data, file_data }
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

enum Media {
    Held(InlineDataPart),
    Linked(FileDataPart),
}

fn media_of(media: &MediaPart) -> Media {
    let mime_type = media.mime_type.clone();
    match &media.source {
        Some(Source::Uri(uri) | Source::FileId(uri)) => match decoded(uri) {
            Some((head, data)) => {
                let mime_type = if mime_type.is_empty() { head.split(';').next().unwrap_or_default().into() } else { mime_type };
                inline(mime_type, data, media)
            }
            None => Media::Linked(FileDataPart { mime_type, file_uri: uri.clone(), annotations: None }),
        },
        Some(Source::Data(data)) => inline(mime_type, data.clone(), media),
        None => inline(mime_type, vec![], media),
    }
}

/// Returns the type and the bytes of a data URI.
fn decoded(uri: &str) -> Option<(&str, Vec<u8>)> {
    let (head, data) = uri.strip_prefix("data:")?.split_once(";base64,")?;
    Some((head, BASE64.decode(data).ok()?))
}

fn inline(mime_type: String, data: Vec<u8>, media: &MediaPart) -> Media {
    let uri = (!media.name.is_empty()).then(|| media.name.clone());
    Media::Held(InlineDataPart { mime_type, data, uri, annotations: None })
}
