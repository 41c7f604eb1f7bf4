//! An agent of adk-rust whose conversation is a session of Threadkeep. Another agent, of any framework or language, takes a turn in the
//! same session. A script replaces the model. THREADKEEP_ADDRESS names the server; default: the local one.

use std::sync::Arc;

use adk_core::{Agent, Content, EventStream, FunctionResponseData, InvocationContext, Part, SessionId, UserId};
use adk_runner::Runner;
use adk_session::{CreateRequest, Event, GetRequest, SessionService as _};
use futures::{StreamExt, stream};
use serde_json::json;
use threadkeep::{Client, new_event_id};
use threadkeep_adk_session::ThreadkeepSessionService;

const APP: &str = "examples";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let user = format!("ada-{}", new_event_id()); // One of its own, so that a second run prints the same.
    let client = Client::builder().build()?;
    let sessions = Arc::new(ThreadkeepSessionService::new(&client));
    let runner = Runner::builder().app_name(APP).agent(Arc::new(Forecaster)).session_service(sessions.clone()).build()?;
    let (app_name, user_id) = (APP.to_owned(), user.clone());
    let created = sessions.create(CreateRequest { app_name, user_id, session_id: None, state: [].into() }).await?;
    let id = created.id();
    ask(&runner, &user, id, "How is the weather in Lisbon?").await?;
    let others = [threadkeep::user("And in Oslo?"), threadkeep::assistant("Oslo has 4 degrees.")];
    sessions.handle(APP, &user, id).append(others).await?;
    ask(&runner, &user, id, "Thank you.").await?;

    let (app_name, user_id, session_id) = (APP.to_owned(), user.clone(), id.to_owned());
    let read = sessions.get(GetRequest { app_name, user_id, session_id, num_recent_events: None, after: None }).await?;
    for event in read.events().all() {
        for part in event.llm_response.content.iter().flat_map(|content| &content.parts) {
            println!("{}: {}", event.author, shown(part));
        }
    }
    println!("state: last_city is {}", read.state().get("last_city").unwrap_or_default());
    Ok(())
}

async fn ask(runner: &Runner, user: &str, session: &str, question: &str) -> adk_core::Result<()> {
    let content = Content::new("user").with_text(question);
    let mut events = runner.run(UserId::new(user)?, SessionId::new(session)?, content).await?;
    while let Some(event) = events.next().await {
        event?;
    }
    Ok(())
}

fn shown(part: &Part) -> String {
    match part {
        Part::FunctionCall { name, args, .. } => format!("calls {name} {args}"),
        Part::FunctionResponse { function_response, .. } => format!("gets {}", function_response.response),
        part => part.text().unwrap_or_default().into(),
    }
}

/// An agent that a script drives: it looks up the weather, and otherwise says how many contents it was given.
struct Forecaster;

#[adk_core::async_trait]
impl Agent for Forecaster {
    fn name(&self) -> &str {
        "forecaster"
    }

    fn description(&self) -> &str {
        "Knows the weather."
    }

    fn sub_agents(&self) -> &[Arc<dyn Agent>] {
        &[]
    }

    async fn run(&self, context: Arc<dyn InvocationContext>) -> adk_core::Result<EventStream> {
        let asks = context.user_content().parts.iter().filter_map(Part::text).any(|text| text.contains("weather"));
        let given = context.session().conversation_history().len();
        let parts = if asks {
            let (name, args, id) = ("weather".to_owned(), json!({ "city": "Lisbon" }), Some("call_1".to_owned()));
            let function_response = FunctionResponseData::new(&name, json!({ "degrees": 21 }));
            let call = Part::FunctionCall { name, args, id: id.clone(), thought_signature: None };
            vec![call, Part::FunctionResponse { function_response, id, annotations: None }, text("It has 21 degrees.")]
        } else {
            vec![text(&format!("I read {given} contents."))]
        };
        let invocation = context.invocation_id().to_owned();
        let events = parts.into_iter().map(move |part| {
            let role = if matches!(part, Part::FunctionResponse { .. }) { "function" } else { "model" };
            let mut event = Event::new(&invocation);
            event.author = "forecaster".into();
            if role == "function" {
                event.actions.state_delta.insert("last_city".into(), json!("Lisbon"));
            }
            event.llm_response.content = Some(Content { role: role.into(), parts: vec![part] });
            Ok(event)
        });
        Ok(Box::pin(stream::iter(events)))
    }
}

fn text(text: &str) -> Part {
    Part::Text { text: text.into() }
}
