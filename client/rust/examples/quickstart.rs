//! Appends to a session, reads it and watches it. THREADKEEP_ADDRESS specifies the server; default: 127.0.0.1:7443.

use threadkeep::{Client, Error, ErrorReason, Kind, Start, StreamExt, assistant, new_event_id, text_of, user, v1};

#[tokio::main]
async fn main() -> Result<(), Error> {
    let client = Client::builder().app("quickstart").user_id("ada").build()?;
    let trip = new_event_id(); // any id; this one is new in every run

    let appended = client.append(&trip, [user("Is BA117 on time?"), assistant("Yes, gate B32.")]).create().await?;
    println!("appended {} events, log version {}", appended.events.len(), appended.log_version);

    let mut events = client.list_events(&trip, None);
    while let Some(event) = events.next().await {
        let event = event?;
        println!("{}: {}", event.seq, text_of(&event));
    }

    let context = client.context(&trip, None).await?;
    println!("the context has {} events", context.events.len());

    // The generated clients offer every RPC; `?` also converts their statuses to typed errors.
    let missing = v1::GetSessionRequest { session: Some(client.session("nowhere")) };
    match client.sessions().get_session(missing).await.map_err(Error::from) {
        Err(error) if error.reason() == Some(ErrorReason::SessionNotFound) => println!("refused: {}", error.reason_name()),
        other => println!("not what was expected: {other:?}"),
    }

    let mut changes = client.watch(&trip).start(Start::AfterSeq(2)).stream();
    client.append(&trip, [assistant("Boarding now.")]).expected_log_version(appended.log_version).await?;
    while let Some(change) = changes.next().await {
        if let Some(Kind::Batch(batch)) = change?.kind {
            println!("received: {}", text_of(&batch.events[0]));
            break;
        }
    }
    Ok(())
}
