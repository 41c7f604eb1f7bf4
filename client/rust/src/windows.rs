//! Context windows: reading and compacting them.

use std::collections::HashMap;

use crate::v1::apply_compaction_request::Archive;
use crate::v1::part::Content;
use crate::v1::{
    ApplyCompactionRequest, ApplyCompactionResponse, CompactSessionRequest, CompactSessionResponse, CompactionPlan,
    CompactionStrategy, ContextSpec, ErrorReason, EventIds, GetContextRequest, GetContextResponse, PlanCompactionRequest, Role,
    SessionEvent, SummaryPrompt,
};
use crate::{Client, Error, SessionLike, new_event_id};

/// How often a compaction is planned before a race that is always lost is given up.
const ATTEMPTS: usize = 5;

impl Client {
    /// What an agent should see now: the SYSTEM event, the summaries, then whole turns of the active window.
    ///
    /// `spec` narrows it; None is the window within the session's or the server's size. An unknown session gives an empty
    /// context. Errors: INVALID_FIELD, AMBIGUOUS_SESSION.
    pub async fn context(
        &self,
        session: impl Into<SessionLike>,
        spec: impl Into<Option<ContextSpec>>,
    ) -> Result<GetContextResponse, Error> {
        let request = GetContextRequest { session: Some(self.session(session)), spec: spec.into() };
        Ok(self.events().get_context(request).await?.into_inner())
    }

    /// Has the server compact a session: archive events, and insert summaries or stubs. Nothing is deleted, and nothing to do
    /// is no error.
    ///
    /// `strategy`: None is that of the session's policy. A summary takes as long as the server's model does: see
    /// [`with_timeout`](Self::with_timeout). It is not repeated when the server is unavailable.
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

    /// Compacts with a model of the caller's: plans, has `summarise` answer the prompt if the plan needs a summary, and
    /// applies. None: there was nothing to do.
    ///
    /// When another compaction was faster it plans anew, at most five times in all, and does not ask again for the same
    /// prompt. The client's timeout is that of each call to the server, and not of `summarise`.
    ///
    /// Errors: [`Error::Summary`] with what `summarise` failed with, [`Error::Usage`] when the summary is blank; the session
    /// is then as it was. SESSION_NOT_FOUND; VERSION_MISMATCH when every race was lost.
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
        mut summarise: F,
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
                    let summary = summarise(prompt).await.map_err(|error| Error::Summary(error.into()))?;
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

/// Puts the model's text into the events that the plan leaves empty for it.
fn fill(plan: &mut CompactionPlan, summary: &str) -> Result<(), Error> {
    if summary.trim().is_empty() {
        return Err(Error::Usage("the summary is blank; the session is as it was".to_owned()));
    }
    for event in plan.inserts.iter_mut().flat_map(|insert| &mut insert.events) {
        if let Some(text) = pending(event) {
            summary.clone_into(text);
        }
    }
    Ok(())
}

/// The text that the plan leaves empty for the summary.
fn pending(event: &mut SessionEvent) -> Option<&mut String> {
    let message = event.message.as_mut().filter(|message| message.role() == Role::Assistant)?;
    let [part] = message.parts.as_mut_slice() else { return None };
    match &mut part.content {
        Some(Content::Text(text)) if text.text.is_empty() => Some(&mut text.text),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::v1::CompactionInsert;
    use crate::{assistant, assistant_with_calls, system, text_of, tool_call, user};

    fn plan() -> CompactionPlan {
        let calls = assistant_with_calls("", [tool_call("c", "f", "{}")]);
        let events = vec![user(""), assistant(""), assistant("kept"), calls, system("")];
        let inserts = vec![CompactionInsert { events, ..Default::default() }];
        CompactionPlan { inserts, ..Default::default() }
    }

    #[test]
    fn the_summary_goes_where_the_plan_waits_for_it() {
        let mut plan = plan();
        fill(&mut plan, "They asked.").expect("it is a summary");
        let texts: Vec<_> = plan.inserts[0].events.iter().map(text_of).collect();
        assert_eq!(texts, ["", "They asked.", "kept", "", ""]);
    }

    #[test]
    fn a_blank_summary_is_none() {
        assert!(matches!(fill(&mut plan(), " \n"), Err(Error::Usage(_))));
    }
}
