//! What a subscription remembers so that each change is handed out once and whole.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::v1::{Change, SessionChangeKind, SessionRef, change::Kind};

/// Sessions whose last version is remembered.
const REMEMBERED: usize = 4096;

/// Where a subscription stands: its last resume token, the parts of a change that is arriving, and what was handed out.
#[derive(Debug, Default)]
pub(crate) struct Cursor {
    token: String,
    parts: Vec<Change>,
    versions: Versions,
}

impl Cursor {
    /// The change if it is whole and new. None: parts are missing, or it is a repetition or of an unknown kind.
    pub(crate) fn take(&mut self, change: Change) -> Option<Change> {
        if continues(&change) {
            self.parts.push(change);
            return None;
        }
        let has_parts = matches!(change.kind, Some(Kind::Batch(_) | Kind::Compaction(_))) && !self.parts.is_empty();
        let change = if has_parts { joined(std::mem::take(&mut self.parts), change) } else { change };
        if !change.resume_token.is_empty() {
            self.token.clone_from(&change.resume_token);
        }
        (change.kind.is_some() && self.is_new(&change)).then_some(change)
    }

    /// Where to go on; None is where the subscription began. A change of which parts arrived will come again as a whole.
    pub(crate) fn resume(&mut self) -> Option<&str> {
        self.parts.clear();
        Some(self.token.as_str()).filter(|token| !token.is_empty())
    }

    /// The resume token makes repetitions impossible; a session's versions, which only grow, make sure of it.
    fn is_new(&mut self, change: &Change) -> bool {
        let Some(session) = &change.session else { return true };
        if matches!(&change.kind, Some(Kind::SessionChange(told)) if told.kind() != SessionChangeKind::Updated) {
            self.versions.forget(session); // a session of this name begins or ends, and with it its versions
        }
        match change.versions.as_ref().map_or(0, |versions| versions.log_version) {
            0 => true,
            version => self.versions.grow(session, version),
        }
    }
}

/// The last version of the sessions that changed last.
#[derive(Debug, Default)]
struct Versions {
    clock: u64,
    sessions: HashMap<Arc<SessionRef>, (i64, u64)>,
    by_age: BTreeMap<u64, Arc<SessionRef>>,
}

impl Versions {
    /// Whether this version is higher than the last one, which it then replaces.
    fn grow(&mut self, session: &SessionRef, version: i64) -> bool {
        self.clock += 1;
        let key = match self.sessions.get_mut(session) {
            Some((known, _)) if version <= *known => return false,
            Some((known, age)) => {
                let key = self.by_age.remove(age).unwrap_or_else(|| Arc::new(session.clone()));
                (*known, *age) = (version, self.clock);
                key
            }
            None => {
                let key = Arc::new(session.clone());
                self.sessions.insert(Arc::clone(&key), (version, self.clock));
                key
            }
        };
        self.by_age.insert(self.clock, key);
        if self.sessions.len() > REMEMBERED
            && let Some((_, oldest)) = self.by_age.pop_first()
        {
            self.sessions.remove(&oldest);
        }
        true
    }

    fn forget(&mut self, session: &SessionRef) {
        if let Some((_, age)) = self.sessions.remove(session) {
            self.by_age.remove(&age);
        }
    }
}

fn continues(change: &Change) -> bool {
    match &change.kind {
        Some(Kind::Batch(batch)) => batch.continues,
        Some(Kind::Compaction(notice)) => notice.continues,
        _ => false,
    }
}

/// One change from its parts: the last one's token, time and versions, the events of all.
fn joined(parts: Vec<Change>, mut last: Change) -> Change {
    let mut events = Vec::new();
    let mut record = None;
    for part in parts {
        match part.kind {
            Some(Kind::Batch(batch)) => events.extend(batch.events),
            Some(Kind::Compaction(notice)) => {
                events.extend(notice.inserted);
                record = record.or(notice.compaction);
            }
            _ => {}
        }
    }
    match &mut last.kind {
        Some(Kind::Batch(batch)) => {
            events.append(&mut batch.events);
            batch.events = events;
        }
        Some(Kind::Compaction(notice)) => {
            events.append(&mut notice.inserted);
            notice.inserted = events;
            notice.compaction = record.or(notice.compaction.take());
        }
        _ => {}
    }
    last
}

#[cfg(test)]
#[path = "cursor_tests.rs"]
mod tests;
