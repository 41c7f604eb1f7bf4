//! The state of a subscription that delivers each change once and whole.

use std::collections::HashMap;

use crate::v1::{Change, SessionChangeKind, SessionRef, change::Kind};

/// Minimum number of sessions whose last version is remembered; the maximum is twice that.
const REMEMBERED: usize = 4096;

/// The state of a subscription: the last resume token, the parts of an incomplete change, and the delivered versions.
#[derive(Default)]
pub(crate) struct Cursor {
    token: String,
    parts: Option<Change>,
    versions: Versions,
}

impl Cursor {
    /// Returns the change if it is complete and new, or None if parts are missing, it is a repetition, or its kind is unknown.
    pub(crate) fn take(&mut self, mut change: Change) -> Option<Change> {
        let continues = match &change.kind {
            Some(Kind::Batch(batch)) => Some(batch.continues),
            Some(Kind::Compaction(notice)) => Some(notice.continues),
            Some(Kind::Removal(notice)) => Some(notice.continues),
            _ => None,
        };
        if continues.is_some()
            && let Some(parts) = self.parts.take()
        {
            change = joined(parts, change);
        }
        if continues == Some(true) {
            self.parts = Some(change);
            return None;
        }
        if !change.resume_token.is_empty() {
            self.token.clone_from(&change.resume_token);
        }
        (change.kind.is_some() && self.is_new(&change)).then_some(change)
    }

    /// Returns where to resume; None means the start of the subscription. An incomplete change will be delivered again in full.
    pub(crate) fn resume(&mut self) -> Option<&str> {
        self.parts = None;
        Some(self.token.as_str()).filter(|token| !token.is_empty())
    }

    /// The resume token prevents repetitions; the session's versions, which only increase, verify it.
    fn is_new(&mut self, change: &Change) -> bool {
        let Some(session) = &change.session else { return true };
        if matches!(&change.kind, Some(Kind::SessionChange(reported)) if reported.kind() != SessionChangeKind::Updated) {
            self.versions.forget(session); // a session of this name begins or ends, so its versions are no longer valid
        }
        let version = change.versions.as_ref().map_or(0, |versions| versions.log_version);
        version == 0 || self.versions.grow(session, version)
    }
}

/// The last versions of the sessions that changed last. When `young` is full it replaces `old`, which is dropped.
#[derive(Default)]
struct Versions {
    young: HashMap<SessionRef, i64>,
    old: HashMap<SessionRef, i64>,
}

impl Versions {
    /// Returns whether this version is higher than the last one, and stores it if so.
    fn grow(&mut self, session: &SessionRef, version: i64) -> bool {
        let known = self.young.get(session).or_else(|| self.old.get(session));
        if known.is_some_and(|known| version <= *known) {
            return false;
        }
        if self.young.len() == REMEMBERED {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(session.clone(), version);
        true
    }

    fn forget(&mut self, session: &SessionRef) {
        self.young.remove(session);
        self.old.remove(session);
    }
}

/// Returns one change from its parts: the events of both, and the token, time and versions of the last.
fn joined(first: Change, mut last: Change) -> Change {
    match (first.kind, &mut last.kind) {
        (Some(Kind::Batch(mut first)), Some(Kind::Batch(last))) => {
            first.events.append(&mut last.events);
            last.events = first.events;
        }
        (Some(Kind::Compaction(mut first)), Some(Kind::Compaction(last))) => {
            first.inserted.append(&mut last.inserted);
            last.inserted = first.inserted;
            last.compaction = first.compaction.or(last.compaction.take());
        }
        (Some(Kind::Removal(mut first)), Some(Kind::Removal(last))) => {
            first.inserted.append(&mut last.inserted);
            last.inserted = first.inserted;
        }
        _ => {}
    }
    last
}

#[cfg(test)]
#[path = "cursor_tests.rs"]
mod tests;
