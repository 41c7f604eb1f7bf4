//! Takes one turn as an agent of adk-rs in a session of the app "fleet" and the user "ada", which agents of other frameworks and
//! languages write to. A script replaces the model: it calls one tool, and answers.
//!
//! `adk_rs_fleet ADDRESS SESSION QUESTION ANSWER`
//!
//! It prints each part that the agent read, as one of adk-rs, and then its answer: the ANSWER in « », with the number of different
//! texts in « » that were in its prompt. A call waits for a server that is started again.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use adk_rs::core::{DynTool, GetSessionConfig, LlmRequest, LlmResponse, Model, SessionService, ToolContext};
use adk_rs::error::Result;
use adk_rs::genai_types::{Content, FunctionCall, FunctionDeclaration, Part, Role};
use adk_rs::{LlmAgent, Runner};
use futures::StreamExt;
use serde_json::{Value, json};
use threadkeep::{Client, Retry, new_event_id};
use threadkeep_adk_rs::ThreadkeepSessionService;

const APP: &str = "fleet";
const USER: &str = "ada";

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [address, session, question, answer] = arguments.as_slice() else {
        return Err("usage: adk_rs_fleet ADDRESS SESSION QUESTION ANSWER".into());
    };
    let retry = Retry::default().max_attempts(1_000).pauses(Duration::from_millis(100), Duration::from_millis(500));
    let client = Client::builder().address(address).timeout(Duration::from_secs(120)).retry(retry).build()?;
    let sessions = Arc::new(ThreadkeepSessionService::new(&client));
    match sessions.get_session(APP, USER, session, GetSessionConfig::default()).await? {
        Some(read) => read.events.iter().filter_map(|event| event.response.content.as_ref()).for_each(show),
        None => drop(sessions.create_session(APP, USER, None, Some(session)).await?),
    }
    let agent = LlmAgent::builder("curator").model(Arc::new(Script(answer.clone()))).tool(Arc::new(Museums)).build()?;
    let runner = Runner::builder().app_name(APP).agent(Arc::new(agent)).session_service(sessions).build()?;
    let mut events = runner.run(USER, Some(session), question).await?;
    while let Some(event) = events.next().await {
        if let Some(content) = event?.response.content.filter(|content| !content.text_concat().is_empty()) {
            println!("answer: {}", content.text_concat());
        }
    }
    Ok(())
}

/// Prints the texts, calls and responses of a content.
fn show(content: &Content) {
    for part in &content.parts {
        match part {
            Part::Text(text) => println!("Part::Text({}): {text}", content.role),
            Part::FunctionCall(call) => println!("Part::FunctionCall calls {} {} [{}]", call.name, call.args, shown(&call.id)),
            Part::FunctionResponse(each) => println!("Part::FunctionResponse returns {} [{}]", each.response, shown(&each.id)),
            _ => {}
        }
    }
}

fn shown(id: &Option<String>) -> &str {
    id.as_deref().unwrap_or_default()
}

/// A tool.
#[derive(Debug)]
struct Museums;

#[async_trait::async_trait]
impl DynTool for Museums {
    fn name(&self) -> &str {
        "museums"
    }

    fn description(&self) -> &str {
        "The museums of a city."
    }

    fn declaration(&self) -> Option<FunctionDeclaration> {
        None // A script needs none.
    }

    async fn run(&self, _: Value, _: &mut ToolContext) -> Result<Value> {
        Ok(json!({ "museum": "Gulbenkian", "opens": 10 }))
    }
}

/// Replaces the model: calls the tool, then gives its answer and the number of answers that it read.
#[derive(Debug)]
struct Script(String);

#[async_trait::async_trait]
impl Model for Script {
    fn name(&self) -> &str {
        "script"
    }

    fn supported_models(&self) -> &'static [&'static str] {
        &["script"]
    }

    async fn generate_content(&self, request: LlmRequest) -> Result<LlmResponse> {
        let last = request.contents.last().and_then(|content| content.parts.last());
        let part = if matches!(last, Some(Part::FunctionResponse(_))) {
            let texts = request.contents.iter().flat_map(|content| &content.parts).filter_map(Part::as_text);
            let read: HashSet<&str> = texts.filter_map(|text| Some(text.split_once('«')?.1.split_once('»')?.0)).collect();
            Part::text(format!("«{}» Answers read: {}.", self.0, read.len()))
        } else {
            let id = format!("call_{}", new_event_id());
            Part::FunctionCall(FunctionCall::new("museums", json!({ "city": "Lisbon" })).with_id(id))
        };
        let content = Some(Content { role: Role::Model, parts: vec![part] });
        Ok(LlmResponse { content, ..LlmResponse::default() })
    }
}
