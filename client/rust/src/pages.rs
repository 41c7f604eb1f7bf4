//! Lists: all items, or one page.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, SystemTime};

use futures_util::stream::{self, BoxStream, Stream, StreamExt, TryStreamExt};
use tonic::Status;

use crate::v1::{self, SortOrder, list_events_request};
use crate::{AsOf, Client, Error, EventFilter};

/// A stream of items. It ends after an error. Dropping it ends its call.
#[must_use = "nothing is fetched until the items are read"]
pub struct Items<T>(BoxStream<'static, Result<T, Error>>);

impl<T> Items<T> {
    pub(crate) fn new(stream: impl Stream<Item = Result<T, Error>> + Send + 'static) -> Self {
        Self(stream.boxed())
    }

    /// Returns the next item; None after the last one.
    pub async fn next(&mut self) -> Option<Result<T, Error>> {
        self.0.next().await
    }

    /// Returns the next item, or the error; None after the last one.
    pub async fn try_next(&mut self) -> Result<Option<T>, Error> {
        self.0.try_next().await
    }

    /// Returns all items, or the first error.
    pub async fn try_collect<C: Default + Extend<T>>(self) -> Result<C, Error> {
        self.0.try_collect().await
    }
}

impl<T> Stream for Items<T> {
    type Item = Result<T, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_next_unpin(context)
    }
}

impl<T> std::fmt::Debug for Items<T> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Items(..)")
    }
}

/// A list: set its options, then take all its [`items`](Self::items), or one [`page`](Self::page).
#[derive(Clone, Debug)]
#[must_use = "nothing is fetched until a page or the items are read"]
pub struct List<Q> {
    client: Client,
    request: Q,
}

/// The request of a list. Implemented by messages of [`v1`].
pub trait Paged: Clone + Send + Sized + 'static {
    /// The items of the pages.
    type Item: Send + 'static;
    /// A page: the response of the call.
    type Page: Send + 'static;

    /// Returns the page at the token of the request.
    fn fetch(self, client: &Client) -> impl Future<Output = Result<Self::Page, Status>> + Send;

    /// Returns the items of a page, and the token of the next one; empty for the last one.
    fn split(page: Self::Page) -> (Vec<Self::Item>, String);

    /// Sets the size and the token of the page.
    fn at(&mut self, page_size: Option<u32>, page_token: Option<String>);

    /// Returns the request with its empty app and user completed.
    #[must_use]
    fn completed(self, _: &Client) -> Self {
        self
    }
}

macro_rules! paged {
    ($($request:ident: $service:ident.$method:ident -> $response:ident.$items:ident: $item:ty $(, by $completed:ident)?;)*) => {$(
        impl Paged for v1::$request {
            type Item = $item;
            type Page = v1::$response;

            async fn fetch(self, client: &Client) -> Result<Self::Page, Status> {
                Ok(client.raw().$service().$method(self).await?.into_inner())
            }

            fn split(page: Self::Page) -> (Vec<$item>, String) {
                (page.$items, page.next_page_token)
            }

            fn at(&mut self, page_size: Option<u32>, page_token: Option<String>) {
                self.page_size = page_size.map_or(self.page_size, |size| size.try_into().unwrap_or(i32::MAX));
                self.page_token = page_token.unwrap_or_else(|| std::mem::take(&mut self.page_token));
            }

            $(fn completed(self, client: &Client) -> Self {
                client.$completed(self)
            })?
        }
    )*};
}

paged! {
    ListSessionsRequest: sessions.list_sessions -> ListSessionsResponse.sessions: v1::Session, by own_sessions;
    ListUsersRequest: sessions.list_users -> ListUsersResponse.users: v1::UserRef, by own_users;
    ListUserEventsRequest: events.list_user_events -> ListUserEventsResponse.events: v1::UserEvent, by own_events;
    ListBranchesRequest: events.list_branches -> ListBranchesResponse.branches: v1::Branch;
    ListUsageRequest: events.list_usage -> ListUsageResponse.entries: v1::UsageEntry;
    ListEventsRequest: events.list_events -> ListEventsResponse.events: v1::SessionEvent;
    SearchEventsRequest: searches.search_events -> SearchEventsResponse.hits: v1::SearchHit, by own_search;
    ListCompactionsRequest: compaction.list_compactions -> ListCompactionsResponse.compactions: v1::Compaction;
    ListMemoriesRequest: memories.list_memories -> ListMemoriesResponse.entries: v1::MemoryEntry;
    ListMemoryNamespacesRequest: memories.list_memory_namespaces -> ListMemoryNamespacesResponse.namespaces: v1::MemoryNamespace;
    ListAuditRecordsRequest: server.list_audit_records -> ListAuditRecordsResponse.records: v1::AuditRecord;
    ListRetentionReceiptsRequest: server.list_retention_receipts -> ListRetentionReceiptsResponse.receipts: v1::RetentionReceipt;
    ListConsumersRequest: consumers.list_consumers -> ListConsumersResponse.consumers: v1::Consumer;
    ListParkedChangesRequest: consumers.list_parked_changes -> ListParkedChangesResponse.parked_changes: v1::ParkedChange;
}

impl Client {
    /// Returns the list of a request. An app or user that a ListSessionsRequest or the scope of a SearchEventsRequest leaves
    /// empty is the client's; see [`all_users`](Self::all_users).
    pub fn list<Q: Paged>(&self, request: Q) -> List<Q> {
        List { client: self.clone(), request }
    }
}

impl<Q: Paged> List<Q> {
    /// Sets the maximum number of items per page; 0 means the server's default.
    pub fn page_size(mut self, size: u32) -> Self {
        self.request.at(Some(size), None);
        self
    }

    /// Starts at this page: the `next_page_token` of the one before it, with otherwise the same options.
    pub fn page_token(mut self, token: impl Into<String>) -> Self {
        self.request.at(None, Some(token.into()));
        self
    }

    /// Sets another timeout of each page; None for no limit. Default: that of the client.
    pub fn timeout(self, limit: impl Into<Option<Duration>>) -> Self {
        Self { client: self.client.with_timeout(limit), ..self }
    }

    /// Changes the request, for fields without a method of their own.
    pub fn with(mut self, change: impl FnOnce(&mut Q)) -> Self {
        change(&mut self.request);
        self
    }

    /// Returns one page, and the token of the next one.
    ///
    /// Errors: INVALID_PAGE_TOKEN, and those of the list.
    pub async fn page(self) -> Result<Q::Page, Error> {
        Ok(self.request.completed(&self.client).fetch(&self.client).await?)
    }

    /// Returns all items, page by page: each page is fetched when it is reached, with its own timeout.
    ///
    /// Errors: INVALID_PAGE_TOKEN, and those of the list.
    pub fn items(self) -> Items<Q::Item> {
        let first = Some(self.request.completed(&self.client));
        let pages = stream::try_unfold((self.client, first), async |(client, request)| {
            let Some(mut request) = request else { return Ok::<_, Error>(None) };
            let (items, token) = Q::split(request.clone().fetch(&client).await?);
            let next = (!token.is_empty()).then(|| {
                request.at(None, Some(token));
                request
            });
            Ok(Some((stream::iter(items.into_iter().map(Ok)), (client, next))))
        });
        Items::new(pages.try_flatten())
    }
}

impl List<v1::ListSessionsRequest> {
    /// Keeps only sessions with this label; several labels must all be there. At most 64.
    pub fn label(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.request.labels.insert(key.into(), value.into());
        self
    }

    /// Lists sessions of this user instead of the client's.
    pub fn user_id(mut self, user_id: impl Into<String>) -> Self {
        self.request.user_id = user_id.into();
        self
    }

    /// Lists sessions of this app instead of the client's; "" means sessions without an app.
    pub fn app(mut self, app: impl Into<String>) -> Self {
        self.request.app = Some(app.into());
        self
    }
}

impl List<v1::ListSessionsRequest> {
    /// Sets the order. Default: by create_time, the latest first.
    pub fn order_by(mut self, order: v1::SessionOrder) -> Self {
        self.request.order_by = order.into();
        self
    }

    /// Keeps only sessions that were updated after this time.
    pub fn updated_after(mut self, time: SystemTime) -> Self {
        self.request.updated_after = Some(time.into());
        self
    }

    /// Keeps only sessions that were updated before this time.
    pub fn updated_before(mut self, time: SystemTime) -> Self {
        self.request.updated_before = Some(time.into());
        self
    }

    /// Keeps only sessions whose id begins like this.
    pub fn session_id_prefix(mut self, prefix: impl Into<String>) -> Self {
        self.request.session_id_prefix = prefix.into();
        self
    }

    /// Skips this many sessions, at most 10,000, for pages by number.
    pub fn offset(mut self, sessions: u32) -> Self {
        self.request.offset = sessions.try_into().unwrap_or(i32::MAX);
        self
    }

    /// Returns the number of all sessions with the page, counted up to 10,001.
    pub fn with_total(mut self) -> Self {
        self.request.with_total = true;
        self
    }

    /// Returns the last event of each session with the page.
    pub fn with_newest_event(mut self) -> Self {
        self.request.with_newest_event = true;
        self
    }

    /// Returns the sessions' own states with the page, in the order of the sessions: each whole, or with `more` and no values if it
    /// does not fit. Together they have at most a quarter of the server's longest response.
    pub fn with_state(mut self) -> Self {
        self.request.with_state = true;
        self
    }

    /// Keeps only the forks of the session with this id, which may be deleted.
    pub fn forked_from(mut self, session_id: impl Into<String>) -> Self {
        self.request.forked_from = session_id.into();
        self
    }
}

impl List<v1::ListUsersRequest> {
    /// Lists the users of this app instead of the client's; "" means users of what has no app.
    pub fn app(mut self, app: impl Into<String>) -> Self {
        self.request.app = Some(app.into());
        self
    }
}

impl List<v1::ListAuditRecordsRequest> {
    /// Keeps only calls of this method: "threadkeep.v1.SessionService/DeleteSession", or "DeleteSession".
    pub fn method(mut self, name: impl Into<String>) -> Self {
        self.request.method = name.into();
        self
    }

    /// Keeps only calls whose credential is bound to this user; "" means credentials without one.
    pub fn caller_user_id(mut self, user_id: impl Into<String>) -> Self {
        self.request.caller_user_id = Some(user_id.into());
        self
    }

    /// Keeps only calls whose request named the session with this id.
    pub fn session_id(mut self, session_id: impl Into<String>) -> Self {
        self.request.session_id = session_id.into();
        self
    }

    /// Keeps only calls with this outcome: "OK", or the reason of the error.
    pub fn outcome(mut self, outcome: impl Into<String>) -> Self {
        self.request.outcome = outcome.into();
        self
    }

    /// Keeps only calls that began at this time or later.
    pub fn from_time(mut self, time: SystemTime) -> Self {
        self.request.from_time = Some(time.into());
        self
    }

    /// Keeps only calls that began before this time.
    pub fn to_time(mut self, time: SystemTime) -> Self {
        self.request.to_time = Some(time.into());
        self
    }
}

impl List<v1::ListUserEventsRequest> {
    /// Keeps only events that match, without a window. Default: all.
    pub fn filter(mut self, filter: impl Into<EventFilter>) -> Self {
        self.request.filter = Some(filter.into().into());
        self
    }

    /// Lists events of this user instead of the client's.
    pub fn user_id(mut self, user_id: impl Into<String>) -> Self {
        self.request.user_id = user_id.into();
        self
    }
}

impl List<v1::ListEventsRequest> {
    /// Keeps only events that match. Default: all.
    pub fn filter(mut self, filter: impl Into<EventFilter>) -> Self {
        self.request.filter = Some(filter.into().into());
        self
    }

    /// Lists the events as of a moment in the past. Default: now. Errors: INVALID_FIELD in the future, HISTORY_UNKNOWN.
    pub fn as_of(mut self, moment: AsOf) -> Self {
        self.request.as_of = Some(match moment {
            AsOf::Seq(seq) => list_events_request::AsOf::AsOfSeq(seq),
            AsOf::LogVersion(version) => list_events_request::AsOf::AsOfLogVersion(version),
        });
        self
    }

    /// Lists the newest first. Default: the oldest.
    pub fn newest_first(mut self) -> Self {
        self.request.order = SortOrder::Descending.into();
        self
    }
}

impl List<v1::SearchEventsRequest> {
    /// Searches only events that match. Default: all.
    pub fn filter(mut self, filter: impl Into<EventFilter>) -> Self {
        self.request.filter = Some(filter.into().into());
        self
    }

    /// Sets how to search. Default: the server chooses. Hits come best first; with SUBSTRING oldest first.
    ///
    /// Errors: EMBEDDER_NOT_CONFIGURED, EMBEDDER_FAILED.
    pub fn mode(mut self, mode: v1::SearchMode) -> Self {
        self.request.mode = mode.into();
        self
    }

    /// Returns this many events before and after each hit. Default: 0.
    pub fn neighbors(mut self, count: u32) -> Self {
        self.request.neighbors = count.try_into().unwrap_or(i32::MAX);
        self
    }

    /// Returns each event once per page: a neighbor of a better hit is no hit as well.
    pub fn distinct(mut self) -> Self {
        self.request.distinct = true;
        self
    }

    /// Returns the best hit of each turn, or of each session.
    pub fn grouping(mut self, grouping: v1::HitGrouping) -> Self {
        self.request.grouping = grouping.into();
        self
    }

    /// Leaves out hits with a lower score.
    pub fn min_score(mut self, score: f64) -> Self {
        self.request.min_score = Some(score);
        self
    }
}

impl List<v1::ListMemoriesRequest> {
    /// Keeps only entries that match. Default: all.
    pub fn filter(mut self, filter: v1::MemoryFilter) -> Self {
        self.request.filter = Some(filter);
        self
    }
}
