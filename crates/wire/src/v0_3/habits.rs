//! What the two versions of the family do not do alike.

use nuncio_model::Call;

/// The habits of a version.
pub(super) struct Habits {
    /// Whether a task that is read has its history only where the caller says how much of it (O-6, D-9). Where not, no
    /// length, or one of zero, is all of it.
    history_when_asked: bool,
    /// Where the extended card is to be read, behind the address of the endpoint, if not by a method.
    pub(super) extended_card: Option<&'static str>,
}

/// Version 0.2. Only its last text names a method for the extended card, and that one beside the path of all.
#[cfg(feature = "v0-2")]
pub(super) const OF_0_2: Habits =
    Habits { history_when_asked: true, extended_card: Some("/../agent/authenticatedExtendedCard") };

/// Version 0.3.
#[cfg(feature = "v0-3")]
pub(super) const OF_0_3: Habits = Habits { history_when_asked: false, extended_card: None };

impl Habits {
    /// Server: gives the lengths of history in a call the meaning that they have in the model.
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

    /// Client: the length to ask for where the model asks for this one of a task that is read. None is to be cut off
    /// here, since zero is not understood as none everywhere.
    pub(super) fn asked_history(&self, length: Option<i32>) -> Option<i32> {
        match length {
            None if self.history_when_asked => Some(i32::MAX),
            length => length.filter(|length| *length != 0),
        }
    }
}
