//! The adapter with adk-session and adk-runner themselves and a server: THREADKEEP_TEST_ADDRESS, and for its death the program
//! THREADKEEP_TEST_PROGRAM.

mod events;
mod runs;
#[path = "../../../server.rs"]
mod server;
mod sessions;
mod support;
