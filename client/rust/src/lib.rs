//! A client for [Threadkeep](https://github.com/threadkeep/threadkeep), session memory for AI agents: append events to
//! sessions, read contexts, compact, search, and watch changes.
//!
//! ```no_run
//! use threadkeep::{Client, assistant, text_of, user};
//!
//! # async fn example() -> Result<(), threadkeep::Error> {
//! let client = Client::builder().app("travel").user_id("ada").build()?;
//! let trip = client.session("trip");
//! trip.append([user("Is BA117 on time?"), assistant("Yes.")]).create_if_missing().await?;
//! let mut events = trip.events().items();
//! while let Some(event) = events.try_next().await? {
//!     println!("{}", text_of(&event));
//! }
//! # Ok(())
//! # }
//! ```
//!
//! [`Client`] and its handles cover the tasks of agents: [`SessionHandle`], [`ConsumerHandle`], [`UserMemory`],
//! [`PolicyHandle`](compaction::PolicyHandle). A call is a builder to await; a list is a builder that returns all its `items()`
//! or one `page()`. [`Client::raw`] has the generated clients of every RPC, with the same connection, credential, deadlines and
//! retries; `?` converts their `tonic::Status` to an [`Error`].
//!
//! Calls that are safe to repeat are retried up to four times while the server is unavailable; others never are. Dropping a
//! future or a stream cancels it. Retries, reopened streams and rejected deliveries are events of `tracing`.

mod address;
mod backoff;
mod builder;
mod call;
mod client;
pub mod compaction;
mod consumer;
mod cursor;
mod error;
mod filter;
mod memory;
mod messages;
mod pages;
mod provider;
mod scope;
mod session;
mod state;
mod transport;
mod watch;

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

pub use backoff::Retry;
pub use builder::Builder;
pub use call::{Call, Unary};
pub use client::{Client, DEFAULT_ADDRESS, DEFAULT_TIMEOUT, Raw};
pub use consumer::{ConsumerHandle, Deliveries, Delivery, Park, Parked, Run};
pub use error::Error;
pub use filter::{Authors, EventFilter};
/// Provides `take`, `map` and so on for items.
pub use futures_util::{StreamExt, TryStreamExt};
pub use memory::{UserMemory, condition, memory_name, remember};
pub use messages::{
    Json, ToolOutput, assistant, assistant_with_calls, assistant_with_parts, media, new_event_id, reasoning, system, text,
    text_of, text_of_memory, tool_call, tool_error, tool_result, user, user_with_parts, with_ids,
};
pub use pages::{Items, List, Paged};
pub use provider::MemoryProvider;
pub use session::{
    Append, AppendStream, AppendStreamOptions, Appended, AsOf, CompactWith, Erasure, Expect, Point, Receipt, Replacement,
    SessionHandle, SessionLike,
};
pub use state::StateHandle;
pub use tonic;
pub use transport::Transport;
pub use v1::{Change, ErrorReason, IfExists, MemoryEntry, Role, SearchMode, SessionEvent, SessionRef, change::Kind};
pub use watch::{Start, Watch, WatchRequest};

/// The version of this crate.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
