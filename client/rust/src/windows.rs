//! Contexts: reading and compacting them.

use std::collections::HashMap;

use tonic::Code;

use crate::v1::apply_compaction_request::Archive;
use crate::v1::part::Content;
use crate::v1::{
    ApplyCompactionRequest, ApplyCompactionResponse, CompactSessionRequest, CompactSessionResponse, CompactionInsert,
    CompactionPlan, CompactionStrategy, ContextSpec, ErrorReason, EventIds, GetContextRequest, GetContextResponse,
    PlanCompactionRequest, Role, SessionEvent, SummaryPrompt,
};
use crate::{Client, Error, SessionLike, assistant, new_event_id, user};

/// Maximum number of plans before a compaction that always loses the race is given up.
const ATTEMPTS: usize = 5;
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

impl<T: AsRef<str>> From<T> for Replacement {
    fn from(summary: T) -> Self {
        Self::Summary(summary.as_ref().to_owned())
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

impl Client {
    /// Returns the context of an agent: the SYSTEM event, the summaries, then whole turns of the active window.
    ///
    /// `spec` narrows it; None means the window within the size of the session or the server. An unknown session returns an
    /// empty context. Errors: INVALID_FIELD, AMBIGUOUS_SESSION.
    pub async fn context(
        &self,
        session: impl Into<SessionLike>,
        spec: impl Into<Option<ContextSpec>>,
    ) -> Result<GetContextResponse, Error> {
        let request = GetContextRequest { session: Some(self.session(session)), spec: spec.into() };
        Ok(self.events().get_context(request).await?.into_inner())
    }

    /// Replaces the events of a context, which [`context`](Self::context) returned, with a summary. Only these events are
    /// archived; events that the context left out and events appended since stay. Nothing is deleted.
    ///
    /// Errors: NOTHING_TO_COMPACT if no event of this context may be archived, and [`Error::Usage`] for a blank summary, both
    /// before a call; VERSION_MISMATCH if another compaction was committed first: read the context again.
    ///
    /// ```no_run
    /// # fn summary_of(events: &[threadkeep::SessionEvent]) -> String { String::new() }
    /// # async fn example(client: threadkeep::Client) -> Result<(), threadkeep::Error> {
    /// let seen = client.context("trip", None).await?;
    /// client.compact_context("trip", &seen, summary_of(&seen.events)).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn compact_context(
        &self,
        session: impl Into<SessionLike>,
        seen: &GetContextResponse,
        replacement: impl Into<Replacement>,
    ) -> Result<ApplyCompactionResponse, Error> {
        let request = ApplyCompactionRequest { session: Some(self.session(session)), ..replaced(seen, replacement.into())? };
        Ok(self.compaction().apply_compaction(request).await?.into_inner())
    }

    /// Compacts a session on the server, which archives events and inserts summaries or stubs. Nothing is deleted, and having
    /// nothing to compact is not an error.
    ///
    /// A `strategy` of None means that of the session's policy. A summary takes as long as the server's model; see
    /// [`with_timeout`](Self::with_timeout). The call is not retried when the server is unavailable.
    ///
    /// Errors: SESSION_NOT_FOUND, INVALID_FIELD, SUMMARIZER_NOT_CONFIGURED, SUMMARIZER_FAILED, VERSION_MISMATCH.
    pub async fn compact(
        &self,
        session: impl Into<SessionLike>,
        strategy: impl Into<Option<CompactionStrategy>>,
    ) -> Result<CompactSessionResponse, Error> {
        let request =
            CompactSessionRequest { session: Some(self.session(session)), strategy: strategy.into(), ..Default::default() };
        Ok(self.compaction().compact_session(request).await?.into_inner())
    }

    /// Compacts with the caller's model: plans, calls `summarize` with the prompt if there is one, and applies the plan.
    /// Returns None if there is nothing to compact.
    ///
    /// If another compaction is committed first, it plans again, at most five times in total, without calling `summarize` twice
    /// for the same prompt. The client's timeout applies to each call to the server, not to `summarize`.
    ///
    /// Errors: [`Error::Summary`] with the error of `summarize`, [`Error::Usage`] for a blank summary; the session is then
    /// unchanged. SESSION_NOT_FOUND; VERSION_MISMATCH after five lost races.
    ///
    /// ```no_run
    /// # async fn ask_a_model(prompt: String) -> Result<String, std::io::Error> { Ok(prompt) }
    /// # async fn example(client: threadkeep::Client) -> Result<(), threadkeep::Error> {
    /// let done = client.compact_with("trip", None, |prompt| ask_a_model(prompt.prompt)).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn compact_with<F, Fut, E>(
        &self,
        session: impl Into<SessionLike>,
        strategy: impl Into<Option<CompactionStrategy>>,
        mut summarize: F,
    ) -> Result<Option<ApplyCompactionResponse>, Error>
    where
        F: FnMut(SummaryPrompt) -> Fut,
        Fut: Future<Output = Result<String, E>>,
        E: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let (session, strategy) = (Some(self.session(session)), strategy.into());
        let mut answers: HashMap<String, String> = HashMap::new();
        let mut tries = 0;
        loop {
            let request = PlanCompactionRequest { session: session.clone(), strategy: strategy.clone(), ..Default::default() };
            let planned = self.compaction().plan_compaction(request).await?.into_inner();
            let mut plan = planned.plan.unwrap_or_default();
            if plan.archive_event_ids.is_empty() && plan.inserts.is_empty() {
                return Ok(None);
            }
            if let Some(prompt) = plan.summary_prompt.take() {
                let digest = prompt.digest.clone();
                if !answers.contains_key(&digest) {
                    let summary = summarize(prompt).await.map_err(|error| Error::Summary(error.into()))?;
                    answers.insert(digest.clone(), summary);
                }
                fill(&mut plan, &answers[&digest])?;
            }
            let request = ApplyCompactionRequest {
                session: session.clone(),
                compaction_id: new_event_id(),
                expected_window_version: planned.window_version,
                archive: Some(Archive::EventIds(EventIds { ids: plan.archive_event_ids })),
                inserts: plan.inserts,
                branch: plan.branch,
                strategy: plan.strategy,
                ..Default::default()
            };
            tries += 1;
            match self.compaction().apply_compaction(request).await.map_err(Error::from) {
                Ok(applied) => return Ok(Some(applied.into_inner())),
                Err(lost) if lost.reason() == Some(ErrorReason::VersionMismatch) && tries < ATTEMPTS => {}
                Err(error) => return Err(error),
            }
        }
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
fn fill(plan: &mut CompactionPlan, summary: &str) -> Result<(), Error> {
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
        assert!(error.to_string().contains("no event of this context may be archived"), "{error}");
    }
}
