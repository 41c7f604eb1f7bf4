//! State of adk-rs, whose keys have the prefixes of their scopes, as the state of Threadkeep's scopes.

use adk_rs::core::state::{State, StateDelta, prefix};
use threadkeep::v1::{SessionState, StatePage, StatePatch};

/// A delta by scope, without prefixes. `temp:` keys are in none.
#[derive(Default)]
pub(crate) struct Scoped {
    pub(crate) session: StatePatch,
    pub(crate) user: StatePatch,
    pub(crate) app: StatePatch,
}

impl Scoped {
    pub(crate) fn of(delta: &StateDelta) -> Self {
        let (app, user, session, _) = State::partition_by_scope(delta);
        Self { session: patch(&session, ""), user: patch(&user, prefix::USER), app: patch(&app, prefix::APP) }
    }
}

/// A value of null is stored as null: nothing is removed.
fn patch(delta: &StateDelta, prefix: &str) -> StatePatch {
    delta
        .iter()
        .fold(StatePatch::default(), |patch, (key, value)| patch.setting(key.strip_prefix(prefix).unwrap_or(key), value.clone()))
}

/// Whether the patch changes nothing.
pub(crate) fn is_empty(patch: &StatePatch) -> bool {
    patch.set.is_empty() && patch.remove.is_empty()
}

/// Returns what a session shows: its own values, and those of its user and its app with their prefixes.
pub(crate) fn shown(state: SessionState) -> State {
    let mut shown = State::new();
    let scopes = [(state.session, ""), (state.user, prefix::USER), (state.app, prefix::APP)];
    for (page, prefix) in scopes {
        for (key, value) in page.unwrap_or_default().values {
            // The server has checked that it is JSON.
            shown.set(format!("{prefix}{key}"), serde_json::from_str(&value).unwrap_or_default());
        }
    }
    shown
}

/// Whether values of the page did not fit into the response.
pub(crate) fn has_more(page: &Option<StatePage>) -> bool {
    page.as_ref().is_some_and(|page| page.more)
}
