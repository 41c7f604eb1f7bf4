//! Events of adk-rs as events of Threadkeep, and back.

use std::time::{Duration, UNIX_EPOCH};

use adk_rs::core::{Event, LlmResponse};
use adk_rs::error::Result;
use adk_rs::genai_types::response::UsageMetadata;
use prost_types::Timestamp;
use threadkeep::v1::{NativeContent, TokenUsage};
use threadkeep::{Role, SessionEvent};

use crate::parts::{Names, content_of, message_of};

/// The format of native content: the JSON of an [`Event`] as adk-rs writes it.
pub const FORMAT: &str = "adk-rs.event/1";
/// The `compaction_source` of the summaries that adk-rs appends; the same as that of Python's ADK adapter.
const COMPACTION: &str = "google-adk";
const NANOS: f64 = 1_000_000_000.0;
/// Seconds of the year 10000, before which a Timestamp is.
const LAST: f64 = 253_402_300_800.0;

/// Returns an event with its typed parts and its JSON. What no field of an event holds is in the latter.
pub(crate) fn stored(event: &Event) -> Result<SessionEvent> {
    let summary = event.actions.compaction.as_ref();
    let (content, author) = match summary {
        Some(summary) => (Some(&summary.compacted_content), ""),
        None => (event.response.content.as_ref(), event.author.as_str()),
    };
    Ok(SessionEvent {
        event_id: event.id.clone(),
        message: Some(message_of(content, author)),
        author: if event.author.len() <= 255 { event.author.clone() } else { String::new() },
        branch: event.branch.clone().filter(|branch| fits(branch)).unwrap_or_default(),
        invocation_id: event.invocation_id.clone(),
        event_time: time_of(event.timestamp),
        native: Some(NativeContent { format: FORMAT.into(), content: serde_json::to_vec(event)? }),
        usage: event.response.usage_metadata.map(usage_of),
        synthetic: summary.is_some(),
        compaction_source: summary.map(|_| COMPACTION.into()).unwrap_or_default(),
        ..SessionEvent::default()
    })
}

/// Returns events as adk-rs has them: its own as they were, the others from their parts.
pub(crate) fn read(events: &[SessionEvent]) -> Vec<Event> {
    let mut names = Names::new();
    events.iter().map(|event| own(event).unwrap_or_else(|| rendered(event, &mut names))).collect()
}

/// Returns the event that adk-rs wrote; None of another framework, or of a later version that this one cannot read.
fn own(event: &SessionEvent) -> Option<Event> {
    let native = event.native.as_ref().filter(|native| native.format == FORMAT)?;
    serde_json::from_slice(&native.content).ok()
}

fn rendered(event: &SessionEvent, names: &mut Names) -> Event {
    let message = event.message.clone().unwrap_or_default();
    let author = match message.role() {
        Role::User => "user",
        Role::System => "system",
        _ if event.author.is_empty() => "assistant",
        _ => &event.author,
    };
    let response = LlmResponse {
        content: content_of(&message, names),
        usage_metadata: event.usage.as_ref().map(counts_of),
        ..LlmResponse::default()
    };
    let mut rendered = Event::new(author, response);
    rendered.id = event.event_id.clone();
    rendered.invocation_id = event.invocation_id.clone();
    rendered.branch = (!event.branch.is_empty()).then(|| event.branch.clone());
    rendered.timestamp = event.event_time.as_ref().or(event.record_time.as_ref()).map_or(0.0, seconds_of);
    rendered
}

/// Returns seconds since 1970.
pub(crate) fn seconds_of(time: &Timestamp) -> f64 {
    (time.seconds as f64) + f64::from(time.nanos) / NANOS
}

/// Returns the time of seconds since 1970; None for what is no time from then until the year 10000.
pub(crate) fn time_of(seconds: f64) -> Option<Timestamp> {
    let time = (0.0..LAST).contains(&seconds).then(|| UNIX_EPOCH + Duration::from_secs_f64(seconds))?;
    Some(time.into())
}

/// Whether an event can have this branch: a path without empty segments.
fn fits(branch: &str) -> bool {
    branch.len() <= 1024 && branch.split('.').count() <= 64 && branch.split('.').all(|segment| !segment.is_empty())
}

fn usage_of(counts: UsageMetadata) -> TokenUsage {
    let count = |given: Option<u32>| i64::from(given.unwrap_or_default().min(i32::MAX as u32));
    let thoughts = count(counts.thoughts_token_count);
    TokenUsage {
        input_tokens: count(counts.prompt_token_count),
        output_tokens: count(counts.candidates_token_count) + thoughts,
        total_tokens: count(counts.total_token_count),
        cached_tokens: count(counts.cached_content_token_count),
        reasoning_tokens: thoughts,
    }
}

fn counts_of(usage: &TokenUsage) -> UsageMetadata {
    let count = |tokens: i64| Some(u32::try_from(tokens).unwrap_or(u32::MAX));
    UsageMetadata {
        prompt_token_count: count(usage.input_tokens),
        candidates_token_count: count((usage.output_tokens - usage.reasoning_tokens).max(0)),
        total_token_count: count(usage.total_tokens),
        cached_content_token_count: count(usage.cached_tokens),
        thoughts_token_count: count(usage.reasoning_tokens),
    }
}
