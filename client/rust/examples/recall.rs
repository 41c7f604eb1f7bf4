//! Finds what answers a question, and remembers across sessions. The server's address is that of THREADKEEP_ADDRESS, by default
//! 127.0.0.1:7443.

use threadkeep::v1::SearchMemoryRequest;
use threadkeep::v1::delete_memories_request::Selection;
use threadkeep::{Client, Error, StreamExt, assistant, new_event_id, remember, text_of, text_of_memory, user};

#[tokio::main]
async fn main() -> Result<(), Error> {
    // A user of its own, so that it prints the same every time.
    let client = Client::builder().app("recall").user_id(format!("ada-{}", new_event_id())).build()?;
    let said = [user("My daughter is allergic to peanuts."), assistant("Noted."), user("Which flights go to Lisbon in May?")];
    client.append("trip", said).create().await?;

    let mut hits = client.search("Are there any flights to Lisbon?", None); // best first: take as many as are of use
    if let Some(hit) = hits.next().await {
        println!("found: {}", text_of(&hit?.event.unwrap_or_default()));
    }

    let memory = client.memory();
    let ingested = memory.add_session("trip").await?; // as often as you like: nothing is remembered twice
    println!("remembered: {} events", ingested.added);
    memory.add([remember("Prefers a window seat.")]).await?;
    let query = "What must my daughter not eat, peanuts?".into();
    let found = memory.search(SearchMemoryRequest { query, top_k: 1, ..Default::default() }).await?;
    for entry in &found.entries {
        println!("recalled: {}", text_of_memory(entry));
    }
    let forgotten = memory.delete(Selection::All(true)).await?;
    println!("forgotten: {} memories", forgotten.deleted);
    Ok(())
}
