//! The setting that recognizes a message that is sent again.

use std::time::Duration;

use nuncio_model::{
    AgentCard, Timestamp,
    card::{AgentExtension, extension},
};

/// Whether a message with the id of an earlier message of the same caller is a duplicate, so that a client can send a
/// message again if it received no answer.
///
/// A duplicate creates no task and no turn. The duplicate gets the result of the first message: a blocking call gets
/// the outcome of the turn, a stream gets the current task and the later events, and a call that returns immediately
/// gets the task. The client can use any binding and version, also after a restart, during the window.
///
/// - Content and sender must be equal to the first message, and also task and context if the duplicate names them.
///   Otherwise the duplicate is refused with `InvalidParams` for `message.messageId`. Configuration and metadata of the
///   request can differ. A webhook in the duplicate is not registered again.
/// - A direct answer without a task is not stored. A duplicate that arrives while the agent works gets the same answer.
///   A later duplicate runs the agent again. A refused message can also be sent again, because it has no effect.
/// - Anonymous callers share their ids.
/// - If several nodes share the store, two duplicates can start on two nodes before the first event of the agent. The
///   store accepts one of them. The other turn is cut off at its first event, which no reader sees, and its caller gets
///   the answer of the first message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Idempotency {
    /// Each message is new. This is the default, because some clients use an id twice.
    #[default]
    Off,
    /// A duplicate is detected for this time after the first message was accepted, in milliseconds.
    Within(Duration),
}

impl Idempotency {
    /// The extension that declares deduplication in a card. `docs/extensions/idempotency.md` has its text.
    pub const EXTENSION: &'static str = extension::IDEMPOTENCY;

    /// The start of the window; `None` if messages are not deduplicated.
    pub(crate) fn since(self) -> Option<Timestamp> {
        let Self::Within(window) = self else { return None };
        let window = i64::try_from(window.as_millis()).unwrap_or(i64::MAX);
        let since = Timestamp::now().as_millisecond().saturating_sub(window);
        Some(Timestamp::from_millisecond(since).unwrap_or_default())
    }

    /// The time before which stored message ids are obsolete: the start of the window, or the current time if messages
    /// are not deduplicated. `None` if other nodes of a shared store may use a different setting.
    pub(crate) fn useless_before(self, is_shared: bool) -> Option<Timestamp> {
        self.since().or_else(|| (!is_shared).then(Timestamp::now))
    }

    pub(crate) fn is_on(self) -> bool {
        self != Self::Off
    }

    /// Declares the extension in a card.
    pub(crate) fn declare(self, card: &mut AgentCard) {
        let Self::Within(window) = self else { return };
        let extensions = &mut card.capabilities.extensions;
        extensions.retain(|extension| extension.uri != Self::EXTENSION);
        let seconds = serde_json::Value::from(window.as_secs());
        extensions.push(AgentExtension {
            uri: Self::EXTENSION.to_owned(),
            description: Some("A message that is sent again with its id gets the answer of the first.".into()),
            required: false,
            params: Some(Box::new([("windowSeconds".to_owned(), seconds)].into_iter().collect())),
        });
    }
}
