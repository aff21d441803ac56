//! The differences between the two versions of the family.

use nuncio_model::Call;

/// The habits of a version.
pub(super) struct Habits {
    /// Whether a task is returned with history only if the caller requests a length (0.2.0 to 0.2.5). If not, an absent
    /// length or a length of zero means all history (0.3, section 7.3 `tasks/get`, and the proto of 0.3).
    history_when_asked: bool,
    /// The path of the extended card, relative to the address of the endpoint, if the version has no method for the
    /// extended card.
    pub(super) extended_card: Option<&'static str>,
}

/// Version 0.2. Only the text of 0.2.6 defines a method for the extended card, in addition to the path.
#[cfg(feature = "v0-2")]
pub(super) const OF_0_2: Habits =
    Habits { history_when_asked: true, extended_card: Some("/../agent/authenticatedExtendedCard") };

/// Version 0.3.
#[cfg(feature = "v0-3")]
pub(super) const OF_0_3: Habits = Habits { history_when_asked: false, extended_card: None };

impl Habits {
    /// Server: converts the lengths of history in a call to the meaning that they have in the model.
    pub(super) fn settle_history(&self, call: &mut Call) {
        match call {
            Call::GetTask(request) if self.history_when_asked => {
                request.history_length = request.history_length.or(Some(0));
            }
            Call::GetTask(request) => request.history_length = request.history_length.filter(|length| *length != 0),
            Call::SendMessage(request) => self.settle_configuration(request),
            Call::SendStreamingMessage(request) => self.settle_configuration(&mut request.0),
            _ => {}
        }
    }

    fn settle_configuration(&self, request: &mut nuncio_model::op::SendMessageRequest) {
        if let Some(configuration) = &mut request.configuration
            && !self.history_when_asked
        {
            configuration.history_length = configuration.history_length.filter(|length| *length != 0);
        }
    }

    /// Client: the length to request from a peer for a length of the model. To get no history, the client removes the
    /// history itself, because some peers do not understand zero as "none".
    pub(super) fn asked_history(&self, length: Option<i32>) -> Option<i32> {
        match length {
            None if self.history_when_asked => Some(i32::MAX),
            length => length.filter(|length| *length != 0),
        }
    }
}
