//! Sessions of [adk-rust](adk_session) agents in [Threadkeep](threadkeep).
//!
//! ```no_run
//! # use std::sync::Arc;
//! # async fn run(agent: Arc<dyn adk_core::Agent>) -> Result<(), Box<dyn std::error::Error>> {
//! let client = threadkeep::Client::builder().build()?; // THREADKEEP_ADDRESS, else 127.0.0.1:7443
//! let sessions = Arc::new(threadkeep_adk_session::ThreadkeepSessionService::new(&client));
//! // adk_runner::Runner::builder().app_name("trips").agent(agent).session_service(sessions.clone()).build()?
//! # Ok(())
//! # }
//! ```
//!
//! An event that adk-rust appends is kept as its JSON, byte for byte, and in typed parts, which agents of other frameworks read as
//! their own messages. Events of other frameworks are read from their typed parts as events of adk-rust. State without a prefix is
//! that of the session, `user:` and `app:` that of its user and its app; `temp:` is not stored.

mod errors;
mod events;
mod kept;
mod parts;
mod sessions;
mod state;

pub use events::FORMAT;
pub use sessions::ThreadkeepSessionService;
