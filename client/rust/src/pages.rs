//! Lists, page after page.

use std::vec;

use tonic::Status;

use crate::v1::search_events_request::Scope;
use crate::v1::{
    Compaction, EventFilter, ListCompactionsRequest, ListEventsRequest, ListSessionsRequest, SearchEventsRequest, SearchHit,
    Session, SessionEvent, UserScope,
};
use crate::{Client, Error, Items, SessionLike};

/// A request whose answer comes in pages: what [`Client::pages`] takes.
pub trait Paged: Clone + Send + Sync + Sized + 'static {
    /// What the pages are made of.
    type Item: Send + 'static;

    /// One page, and the token of the next; empty after the last one.
    fn page(self, client: &Client) -> impl Future<Output = Result<(Vec<Self::Item>, String), Status>> + Send;

    /// Has the request ask for the page of this token.
    fn set_page_token(&mut self, token: String);
}

macro_rules! paged {
    ($($request:ty: $service:ident.$method:ident -> $items:ident: $item:ty),* $(,)?) => {$(
        impl Paged for $request {
            type Item = $item;

            async fn page(self, client: &Client) -> Result<(Vec<$item>, String), Status> {
                let page = client.$service().$method(self).await?.into_inner();
                Ok((page.$items, page.next_page_token))
            }

            fn set_page_token(&mut self, token: String) {
                self.page_token = token;
            }
        }
    )*};
}

paged! {
    ListSessionsRequest: sessions.list_sessions -> sessions: Session,
    ListEventsRequest: events.list_events -> events: SessionEvent,
    SearchEventsRequest: recall.search_events -> hits: SearchHit,
    ListCompactionsRequest: compaction.list_compactions -> compactions: Compaction,
}

/// Where a list is: the request of the next page, if there is one, and what is left of this one.
struct Place<R: Paged> {
    client: Client,
    next: Option<R>,
    items: vec::IntoIter<R::Item>,
}

impl<R: Paged> Place<R> {
    async fn next(mut self: Box<Self>) -> Result<Option<(R::Item, Box<Self>)>, Error> {
        loop {
            if let Some(item) = self.items.next() {
                return Ok(Some((item, self)));
            }
            let Some(mut request) = self.next.take() else { return Ok(None) };
            let (items, token) = request.clone().page(&self.client).await?;
            self.items = items.into_iter();
            if !token.is_empty() {
                request.set_page_token(token);
                self.next = Some(request);
            }
        }
    }
}

impl Client {
    /// All items that a list request finds, page after page, each fetched when it is come to, with its own timeout. It begins
    /// at the request's `page_token` and asks for its `page_size`.
    ///
    /// Errors: INVALID_PAGE_TOKEN, and those of the request.
    pub fn pages<R: Paged>(&self, request: R) -> Items<R::Item> {
        let place = Place { client: self.clone(), next: Some(request), items: Vec::new().into_iter() };
        Items::from_fn(Box::new(place), Place::next)
    }

    /// The events of a session that match the filter, oldest first; all by default. An unknown session has none.
    ///
    /// Errors: INVALID_FIELD, AMBIGUOUS_SESSION.
    pub fn list_events(&self, session: impl Into<SessionLike>, filter: impl Into<Option<EventFilter>>) -> Items<SessionEvent> {
        let session = Some(self.session(session));
        self.pages(ListEventsRequest { session, filter: filter.into(), ..Default::default() })
    }

    /// The sessions of the client's app and user, newest first; without them, of any. For others see [`Self::pages`].
    pub fn list_sessions(&self) -> Items<Session> {
        let user_id = self.user_id().to_owned();
        self.pages(ListSessionsRequest { app: self.any_app(), user_id, ..Default::default() })
    }

    /// The events of the client's app and user whose text holds `query` (at most 1,024 characters), oldest first, archived
    /// ones included. For one session or another scope see [`Self::pages`].
    ///
    /// Errors: INVALID_FIELD.
    pub fn search(&self, query: impl Into<String>, filter: impl Into<Option<EventFilter>>) -> Items<SearchHit> {
        let scope = Scope::User(UserScope { user_id: self.user_id().to_owned(), app: self.any_app() });
        self.pages(SearchEventsRequest { query: query.into(), filter: filter.into(), scope: Some(scope), ..Default::default() })
    }

    /// A session's compactions, newest first. Errors: SESSION_NOT_FOUND.
    pub fn list_compactions(&self, session: impl Into<SessionLike>) -> Items<Compaction> {
        self.pages(ListCompactionsRequest { session: Some(self.session(session)), ..Default::default() })
    }

    /// The client's app; None, which is any, if it has none.
    pub(crate) fn any_app(&self) -> Option<String> {
        Some(self.app().to_owned()).filter(|app| !app.is_empty())
    }
}
