//! Sessions and long-term memory of [adk-rs](adk_rs) agents in [Threadkeep](threadkeep).
//!
//! ```no_run
//! # use std::sync::Arc;
//! # async fn run(agent: Arc<dyn adk_rs::BaseAgent>) -> Result<(), Box<dyn std::error::Error>> {
//! let client = threadkeep::Client::builder().build()?; // THREADKEEP_ADDRESS, else 127.0.0.1:7443
//! let runner = adk_rs::Runner::builder()
//!     .app_name("trips")
//!     .agent(agent)
//!     .session_service(Arc::new(threadkeep_adk_rs::ThreadkeepSessionService::new(&client)))
//!     .memory_service(Arc::new(threadkeep_adk_rs::ThreadkeepMemoryService::new(&client)))
//!     .build()?;
//! # Ok(())
//! # }
//! ```
//!
//! An event that adk-rs appends is kept as its JSON, byte for byte, and in typed parts, which agents of other frameworks read as
//! their own messages. Events of other frameworks are read from their typed parts as events of adk-rs. State without a prefix is
//! that of the session, `user:` and `app:` that of its user and its app; `temp:` is not stored.

mod errors;
mod events;
mod memory;
mod parts;
mod sessions;
mod state;

pub use events::FORMAT;
pub use memory::ThreadkeepMemoryService;
pub use sessions::ThreadkeepSessionService;
