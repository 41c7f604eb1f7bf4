//! What a subscription remembers so that each change is handed out once and whole.

use std::collections::HashMap;

use crate::v1::{Change, SessionChangeKind, SessionRef, change::Kind};

/// Sessions whose last version is remembered at least; at most twice as many are.
const REMEMBERED: usize = 4096;

/// Where a subscription stands: its last resume token, the parts of a change that is arriving, and what was handed out.
#[derive(Default)]
pub(crate) struct Cursor {
    token: String,
    parts: Option<Change>,
    versions: Versions,
}

impl Cursor {
    /// The change if it is whole and new. None: parts are missing, or it is a repetition or of an unknown kind.
    pub(crate) fn take(&mut self, mut change: Change) -> Option<Change> {
        let continues = match &change.kind {
            Some(Kind::Batch(batch)) => Some(batch.continues),
            Some(Kind::Compaction(notice)) => Some(notice.continues),
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

    /// Where to go on; None is where the subscription began. A change of which parts arrived will come again as a whole.
    pub(crate) fn resume(&mut self) -> Option<&str> {
        self.parts = None;
        Some(self.token.as_str()).filter(|token| !token.is_empty())
    }

    /// The resume token makes repetitions impossible; a session's versions, which only grow, make sure of it.
    fn is_new(&mut self, change: &Change) -> bool {
        let Some(session) = &change.session else { return true };
        if matches!(&change.kind, Some(Kind::SessionChange(told)) if told.kind() != SessionChangeKind::Updated) {
            self.versions.forget(session); // a session of this name begins or ends, and with it its versions
        }
        let version = change.versions.as_ref().map_or(0, |versions| versions.log_version);
        version == 0 || self.versions.grow(session, version)
    }
}

/// The last version of the sessions that changed last: when the young are too many they become the old, who are forgotten.
#[derive(Default)]
struct Versions {
    young: HashMap<SessionRef, i64>,
    old: HashMap<SessionRef, i64>,
}

impl Versions {
    /// Whether this version is higher than the last one, which it then replaces.
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

/// One change from its parts: the last one's token, time and versions, the events of both.
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
        _ => {}
    }
    last
}

#[cfg(test)]
#[path = "cursor_tests.rs"]
mod tests;
