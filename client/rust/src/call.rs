//! Unary calls as builders.

use std::pin::Pin;
use std::time::Duration;

use tonic::Status;

use crate::{Client, Error, v1};

/// A call: set its options, then await it. Awaiting a clone repeats the same request.
#[derive(Clone, Debug)]
#[must_use = "a call is sent when it is awaited"]
pub struct Call<Q> {
    pub(crate) client: Client,
    pub(crate) request: Q,
}

impl<Q> Call<Q> {
    pub(crate) fn new(client: &Client, request: Q) -> Self {
        Self { client: client.clone(), request }
    }

    /// Sets another timeout of this call, retries included; None for no limit. Default: that of the client.
    pub fn timeout(self, limit: impl Into<Option<Duration>>) -> Self {
        Self { client: self.client.with_timeout(limit), ..self }
    }

    /// Changes the request, for fields without a method of their own.
    pub fn with(mut self, change: impl FnOnce(&mut Q)) -> Self {
        change(&mut self.request);
        self
    }
}

/// The request of a unary call. Implemented by messages of [`v1`].
pub trait Unary: Send + Sized + 'static {
    /// What awaiting the call returns.
    type Answer;

    /// Sends the request.
    fn send(self, client: &Client) -> impl Future<Output = Result<Self::Answer, Status>> + Send;
}

impl<Q: Unary> IntoFuture for Call<Q> {
    type Output = Result<Q::Answer, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { Ok(self.request.send(&self.client).await?) })
    }
}

macro_rules! unary {
    ($($request:ident: $service:ident.$method:ident -> $answer:ty $(, by $read:expr)?;)*) => {$(
        impl Unary for v1::$request {
            type Answer = $answer;

            async fn send(self, client: &Client) -> Result<$answer, Status> {
                let answer = client.raw().$service().$method(self).await?.into_inner();
                $(let answer = $read(answer);)?
                Ok(answer)
            }
        }
    )*};
}

unary! {
    CreateSessionRequest: sessions.create_session -> v1::CreateSessionResponse;
    ForkSessionRequest: sessions.fork_session -> v1::ForkSessionResponse;
    MoveSessionRequest: sessions.move_session -> v1::Session, by |answer: v1::MoveSessionResponse| answer.session.unwrap_or_default();
    GetSessionRequest: sessions.get_session -> v1::Session, by |answer: v1::GetSessionResponse| answer.session.unwrap_or_default();
    UpdateSessionRequest: sessions.update_session -> v1::Session,
        by |answer: v1::UpdateSessionResponse| answer.session.unwrap_or_default();
    DeleteSessionRequest: sessions.delete_session -> v1::DeleteSessionResponse;
    DeleteExpiredSessionsRequest: sessions.delete_expired_sessions -> v1::DeleteExpiredSessionsResponse;
    GetEventRequest: events.get_event -> v1::SessionEvent, by |answer: v1::GetEventResponse| answer.event.unwrap_or_default();
    LoadSessionRequest: events.load_session -> v1::LoadSessionResponse;
    GetContextRequest: events.get_context -> v1::GetContextResponse;
    PopEventsRequest: events.pop_events -> v1::PopEventsResponse;
    RewindSessionRequest: events.rewind_session -> v1::RewindSessionResponse;
    ClearEventsRequest: events.clear_events -> v1::ClearEventsResponse;
    EraseEventsRequest: events.erase_events -> v1::EraseEventsResponse;
    ReplaceSuffixRequest: events.replace_suffix -> v1::ReplaceSuffixResponse;
    CompactSessionRequest: compaction.compact_session -> v1::CompactSessionResponse;
    PlanCompactionRequest: compaction.plan_compaction -> v1::PlanCompactionResponse;
    ApplyCompactionRequest: compaction.apply_compaction -> v1::ApplyCompactionResponse;
    ReplaceEventsRequest: compaction.replace_events -> v1::ReplaceEventsResponse;
    GetCompactionPolicyRequest: compaction.get_compaction_policy -> v1::GetCompactionPolicyResponse;
    SetCompactionPolicyRequest: compaction.set_compaction_policy -> v1::SetCompactionPolicyResponse;
    ListToolsRequest: tools.list_tools -> Vec<v1::ToolDefinition>, by |answer: v1::ListToolsResponse| answer.tools;
    CallToolRequest: tools.call_tool -> v1::CallToolResponse;
    PatchStateRequest: states.patch_state -> i64, by |answer: v1::PatchStateResponse| answer.version;
    RunRetentionRequest: server.run_retention -> v1::RunRetentionResponse;
    RestoreSessionRequest: server.restore_session -> v1::RestoreSessionResponse;
    GetServerInfoRequest: server.get_server_info -> v1::GetServerInfoResponse;
    AddMemoriesRequest: memories.add_memories -> v1::AddMemoriesResponse;
    UpsertMemoriesRequest: memories.upsert_memories -> v1::UpsertMemoriesResponse;
    AddSessionToMemoryRequest: memories.add_session_to_memory -> v1::AddSessionToMemoryResponse;
    SearchMemoryRequest: memories.search_memory -> v1::SearchMemoryResponse;
    DeleteMemoriesRequest: memories.delete_memories -> v1::DeleteMemoriesResponse;
    GetConsumerRequest: consumers.get_consumer -> v1::GetConsumerResponse;
    DeleteConsumerRequest: consumers.delete_consumer -> v1::DeleteConsumerResponse;
    ReplayParkedChangesRequest: consumers.replay_parked_changes -> v1::ReplayParkedChangesResponse;
    DeleteParkedChangesRequest: consumers.delete_parked_changes -> v1::DeleteParkedChangesResponse;
}

/// Returns a duration of the protocol; one beyond its range becomes the longest, which the server rejects.
pub(crate) fn duration(given: Duration) -> prost_types::Duration {
    given.try_into().unwrap_or(prost_types::Duration { seconds: i64::MAX, nanos: 0 })
}
