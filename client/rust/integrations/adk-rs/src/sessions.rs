//! The session service.

use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use adk_rs::core::services::apply_event_to_session;
use adk_rs::core::{Event, GetSessionConfig, ListSessionsResponse, Session, SessionMeta, SessionService, State};
use adk_rs::error::Result;
use async_trait::async_trait;
use parking_lot::Mutex;
use threadkeep::v1::{self, SessionOrder, SessionState, StatePatch, StateScope, load_session_response::Log};
use threadkeep::{Client, ErrorReason, EventFilter, SessionEvent, SessionHandle, SessionRef};

use crate::errors::failed;
use crate::events::{read, seconds_of, stored};
use crate::state::{Scoped, has_more, is_empty, shown};

const EVENTS_AT_ONCE: u32 = 1_000;
const SESSIONS_AT_ONCE: u32 = 200;

/// The sessions of adk-rs in Threadkeep: `Runner::builder().session_service(Arc::new(ThreadkeepSessionService::new(&client)))`.
///
/// The address and the token are those of the client; the app and the user those of adk-rs's calls. An append needs no lock: the
/// server orders concurrent ones, and keeps an event once, by its id, however often a call is repeated. Every method may fail with
/// `ServiceError::Backend`, which has the message of the server.
#[derive(Clone, Debug)]
pub struct ThreadkeepSessionService {
    client: Client,
    ttl: Option<Duration>,
}

impl ThreadkeepSessionService {
    /// Sessions are created with the server's default time to live.
    #[must_use]
    pub fn new(client: &Client) -> Self {
        Self { client: client.clone(), ttl: None }
    }

    /// Sessions that are created expire when they were not used for this long.
    #[must_use]
    pub fn with_ttl(mut self, ttl: Duration) -> Self {
        self.ttl = Some(ttl);
        self
    }

    /// Returns a session of Threadkeep, for what adk-rs does not offer: search, watch, compaction, forks.
    #[must_use]
    pub fn handle(&self, app_name: &str, user_id: &str, session_id: &str) -> SessionHandle {
        let (app, user_id) = (app_name.into(), user_id.into());
        self.client.session(SessionRef { app, user_id, session_id: session_id.trim().into() })
    }

    async fn load(&self, handle: &SessionHandle, config: &GetSessionConfig) -> Result<Session, threadkeep::Error> {
        let filter = filter_of(config);
        let mut call = handle.load();
        for scope in [StateScope::Session, StateScope::User, StateScope::App] {
            call = call.state_scope(scope);
        }
        call = match config.num_recent_events {
            Some(0) => call.exclude_events(),
            Some(_) => call.filter(filter.clone()),
            None => call.filter(filter.clone()).with(|request| request.page_size = EVENTS_AT_ONCE as i32),
        };
        let loaded = call.await?;
        let stored = loaded.session.unwrap_or_default();
        let place = stored.r#ref.clone().unwrap_or_default();
        let mut session = Session::new(place.app, place.user_id, place.session_id);
        session.state = shown(self.whole(handle, loaded.state.unwrap_or_default()).await?);
        session.last_update_time = updated(&stored);
        if let Some(Log::Events(page)) = loaded.log {
            let events = rest_of(handle, page, filter).await?;
            session.events = read(&events.into_iter().filter(|event| event.seq <= stored.last_seq).collect::<Vec<_>>());
        }
        Ok(session)
    }

    /// Returns the state with what did not fit into a response.
    async fn whole(&self, handle: &SessionHandle, mut state: SessionState) -> Result<SessionState, threadkeep::Error> {
        let place = handle.reference();
        if has_more(&state.session) {
            state.session = Some(page(handle.state().get().await?));
        }
        if has_more(&state.user) {
            state.user = Some(page(self.client.user_state_of(&place.app, &place.user_id).get().await?));
        }
        if has_more(&state.app) {
            state.app = Some(page(self.client.app_state_of(&place.app).get().await?));
        }
        Ok(state)
    }

    /// Sets values of the user and of the app.
    async fn share(&self, app: &str, user: &str, of_user: StatePatch, of_app: StatePatch) -> Result<(), threadkeep::Error> {
        for (state, patch) in [(self.client.user_state_of(app, user), of_user), (self.client.app_state_of(app), of_app)] {
            if !is_empty(&patch) {
                state.patch().with(|request| request.patch = Some(patch)).await?;
            }
        }
        Ok(())
    }

    /// Stores an event and its changes of state, in one commit.
    async fn store(&self, place: (&str, &str, &str), event: &mut Event) -> Result<()> {
        if event.id.is_empty() {
            event.id = Event::new_id();
        }
        let mut kept = event.clone();
        kept.actions.state_delta = State::trim_temp_keys(&event.actions.state_delta);
        let scoped = Scoped::of(&kept.actions.state_delta);
        let mut append = self.handle(place.0, place.1, place.2).append([stored(&kept)?]);
        if !is_empty(&scoped.session) {
            append = append.state(scoped.session);
        }
        if !is_empty(&scoped.user) {
            append = append.user_state(scoped.user);
        }
        if !is_empty(&scoped.app) {
            append = append.app_state(scoped.app);
        }
        append.await.map_err(failed)?;
        Ok(())
    }
}

#[async_trait]
impl SessionService for ThreadkeepSessionService {
    /// Creates a session; without an id, the server generates one. Fails with `AlreadyExists` if the user has it. Values of the user
    /// and of the app are set after it is created; if that fails, it is deleted again.
    async fn create_session(&self, app_name: &str, user_id: &str, state: Option<State>, id: Option<&str>) -> Result<Session> {
        let scoped = Scoped::of(&state.unwrap_or_default().map);
        let mut call = self.handle(app_name, user_id, id.unwrap_or_default()).create();
        if let Some(ttl) = self.ttl {
            call = call.ttl(ttl);
        }
        let created = call.with(|request| request.state = scoped.session.set).await.map_err(failed)?;
        let place = created.session.and_then(|session| session.r#ref).unwrap_or_default();
        let handle = self.client.session(place);
        if let Err(error) = self.share(app_name, user_id, scoped.user, scoped.app).await {
            handle.delete().await.map_err(failed)?;
            return Err(failed(error));
        }
        self.load(&handle, &GetSessionConfig { num_recent_events: Some(0), after_timestamp: None }).await.map_err(failed)
    }

    /// Returns a session as of one moment; None if there is none. Its events are those of the active window: all of them, unless
    /// Threadkeep has compacted or removed some.
    async fn get_session(
        &self,
        app_name: &str,
        user_id: &str,
        session_id: &str,
        config: GetSessionConfig,
    ) -> Result<Option<Session>> {
        let handle = self.handle(app_name, user_id, session_id);
        if handle.id().is_empty() {
            return Ok(None);
        }
        match self.load(&handle, &config).await {
            Err(error) if error.is(ErrorReason::SessionNotFound) => Ok(None),
            loaded => loaded.map(Some).map_err(failed),
        }
    }

    /// Returns all sessions of a user in an app, the least recently updated first. It reads page after page.
    async fn list_sessions(&self, app_name: &str, user_id: &str) -> Result<ListSessionsResponse> {
        let list = self
            .client
            .sessions()
            .app(app_name)
            .user_id(user_id)
            .order_by(SessionOrder::CreatedFirst)
            .page_size(SESSIONS_AT_ONCE);
        let stored: Vec<v1::Session> = list.items().try_collect().await.map_err(failed)?;
        let mut sessions: Vec<SessionMeta> = stored.into_iter().map(meta).collect();
        sessions
            .sort_by(|one, other| one.last_update_time.total_cmp(&other.last_update_time).then_with(|| one.id.cmp(&other.id)));
        Ok(ListSessionsResponse { sessions })
    }

    /// Deletes a session and its events. Does nothing if there is none.
    async fn delete_session(&self, app_name: &str, user_id: &str, session_id: &str) -> Result<()> {
        let handle = self.handle(app_name, user_id, session_id);
        if !handle.id().is_empty() {
            handle.delete().await.map_err(failed)?;
        }
        Ok(())
    }

    /// Stores an event and its changes of state; it is on durable storage when this returns. Then it is in the caller's session,
    /// too. Fails with `ServiceError::SessionNotFound`, and with `AlreadyExists` if another event of the session has its id.
    async fn append_event(&self, session: &mut Session, mut event: Event) -> Result<Event> {
        if event.partial != Some(true) {
            self.store((&session.app_name, &session.user_id, &session.id), &mut event).await?;
        }
        Ok(applied(session, event))
    }

    /// As `append_event`. The lock is held while the caller's session is changed, not while the server stores.
    async fn append_event_locked(&self, session_lock: &Arc<Mutex<Session>>, mut event: Event) -> Result<Event> {
        if event.partial == Some(true) {
            return Ok(event);
        }
        let (app, user, id) = {
            let session = session_lock.lock();
            (session.app_name.clone(), session.user_id.clone(), session.id.clone())
        };
        self.store((&app, &user, &id), &mut event).await?;
        Ok(applied(&mut session_lock.lock(), event))
    }
}

/// Applies an event that is stored, unless it was delivered before and the session has it.
fn applied(session: &mut Session, mut event: Event) -> Event {
    if event.partial == Some(true) || session.events.iter().all(|each| each.id != event.id) {
        return apply_event_to_session(session, event);
    }
    event.actions.state_delta = State::trim_temp_keys(&event.actions.state_delta);
    event
}

/// Returns what the configuration selects: of the window, the events since a time, and of these the newest.
fn filter_of(config: &GetSessionConfig) -> EventFilter {
    let mut filter = EventFilter::new().active();
    if let Some(after) = config.after_timestamp.filter(|after| *after > 0.0) {
        filter = filter.from_time(UNIX_EPOCH + Duration::try_from_secs_f64(after).unwrap_or_default());
    }
    match config.num_recent_events {
        Some(0) | None => filter,
        Some(count) => filter.exact_last_n(u32::try_from(count).unwrap_or(u32::MAX)),
    }
}

/// Returns the events of the first page and of those after it.
async fn rest_of(
    handle: &SessionHandle,
    first: v1::ListEventsResponse,
    filter: EventFilter,
) -> Result<Vec<SessionEvent>, threadkeep::Error> {
    let mut events = first.events;
    let mut token = first.next_page_token;
    while !token.is_empty() {
        let page = handle.events().filter(filter.clone()).page_size(EVENTS_AT_ONCE).page_token(token).page().await?;
        events.extend(page.events);
        token = page.next_page_token;
    }
    Ok(events)
}

fn page(state: v1::State) -> v1::StatePage {
    v1::StatePage { values: state.values, version: state.version, ..v1::StatePage::default() }
}

fn updated(stored: &v1::Session) -> f64 {
    stored.update_time.as_ref().or(stored.create_time.as_ref()).map_or(0.0, seconds_of)
}

fn meta(stored: v1::Session) -> SessionMeta {
    let last_update_time = updated(&stored);
    let place = stored.r#ref.unwrap_or_default();
    SessionMeta { id: place.session_id, app_name: place.app, user_id: place.user_id, last_update_time }
}
