//! Appends to a session, reads it and watches it. THREADKEEP_ADDRESS specifies the server; default: 127.0.0.1:7443.

use threadkeep::{Client, Error, ErrorReason, Expect, Kind, Start, assistant, new_event_id, text_of, user};

#[tokio::main]
async fn main() -> Result<(), Error> {
    let client = Client::builder().app("quickstart").user_id("ada").build()?;
    let trip = client.session(new_event_id()); // any id; this one is new in every run

    let appended = trip.append([user("Is BA117 on time?"), assistant("Yes, gate B32.")]).create_if_missing().await?;
    println!("appended {} events, log version {}", appended.events.len(), appended.log_version);

    let mut events = trip.events().items();
    while let Some(event) = events.try_next().await? {
        println!("{}: {}", event.seq, text_of(&event));
    }

    let context = trip.get_context().await?;
    println!("the context has {} events", context.events.len());

    match client.session("nowhere").get().await {
        Err(error) if error.is(ErrorReason::SessionNotFound) => println!("refused: {}", error.reason_name()),
        other => println!("not what was expected: {other:?}"),
    }

    let mut changes = trip.watch().from(Start::AfterSeq(2)).items();
    trip.append([assistant("Boarding now.")]).expect(Expect::LogVersion(appended.log_version)).await?;
    while let Some(change) = changes.try_next().await? {
        if let Some(Kind::Batch(batch)) = change.kind {
            println!("received: {}", text_of(&batch.events[0]));
            break;
        }
    }
    Ok(())
}
