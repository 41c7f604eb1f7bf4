//! What adk-rust gets of a session: a snapshot.

use adk_session::{Event, Events, Session, State};
use chrono::{DateTime, Utc};
use serde_json::Value;
use threadkeep::v1::{self, SessionState};

use crate::events::moment;
use crate::state::{Values, shown};

/// A session as of one moment.
pub(crate) struct Kept {
    place: v1::SessionRef,
    state: Held,
    events: Log,
    updated: DateTime<Utc>,
}

struct Held(Values);

struct Log(Vec<Event>);

impl Kept {
    pub(crate) fn new(stored: v1::Session, state: SessionState, events: Vec<Event>) -> Self {
        let updated = stored.update_time.as_ref().or(stored.create_time.as_ref()).and_then(moment).unwrap_or_default();
        Self { place: stored.r#ref.unwrap_or_default(), state: Held(shown(state)), events: Log(events), updated }
    }

    /// Keeps the events at or after a time.
    pub(crate) fn since(&mut self, time: DateTime<Utc>) {
        self.events.0.retain(|event| event.timestamp >= time);
    }
}

impl Session for Kept {
    fn id(&self) -> &str {
        &self.place.session_id
    }

    fn app_name(&self) -> &str {
        &self.place.app
    }

    fn user_id(&self) -> &str {
        &self.place.user_id
    }

    fn state(&self) -> &dyn State {
        &self.state
    }

    fn events(&self) -> &dyn Events {
        &self.events
    }

    fn last_update_time(&self) -> DateTime<Utc> {
        self.updated
    }
}

impl State for Held {
    fn get(&self, key: &str) -> Option<Value> {
        self.0.get(key).cloned()
    }

    fn set(&mut self, key: String, value: Value) {
        self.0.insert(key, value);
    }

    fn all(&self) -> Values {
        self.0.clone()
    }
}

impl Events for Log {
    fn all(&self) -> Vec<Event> {
        self.0.clone()
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn at(&self, index: usize) -> Option<&Event> {
        self.0.get(index)
    }
}
