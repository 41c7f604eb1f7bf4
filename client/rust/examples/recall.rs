//! Searches a session by a question, and remembers across sessions. THREADKEEP_ADDRESS specifies the server; default:
//! 127.0.0.1:7443.

use threadkeep::{Client, Error, assistant, new_event_id, remember, text_of, text_of_memory, user};

#[tokio::main]
async fn main() -> Result<(), Error> {
    // A new user, so that every run prints the same.
    let client = Client::builder().app("recall").user_id(format!("ada-{}", new_event_id())).build()?;
    let said = [user("My daughter is allergic to peanuts."), assistant("Noted."), user("Which flights go to Lisbon in May?")];
    client.session("trip").append(said).create_if_missing().await?;

    let mut hits = client.search("Are there any flights to Lisbon?").items(); // hits come best first; take as many as you need
    if let Some(hit) = hits.try_next().await? {
        println!("found: {}", text_of(&hit.event.unwrap_or_default()));
    }

    let memory = client.memory();
    let ingested = memory.add_session("trip").await?; // safe to repeat: each event is remembered once
    println!("remembered: {} events", ingested.added);
    memory.add([remember("Prefers a window seat.")]).await?;
    let found = memory.search("What must my daughter not eat, peanuts?").top_k(1).await?;
    for entry in &found.entries {
        println!("recalled: {}", text_of_memory(entry));
    }
    let forgotten = memory.delete_all().await?;
    println!("forgotten: {} memories", forgotten.deleted);
    Ok(())
}
