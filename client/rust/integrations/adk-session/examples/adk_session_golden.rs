//! Writes the golden conversation through the adapter, or reads one and prints its atoms: see tests/integrations/golden.py.
//!
//! `adk_session_golden ADDRESS write SESSION`, or `adk_session_golden ADDRESS read SESSION...`, which prints a JSON object: atoms by
//! session.

use adk_core::{Content, FunctionResponseData, Part};
use adk_session::{AppendEventRequest, CreateRequest, Event, GetRequest, SessionService};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Map, Value, json};
use threadkeep_adk_session::ThreadkeepSessionService;

const APP: &str = "golden";
const USER: &str = "ada";
const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

type Failure = Box<dyn std::error::Error>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [address, what, sessions @ ..] = arguments.as_slice() else {
        return Err("usage: adk_session_golden ADDRESS write|read SESSION...".into());
    };
    let client = threadkeep::Client::builder().address(address).build()?;
    let service = ThreadkeepSessionService::new(&client);
    if what == "write" {
        return write(&service, &sessions[0]).await;
    }
    let mut read = Map::new();
    for id in sessions {
        let session = service.get(naming(id)).await?;
        let contents = session.events().all().into_iter().filter_map(|event| event.llm_response.content);
        read.insert(id.clone(), contents.flat_map(|content| atoms_of(&content)).collect());
    }
    println!("{}", Value::Object(read));
    Ok(())
}

fn naming(id: &str) -> GetRequest {
    let (app_name, user_id, session_id) = (APP.into(), USER.into(), id.into());
    GetRequest { app_name, user_id, session_id, num_recent_events: None, after: None }
}

fn text(text: &str) -> Part {
    Part::Text { text: text.into() }
}

fn call(id: &str, name: &str, args: Value) -> Part {
    Part::FunctionCall { name: name.into(), args, id: Some(id.into()), thought_signature: None }
}

fn response(id: &str, name: &str, response: Value) -> Part {
    let function_response = FunctionResponseData::new(name, response);
    Part::FunctionResponse { function_response, id: Some(id.into()), annotations: None }
}

async fn write(service: &ThreadkeepSessionService, id: &str) -> Result<(), Failure> {
    let image = Part::InlineData { mime_type: "image/png".into(), data: BASE64.decode(PIXEL)?, uri: None, annotations: None };
    let said: [(&str, Vec<Part>); 7] = [
        ("user", vec![text("Compare the weather in Lisbon and Oslo with this map."), image]),
        (
            "model",
            vec![
                Part::Thinking { thinking: "Two cities need two calls.".into(), signature: None },
                text("Let me look at both."),
                call("call_lisbon", "weather", json!({ "city": "Lisbon" })),
                call("call_oslo", "weather", json!({ "city": "Oslo" })),
            ],
        ),
        (
            "function",
            vec![
                response("call_lisbon", "weather", json!({ "celsius": 21, "sky": "clear" })),
                response("call_oslo", "weather", json!({ "error": "the station is offline" })),
            ],
        ),
        ("model", vec![text("Lisbon has 21 °C. Oslo's station is offline. Shall I book Lisbon?")]),
        ("model", vec![call("call_book", "book", json!({ "city": "Lisbon", "nights": 2 }))]),
        ("function", vec![response("call_book", "book", json!({ "booked": true }))]),
        ("model", vec![text("Booked. Enjoy Lisbon. 🌞")]),
    ];
    let (app_name, user_id, session_id) = (APP.into(), USER.into(), Some(id.into()));
    service.create(CreateRequest { app_name, user_id, session_id, state: [].into() }).await?;
    for (role, parts) in said {
        let mut event = Event::new("golden");
        event.author = if role == "user" { "user" } else { "guide" }.into();
        event.llm_response.content = Some(Content { role: role.into(), parts });
        let identity = naming(id).try_identity()?;
        service.append_event_for_identity(AppendEventRequest { identity, event }).await?;
    }
    Ok(())
}

fn atoms_of(content: &Content) -> Vec<Value> {
    let role = if content.role == "model" { "assistant" } else { "user" };
    let atoms = content.parts.iter().filter_map(|part| match part {
        Part::Text { text } => Some(json!({ "role": role, "kind": "text", "text": text })),
        Part::Thinking { thinking, .. } => Some(json!({ "role": role, "kind": "reasoning", "text": thinking })),
        Part::InlineData { mime_type, data, .. } => {
            Some(json!({ "role": role, "kind": "media", "mime": mime_type, "data": BASE64.encode(data) }))
        }
        Part::FunctionCall { name, args, id, .. } => {
            Some(json!({ "role": role, "kind": "call", "id": id, "name": name, "arguments": args }))
        }
        Part::FunctionResponse { function_response, id, .. } => {
            let response = &function_response.response;
            let error = response.get("error");
            let value = error.or_else(|| response.get("output")).unwrap_or(response);
            Some(json!({ "role": "tool", "kind": "result", "id": id, "value": value, "error": error.is_some() }))
        }
        _ => None,
    });
    atoms.collect()
}
