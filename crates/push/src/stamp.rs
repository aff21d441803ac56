//! The seam to whatever else a notification should carry: a signature of its body, the proof of a challenge.

use http::HeaderMap;
use nuncio_model::TaskPushNotificationConfig;

/// Adds headers to notifications.
pub trait Stamp: Send + Sync + 'static {
    /// Adds headers to one attempt to deliver. What is there already may be replaced.
    ///
    /// # Errors
    ///
    /// Fails the attempt, which is tried again as any other. So does a panic.
    fn stamp(
        &self,
        delivery: &Delivery<'_>,
        headers: &mut HeaderMap,
    ) -> Result<(), Box<dyn std::error::Error + Send + Sync>>;
}

/// A notification that is about to be posted.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Delivery<'a> {
    /// To whom.
    pub config: &'a TaskPushNotificationConfig,
    /// The id of the notification, as the header `webhook-id` has it: the same at each attempt.
    pub id: &'a str,
    /// The body: the event, or the task, as the version under which the webhook was registered has it in JSON.
    pub body: &'a [u8],
    /// What the body is sent as.
    pub content_type: &'static str,
    /// The place of the event in the log of its task; the same at each attempt.
    pub sequence: u64,
    /// How many attempts failed before this one.
    pub failures: u32,
}
