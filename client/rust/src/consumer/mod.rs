//! Named consumers: subscriptions whose progress the server stores and whose members share the changes.

mod deliveries;
mod member;
mod run;

pub use deliveries::{Deliveries, Delivery};
pub use member::Park;
pub use run::Run;

use std::time::Duration;

use crate::call::duration;
use crate::v1::{
    ChangeScope, DeleteConsumerRequest, DeleteParkedChangesRequest, GetConsumerRequest, JoinConsumer, ListConsumersRequest,
    ListParkedChangesRequest, ReplayParkedChangesRequest,
};
use crate::{Call, Client, Error, EventFilter, List};

/// Handlers that run at the same time, unless the caller sets another number.
const CONCURRENCY: usize = 8;

/// A handle on a named consumer, from [`Client::consumer`], which makes no call.
///
/// Its options are those of a member that joins by [`run`](Self::run) or [`deliveries`](Self::deliveries). All members of a
/// consumer must have the same scope, which is the client's app and user unless the client is of
/// [`all_users`](Client::all_users), the same labels and the same filter.
#[derive(Clone, Debug)]
#[must_use]
pub struct ConsumerHandle {
    client: Client,
    join: JoinConsumer,
    concurrency: usize,
}

/// Parked changes to replay or to delete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Parked {
    /// All of the consumer.
    All,
    /// Those with these ids, at most 1,000; none for an empty list.
    Ids(Vec<String>),
}

impl Client {
    /// Returns a handle on the consumer of this name, without a call. `shutdown` is any future, such as that of
    /// `tokio::signal::ctrl_c`.
    ///
    /// ```no_run
    /// # use threadkeep::{Change, Client};
    /// # async fn index(change: Change) -> Result<(), std::io::Error> { Ok(()) }
    /// # async fn example(client: Client, shutdown: impl Future<Output = ()> + Send + 'static) -> Result<(), threadkeep::Error> {
    /// let indexer = client.all_users().consumer("indexer").concurrency(8);
    /// indexer.run(|delivery| index(delivery.change)).until(shutdown).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn consumer(&self, name: impl Into<String>) -> ConsumerHandle {
        let scope = Some(self.own_scope(ChangeScope::default()));
        let join = JoinConsumer { name: name.into(), scope, ..Default::default() };
        ConsumerHandle { client: self.clone(), join, concurrency: CONCURRENCY }
    }

    /// Lists consumers, by name.
    pub fn consumers(&self) -> List<ListConsumersRequest> {
        self.list(ListConsumersRequest::default())
    }
}

impl ConsumerHandle {
    /// Returns the name of the consumer.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.join.name
    }

    /// Sets how many handlers run at the same time, at least 1, for different sessions. Default: 8.
    pub fn concurrency(mut self, handlers: usize) -> Self {
        self.concurrency = handlers.max(1);
        self
    }

    /// Delivers only changes of sessions with this label; several labels must all be there.
    pub fn label(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.join.scope.get_or_insert_default().labels.insert(key.into(), value.into());
        self
    }

    /// Delivers only events that match; last_n and page are not allowed. Default: all.
    pub fn filter(mut self, filter: impl Into<EventFilter>) -> Self {
        self.join.filter = Some(filter.into().into());
        self
    }

    /// Starts a new consumer at the beginning of the feed. Default: with changes committed from now on.
    pub fn from_beginning(mut self) -> Self {
        self.join.from_beginning = true;
        self
    }

    /// Sets the id of this member, which operators see. Default: one from the server.
    pub fn member_id(mut self, id: impl Into<String>) -> Self {
        self.join.member_id = id.into();
        self
    }

    /// Sets the maximum number of unacknowledged deliveries. Default: 256; at most 10,000.
    pub fn max_outstanding(mut self, deliveries: u32) -> Self {
        self.join.max_outstanding = deliveries.try_into().unwrap_or(i32::MAX);
        self
    }

    /// Parks a change after this many failures. Only the first member sets it. Default: 5; at most 1,000.
    pub fn max_attempts(mut self, attempts: u32) -> Self {
        self.join.max_attempts = attempts.try_into().unwrap_or(i32::MAX);
        self
    }

    /// Sets the time for each delivery. Only the first member sets it. Default: 60 seconds; 1 second to 1 day.
    pub fn ack_timeout(mut self, limit: Duration) -> Self {
        self.join.ack_timeout = Some(duration(limit));
        self
    }

    /// Sets the number of partitions, which limits how many handlers of all members run at the same time. Only the first member
    /// sets it. Default: 32; at most 256.
    pub fn partitions(mut self, partitions: u32) -> Self {
        self.join.partitions = partitions.try_into().unwrap_or(i32::MAX);
        self
    }

    /// Works for the consumer: calls `handler` with every change, at least once, and acknowledges it when the handler succeeds.
    ///
    /// Members of one name share the sessions. The changes of a session are delivered in order, one at a time. When the handler
    /// fails, its change is delivered again after a pause, with the changes after it, and parked when it has failed
    /// [`max_attempts`](Self::max_attempts) times; [`Park`] as the error parks it at once.
    ///
    /// It runs until [`Run::until`] completes. When the stream breaks, or the member was too slow, it joins again, after pauses
    /// as in a watch and without limit. Running handlers continue, and their sessions wait for them; their changes are delivered
    /// again. Dropping it cancels the handlers; their changes are delivered again.
    ///
    /// Errors: CONSUMER_MISMATCH, CONSUMER_NOT_FOUND when it is deleted, RESUME_POSITION_EXPIRED as in a watch, QUOTA_EXCEEDED.
    pub fn run<F, Fut, E>(&self, handler: F) -> Run
    where
        F: Fn(Delivery) -> Fut + Send + 'static,
        Fut: Future<Output = Result<(), E>> + Send + 'static,
        E: Into<Box<dyn std::error::Error + Send + Sync>> + 'static,
    {
        Run::new(self.deliveries(), self.concurrency, handler)
    }

    /// Joins the consumer and returns its deliveries as a stream; [`run`](Self::run) is simpler. Each must be acknowledged or
    /// rejected; the next one of its partition comes after that.
    pub fn deliveries(&self) -> Deliveries {
        Deliveries::new(self.client.clone(), self.join.clone())
    }

    /// Returns the consumer, its members, its partitions and the number of parked changes. Errors: CONSUMER_NOT_FOUND.
    pub fn get(&self) -> Call<GetConsumerRequest> {
        Call::new(&self.client, GetConsumerRequest { name: self.join.name.clone() })
    }

    /// Deletes the consumer, its progress and its parked changes. `deleted` is false if it did not exist.
    pub fn delete(&self) -> Call<DeleteConsumerRequest> {
        Call::new(&self.client, DeleteConsumerRequest { name: self.join.name.clone() })
    }

    /// Lists the parked changes, oldest first. Errors: CONSUMER_NOT_FOUND.
    pub fn parked(&self) -> List<ListParkedChangesRequest> {
        self.client.list(ListParkedChangesRequest { name: self.join.name.clone(), ..Default::default() })
    }

    /// Delivers parked changes again, outside the order of their sessions. Returns their number; ids that are not parked do not
    /// count. Errors: CONSUMER_NOT_FOUND.
    pub async fn replay_parked(&self, which: Parked) -> Result<i64, Error> {
        let Some(parked_ids) = which.ids() else { return Ok(0) };
        Ok(Call::new(&self.client, ReplayParkedChangesRequest { name: self.join.name.clone(), parked_ids }).await?.replayed)
    }

    /// Deletes parked changes. Returns their number. Errors: CONSUMER_NOT_FOUND.
    pub async fn delete_parked(&self, which: Parked) -> Result<i64, Error> {
        let Some(parked_ids) = which.ids() else { return Ok(0) };
        Ok(Call::new(&self.client, DeleteParkedChangesRequest { name: self.join.name.clone(), parked_ids }).await?.deleted)
    }
}

impl Parked {
    /// Returns the ids to send, where an empty list means all; None for no ids, which must not become all.
    fn ids(self) -> Option<Vec<String>> {
        match self {
            Self::All => Some(Vec::new()),
            Self::Ids(ids) => Some(ids).filter(|ids| !ids.is_empty()),
        }
    }
}
