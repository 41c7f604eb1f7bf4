//! Works for a named consumer that indexes a session; a change that it cannot handle is parked, and replayed.
//! THREADKEEP_ADDRESS specifies the server; default: 127.0.0.1:7443.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use threadkeep::{Client, Delivery, Error, Kind, Park, Parked, assistant, new_event_id, text_of, user};
use tokio::sync::mpsc;

#[tokio::main]
async fn main() -> Result<(), Error> {
    // A new user and consumer, so that every run prints the same.
    let client = Client::builder().app("consumer").user_id(format!("ada-{}", new_event_id())).build()?;
    let indexer = client.consumer(format!("indexer-{}", new_event_id())).from_beginning();
    let trip = client.session("trip");
    trip.append([user("Is BA117 on time?")]).create_if_missing().await?;
    trip.append([assistant("Yes, gate B32.")]).await?;

    let has_model = Arc::new(AtomicBool::new(false));
    let (outcomes, mut handled) = mpsc::unbounded_channel();
    let run = indexer.run({
        let has_model = Arc::clone(&has_model);
        move |delivery| index(delivery, has_model.load(Ordering::SeqCst), outcomes.clone())
    });
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let work = tokio::spawn(run.until(async { drop(stopped.await) }).into_future());

    println!("{}", handled.recv().await.expect("it runs"));
    println!("{}", handled.recv().await.expect("it runs"));
    has_model.store(true, Ordering::SeqCst);
    while indexer.replay_parked(Parked::All).await? == 0 {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await; // the server stores the change first
    }
    println!("{}", handled.recv().await.expect("it runs"));
    drop(stop);
    work.await.expect("it does not panic")?;
    indexer.delete().await?;
    Ok(())
}

/// Handles a change: text of the user is indexed at once, that of the agent needs a model.
async fn index(delivery: Delivery, has_model: bool, outcomes: mpsc::UnboundedSender<String>) -> Result<(), Park> {
    let Some(Kind::Batch(batch)) = &delivery.change.kind else { return Ok(()) };
    let event = &batch.events[0];
    let needs_model = event.message.as_ref().is_some_and(|message| message.role() == threadkeep::Role::Assistant);
    if needs_model && !has_model {
        let _ = outcomes.send("parked: no model today".to_owned());
        return Err(Park::new("no model today"));
    }
    let how = if delivery.parked_id.is_empty() { "indexed" } else { "indexed again" };
    let _ = outcomes.send(format!("{how}: {}", text_of(event)));
    Ok(())
}
