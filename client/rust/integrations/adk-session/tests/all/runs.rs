//! Runs of adk-runner's `Runner`.

use std::sync::Arc;

use adk_core::{Agent, Content, Event, EventStream, FunctionResponseData, InvocationContext, Part, SessionId, UserId};
use adk_runner::Runner;
use adk_session::{CreateRequest, SessionService as _};
use futures::{StreamExt, stream};
use serde_json::json;
use threadkeep::SessionEvent;
use threadkeep::v1::part::Content as Kind;
use threadkeep_adk_session::ThreadkeepSessionService;

use crate::server::{Killable, client_of, shared};
use crate::support::{call, said, saying};

/// Calls a tool, during which the server may die, and answers with what it read.
struct Forecaster {
    server: Option<Arc<Killable>>,
}

#[async_trait::async_trait]
impl Agent for Forecaster {
    fn name(&self) -> &str {
        "forecaster"
    }

    fn description(&self) -> &str {
        ""
    }

    fn sub_agents(&self) -> &[Arc<dyn Agent>] {
        &[]
    }

    async fn run(&self, context: Arc<dyn InvocationContext>) -> adk_core::Result<EventStream> {
        let server = self.server.clone();
        let read = context.session().conversation_history().len();
        let steps = stream::iter(0..3).then(move |step| {
            let server = server.clone();
            async move {
                Ok::<Event, adk_core::AdkError>(match step {
                    0 => said(vec![call("c1")]),
                    1 => {
                        if let Some(server) = server {
                            server.kill_and_start();
                        }
                        let function_response = FunctionResponseData::new("weather", json!({"celsius": 21}));
                        said(vec![Part::FunctionResponse { function_response, id: Some("c1".into()), annotations: None }])
                    }
                    _ => saying(&format!("I read {read} contents.")),
                })
            }
        });
        Ok(Box::pin(steps))
    }
}

async fn runner(sessions: &Arc<ThreadkeepSessionService>, app: &str, server: Option<Arc<Killable>>) -> Runner {
    let (app_name, user_id, session_id) = (app.into(), "ada".into(), Some("s".into()));
    sessions.create(CreateRequest { app_name, user_id, session_id, state: [].into() }).await.unwrap();
    let agent = Arc::new(Forecaster { server });
    Runner::builder().app_name(app).agent(agent).session_service(sessions.clone()).build().unwrap()
}

async fn run(runner: &Runner, question: &str) {
    let (user, session) = (UserId::new("ada").unwrap(), SessionId::new("s").unwrap());
    let mut events = runner.run(user, session, Content::new("user").with_text(question)).await.unwrap();
    while let Some(event) = events.next().await {
        event.unwrap();
    }
}

async fn kinds(sessions: &ThreadkeepSessionService, app: &str) -> Vec<String> {
    let stored: Vec<SessionEvent> = sessions.handle(app, "ada", "s").events().items().try_collect().await.unwrap();
    let parts = stored.into_iter().flat_map(|event| event.message.unwrap_or_default().parts);
    let kinds = parts.filter_map(|part| part.content).map(|kind| match kind {
        Kind::Text(text) => text,
        Kind::ToolCall(call) => call.id,
        Kind::ToolResult(result) => result.structured_json,
        _ => "another".into(),
    });
    kinds.collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn run_in_which_the_server_is_killed_goes_on_and_stores_each_event_once() {
    let server = Killable::start();
    let sessions = Arc::new(ThreadkeepSessionService::new(&client_of(&server.address)));
    let runner = runner(&sessions, "trips", Some(server)).await;
    run(&runner, "Weather in Lisbon?").await;
    assert_eq!(kinds(&sessions, "trips").await, ["Weather in Lisbon?", "c1", r#"{"celsius":21}"#, "I read 1 contents."]);
}

#[tokio::test]
async fn next_run_continues_the_conversation_and_reads_what_others_said() {
    let (client, app) = shared();
    let sessions = Arc::new(ThreadkeepSessionService::new(&client));
    let runner = runner(&sessions, &app, None).await;
    run(&runner, "Weather in Lisbon?").await;
    sessions.handle(&app, "ada", "s").append([threadkeep::user("And in Oslo?")]).await.unwrap();
    run(&runner, "Do I need a coat?").await;
    assert_eq!(kinds(&sessions, &app).await.last().unwrap(), "I read 6 contents.");
}
