//! Erasures: everything of a user, of an app, or with labels.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tonic::Status;

use crate::v1::{DeleteAppRequest, DeleteByLabelRequest, DeleteUserRequest, ErasureReceipt};
use crate::{Client, Error};

type Progress = Arc<dyn Fn(&ErasureReceipt) + Send + Sync>;

#[derive(Clone, Debug)]
enum Scope {
    User(DeleteUserRequest),
    App(DeleteAppRequest),
    Label(DeleteByLabelRequest),
}

/// An erasure: set its options, then await it. It repeats its call, of about 10 seconds, until nothing is left, and returns the
/// receipt. The timeout is that of one call.
#[derive(Clone)]
#[must_use = "an erasure is sent when it is awaited"]
pub struct Erasure {
    client: Client,
    scope: Scope,
    progress: Option<Progress>,
}

impl Client {
    /// Deletes everything of a user in the client's app: sessions, memories and policies. Without an app, or for
    /// [`all_apps`](Self::all_apps), in every app, and the user's consumers.
    ///
    /// Errors: INVALID_FIELD, PERMISSION_DENIED.
    pub fn delete_user(&self, user_id: impl Into<String>) -> Erasure {
        self.erasing(Scope::User(DeleteUserRequest { user_id: user_id.into(), app: self.app_or(None), ..Default::default() }))
    }

    /// Deletes everything of an app: the sessions and memories of all its users, and policies; "" is what has no app.
    ///
    /// Errors: INVALID_FIELD, PERMISSION_DENIED.
    pub fn delete_app(&self, app: impl Into<String>) -> Erasure {
        self.erasing(Scope::App(DeleteAppRequest { app: Some(app.into()), ..Default::default() }))
    }

    /// Deletes the sessions of the client's app and user that have all of these labels; for others see
    /// [`all_users`](Self::all_users).
    ///
    /// Errors: INVALID_FIELD, PERMISSION_DENIED.
    pub fn delete_by_label<K: Into<String>, V: Into<String>>(&self, labels: impl IntoIterator<Item = (K, V)>) -> Erasure {
        let labels = labels.into_iter().map(|(key, value)| (key.into(), value.into())).collect();
        let (app, user_id) = (self.app_or(None), self.user_or(String::new()));
        self.erasing(Scope::Label(DeleteByLabelRequest { labels, app, user_id, ..Default::default() }))
    }

    fn erasing(&self, scope: Scope) -> Erasure {
        Erasure { client: self.clone(), scope, progress: None }
    }
}

impl Erasure {
    /// Sets the id of the request. A repeated request with the same id and scope continues after a failure, and returns the same
    /// receipt for 30 days; without an id, it erases again.
    pub fn request_id(mut self, id: impl Into<String>) -> Self {
        match &mut self.scope {
            Scope::User(request) => request.request_id = id.into(),
            Scope::App(request) => request.request_id = id.into(),
            Scope::Label(request) => request.request_id = id.into(),
        }
        self
    }

    /// Also deletes the memories that came from the sessions. Only [`Client::delete_by_label`] keeps them otherwise.
    pub fn purge_memories(mut self) -> Self {
        if let Scope::Label(request) = &mut self.scope {
            request.purge_memories = true;
        }
        self
    }

    /// Calls this with the receipt so far, after each call.
    pub fn progress(mut self, progress: impl Fn(&ErasureReceipt) + Send + Sync + 'static) -> Self {
        self.progress = Some(Arc::new(progress));
        self
    }

    /// Sets another timeout of each call; None for no limit. Default: that of the client.
    pub fn timeout(self, limit: impl Into<Option<Duration>>) -> Self {
        Self { client: self.client.with_timeout(limit), ..self }
    }

    async fn step(&self) -> Result<(Option<ErasureReceipt>, bool), Status> {
        let mut stub = self.client.raw().sessions();
        Ok(match self.scope.clone() {
            Scope::User(request) => {
                let answer = stub.delete_user(request).await?.into_inner();
                (answer.receipt, answer.more)
            }
            Scope::App(request) => {
                let answer = stub.delete_app(request).await?.into_inner();
                (answer.receipt, answer.more)
            }
            Scope::Label(request) => {
                let answer = stub.delete_by_label(request).await?.into_inner();
                (answer.receipt, answer.more)
            }
        })
    }
}

impl IntoFuture for Erasure {
    type Output = Result<ErasureReceipt, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            loop {
                let (receipt, more) = self.step().await?;
                let receipt = receipt.unwrap_or_default();
                if let Some(progress) = &self.progress {
                    progress(&receipt);
                }
                if !more {
                    return Ok(receipt);
                }
            }
        })
    }
}

impl fmt::Debug for Erasure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Erasure").field("scope", &self.scope).finish_non_exhaustive()
    }
}
