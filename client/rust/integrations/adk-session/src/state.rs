//! State of adk-rust, whose keys have the prefixes of their scopes, as the state of Threadkeep's scopes.

use std::collections::HashMap;

use adk_session::{KEY_PREFIX_APP, KEY_PREFIX_USER, extract_state_deltas};
use serde_json::Value;
use threadkeep::v1::{SessionState, StatePage, StatePatch};

/// Values by key.
pub(crate) type Values = HashMap<String, Value>;

/// A delta by scope, without prefixes. `temp:` keys are in none.
pub(crate) struct Scoped {
    pub(crate) session: StatePatch,
    pub(crate) user: StatePatch,
    pub(crate) app: StatePatch,
}

impl Scoped {
    pub(crate) fn of(delta: &Values) -> Self {
        let (app, user, session) = extract_state_deltas(delta);
        Self { session: patch(session), user: patch(user), app: patch(app) }
    }
}

/// A value of null is stored as null: nothing is removed.
fn patch(delta: Values) -> StatePatch {
    delta.into_iter().fold(StatePatch::default(), |patch, (key, value)| patch.setting(key, value))
}

/// Whether the patch changes nothing.
pub(crate) fn is_empty(patch: &StatePatch) -> bool {
    patch.set.is_empty() && patch.remove.is_empty()
}

/// Returns what a session shows: its own values, and those of its user and its app with their prefixes.
pub(crate) fn shown(state: SessionState) -> Values {
    let scopes = [(state.session, ""), (state.user, KEY_PREFIX_USER), (state.app, KEY_PREFIX_APP)];
    let values = scopes.into_iter().flat_map(|(page, prefix)| {
        let values = page.unwrap_or_default().values.into_iter();
        values.map(move |(key, value)| (format!("{prefix}{key}"), value))
    });
    // The server has checked that it is JSON.
    values.map(|(key, value)| (key, serde_json::from_str(&value).unwrap_or_default())).collect()
}

/// Whether values of the page did not fit into the response.
pub(crate) fn has_more(page: &Option<StatePage>) -> bool {
    page.as_ref().is_some_and(|page| page.more)
}

/// Returns a state as the page of a response.
pub(crate) fn page(state: threadkeep::v1::State) -> StatePage {
    StatePage { values: state.values, version: state.version, ..StatePage::default() }
}
