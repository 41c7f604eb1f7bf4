//! An agent of adk-rs whose conversation is a session of Threadkeep. Another agent, of any framework or language, takes a turn in the
//! same session. A script replaces the model. THREADKEEP_ADDRESS names the server; default: the local one.

use std::sync::Arc;

use adk_rs::core::{DynTool, GetSessionConfig, LlmRequest, LlmResponse, MemoryService, Model, SessionService, ToolContext};
use adk_rs::error::Result;
use adk_rs::genai_types::{Content, FunctionCall, FunctionDeclaration, Part, Role};
use adk_rs::{LlmAgent, Runner};
use futures::StreamExt;
use serde_json::{Value, json};
use threadkeep::{Client, new_event_id};
use threadkeep_adk_rs::{ThreadkeepMemoryService, ThreadkeepSessionService};

const APP: &str = "examples";

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let user = format!("ada-{}", new_event_id()); // One of its own, so that a second run prints the same.
    let client = Client::builder().build()?;
    let sessions = Arc::new(ThreadkeepSessionService::new(&client));
    let memory = Arc::new(ThreadkeepMemoryService::new(&client));
    let agent = LlmAgent::builder("forecaster").model(Arc::new(Script)).tool(Arc::new(Weather)).build()?;
    let runner = Runner::builder()
        .app_name(APP)
        .agent(Arc::new(agent))
        .session_service(sessions.clone())
        .memory_service(memory.clone())
        .build()?;
    let id = sessions.create_session(APP, &user, None, None).await?.id;
    ask(&runner, &user, &id, "How is the weather in Lisbon?").await?;
    let others = [threadkeep::user("And in Oslo?"), threadkeep::assistant("Oslo has 4 degrees.")];
    sessions.handle(APP, &user, &id).append(others).await?;
    ask(&runner, &user, &id, "Thank you.").await?;

    let session = sessions.get_session(APP, &user, &id, GetSessionConfig::default()).await?.expect("it is there");
    for event in &session.events {
        for part in event.response.content.iter().flat_map(|content| &content.parts) {
            println!("{}: {}", event.author, shown(part));
        }
    }
    memory.add_session_to_memory(&session).await?;
    let found = memory.search_memory(APP, &user, "Oslo degrees").await?.memories;
    println!("remembered: {}", found[0].content.text_concat());
    Ok(())
}

async fn ask(runner: &Runner, user: &str, session: &str, question: &str) -> Result<()> {
    let mut events = runner.run(user, Some(session), question).await?;
    while let Some(event) = events.next().await {
        event?;
    }
    Ok(())
}

fn shown(part: &Part) -> String {
    match part {
        Part::FunctionCall(call) => format!("calls {} {}", call.name, call.args),
        Part::FunctionResponse(response) => format!("gets {}", response.response),
        part => part.as_text().unwrap_or_default().into(),
    }
}

/// A tool.
#[derive(Debug)]
struct Weather;

#[async_trait::async_trait]
impl DynTool for Weather {
    fn name(&self) -> &str {
        "weather"
    }

    fn description(&self) -> &str {
        "The weather in a city."
    }

    fn declaration(&self) -> Option<FunctionDeclaration> {
        None // A script needs none.
    }

    async fn run(&self, _: Value, _: &mut ToolContext) -> Result<Value> {
        Ok(json!({ "degrees": 21 }))
    }
}

/// Replaces the model: calls the tool, returns its result, and otherwise how many contents it was given.
#[derive(Debug)]
struct Script;

#[async_trait::async_trait]
impl Model for Script {
    fn name(&self) -> &str {
        "script"
    }

    fn supported_models(&self) -> &'static [&'static str] {
        &["script"]
    }

    async fn generate_content(&self, request: LlmRequest) -> Result<LlmResponse> {
        let part = match request.contents.last().and_then(|content| content.parts.last()) {
            Some(Part::FunctionResponse(response)) => Part::text(format!("It has {} degrees.", response.response["degrees"])),
            Some(Part::Text(text)) if text.contains("weather") => {
                Part::FunctionCall(FunctionCall::new("weather", json!({ "city": "Lisbon" })).with_id("call_1"))
            }
            _ => Part::text(format!("I read {} contents.", request.contents.len())),
        };
        let content = Some(Content { role: Role::Model, parts: vec![part] });
        Ok(LlmResponse { content, ..LlmResponse::default() })
    }
}
