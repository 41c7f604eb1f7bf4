//! The crate's own methods for RPCs.

use serde_json::Value;
use threadkeep::*;

use super::{read, reply, text};

/// Sets what a request of a removal says; without an operation id, the one that the crate chose stays.
macro_rules! removal {
    ($call:expr, $given:ident $(, $option:ident)*) => {{
        let call = if $given.operation_id.is_empty() { $call } else { $call.operation_id($given.operation_id) };
        $(let call = $given.$option.into_iter().fold(call, |call, value| call.$option(value));)*
        call
    }};
}

/// Returns the point of a request.
macro_rules! point {
    ($module:ident, $given:ident) => {
        $given.point.clone().map(|point| match point {
            v1::$module::Point::AtSeq(seq) => Point::Seq(seq),
            v1::$module::Point::AtEventId(id) => Point::EventId(id),
            v1::$module::Point::AtInvocationId(id) => Point::InvocationId(id),
            v1::$module::Point::AtLogVersion(version) => Point::LogVersion(version),
        })
    };
}

macro_rules! erased {
    ($call:expr, $given:ident) => {
        if $given.mode() == v1::RemovalMode::Erase { $call.erase() } else { $call }
    };
}

async fn state(client: &Client, p: &Value) -> Result<Value, Error> {
    let handle = |scope, of: SessionRef| match scope {
        v1::StateScope::User => client.user_state_of(of.app, of.user_id),
        v1::StateScope::App => client.app_state_of(of.app),
        _ => client.session(of).state(),
    };
    if text(p, "rpc").ends_with("/GetState") {
        let given: v1::GetStateRequest = read(&p["request"]);
        let call = handle(given.scope(), given.session.unwrap_or_default()).get().key_prefix(given.key_prefix);
        let call = given.keys.into_iter().fold(call, Call::<v1::GetStateRequest>::key);
        let call = given.as_of_log_version.into_iter().fold(call, Call::<v1::GetStateRequest>::as_of_log_version);
        return reply(&v1::GetStateResponse { state: Some(call.await?), next_key: String::new() });
    }
    let given: v1::PatchStateRequest = read(&p["request"]);
    let (call, patch) = (handle(given.scope(), given.session.unwrap_or_default()).patch(), given.patch.unwrap_or_default());
    let call = patch.set.into_iter().fold(call, |call, (key, value)| call.set(key, value));
    let call = patch.remove.into_iter().fold(call, Call::<v1::PatchStateRequest>::remove);
    let call = given.expected_version.into_iter().fold(call, Call::<v1::PatchStateRequest>::expected_version);
    reply(&v1::PatchStateResponse { version: call.await? })
}

/// Calls the crate's own method for the RPC of a request.
pub(super) async fn method(client: &Client, p: &Value) -> Result<Value, Error> {
    match text(p, "rpc").rsplit('/').next().unwrap_or_default() {
        "PopEvents" => {
            let given: v1::PopEventsRequest = read(&p["request"]);
            let session = client.session(given.session.clone().unwrap_or_default());
            let call = erased!(session.pop(given.count as u32), given);
            reply(&removal!(call, given, branch, expected_log_version).await?)
        }
        "ClearEvents" => {
            let given: v1::ClearEventsRequest = read(&p["request"]);
            let call = erased!(client.session(given.session.clone().unwrap_or_default()).clear(), given);
            reply(&removal!(call, given, expected_log_version).await?)
        }
        "EraseEvents" => {
            let given: v1::EraseEventsRequest = read(&p["request"]);
            let session = client.session(given.session.unwrap_or_default());
            let call = match (given.branch.as_str(), given.invocation_ids) {
                ("", ids) if ids.is_empty() => session.erase_events(given.event_ids),
                ("", ids) => session.erase_invocations(ids),
                (branch, _) => session.erase_branch(branch),
            };
            reply(&removal!(call, given, expected_log_version).await?)
        }
        "RewindSession" => {
            let given: v1::RewindSessionRequest = read(&p["request"]);
            let session = client.session(given.session.clone().unwrap_or_default());
            let call = erased!(session.rewind(point!(rewind_session_request, given).expect("a point")), given);
            reply(&removal!(call, given, expected_log_version).await?)
        }
        "MoveSession" => {
            let given: v1::MoveSessionRequest = read(&p["request"]);
            let call = client.session(given.session.clone().unwrap_or_default()).move_to(given.new_user_id.clone());
            let session = removal!(call, given).await?;
            reply(&v1::MoveSessionResponse { session: Some(session), ..Default::default() })
        }
        "LoadSession" => {
            let given: v1::LoadSessionRequest = read(&p["request"]);
            let call = client.session(given.session.clone().unwrap_or_default()).load();
            reply(&call.with(|request| *request = v1::LoadSessionRequest { session: request.session.take(), ..given }).await?)
        }
        "ForkSession" => {
            let given: v1::ForkSessionRequest = read(&p["request"]);
            let call = client.session(given.session.clone().unwrap_or_default()).fork(given.new_session_id.clone());
            let call = point!(fork_session_request, given).into_iter().fold(call, Call::<v1::ForkSessionRequest>::at);
            let call = if given.without_parent_labels { call.without_parent_labels() } else { call };
            let call = given.labels.into_iter().fold(call, |call, (key, value)| call.label(key, value));
            let call = given.metadata_json.into_iter().fold(call, Call::<v1::ForkSessionRequest>::metadata);
            reply(&removal!(call, given).await?)
        }
        "UpdateSession" => {
            let given: v1::UpdateSessionRequest = read(&p["request"]);
            let call =
                client.session(given.session.unwrap_or_default()).update().etag(given.etag).operation_id(given.operation_id);
            let call = given.set_labels.into_iter().fold(call, |call, (key, value)| call.set_label(key, value));
            reply(&v1::UpdateSessionResponse { session: Some(call.await?) })
        }
        "ListSessions" => {
            let given: v1::ListSessionsRequest = read(&p["request"]);
            let list = client.sessions().forked_from(given.forked_from);
            reply(&if given.with_state { list.with_state() } else { list }.page().await?)
        }
        "ReplaceSuffix" => {
            let given: v1::ReplaceSuffixRequest = read(&p["request"]);
            let session = client.session(given.session.clone().unwrap_or_default());
            let call = erased!(session.replace_suffix(given.expected_event_ids.clone(), given.events.clone()), given);
            reply(&removal!(call, given, branch).await?)
        }
        "UpsertMemories" => {
            let given: v1::UpsertMemoriesRequest = read(&p["request"]);
            let keeps = given.if_exists() == v1::IfMemoryExists::Ignore;
            let call = client.memory().upsert(given.writes);
            let call = if keeps { call.keep_existing() } else { call };
            reply(&call.await?)
        }
        "GetMemories" => {
            let given: v1::GetMemoriesRequest = read(&p["request"]);
            let call = client.memory().get(given.names.clone());
            let call = if given.refresh_ttl { call.refresh_ttl() } else { call };
            let entries = call.await?;
            let lookup = |(name, entry)| v1::MemoryLookup { name: Some(name), entry, omitted: false };
            reply(&v1::GetMemoriesResponse { memories: given.names.into_iter().zip(entries).map(lookup).collect() })
        }
        _ => state(client, p).await,
    }
}
