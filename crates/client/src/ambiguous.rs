//! Cards that do not tell 0.1 from 0.2: those of the first 0.2 agents have nothing that those of 0.1 have not. Such an
//! agent is asked, with a call that changes nothing.

use nuncio_model::{
    AgentCard, ErrorKind, Request, Scope, TaskId, card::AgentInterface, op::GetTaskPushNotificationConfigRequest,
};
use nuncio_wire::{Version, card};

use crate::{choose::Choice, transport::fallback::Candidate};

/// The one interface of a card as that of 0.2, where it was taken for one of 0.1 because nothing says what it is.
pub(crate) fn other(choices: &[Choice], shown: &AgentCard, document: &[u8]) -> Option<Choice> {
    let [only] = choices else { return None };
    let version = *Version::ALL.iter().find(|version| version.as_str() == "0.2")?;
    // `authentication` is of 0.1 alone; it is read as security schemes.
    if only.version.as_str() != "0.1" || !shown.security_schemes.is_empty() || card::meant(document, version).is_empty()
    {
        return None;
    }
    let interface = AgentInterface { protocol_version: version.as_str().to_owned(), ..only.interface.clone() };
    Some(Choice { interface, version, ..only.clone() })
}

/// Whether an agent speaks the version of this interface: it is asked for the webhook of a task that it cannot have, by
/// a name that only this version has. What does not answer the question leaves it open, and that is no.
pub(crate) async fn is_spoken(candidate: &Candidate) -> bool {
    let call = GetTaskPushNotificationConfigRequest { task_id: TaskId::generate(), ..Default::default() };
    let knows = match candidate.transport.call(Request::new(Scope::open(), call)).await {
        Ok(_) => true,
        Err(error) => matches!(
            error.kind(),
            ErrorKind::TaskNotFound | ErrorKind::PushNotificationNotSupported | ErrorKind::UnsupportedOperation
        ),
    };
    let (url, version) = (&candidate.interface.url, candidate.version.as_str());
    tracing::debug!(url, version, knows, "the card does not tell the version, and the agent was asked");
    knows
}
