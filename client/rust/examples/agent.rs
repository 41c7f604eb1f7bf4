//! An agent whose memory is a session: it reads its context, thinks and acts, while another task watches the session. A rule
//! replaces the model. THREADKEEP_ADDRESS specifies the server; default: 127.0.0.1:7443.

use threadkeep::v1::part::Content;
use threadkeep::{
    Client, Error, Kind, Role, SessionEvent, SessionHandle, Start, ToolOutput, assistant, assistant_with_calls, new_event_id,
    text_of, tool_call, tool_result, user,
};

#[tokio::main]
async fn main() -> Result<(), Error> {
    let client = Client::builder().app("agents").user_id("ada").build()?;
    let session = client.session(new_event_id());
    let follower = tokio::spawn(follow(session.clone()));
    for message in ["Is BA117 on time?", "And its gate?", "Thanks, bye."] {
        session.append([user(message)]).create_if_missing().await?;
        turn(&session).await?;
    }
    follower.await.expect("following does not panic")
}

/// Thinks and acts until the user has an answer.
async fn turn(session: &SessionHandle) -> Result<(), Error> {
    loop {
        let context = session.get_context().await?;
        match think(&context.events) {
            Thought::Answer(text) => {
                session.append([assistant(text)]).await?;
                return Ok(());
            }
            // A call and its result are appended together, so that no reader sees one without the other.
            Thought::LookUp(flight) => {
                let arguments = format!(r#"{{"flight":"{flight}"}}"#);
                let call = assistant_with_calls("", [tool_call("call-1", "flight_status", arguments)]);
                let result = tool_result("call-1", "flight_status", flight_status(&flight));
                session.append([call, result]).await?;
            }
        }
    }
}

enum Thought {
    Answer(String),
    LookUp(String),
}

/// Replaces the model: returns the next step for these events.
fn think(context: &[SessionEvent]) -> Thought {
    let asked = context.iter().rev().find(|event| role(event) == Role::User).map(text_of).unwrap_or_default();
    let known = context.iter().rev().find_map(status_in);
    match known {
        _ if asked.contains("bye") => Thought::Answer("Goodbye.".to_owned()),
        None => Thought::LookUp("BA117".to_owned()),
        Some(status) if asked.contains("gate") && status.contains("B32") => Thought::Answer("Gate B32.".to_owned()),
        Some(_) => Thought::Answer("Yes, it is on time.".to_owned()),
    }
}

/// The tool.
fn flight_status(_flight: &str) -> ToolOutput {
    ToolOutput::Json(r#"{"status":"on time","gate":"B32"}"#.to_owned())
}

/// Prints the changes of the session until the agent says goodbye.
async fn follow(session: SessionHandle) -> Result<(), Error> {
    let mut changes = session.watch().from(Start::Beginning).items();
    while let Some(change) = changes.try_next().await? {
        let Some(Kind::Batch(batch)) = change.kind else { continue };
        for event in &batch.events {
            match (role(event), status_in(event)) {
                (Role::User, _) => println!("user:  {}", text_of(event)),
                (_, Some(status)) => println!("tool:  {status}"),
                (_, None) if text_of(event).is_empty() => println!("agent: looks it up"),
                (_, None) => println!("agent: {}", text_of(event)),
            }
            if text_of(event) == "Goodbye." {
                return Ok(());
            }
        }
    }
    Ok(())
}

fn role(event: &SessionEvent) -> Role {
    event.message.as_ref().map_or(Role::Unspecified, |message| message.role())
}

/// Returns the status of the flight if the event is a result of the tool.
fn status_in(event: &SessionEvent) -> Option<&str> {
    event.message.iter().flat_map(|message| &message.parts).find_map(|part| match &part.content {
        Some(Content::ToolResult(result)) => Some(result.structured_json.as_str()),
        _ => None,
    })
}
