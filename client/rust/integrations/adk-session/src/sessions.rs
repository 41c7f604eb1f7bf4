//! The session service.

use std::time::Duration;

use adk_core::{Result, SessionId};
use adk_session::{
    AppendEventRequest, CreateRequest, DeleteRequest, Event, GetRequest, KEY_PREFIX_TEMP, ListRequest, Session, SessionService,
};
use async_trait::async_trait;
use threadkeep::v1::{self, SessionOrder, SessionState, StatePatch, StateScope, load_session_response::Log};
use threadkeep::{Client, ErrorReason, EventFilter, Point, SessionEvent, SessionHandle, SessionRef};

use crate::errors::{failed, invalid};
use crate::events::{read, stored};
use crate::kept::Kept;
use crate::state::{Scoped, has_more, is_empty, page};

/// The result of a call of the client.
type Sent<T> = std::result::Result<T, threadkeep::Error>;

const EVENTS_AT_ONCE: u32 = 1_000;
const SESSIONS_AT_ONCE: usize = 200;
/// The most sessions that the server skips.
const FARTHEST_OFFSET: usize = 10_000;

/// The sessions of adk-rust in Threadkeep: `.session_service(Arc::new(ThreadkeepSessionService::new(&client)))` of adk-runner's builder.
///
/// The address and the token are those of the client; the app and the user those of adk-rust's calls. An append needs no lock: the
/// server orders concurrent ones, and keeps an event once, by its id, however often a call is repeated. Errors have the category that
/// fits and the message of the server; one that a repetition can mend is `Unavailable`, `Timeout` or `RateLimited`.
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

    /// Returns a session of Threadkeep, for what adk-rust does not offer: search, watch, compaction, forks.
    #[must_use]
    pub fn handle(&self, app_name: &str, user_id: &str, session_id: &str) -> SessionHandle {
        self.client.session(SessionRef { app: app_name.into(), user_id: user_id.into(), session_id: session_id.into() })
    }

    /// Returns the session with this id, of whichever app and user: the id alone must name one.
    fn anyones(&self, session_id: &str) -> Result<SessionHandle> {
        SessionId::try_from(session_id)?;
        Ok(self.handle("", "", session_id))
    }

    /// Returns a session with the newest events of its window; with all of them without a number.
    async fn load(&self, handle: &SessionHandle, newest: Option<usize>) -> Sent<Kept> {
        let mut filter = EventFilter::new().active();
        let mut call = handle.load();
        for scope in [StateScope::Session, StateScope::User, StateScope::App] {
            call = call.state_scope(scope);
        }
        call = match newest {
            Some(0) => call.exclude_events(),
            Some(count) => {
                filter = filter.exact_last_n(u32::try_from(count).unwrap_or(u32::MAX));
                call.filter(filter.clone())
            }
            None => call.filter(filter.clone()).with(|request| request.page_size = EVENTS_AT_ONCE as i32),
        };
        let loaded = call.await?;
        let stored = loaded.session.unwrap_or_default();
        let state = self.whole(&stored, loaded.state.unwrap_or_default()).await?;
        let mut events = vec![];
        if let Some(Log::Events(page)) = loaded.log {
            events = rest_of(handle, page, filter).await?;
            events.retain(|event| event.seq <= stored.last_seq);
        }
        Ok(Kept::new(stored, state, read(&events)))
    }

    /// Returns the state with what did not fit into a response.
    async fn whole(&self, stored: &v1::Session, mut state: SessionState) -> Sent<SessionState> {
        let place = stored.r#ref.clone().unwrap_or_default();
        if has_more(&state.session) {
            state.session = Some(page(self.client.session(place.clone()).state().get().await?));
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
    async fn share(&self, app: &str, user: &str, of_user: StatePatch, of_app: StatePatch) -> Sent<()> {
        for (state, patch) in [(self.client.user_state_of(app, user), of_user), (self.client.app_state_of(app), of_app)] {
            if !is_empty(&patch) {
                state.patch().with(|request| request.patch = Some(patch)).await?;
            }
        }
        Ok(())
    }

    /// Returns the state that all sessions of a user show. A token that is bound to a user reads none of the app.
    async fn shared(&self, app: &str, user: &str) -> Sent<SessionState> {
        let of_user = self.client.user_state_of(app, user).get().await?;
        let of_app = match self.client.app_state_of(app).get().await {
            Err(error) if error.is(ErrorReason::PermissionDenied) => None,
            read => Some(page(read?)),
        };
        Ok(SessionState { user: Some(page(of_user)), app: of_app, ..SessionState::default() })
    }

    /// Stores an event and its changes of state, in one commit. Does nothing with a part of an event that is still being streamed.
    async fn store(&self, handle: &SessionHandle, mut event: Event) -> Result<()> {
        if event.llm_response.partial {
            return Ok(());
        }
        event.actions.state_delta.retain(|key, _| !key.starts_with(KEY_PREFIX_TEMP));
        let scoped = Scoped::of(&event.actions.state_delta);
        let mut append = handle.append([stored(&event)?]);
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

    async fn rewound(&self, handle: &SessionHandle, to: Point) -> Result<Box<dyn Session>> {
        handle.rewind(to).await.map_err(failed)?;
        self.read(handle).await
    }

    async fn read(&self, handle: &SessionHandle) -> Result<Box<dyn Session>> {
        Ok(Box::new(self.load(handle, None).await.map_err(failed)?))
    }
}

#[async_trait]
impl SessionService for ThreadkeepSessionService {
    /// Creates a session; without an id, the server generates one. Fails with `session.already_exists` if the user has it. Values of
    /// the user and of the app are set after it is created; if that fails, it is deleted again.
    async fn create(&self, req: CreateRequest) -> Result<Box<dyn Session>> {
        let (app, user) = (req.try_app_name()?, req.try_user_id()?);
        let id = req.try_session_id()?;
        let scoped = Scoped::of(&req.state);
        let mut call = self.handle(app.as_str(), user.as_str(), id.as_ref().map_or("", SessionId::as_str)).create();
        if let Some(ttl) = self.ttl {
            call = call.ttl(ttl);
        }
        let created = call.with(|request| request.state = scoped.session.set).await.map_err(failed)?;
        let handle = self.client.session(created.session.and_then(|session| session.r#ref).unwrap_or_default());
        if let Err(error) = self.share(app.as_str(), user.as_str(), scoped.user, scoped.app).await {
            handle.delete().await.map_err(failed)?;
            return Err(failed(error));
        }
        Ok(Box::new(self.load(&handle, Some(0)).await.map_err(failed)?))
    }

    /// Returns a session as of one moment. Its events are those of the active window: all of them, unless Threadkeep has compacted or
    /// removed some. Of the newest `num_recent_events`, those at or after `after`. Fails with `session.not_found`.
    async fn get(&self, req: GetRequest) -> Result<Box<dyn Session>> {
        req.try_identity()?;
        let handle = self.handle(&req.app_name, &req.user_id, &req.session_id);
        let mut loaded = self.load(&handle, req.num_recent_events).await.map_err(failed)?;
        if let Some(after) = req.after {
            loaded.since(after);
        }
        Ok(Box::new(loaded))
    }

    /// Returns the sessions of a user in an app without their events, the most recently updated first. It reads page after page.
    async fn list(&self, req: ListRequest) -> Result<Vec<Box<dyn Session>>> {
        let (app, user) = (req.try_app_name()?, req.try_user_id()?);
        let most = req.limit.unwrap_or(usize::MAX);
        let mut list = self.client.sessions().app(app.as_str()).user_id(user.as_str()).order_by(SessionOrder::UpdatedLastFirst);
        list = list.with_state().page_size(SESSIONS_AT_ONCE.min(most.max(1)) as u32);
        let by_server = req.offset.unwrap_or_default().min(FARTHEST_OFFSET);
        let mut skipped = req.offset.unwrap_or_default() - by_server;
        list = list.offset(by_server as u32);
        let mut found: Vec<Box<dyn Session>> = vec![];
        let shared = self.shared(app.as_str(), user.as_str()).await.map_err(failed)?;
        let mut pages = list.clone().page().await.map_err(failed)?;
        loop {
            let passed = skipped.min(pages.sessions.len());
            skipped -= passed;
            for (stored, own) in pages.sessions.into_iter().zip(pages.states).skip(passed).take(most - found.len()) {
                let state = SessionState { session: Some(own), ..shared.clone() };
                let state = self.whole(&stored, state).await.map_err(failed)?;
                found.push(Box::new(Kept::new(stored, state, vec![])));
            }
            if pages.next_page_token.is_empty() || found.len() == most {
                return Ok(found);
            }
            pages = list.clone().page_token(pages.next_page_token).page().await.map_err(failed)?;
        }
    }

    /// Deletes a session and its events. Does nothing if there is none.
    async fn delete(&self, req: DeleteRequest) -> Result<()> {
        req.try_identity()?;
        self.handle(&req.app_name, &req.user_id, &req.session_id).delete().await.map_err(failed)?;
        Ok(())
    }

    /// As `append_event_for_identity`, for a session id that no other app and user has.
    async fn append_event(&self, session_id: &str, event: Event) -> Result<()> {
        self.store(&self.anyones(session_id)?, event).await
    }

    /// Stores an event and its changes of state; it is on durable storage when this returns. Fails with `session.not_found`, and with
    /// `session.event_id_conflict` if another event of the session has its id.
    async fn append_event_for_identity(&self, req: AppendEventRequest) -> Result<()> {
        let AppendEventRequest { identity, event } = req;
        let (app, user) = (identity.app_name.as_str(), identity.user_id.as_str());
        self.store(&self.handle(app, user, identity.session_id.as_str()), event).await
    }

    /// Deletes all sessions of a user in an app, and their events. State and memories of the user stay.
    async fn delete_all_sessions(&self, app_name: &str, user_id: &str) -> Result<()> {
        let everything = ListRequest { app_name: app_name.into(), user_id: user_id.into(), limit: None, offset: None };
        let (app, user) = (everything.try_app_name()?, everything.try_user_id()?);
        let list = self.client.sessions().app(app.as_str()).user_id(user.as_str()).page_size(SESSIONS_AT_ONCE as u32);
        let sessions: Vec<v1::Session> = list.items().try_collect().await.map_err(failed)?;
        for session in sessions {
            self.client.session(session.r#ref.unwrap_or_default()).delete().await.map_err(failed)?;
        }
        Ok(())
    }

    /// Rewinds a session to an event, which stays: what came after it leaves the window, and state has the values of then. The log
    /// keeps what left. Fails with `session.event_not_found`.
    async fn rewind(&self, session_id: &str, target_event_id: &str) -> Result<Box<dyn Session>> {
        if target_event_id.is_empty() {
            return Err(invalid("target_event_id: must not be empty"));
        }
        self.rewound(&self.anyones(session_id)?, Point::EventId(target_event_id.into())).await
    }

    /// Rewinds a session by its newest events; by all of them, it is as it was created. Fails with `session.invalid_input` if it has
    /// fewer.
    async fn rewind_steps(&self, session_id: &str, steps: usize) -> Result<Box<dyn Session>> {
        let handle = self.anyones(session_id)?;
        if steps == 0 {
            return self.read(&handle).await;
        }
        let newest = u32::try_from(steps).unwrap_or(u32::MAX).saturating_add(1);
        let list = handle.events().filter(EventFilter::new().active().exact_last_n(newest));
        let events: Vec<SessionEvent> = list.items().try_collect().await.map_err(failed)?;
        match events.len().checked_sub(steps) {
            None => Err(invalid(format!("steps: the session has {} events, fewer than {steps}", events.len()))),
            Some(0) => self.rewound(&handle, Point::LogVersion(0)).await,
            Some(_) => self.rewound(&handle, Point::EventId(events[0].event_id.clone())).await,
        }
    }

    /// Fails if the server does not answer, or refuses the token.
    async fn health_check(&self) -> Result<()> {
        self.client.info().await.map(|_| ()).map_err(failed)
    }
}

/// Returns the events of the first page and of those after it.
async fn rest_of(handle: &SessionHandle, first: v1::ListEventsResponse, filter: EventFilter) -> Sent<Vec<SessionEvent>> {
    let mut events = first.events;
    let mut token = first.next_page_token;
    while !token.is_empty() {
        let page = handle.events().filter(filter.clone()).page_size(EVENTS_AT_ONCE).page_token(token).page().await?;
        events.extend(page.events);
        token = page.next_page_token;
    }
    Ok(events)
}
