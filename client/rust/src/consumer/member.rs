//! The state of a consumer's member: which deliveries count, and the requests to send.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::stream::{self, Stream};
use tokio::sync::Notify;

use crate::v1::consume_request::Request;
use crate::v1::{self, Acknowledge, ConsumeRequest, JoinConsumer, Reject};

/// Characters of a reason that the server stores.
const LONGEST_REASON: usize = 1024;

/// The error of a handler that parks its change at once: it is not delivered again until it is replayed.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Park(String);

impl Park {
    /// Parks the change for this reason.
    pub fn new(reason: impl Into<String>) -> Self {
        Self(reason.into())
    }
}

/// One Consume stream.
#[derive(Debug, Default)]
pub(crate) struct Member {
    state: Mutex<State>,
    news: Notify,
}

#[derive(Debug, Default)]
struct State {
    outgoing: VecDeque<ConsumeRequest>,
    /// By partition: the attempt that failed.
    rejected: HashMap<i32, i32>,
    max_attempts: i32,
    over: bool,
    leaving: bool,
}

impl Member {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores the limit of the server's answer to the join.
    pub(crate) fn joined(&self, max_attempts: i32) {
        self.state().max_attempts = max_attempts;
    }

    /// Returns whether to handle the delivery: not if its stream ended, nor if an earlier one of the partition was rejected.
    ///
    /// A rejected delivery is delivered again with all that follow it. Deliveries that were sent before the rejection are
    /// recognized by their attempt: no change is delivered more often than the change before it.
    pub(crate) fn counts(&self, delivery: &v1::Delivery) -> bool {
        let mut state = self.state();
        if state.over {
            return false;
        }
        let Some(failed) = state.rejected.get(&delivery.partition) else { return true };
        if delivery.parked_id.is_empty() {
            if delivery.attempt <= *failed {
                return false;
            }
            state.rejected.remove(&delivery.partition);
        }
        true
    }

    /// Acknowledges a delivery. Acknowledgments that gather are sent together.
    pub(crate) fn acknowledge(&self, delivery_id: i64) {
        let mut state = self.state();
        if let Some(Request::Acknowledge(last)) = state.outgoing.back_mut().and_then(|last| last.request.as_mut()) {
            last.delivery_ids.push(delivery_id);
        } else {
            state.outgoing.push_back(request(Request::Acknowledge(Acknowledge { delivery_ids: vec![delivery_id] })));
        }
        drop(state);
        self.news.notify_one();
    }

    /// Rejects a delivery.
    pub(crate) fn reject(&self, delivery: &v1::Delivery, reason: &str, park: bool) {
        let mut state = self.state();
        let comes_again = !park && delivery.parked_id.is_empty() && delivery.attempt < state.max_attempts;
        if comes_again {
            state.rejected.insert(delivery.partition, delivery.attempt);
        }
        tracing::warn!(attempt = delivery.attempt, parked = !comes_again, reason, "a delivery was rejected");
        let reason = reason.chars().take(LONGEST_REASON).collect();
        state.outgoing.push_back(request(Request::Reject(Reject { delivery_id: delivery.delivery_id, reason, park })));
        drop(state);
        self.news.notify_one();
    }

    /// Starts no more deliveries; the outcome of running ones is still sent.
    pub(crate) fn stop(&self) {
        self.state().over = true;
    }

    /// Ends the stream after the requests that are waiting.
    pub(crate) fn leave(&self) {
        let mut state = self.state();
        (state.over, state.leaving) = (true, true);
        drop(state);
        self.news.notify_one();
    }

    /// Returns the requests of the stream. Its end half-closes the call.
    pub(crate) fn requests(self: Arc<Self>, join: JoinConsumer) -> impl Stream<Item = ConsumeRequest> + Send + 'static {
        self.state().outgoing.push_front(request(Request::Join(join)));
        stream::unfold(self, async |member| {
            loop {
                let (next, leaving) = {
                    let mut state = member.state();
                    (state.outgoing.pop_front(), state.leaving)
                };
                match next {
                    Some(next) => return Some((next, member)),
                    None if leaving => return None,
                    None => member.news.notified().await,
                }
            }
        })
    }
}

fn request(request: Request) -> ConsumeRequest {
    ConsumeRequest { request: Some(request) }
}

#[cfg(test)]
mod tests {
    use futures_util::StreamExt;

    use super::*;

    fn delivery(delivery_id: i64, partition: i32, attempt: i32) -> v1::Delivery {
        v1::Delivery { delivery_id, partition, attempt, ..Default::default() }
    }

    #[test]
    fn deliveries_after_a_rejected_one_are_void_until_it_comes_again() {
        let member = Member::default();
        member.joined(5);
        member.reject(&delivery(1, 7, 1), "no", false);
        assert!(!member.counts(&delivery(2, 7, 1)) && member.counts(&delivery(3, 8, 1)));
        assert!(member.counts(&v1::Delivery { parked_id: "p".into(), ..delivery(4, 7, 1) }), "a replay has no order");
        assert!(member.counts(&delivery(5, 7, 2)) && member.counts(&delivery(6, 7, 1)));
    }

    #[test]
    fn no_delivery_is_void_after_the_last_attempt_or_a_park() {
        let member = Member::default();
        member.joined(2);
        member.reject(&delivery(1, 7, 2), "no", false);
        member.reject(&delivery(2, 8, 1), "never", true);
        assert!(member.counts(&delivery(3, 7, 1)) && member.counts(&delivery(4, 8, 1)));
        member.stop();
        assert!(!member.counts(&delivery(5, 7, 1)));
    }

    #[tokio::test]
    async fn acknowledgments_are_sent_together_and_before_the_end() {
        let member = Arc::new(Member::default());
        member.acknowledge(1);
        member.acknowledge(2);
        member.reject(&delivery(3, 7, 1), &"x".repeat(2000), true);
        member.acknowledge(4);
        member.leave();
        let join = JoinConsumer { name: "n".into(), ..Default::default() };
        let sent: Vec<_> = member.requests(join.clone()).map(|sent| sent.request.expect("a kind")).collect().await;
        let reject = Reject { delivery_id: 3, reason: "x".repeat(1024), park: true };
        let acknowledge = |delivery_ids| Request::Acknowledge(Acknowledge { delivery_ids });
        assert_eq!(sent, [Request::Join(join), acknowledge(vec![1, 2]), Request::Reject(reject), acknowledge(vec![4])]);
    }
}
