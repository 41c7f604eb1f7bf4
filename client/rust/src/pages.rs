//! Lists, page by page.

use futures_util::stream::{self, BoxStream, StreamExt, TryStreamExt};
use tonic::Status;

use crate::v1::{
    Compaction, EventFilter, ListCompactionsRequest, ListEventsRequest, ListMemoriesRequest, ListSessionsRequest, MemoryEntry,
    SearchEventsRequest, SearchHit, Session, SessionEvent,
};
use crate::{Client, Error, SessionLike};

/// A stream of items; [`StreamExt`] provides `next`. It ends after an error. Pages are fetched only when needed, and dropping
/// the stream ends its call.
pub type Items<T> = BoxStream<'static, Result<T, Error>>;

/// A request with a paged response, for [`Client::pages`].
pub trait Paged: Clone + Send + Sized + 'static {
    /// The items of the pages.
    type Item: Send + 'static;

    /// Returns one page and the request of the next one; None after the last page.
    fn page(self, client: &Client) -> impl Future<Output = Result<(Vec<Self::Item>, Option<Self>), Status>> + Send;

    /// Returns the request with its empty app and user completed.
    #[must_use]
    fn completed(self, _: &Client) -> Self {
        self
    }
}

macro_rules! paged {
    ($($request:ty: $service:ident.$method:ident -> $items:ident: $item:ty $(, by $completed:ident)?;)*) => {$(
        impl Paged for $request {
            type Item = $item;

            async fn page(self, client: &Client) -> Result<(Vec<$item>, Option<Self>), Status> {
                let page = client.$service().$method(self.clone()).await?.into_inner();
                let token = Some(page.next_page_token).filter(|token| !token.is_empty());
                Ok((page.$items, token.map(|page_token| Self { page_token, ..self })))
            }

            $(fn completed(self, client: &Client) -> Self {
                client.$completed(self)
            })?
        }
    )*};
}

paged! {
    ListSessionsRequest: sessions.list_sessions -> sessions: Session, by own_sessions;
    ListEventsRequest: events.list_events -> events: SessionEvent;
    SearchEventsRequest: searches.search_events -> hits: SearchHit, by own_search;
    ListCompactionsRequest: compaction.list_compactions -> compactions: Compaction;
    ListMemoriesRequest: memories.list_memories -> entries: MemoryEntry;
}

impl Client {
    /// Iterates over all items of a list request, page by page. Each page is fetched when it is reached, with its own timeout.
    /// It starts at the `page_token` of the request and uses its `page_size`.
    ///
    /// An app or user that a ListSessionsRequest or the scope of a SearchEventsRequest leaves empty is the client's; see
    /// [`all_users`](Self::all_users).
    ///
    /// Errors: INVALID_PAGE_TOKEN, and those of the request.
    pub fn pages<R: Paged>(&self, request: R) -> Items<R::Item> {
        let first = Some(request.completed(self));
        let pages = stream::try_unfold((self.clone(), first), async |(client, request)| {
            let Some(request) = request else { return Ok::<_, Error>(None) };
            let (items, next) = R::page(request, &client).await?;
            Ok(Some((stream::iter(items.into_iter().map(Ok)), (client, next))))
        });
        pages.try_flatten().boxed()
    }

    /// Lists the events of a session that match the filter, by default all, oldest first. An unknown session has none.
    ///
    /// Errors: INVALID_FIELD, AMBIGUOUS_SESSION.
    pub fn list_events(&self, session: impl Into<SessionLike>, filter: impl Into<Option<EventFilter>>) -> Items<SessionEvent> {
        let session = Some(self.session(session));
        self.pages(ListEventsRequest { session, filter: filter.into(), ..Default::default() })
    }

    /// Lists the sessions of the client's app and user, newest first. For others see [`all_users`](Self::all_users), for labels
    /// [`pages`](Self::pages).
    pub fn list_sessions(&self) -> Items<Session> {
        self.pages(ListSessionsRequest::default())
    }

    /// Searches the events of the client's app and user, archived ones included, in a mode that the server chooses. The query
    /// has at most 1,024 characters. For one session, another scope or another mode, see [`Self::pages`].
    ///
    /// Errors: INVALID_FIELD.
    pub fn search(&self, query: impl Into<String>, filter: impl Into<Option<EventFilter>>) -> Items<SearchHit> {
        self.pages(SearchEventsRequest { query: query.into(), filter: filter.into(), ..Default::default() })
    }

    /// Lists the compactions of a session, newest first. Errors: SESSION_NOT_FOUND.
    pub fn list_compactions(&self, session: impl Into<SessionLike>) -> Items<Compaction> {
        self.pages(ListCompactionsRequest { session: Some(self.session(session)), ..Default::default() })
    }
}
