//! The hook for additional headers of a notification, such as a signature of the body.

use http::HeaderMap;
use nuncio_model::TaskPushNotificationConfig;

/// Adds headers to notifications.
pub trait RequestSigner: Send + Sync + 'static {
    /// Adds headers to one attempt, or replaces existing headers.
    ///
    /// # Errors
    ///
    /// An error or a panic fails the attempt, which is retried.
    fn sign(
        &self,
        attempt: &Attempt<'_>,
        headers: &mut HeaderMap,
    ) -> Result<(), Box<dyn std::error::Error + Send + Sync>>;
}

/// An attempt to send a notification.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Attempt<'a> {
    /// The configuration of the receiver.
    pub config: &'a TaskPushNotificationConfig,
    /// The id of the notification in the header `webhook-id`: the same for each attempt.
    pub id: &'a str,
    /// The body: the event or the task in JSON, in the version under which the webhook was registered.
    pub body: &'a [u8],
    /// The media type of the body.
    pub content_type: &'static str,
    /// The sequence number of the event; the same for each attempt.
    pub sequence: u64,
    /// The number of failed attempts before this attempt.
    pub failures: u32,
}
