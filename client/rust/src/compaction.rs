//! Builders of triggers, strategies and policies of compaction, and handles on policies. Numbers that are 0 or absent are the
//! server's defaults, in parentheses. Set other fields of a strategy with update syntax:
//!
//! ```
//! use threadkeep::compaction::{policy, recursive_summary, turns_over};
//! use threadkeep::v1::RecursiveSummary;
//! let rule = policy(turns_over(50), RecursiveSummary { max_events_to_keep: 6, ..recursive_summary() });
//! ```

use crate::v1::compaction_strategy::Kind as Strategy;
use crate::v1::compaction_trigger::Kind as Trigger;
use crate::v1::policy_scope::Kind as Scope;
use crate::v1::{
    CompactionPolicy, CompactionStrategy, CompactionTrigger, ConsumerStrategy, GetCompactionPolicyRequest, PolicyScope,
    RecursiveSummary, SetCompactionPolicyRequest, SlidingWindow, StrategyPipeline, TokenBudget, TriggerList, TrimToolResults,
    TurnWindow, UserPolicyScope, WebhookStrategy,
};
use crate::{Call, Client};

/// The window has more than n turns.
#[must_use]
pub fn turns_over(n: i64) -> CompactionTrigger {
    CompactionTrigger { kind: Some(Trigger::TurnsOver(n)) }
}

/// The window has n tokens or more.
#[must_use]
pub fn tokens(n: i64) -> CompactionTrigger {
    CompactionTrigger { kind: Some(Trigger::Tokens(n)) }
}

/// The window has n bytes or more.
#[must_use]
pub fn size(n: i64) -> CompactionTrigger {
    CompactionTrigger { kind: Some(Trigger::Bytes(n)) }
}

/// The window has n events or more.
#[must_use]
pub fn events(n: i64) -> CompactionTrigger {
    CompactionTrigger { kind: Some(Trigger::Events(n)) }
}

/// One of these fires.
#[must_use]
pub fn any_of(triggers: impl IntoIterator<Item = CompactionTrigger>) -> CompactionTrigger {
    CompactionTrigger { kind: Some(Trigger::AnyOf(TriggerList { triggers: triggers.into_iter().collect() })) }
}

/// All of these fire.
#[must_use]
pub fn all_of(triggers: impl IntoIterator<Item = CompactionTrigger>) -> CompactionTrigger {
    CompactionTrigger { kind: Some(Trigger::AllOf(TriggerList { triggers: triggers.into_iter().collect() })) }
}

/// Keeps the newest events (20), from a turn start on.
#[must_use]
pub fn sliding_window(max_events: i32) -> SlidingWindow {
    SlidingWindow { max_events }
}

/// Keeps the newest turns (10).
#[must_use]
pub fn turn_window(max_turns: i32) -> TurnWindow {
    TurnWindow { max_turns }
}

/// Keeps the newest turns that fit into this number of tokens (4,000).
#[must_use]
pub fn token_budget(max_tokens: i64) -> TokenBudget {
    TokenBudget { max_tokens }
}

/// Keeps the newest events (10) and replaces all events before them by a model's summary.
#[must_use]
pub fn recursive_summary() -> RecursiveSummary {
    RecursiveSummary::default()
}

/// Replaces tool results of 64 tokens or more by stubs, except those of the newest turns (1).
#[must_use]
pub fn trim_tool_results() -> TrimToolResults {
    TrimToolResults::default()
}

/// Several strategies, each applied to the result of the one before it; a recursive summary at most once, and last.
#[must_use]
pub fn pipeline(steps: impl IntoIterator<Item = CompactionStrategy>) -> StrategyPipeline {
    StrategyPipeline { steps: steps.into_iter().collect() }
}

/// Has an HTTP endpoint plan: a webhook of that name in the server's configuration.
#[must_use]
pub fn webhook(name: impl Into<String>) -> WebhookStrategy {
    WebhookStrategy { name: name.into() }
}

/// Has the members of a named consumer compact, in a policy. A change that requests it has `compaction_due`.
///
/// ```
/// use threadkeep::compaction::{compacted_by, policy, turns_over, webhook};
/// let left_to_a_consumer = policy(turns_over(50), compacted_by("compactor"));
/// let planned_by_a_webhook = policy(turns_over(50), webhook("summaries"));
/// ```
#[must_use]
pub fn compacted_by(consumer: impl Into<String>) -> ConsumerStrategy {
    ConsumerStrategy { name: consumer.into() }
}

/// Compacts by the strategy when an append makes the trigger fire.
#[must_use]
pub fn policy(trigger: CompactionTrigger, strategy: impl Into<CompactionStrategy>) -> CompactionPolicy {
    CompactionPolicy { trigger: Some(trigger), strategy: Some(strategy.into()), disabled: false }
}

/// Never compacts, even if a wider policy would.
#[must_use]
pub fn disabled() -> CompactionPolicy {
    CompactionPolicy { disabled: true, ..Default::default() }
}

macro_rules! strategies {
    ($($strategy:ident),*) => {$(
        impl From<$strategy> for CompactionStrategy {
            fn from(strategy: $strategy) -> Self {
                Self { kind: Some(Strategy::$strategy(strategy)) }
            }
        }
    )*};
}

strategies!(SlidingWindow, TurnWindow, TokenBudget, RecursiveSummary, TrimToolResults);

impl From<StrategyPipeline> for CompactionStrategy {
    fn from(strategy: StrategyPipeline) -> Self {
        Self { kind: Some(Strategy::Pipeline(strategy)) }
    }
}

impl From<WebhookStrategy> for CompactionStrategy {
    fn from(strategy: WebhookStrategy) -> Self {
        Self { kind: Some(Strategy::Webhook(strategy)) }
    }
}

impl From<ConsumerStrategy> for CompactionStrategy {
    fn from(strategy: ConsumerStrategy) -> Self {
        Self { kind: Some(Strategy::Consumer(strategy)) }
    }
}

/// A handle on the compaction policy of a session, a user, an app or the server. The narrowest one that is set applies.
#[derive(Clone, Debug)]
pub struct PolicyHandle {
    client: Client,
    scope: PolicyScope,
}

impl PolicyHandle {
    pub(crate) fn new(client: &Client, scope: Scope) -> Self {
        Self { client: client.clone(), scope: PolicyScope { kind: Some(scope) } }
    }

    /// Returns the policy of this scope, if there is one, and the policy that applies.
    pub fn get(&self) -> Call<GetCompactionPolicyRequest> {
        Call::new(&self.client, GetCompactionPolicyRequest { scope: Some(self.scope.clone()) })
    }

    /// Sets the policy. Errors: INVALID_FIELD, PERMISSION_DENIED.
    pub fn set(&self, policy: CompactionPolicy) -> Call<SetCompactionPolicyRequest> {
        Call::new(&self.client, SetCompactionPolicyRequest { scope: Some(self.scope.clone()), policy: Some(policy) })
    }

    /// Removes the policy, so that the next wider one applies.
    pub fn remove(&self) -> Call<SetCompactionPolicyRequest> {
        Call::new(&self.client, SetCompactionPolicyRequest { scope: Some(self.scope.clone()), policy: None })
    }
}

impl Client {
    /// Returns a handle on the compaction policy of the client's user: in its app or, without one, in every app.
    #[must_use]
    pub fn user_policy(&self) -> PolicyHandle {
        let (user_id, app) = (self.shared.user_id.clone(), self.app_or(None));
        PolicyHandle::new(self, Scope::User(UserPolicyScope { user_id, app }))
    }

    /// Returns a handle on the compaction policy of the client's app.
    #[must_use]
    pub fn app_policy(&self) -> PolicyHandle {
        PolicyHandle::new(self, Scope::App(self.shared.app.clone()))
    }

    /// Returns a handle on the compaction policy of the server.
    #[must_use]
    pub fn server_policy(&self) -> PolicyHandle {
        PolicyHandle::new(self, Scope::Server(true))
    }
}
