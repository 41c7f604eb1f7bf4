//! What pages and subscriptions hand out.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::stream::{BoxStream, Stream};
use futures_util::stream::{StreamExt, try_unfold};

use crate::Error;

/// Items that come one after the other: a `Stream`, or [`next`](Self::next) in a loop. It ends after an error. Nothing is
/// fetched ahead of what is asked for, and dropping it ends the call behind it.
#[must_use = "nothing is asked for until the items are"]
pub struct Items<T>(BoxStream<'static, Result<T, Error>>);

impl<T: Send + 'static> Items<T> {
    /// The items that `next` gives, until it gives None or an error.
    pub(crate) fn from_fn<S, F, Fut>(state: S, next: F) -> Self
    where
        S: Send + 'static,
        F: FnMut(S) -> Fut + Send + 'static,
        Fut: Future<Output = Result<Option<(T, S)>, Error>> + Send + 'static,
    {
        Self(try_unfold(state, next).boxed())
    }

    /// The next item; None at the end. A future that is dropped before it is done loses nothing.
    pub async fn next(&mut self) -> Option<Result<T, Error>> {
        self.0.next().await
    }

    /// All items that are still to come, or the first error. Of a subscription these never end.
    pub async fn collect(mut self) -> Result<Vec<T>, Error> {
        let mut items = Vec::new();
        while let Some(item) = self.next().await {
            items.push(item?);
        }
        Ok(items)
    }
}

impl<T> Stream for Items<T> {
    type Item = Result<T, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.as_mut().poll_next(context)
    }
}

impl<T> std::fmt::Debug for Items<T> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Items").finish_non_exhaustive()
    }
}
