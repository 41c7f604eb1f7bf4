//! Writes the golden conversation through the adapter, or reads one and prints its atoms: see tests/integrations/golden.py.
//!
//! `adk_rs_golden ADDRESS write SESSION`, or `adk_rs_golden ADDRESS read SESSION...`, which prints a JSON object: atoms by session.

use adk_rs::core::{Event, GetSessionConfig, LlmResponse, SessionService};
use adk_rs::genai_types::part::{InlineData, Thought};
use adk_rs::genai_types::{Content, FunctionCall, FunctionResponse, Part, Role};
use serde_json::{Map, Value, json};
use threadkeep_adk_rs::ThreadkeepSessionService;

const APP: &str = "golden";
const USER: &str = "ada";
const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

type Failure = Box<dyn std::error::Error>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [address, what, sessions @ ..] = arguments.as_slice() else {
        return Err("usage: adk_rs_golden ADDRESS write|read SESSION...".into());
    };
    let client = threadkeep::Client::builder().address(address).build()?;
    let service = ThreadkeepSessionService::new(&client);
    if what == "write" {
        return write(&service, &sessions[0]).await;
    }
    let mut read = Map::new();
    for id in sessions {
        let session = service.get_session(APP, USER, id, GetSessionConfig::default()).await?.ok_or("there is no session")?;
        let atoms = session.events.iter().filter_map(|event| event.response.content.as_ref()).flat_map(atoms_of);
        read.insert(id.clone(), atoms.collect());
    }
    println!("{}", Value::Object(read));
    Ok(())
}

fn call(id: &str, name: &str, args: Value) -> Part {
    Part::FunctionCall(FunctionCall::new(name, args).with_id(id))
}

fn response(id: &str, name: &str, response: Value) -> Part {
    Part::FunctionResponse(FunctionResponse::new(name, response).with_id(id))
}

async fn write(service: &ThreadkeepSessionService, id: &str) -> Result<(), Failure> {
    let image = InlineData { mime_type: "image/png".into(), data: PIXEL.into(), display_name: None };
    let said: [(Role, Vec<Part>); 7] = [
        (Role::User, vec![Part::text("Compare the weather in Lisbon and Oslo with this map."), Part::InlineData(image)]),
        (
            Role::Model,
            vec![
                Part::Thought(Thought::new("Two cities need two calls.")),
                Part::text("Let me look at both."),
                call("call_lisbon", "weather", json!({ "city": "Lisbon" })),
                call("call_oslo", "weather", json!({ "city": "Oslo" })),
            ],
        ),
        (
            Role::User,
            vec![
                response("call_lisbon", "weather", json!({ "celsius": 21, "sky": "clear" })),
                response("call_oslo", "weather", json!({ "error": "the station is offline" })),
            ],
        ),
        (Role::Model, vec![Part::text("Lisbon has 21 °C. Oslo's station is offline. Shall I book Lisbon?")]),
        (Role::Model, vec![call("call_book", "book", json!({ "city": "Lisbon", "nights": 2 }))]),
        (Role::User, vec![response("call_book", "book", json!({ "booked": true }))]),
        (Role::Model, vec![Part::text("Booked. Enjoy Lisbon. 🌞")]),
    ];
    let mut session = service.create_session(APP, USER, None, Some(id)).await?;
    for (n, (role, parts)) in said.into_iter().enumerate() {
        let author = if n == 0 { "user" } else { "guide" };
        let response = LlmResponse { content: Some(Content { role, parts }), ..LlmResponse::default() };
        service.append_event(&mut session, Event::new(author, response)).await?;
    }
    Ok(())
}

fn atoms_of(content: &Content) -> Vec<Value> {
    let role = if content.role == Role::Model { "assistant" } else { "user" };
    let atoms = content.parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(json!({ "role": role, "kind": "text", "text": text })),
        Part::Thought(thought) => Some(json!({ "role": role, "kind": "reasoning", "text": thought.text })),
        Part::InlineData(data) => Some(json!({ "role": role, "kind": "media", "mime": data.mime_type, "data": data.data })),
        Part::FunctionCall(call) => {
            Some(json!({ "role": role, "kind": "call", "id": call.id, "name": call.name, "arguments": call.args }))
        }
        Part::FunctionResponse(each) => {
            let error = each.response.get("error");
            let value = error.or_else(|| each.response.get("output")).unwrap_or(&each.response);
            Some(json!({ "role": "tool", "kind": "result", "id": each.id, "value": value, "error": error.is_some() }))
        }
        _ => None,
    });
    atoms.collect()
}
