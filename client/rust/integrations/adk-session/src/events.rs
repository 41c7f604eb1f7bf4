//! Events of adk-rust as events of Threadkeep, and back.

use adk_core::{Result, UsageMetadata};
use adk_session::Event;
use chrono::{DateTime, Utc};
use prost_types::Timestamp;
use threadkeep::v1::{NativeContent, TokenUsage};
use threadkeep::{Role, SessionEvent};

use crate::errors::invalid;
use crate::parts::{Names, content_of, message_of};

/// The format of native content: the JSON of an [`Event`] as adk-rust writes it.
pub const FORMAT: &str = "adk-rust.event/1";
/// The `compaction_source` of the summaries that adk-rust appends; the same as that of Python's ADK adapter.
const COMPACTION: &str = "google-adk";
const LONGEST_AUTHOR: usize = 255;

/// Returns an event with its typed parts and its JSON. What no field of an event holds is in the latter.
pub(crate) fn stored(event: &Event) -> Result<SessionEvent> {
    let summary = event.actions.compaction.as_ref();
    let (content, author) = match summary {
        Some(summary) => (Some(&summary.compacted_content), ""),
        None => (event.llm_response.content.as_ref(), event.author.as_str()),
    };
    let native = serde_json::to_vec(event).map_err(|error| invalid(format!("the event is no JSON: {error}")))?;
    Ok(SessionEvent {
        event_id: event.id.clone(),
        message: Some(message_of(content, author)),
        author: if event.author.len() <= LONGEST_AUTHOR { event.author.clone() } else { String::new() },
        branch: if fits(&event.branch) { event.branch.clone() } else { String::new() },
        invocation_id: event.invocation_id.clone(),
        event_time: Some(time_of(event.timestamp)),
        native: Some(NativeContent { format: FORMAT.into(), content: native }),
        usage: event.llm_response.usage_metadata.as_ref().map(usage_of),
        synthetic: summary.is_some(),
        compaction_source: summary.map(|_| COMPACTION.into()).unwrap_or_default(),
        ..SessionEvent::default()
    })
}

/// Returns events as adk-rust has them: its own as they were, the others from their parts.
pub(crate) fn read(events: &[SessionEvent]) -> Vec<Event> {
    let mut names = Names::new();
    events.iter().map(|event| own(event).unwrap_or_else(|| rendered(event, &mut names))).collect()
}

/// Returns the event that adk-rust wrote; None of another framework, or of a later version that this one cannot read.
fn own(event: &SessionEvent) -> Option<Event> {
    let native = event.native.as_ref().filter(|native| native.format == FORMAT)?;
    serde_json::from_slice(&native.content).ok()
}

fn rendered(event: &SessionEvent, names: &mut Names) -> Event {
    let message = event.message.clone().unwrap_or_default();
    let mut rendered = Event::with_id(&event.event_id, &event.invocation_id);
    rendered.author = match message.role() {
        Role::User => "user",
        Role::System => "system",
        _ if event.author.is_empty() => "assistant",
        _ => &event.author,
    }
    .into();
    rendered.branch = event.branch.clone();
    rendered.timestamp = event.event_time.as_ref().or(event.record_time.as_ref()).and_then(moment).unwrap_or_default();
    rendered.llm_response.content = content_of(&message, names);
    rendered.llm_response.usage_metadata = event.usage.as_ref().map(counts_of);
    rendered
}

/// Returns the moment of a time; None for what is none.
pub(crate) fn moment(time: &Timestamp) -> Option<DateTime<Utc>> {
    DateTime::from_timestamp(time.seconds, u32::try_from(time.nanos).ok()?)
}

fn time_of(moment: DateTime<Utc>) -> Timestamp {
    // The nanoseconds of a leap second go up to two seconds.
    let nanos = moment.timestamp_subsec_nanos().min(999_999_999);
    Timestamp { seconds: moment.timestamp(), nanos: nanos.cast_signed() }
}

/// Whether an event can have this branch: a path without empty segments.
fn fits(branch: &str) -> bool {
    branch.len() <= 1024 && branch.split('.').count() <= 64 && branch.split('.').all(|segment| !segment.is_empty())
}

fn usage_of(counts: &UsageMetadata) -> TokenUsage {
    let count = |given: i32| i64::from(given.max(0));
    let thoughts = count(counts.thinking_token_count.unwrap_or_default());
    TokenUsage {
        input_tokens: count(counts.prompt_token_count),
        output_tokens: count(counts.candidates_token_count) + thoughts,
        total_tokens: count(counts.total_token_count),
        cached_tokens: count(counts.cache_read_input_token_count.unwrap_or_default()),
        reasoning_tokens: thoughts,
    }
}

fn counts_of(usage: &TokenUsage) -> UsageMetadata {
    let count = |tokens: i64| i32::try_from(tokens).unwrap_or(i32::MAX);
    UsageMetadata {
        prompt_token_count: count(usage.input_tokens),
        candidates_token_count: count((usage.output_tokens - usage.reasoning_tokens).max(0)),
        total_token_count: count(usage.total_tokens),
        cache_read_input_token_count: Some(count(usage.cached_tokens)),
        thinking_token_count: Some(count(usage.reasoning_tokens)),
        ..UsageMetadata::default()
    }
}
