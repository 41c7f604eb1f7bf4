//! Contexts: reading and compacting them.

use futures_util::{FutureExt, TryFutureExt};
use tonic::Code;

use super::CompactWith;
use crate::v1::apply_compaction_request::Archive;
use crate::v1::get_context_request;
use crate::v1::part::Content;
use crate::v1::{
    ApplyCompactionRequest, ApplyCompactionResponse, CompactSessionRequest, CompactionInsert, CompactionPlan, CompactionStrategy,
    CompactionTrigger, ContextSpec, ErrorReason, EventIds, GetContextRequest, GetContextResponse, GetEventRequest,
    ListCompactionsRequest, ListEventsRequest, PlanCompactionRequest, ReplaceEventsRequest, Role, SessionEvent, SummaryPrompt,
};
use crate::{Call, Error, List, MemoryProvider, SessionHandle, assistant, new_event_id, user, with_ids};

/// The user message before a summary, the same as in the server's summaries.
const SHADOW_PROMPT: &str = "Summarize the conversation we had so far.";
const SUMMARY_SOURCE: &str = "summary";

/// The replacement of a context. A `&str` or a `String` is a summary.
#[derive(Clone, Debug, PartialEq)]
pub enum Replacement {
    /// The text of a summary; it becomes a turn of its own, like the server's summaries.
    Summary(String),
    /// Events with `synthetic` and `compaction_source` set.
    Inserts(Vec<CompactionInsert>),
}

impl From<&str> for Replacement {
    fn from(summary: &str) -> Self {
        Self::Summary(summary.to_owned())
    }
}

impl From<String> for Replacement {
    fn from(summary: String) -> Self {
        Self::Summary(summary)
    }
}

impl Replacement {
    fn inserts(self) -> Result<Vec<CompactionInsert>, Error> {
        let summary = match self {
            Self::Inserts(inserts) => return Ok(inserts),
            Self::Summary(summary) => summary,
        };
        check_summary(&summary)?;
        let said = |event| SessionEvent { synthetic: true, compaction_source: SUMMARY_SOURCE.into(), ..event };
        let events = vec![said(user(SHADOW_PROMPT)), said(assistant(summary))];
        Ok(vec![CompactionInsert { events, ..Default::default() }])
    }
}

pub(super) type BoxError = Box<dyn std::error::Error + Send + Sync>;

impl SessionHandle {
    /// Returns the context of an agent: the SYSTEM event, the summaries, then whole turns of the active window. It is read by the
    /// provider of the handle; see [`with_memory`](Self::with_memory). An unknown session returns an empty context.
    ///
    /// Errors: INVALID_FIELD, AMBIGUOUS_SESSION.
    pub fn get_context(&self) -> Call<GetContextRequest> {
        Call::new(&self.client, GetContextRequest::default()).with(|request| {
            request.session = self.place();
            request.spec = self.memory.clone().map(ContextSpec::from);
        })
    }

    /// Returns an event by its id. Errors: SESSION_NOT_FOUND, EVENT_NOT_FOUND.
    pub fn get_event(&self, event_id: impl Into<String>) -> Call<GetEventRequest> {
        Call::new(&self.client, GetEventRequest::default()).with(|request| {
            request.session = self.place();
            request.event_id = event_id.into();
        })
    }

    /// Lists the events of the session, oldest first, archived ones included. An unknown session has none.
    ///
    /// Errors: INVALID_FIELD, AMBIGUOUS_SESSION.
    pub fn events(&self) -> List<ListEventsRequest> {
        self.client.list(ListEventsRequest { session: self.place(), ..Default::default() })
    }

    /// Lists the compactions of the session, newest first. Errors: SESSION_NOT_FOUND.
    pub fn compactions(&self) -> List<ListCompactionsRequest> {
        self.client.list(ListCompactionsRequest { session: self.place(), ..Default::default() })
    }

    /// Replaces the events of a context with a summary or with inserts; see [`Replacement`].
    ///
    /// Only events of the context are archived; events that its size or filters left out and events appended since stay in the
    /// window. Nothing is deleted.
    ///
    /// Errors: SESSION_NOT_FOUND; NOTHING_TO_COMPACT, before a call, if no event of the context may be archived; VERSION_MISMATCH
    /// after another compaction: read the context again. [`Error::Usage`] for a blank summary.
    pub async fn compact_context(
        &self,
        seen: &GetContextResponse,
        replacement: impl Into<Replacement>,
    ) -> Result<ApplyCompactionResponse, Error> {
        let request = ApplyCompactionRequest { session: self.place(), ..replaced(seen, replacement.into())? };
        Call::new(&self.client, request).await
    }

    /// Compacts the session on the server, which archives events and inserts summaries or stubs, by the strategy of its policy
    /// or by another. Nothing is deleted, and having nothing to compact is not an error. The call is not retried. A summary takes
    /// as long as the server's model; see [`Call::timeout`].
    ///
    /// Errors: SESSION_NOT_FOUND, SUMMARIZER_NOT_CONFIGURED, SUMMARIZER_FAILED, VERSION_MISMATCH, and INVALID_FIELD without a
    /// policy and a strategy.
    pub fn compact(&self) -> Call<CompactSessionRequest> {
        Call::new(&self.client, CompactSessionRequest { session: self.place(), ..Default::default() })
    }

    /// Plans a compaction and changes nothing. Errors: SESSION_NOT_FOUND, INVALID_FIELD without a policy and a strategy.
    pub fn plan_compaction(&self) -> Call<PlanCompactionRequest> {
        Call::new(&self.client, PlanCompactionRequest { session: self.place(), ..Default::default() })
    }

    /// Applies a compaction that was planned at this window version, under a new compaction id.
    ///
    /// Errors: SESSION_NOT_FOUND, EVENT_NOT_FOUND, INVALID_FIELD; VERSION_MISMATCH after another compaction: plan again.
    pub fn apply_compaction(&self, expected_window_version: i64) -> Call<ApplyCompactionRequest> {
        let (session, compaction_id) = (self.place(), new_event_id());
        Call::new(&self.client, ApplyCompactionRequest { session, compaction_id, expected_window_version, ..Default::default() })
    }

    /// Replaces the whole window: archives its events and inserts these, if the log is at this version. The call is not retried.
    ///
    /// Errors: SESSION_NOT_FOUND, VERSION_MISMATCH, INVALID_FIELD.
    pub fn replace_events(
        &self,
        events: impl IntoIterator<Item = SessionEvent>,
        expected_log_version: i64,
    ) -> Call<ReplaceEventsRequest> {
        let (session, events) = (self.place(), with_ids(events));
        Call::new(&self.client, ReplaceEventsRequest { session, events, expected_log_version, ..Default::default() })
    }

    /// Compacts with the caller's model: plans, calls `summarize` with the prompt if there is one, and applies the plan.
    /// Returns None if there is nothing to compact.
    ///
    /// If another compaction is committed first, it plans again, at most five times in total, without calling `summarize` twice
    /// for the same prompt. The client's timeout applies to each call to the server, not to `summarize`. Dropping the future
    /// cancels it, `summarize` included.
    ///
    /// Errors: [`Error::Summary`] with the error of `summarize`, [`Error::Usage`] for a blank summary; the session is then
    /// unchanged. SESSION_NOT_FOUND; VERSION_MISMATCH after five lost races.
    ///
    /// ```no_run
    /// # async fn ask_a_model(prompt: String) -> Result<String, std::io::Error> { Ok(prompt) }
    /// # async fn example(client: threadkeep::Client) -> Result<(), threadkeep::Error> {
    /// let done = client.session("trip").compact_with(|prompt| ask_a_model(prompt.prompt)).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn compact_with<F, Fut, E>(&self, mut summarize: F) -> CompactWith
    where
        F: FnMut(SummaryPrompt) -> Fut + Send + 'static,
        Fut: Future<Output = Result<String, E>> + Send + 'static,
        E: Into<BoxError> + 'static,
    {
        let summarize = Box::new(move |prompt| summarize(prompt).map_err(Into::into).boxed());
        CompactWith::new(self.plan_compaction(), summarize)
    }
}

impl Call<GetContextRequest> {
    /// Reads by this provider instead of that of the handle.
    pub fn memory(mut self, provider: impl Into<MemoryProvider>) -> Self {
        self.request.spec = Some(provider.into().into());
        self
    }

    /// Reads the context as of a moment in the past. Default: now. Errors: INVALID_FIELD in the future, HISTORY_UNKNOWN.
    pub fn as_of(mut self, moment: AsOf) -> Self {
        self.request.as_of = Some(match moment {
            AsOf::Seq(seq) => get_context_request::AsOf::AsOfSeq(seq),
            AsOf::LogVersion(version) => get_context_request::AsOf::AsOfLogVersion(version),
        });
        self
    }
}

/// A moment in the past of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AsOf {
    /// Directly after the append or compaction that stored the event with this seq; at least 1.
    Seq(i64),
    /// Directly after the change that gave the session this log version; 0 is the empty log.
    LogVersion(i64),
}

impl Call<CompactSessionRequest> {
    /// Sets the strategy. Default: that of the session's policy.
    pub fn strategy(mut self, strategy: impl Into<CompactionStrategy>) -> Self {
        self.request.strategy = Some(strategy.into());
        self
    }

    /// Compacts only if this trigger fires. Default: always.
    pub fn trigger(mut self, trigger: CompactionTrigger) -> Self {
        self.request.trigger = Some(trigger);
        self
    }

    /// Compacts only events of this branch. Default: the whole session.
    pub fn branch(mut self, branch: impl Into<String>) -> Self {
        self.request.branch = branch.into();
        self
    }

    /// Changes nothing, calls no model, and returns the plan.
    pub fn dry_run(mut self) -> Self {
        self.request.dry_run = true;
        self
    }
}

impl Call<PlanCompactionRequest> {
    /// Sets the strategy. Default: that of the session's policy.
    pub fn strategy(mut self, strategy: impl Into<CompactionStrategy>) -> Self {
        self.request.strategy = Some(strategy.into());
        self
    }

    /// Plans only for events of this branch. Default: the whole session.
    pub fn branch(mut self, branch: impl Into<String>) -> Self {
        self.request.branch = branch.into();
        self
    }
}

impl Call<ApplyCompactionRequest> {
    /// Archives and inserts what a plan says, with this summary where the plan has a summary prompt.
    ///
    /// Errors: [`Error::Usage`] for a blank summary that the plan needs.
    pub fn plan(mut self, mut plan: CompactionPlan, summary: &str) -> Result<Self, Error> {
        if plan.summary_prompt.is_some() {
            fill(&mut plan, summary)?;
        }
        self.request.archive = Some(Archive::EventIds(EventIds { ids: plan.archive_event_ids }));
        (self.request.inserts, self.request.branch, self.request.strategy) = (plan.inserts, plan.branch, plan.strategy);
        Ok(self)
    }

    /// Archives these events.
    pub fn archive<T: Into<String>>(mut self, ids: impl IntoIterator<Item = T>) -> Self {
        self.request.archive = Some(Archive::EventIds(EventIds { ids: ids.into_iter().map(Into::into).collect() }));
        self
    }

    /// Archives the active events from one seq, or the start of the window (0), through another.
    pub fn archive_through(mut self, from_seq: i64, through_seq: i64) -> Self {
        (self.request.from_seq, self.request.archive) = (from_seq, Some(Archive::ThroughSeq(through_seq)));
        self
    }

    /// Inserts these events before an event; "" is where the archived ones end.
    pub fn insert(mut self, before_event_id: impl Into<String>, events: impl IntoIterator<Item = SessionEvent>) -> Self {
        let (before_event_id, events) = (before_event_id.into(), events.into_iter().collect());
        self.request.inserts.push(CompactionInsert { before_event_id, events });
        self
    }
}

/// Returns the request, without its session, that replaces the events of a context.
fn replaced(seen: &GetContextResponse, replacement: Replacement) -> Result<ApplyCompactionRequest, Error> {
    if seen.compactable_through_seq == 0 {
        let why = "no event of this context may be archived: it is empty, or its spec left out the first events";
        return Err(Error::refused(Code::FailedPrecondition, ErrorReason::NothingToCompact, why));
    }
    Ok(ApplyCompactionRequest {
        compaction_id: new_event_id(),
        expected_window_version: seen.window_version,
        from_seq: seen.first_seq,
        archive: Some(Archive::ThroughSeq(seen.compactable_through_seq)),
        inserts: replacement.inserts()?,
        ..Default::default()
    })
}

fn check_summary(summary: &str) -> Result<(), Error> {
    if summary.trim().is_empty() {
        return Err(Error::Usage("the summary is blank; the session is unchanged".to_owned()));
    }
    Ok(())
}

/// Sets the model's text in the events that the plan leaves empty.
pub(super) fn fill(plan: &mut CompactionPlan, summary: &str) -> Result<(), Error> {
    check_summary(summary)?;
    for event in plan.inserts.iter_mut().flat_map(|insert| &mut insert.events) {
        if let Some(text) = pending(event) {
            summary.clone_into(text);
        }
    }
    Ok(())
}

/// Returns the text that the plan leaves empty for the summary.
fn pending(event: &mut SessionEvent) -> Option<&mut String> {
    let message = event.message.as_mut().filter(|message| message.role() == Role::Assistant)?;
    let [part] = message.parts.as_mut_slice() else { return None };
    match &mut part.content {
        Some(Content::Text(text)) if text.is_empty() => Some(text),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{assistant_with_calls, system, text_of, tool_call};

    fn plan() -> CompactionPlan {
        let calls = assistant_with_calls("", [tool_call("c", "f", "{}")]);
        let events = vec![user(""), assistant(""), assistant("kept"), calls, system("")];
        let inserts = vec![CompactionInsert { events, ..Default::default() }];
        CompactionPlan { inserts, ..Default::default() }
    }

    #[test]
    fn the_summary_fills_the_empty_event_of_the_plan() {
        let mut plan = plan();
        fill(&mut plan, "They met.").expect("it is a summary");
        let texts: Vec<_> = plan.inserts[0].events.iter().map(text_of).collect();
        assert_eq!(texts, ["", "They met.", "kept", "", ""]);
    }

    #[test]
    fn a_blank_summary_is_rejected() {
        assert!(matches!(fill(&mut plan(), " \n"), Err(Error::Usage(_))));
        assert!(matches!(replaced(&seen(), " \n".into()), Err(Error::Usage(_))));
    }

    fn seen() -> GetContextResponse {
        GetContextResponse {
            first_seq: 3,
            session_last_seq: 9,
            compactable_through_seq: 6,
            window_version: 7,
            truncated: true,
            ..Default::default()
        }
    }

    #[test]
    fn a_summary_of_a_context_replaces_its_events() {
        let request = replaced(&seen(), "They counted.".into()).expect("it can be");
        assert_eq!((request.from_seq, request.archive, request.expected_window_version), (3, Some(Archive::ThroughSeq(6)), 7));
        assert!(!request.compaction_id.is_empty());
        let turn = &request.inserts[0].events;
        assert_eq!(turn.iter().map(text_of).collect::<Vec<_>>(), [SHADOW_PROMPT, "They counted."]);
        assert!(turn.iter().all(|event| event.synthetic && event.compaction_source == "summary"), "{turn:?}");
        let own = vec![CompactionInsert { before_event_id: "e9".into(), events: vec![assistant("Mine.")] }];
        assert_eq!(replaced(&seen(), Replacement::Inserts(own.clone())).expect("it can be").inserts, own);
    }

    #[test]
    fn a_context_without_replaceable_events_is_rejected() {
        let seen = GetContextResponse { compactable_through_seq: 0, ..seen() };
        let error = replaced(&seen, "They counted.".into()).expect_err("it would archive what was not seen");
        assert_eq!((error.reason(), error.code()), (Some(ErrorReason::NothingToCompact), Code::FailedPrecondition));
        assert!(error.message().contains("no event of this context may be archived"), "{error}");
    }
}
