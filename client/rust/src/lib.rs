//! A client of [Threadkeep](https://github.com/threadkeep/threadkeep), the session memory that agents share: append
//! events to sessions, read contexts, compact, search, and follow every change as it happens.
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
//! The functions of [`Client`] cover what agents do all day. Every call of the server's API is there besides, by the
//! generated clients: `client.sessions()`, `client.events()`, `client.compaction()` and so on, which go over the same
//! connection, with the same credential, deadlines and retries; `?` turns their `tonic::Status` into an [`Error`]. They send
//! requests as they are: app and user are not filled in.
//!
//! Calls that may be repeated are sent again, up to four times, while the server is unavailable; others never are.
//! Futures and streams are canceled by dropping them.

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

/// Every message, enum and client of the API, generated from its proto files.
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
/// What gives a list or a subscription its `next`, and `take`, `map` and the like.
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
