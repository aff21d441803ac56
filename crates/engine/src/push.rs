//! The seam to webhooks: what decides whether a URL may be called. Delivery itself reads the store's outbox.

use async_trait::async_trait;
use nuncio_model::{Error, TaskPushNotificationConfig};

/// Decides whether a webhook may be registered.
#[async_trait]
pub trait PushGuard: Send + Sync + 'static {
    /// # Errors
    ///
    /// `InvalidParams` that names the field and the reason: a scheme or an address that is not allowed, a header value
    /// that cannot be sent.
    async fn check(&self, config: &TaskPushNotificationConfig) -> Result<(), Error>;
}
