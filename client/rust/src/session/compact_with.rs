//! Compaction with the caller's model.

use std::collections::HashMap;
use std::fmt;
use std::pin::Pin;
use std::time::Duration;

use futures_util::future::BoxFuture;

use super::windows::{BoxError, fill};
use crate::v1::{
    ApplyCompactionRequest, ApplyCompactionResponse, CompactionStrategy, ErrorReason, PlanCompactionRequest, SummaryPrompt,
};
use crate::{Call, Error, new_event_id};

/// Maximum number of plans before a compaction that always loses the race is given up.
const ATTEMPTS: usize = 5;

type Summarize = Box<dyn FnMut(SummaryPrompt) -> BoxFuture<'static, Result<String, BoxError>> + Send>;

/// A compaction with the caller's model: set its strategy, then await it. See
/// [`SessionHandle::compact_with`](crate::SessionHandle::compact_with).
#[must_use = "nothing is compacted until it is awaited"]
pub struct CompactWith {
    plan: Call<PlanCompactionRequest>,
    summarize: Summarize,
}

impl CompactWith {
    pub(super) fn new(plan: Call<PlanCompactionRequest>, summarize: Summarize) -> Self {
        Self { plan, summarize }
    }

    /// Sets the strategy. Default: that of the session's policy.
    pub fn strategy(self, strategy: impl Into<CompactionStrategy>) -> Self {
        Self { plan: self.plan.strategy(strategy), ..self }
    }

    /// Sets another timeout of each call to the server; None for no limit. Default: that of the client.
    pub fn timeout(self, limit: impl Into<Option<Duration>>) -> Self {
        Self { plan: self.plan.timeout(limit), ..self }
    }

    async fn run(mut self) -> Result<Option<ApplyCompactionResponse>, Error> {
        let mut answers: HashMap<String, String> = HashMap::new();
        let mut tries = 0;
        loop {
            let planned = self.plan.clone().await?;
            let mut plan = planned.plan.unwrap_or_default();
            if plan.archive_event_ids.is_empty() && plan.inserts.is_empty() {
                return Ok(None);
            }
            if let Some(prompt) = plan.summary_prompt.take() {
                let digest = prompt.digest.clone();
                if !answers.contains_key(&digest) {
                    let summary = (self.summarize)(prompt).await.map_err(Error::Summary)?;
                    answers.insert(digest.clone(), summary);
                }
                fill(&mut plan, &answers[&digest])?;
            }
            let request = ApplyCompactionRequest {
                session: self.plan.request.session.clone(),
                compaction_id: new_event_id(),
                expected_window_version: planned.window_version,
                ..Default::default()
            };
            tries += 1;
            match Call::new(&self.plan.client, request).plan(plan, "")?.await {
                Ok(applied) => return Ok(Some(applied)),
                Err(lost) if lost.is(ErrorReason::VersionMismatch) && tries < ATTEMPTS => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl IntoFuture for CompactWith {
    type Output = Result<Option<ApplyCompactionResponse>, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

impl fmt::Debug for CompactWith {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("CompactWith").field("plan", &self.plan).finish_non_exhaustive()
    }
}
