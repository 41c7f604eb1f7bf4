//! A client for [Threadkeep](https://github.com/threadkeep/threadkeep), session memory for AI agents: append events to
//! sessions, read contexts, compact, search, and watch changes.
//!
//! ```no_run
//! use threadkeep::{Client, StreamExt, assistant, text_of, user};
//!
//! # async fn example() -> Result<(), threadkeep::Error> {
//! let client = Client::builder().app("travel").user_id("ada").build()?;
//! client.append("trip", [user("Is BA117 on time?"), assistant("Yes.")]).create().await?;
//! let mut events = client.list_events("trip", None);
//! while let Some(event) = events.next().await {
//!     println!("{}", text_of(&event?));
//! }
//! # Ok(())
//! # }
//! ```
//!
//! The functions of [`Client`] cover the common tasks of agents. The generated clients offer every RPC: `client.sessions()`,
//! `client.events()`, `client.compaction()` and so on. They use the same connection, credential, deadlines and retries; `?`
//! converts their `tonic::Status` to an [`Error`]. They send requests unchanged: app and user are not completed.
//!
//! Calls that are safe to repeat are retried up to four times while the server is unavailable; others never are. Dropping a
//! future or a stream cancels it.

mod address;
mod append;
mod backoff;
mod client;
mod cursor;
mod error;
mod memory;
mod messages;
mod pages;
mod scope;
mod session;
mod transport;
mod watch;
mod windows;

/// Every message, enum and client of the API, generated from the protos.
#[allow(missing_docs, unreachable_pub, clippy::all, clippy::pedantic, rustdoc::all)]
#[rustfmt::skip]
pub mod v1 {
    include!("gen/threadkeep.v1.rs");
}

#[allow(unreachable_pub)]
#[rustfmt::skip]
mod retryable {
    include!("gen/retryable.rs");
}

pub use append::Append;
pub use client::{Builder, Client, DEFAULT_ADDRESS, DEFAULT_TIMEOUT};
pub use error::Error;
/// Provides `next`, `take`, `map` and so on for lists and subscriptions.
pub use futures_util::{StreamExt, TryStreamExt};
pub use memory::{UserMemory, remember};
pub use messages::{
    ToolOutput, assistant, assistant_with_calls, new_event_id, system, text_of, text_of_memory, tool_call, tool_error,
    tool_result, user, with_ids,
};
pub use pages::{Items, Paged};
pub use session::SessionLike;
pub use tonic;
pub use v1::{Change, ErrorReason, EventFilter, MemoryEntry, Role, SessionEvent, SessionRef, change::Kind};
pub use watch::{Start, Watch, WatchRequest};
pub use windows::Replacement;

/// The version of this crate.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
