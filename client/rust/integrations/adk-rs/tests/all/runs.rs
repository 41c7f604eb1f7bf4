//! Runs of adk-rs's `Runner`.

use std::sync::Arc;

use adk_rs::core::{DynTool, GetSessionConfig, SessionService, ToolContext};
use adk_rs::error::Result;
use adk_rs::genai_types::{FunctionDeclaration, Part};
use adk_rs::tools::{load_memory_tool, preload_memory_tool};
use adk_rs::{LlmAgent, Runner};
use futures::StreamExt;
use serde_json::{Value, json};
use threadkeep::SessionEvent;
use threadkeep::v1::part::Content as Kind;
use threadkeep_adk_rs::{ThreadkeepMemoryService, ThreadkeepSessionService};

use crate::server::{Killable, client_of, shared};
use crate::support::{Script, call};

/// A tool during which the server dies.
#[derive(Debug)]
struct Weather(Option<Arc<Killable>>);

#[async_trait::async_trait]
impl DynTool for Weather {
    fn name(&self) -> &str {
        "weather"
    }

    fn description(&self) -> &str {
        "The weather of a city."
    }

    fn declaration(&self) -> Option<FunctionDeclaration> {
        None
    }

    async fn run(&self, _: Value, _: &mut ToolContext) -> Result<Value> {
        if let Some(server) = &self.0 {
            server.kill_and_start();
        }
        Ok(json!({ "celsius": 21 }))
    }
}

async fn run(runner: &Runner, session: &str, question: &str) {
    let mut events = runner.run("ada", Some(session), question).await.unwrap();
    while let Some(event) = events.next().await {
        event.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn run_in_which_the_server_is_killed_goes_on_and_stores_each_event_once() {
    let server = Killable::start();
    let sessions = Arc::new(ThreadkeepSessionService::new(&client_of(&server.address)));
    sessions.create_session("trips", "ada", None, Some("s")).await.unwrap();
    let model = Script::new(vec![call("c1", "weather"), Part::text("It has 21 °C.")]);
    let agent = LlmAgent::builder("forecaster").model(model).tool(Arc::new(Weather(Some(server)))).build().unwrap();
    let runner = Runner::builder().app_name("trips").agent(Arc::new(agent)).session_service(sessions.clone()).build().unwrap();
    run(&runner, "s", "Weather in Lisbon?").await;
    let stored: Vec<SessionEvent> = sessions.handle("trips", "ada", "s").events().items().try_collect().await.unwrap();
    let parts = stored.iter().flat_map(|event| event.message.iter().flat_map(|message| &message.parts));
    let kinds = parts.filter_map(|part| part.content.as_ref()).map(|kind| match kind {
        Kind::Text(text) => text.as_str(),
        Kind::ToolCall(call) => call.id.as_str(),
        Kind::ToolResult(result) => result.structured_json.as_str(),
        _ => "another",
    });
    assert_eq!(kinds.collect::<Vec<_>>(), ["Weather in Lisbon?", "c1", r#"{"celsius":21}"#, "It has 21 °C."]);
}

#[tokio::test]
async fn next_run_continues_the_conversation() {
    let (client, app) = shared();
    let sessions = Arc::new(ThreadkeepSessionService::new(&client));
    sessions.create_session(&app, "ada", None, Some("s")).await.unwrap();
    let model = Script::new(vec![call("c1", "weather"), Part::text("It has 21 °C."), Part::text("No.")]);
    let agent = LlmAgent::builder("forecaster").model(model.clone()).tool(Arc::new(Weather(None))).build().unwrap();
    let runner = Runner::builder().app_name(&app).agent(Arc::new(agent)).session_service(sessions.clone()).build().unwrap();
    run(&runner, "s", "Weather in Lisbon?").await;
    run(&runner, "s", "Do I need a coat?").await;
    let prompt = model.requests.lock().last().unwrap().contents.clone();
    let texts: Vec<_> = prompt.iter().map(|content| content.text_concat()).collect();
    assert_eq!(texts, ["Weather in Lisbon?", "", "", "It has 21 °C.", "Do I need a coat?"]);
    let read = sessions.get_session(&app, "ada", "s", GetSessionConfig::default()).await.unwrap().unwrap();
    assert_eq!(read.events.len(), 6);
}

#[tokio::test]
async fn tools_of_memory_find_what_an_earlier_session_said() {
    let (client, app) = shared();
    client
        .memory_of(threadkeep::v1::MemoryScope { app: app.clone(), user_id: "ada".into() })
        .add([threadkeep::remember("Ada prefers window seats.")])
        .await
        .unwrap();
    let sessions = Arc::new(ThreadkeepSessionService::new(&client));
    sessions.create_session(&app, "ada", None, Some("s")).await.unwrap();
    let question =
        Part::FunctionCall(adk_rs::genai_types::FunctionCall::new("load_memory", json!({"query": "window"})).with_id("c1"));
    let model = Script::new(vec![question, Part::text("A window seat.")]);
    let agent =
        LlmAgent::builder("booker").model(model.clone()).tool(load_memory_tool()).tool(preload_memory_tool(3)).build().unwrap();
    let runner = Runner::builder()
        .app_name(&app)
        .agent(Arc::new(agent))
        .session_service(sessions)
        .memory_service(Arc::new(ThreadkeepMemoryService::new(&client)))
        .build()
        .unwrap();
    run(&runner, "s", "Which window seats?").await;
    let requests = model.requests.lock();
    let preloaded = serde_json::to_string(&requests[0].config).unwrap();
    assert!(preloaded.contains("Relevant prior context") && preloaded.contains("Ada prefers window seats."), "{preloaded}");
    let loaded = serde_json::to_string(&requests[1].contents).unwrap();
    assert!(loaded.contains("functionResponse") && loaded.contains("Ada prefers window seats."), "{loaded}");
}
