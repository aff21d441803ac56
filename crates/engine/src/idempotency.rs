//! Whether a message that is sent again counts as the one that came before.

use std::time::Duration;

use nuncio_model::{
    AgentCard, Timestamp,
    card::{AgentExtension, extension},
};

/// Whether a message with the id of an earlier one of the same caller is that message once more, so that a client can
/// send again what it had no answer to.
///
/// A duplicate begins no task and no turn. It gets what the first got, or would get: a blocking call the outcome of
/// the turn, a stream the task as it is and what follows, a call that does not want to wait the task. It may be sent
/// over any binding and in any version, also after a restart, while the window lasts.
///
/// - Content, sender and, where the duplicate names them, task and context must be those of the first; else it is
///   `InvalidParams` about `message.messageId`. Configuration and metadata of the request may differ: how to wait, how
///   much history to give. A webhook in it is not registered again.
/// - A direct answer without a task is not kept. A duplicate that comes while the agent is at it gets the same one;
///   one that comes later runs the agent again. So does one of a message that was refused, as nothing came of it.
/// - Callers that cannot be told apart share their ids.
/// - Where several nodes share the store, two duplicates that reach two of them in the moment before the agent has
///   said a word may both begin: the store takes one. The other turn is cut off at its first word, nothing of it is
///   seen, and its caller gets the answer of the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Idempotency {
    /// Ids say nothing: each message is a new one. The default, as there are clients that use an id twice.
    #[default]
    Off,
    /// A message is known by its id for this long after it was taken, to the millisecond.
    Within(Duration),
}

impl Idempotency {
    /// The extension by which a card says so; `docs/extensions/idempotency.md` has its text.
    pub const EXTENSION: &'static str = extension::IDEMPOTENCY;

    /// Since when messages count; `None` where they do not.
    pub(crate) fn since(self) -> Option<Timestamp> {
        let Self::Within(window) = self else { return None };
        let window = i64::try_from(window.as_millis()).unwrap_or(i64::MAX);
        let since = Timestamp::now().as_millisecond().saturating_sub(window);
        Some(Timestamp::from_millisecond(since).unwrap_or_default())
    }

    /// Before when messages that a store remembers are of no use any more: those whose window is over, and where ids
    /// say nothing all of them. `None` where that is not known, as other nodes that share the store may have it
    /// otherwise.
    pub(crate) fn useless_before(self, is_shared: bool) -> Option<Timestamp> {
        self.since().or_else(|| (!is_shared).then(Timestamp::now))
    }

    pub(crate) fn is_on(self) -> bool {
        self != Self::Off
    }

    /// Says it in a card.
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
