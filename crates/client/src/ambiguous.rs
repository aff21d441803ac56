//! Cards that fit 0.1 and 0.2: the cards of the first 0.2 agents have no member that cards of 0.1 lack. The client asks
//! such an agent with a call that changes nothing.

use nuncio_model::{
    AgentCard, ErrorKind, Request, Scope, TaskId, card::AgentInterface, op::GetTaskPushNotificationConfigRequest,
};
use nuncio_wire::{Version, card};

use crate::{choose::Choice, transport::fallback::Candidate};

/// The only interface of a card as an interface of 0.2, if the card was read as 0.1 only because no member shows the
/// version.
pub(crate) fn other(choices: &[Choice], shown: &AgentCard, document: &[u8]) -> Option<Choice> {
    let [only] = choices else { return None };
    let version = *Version::ALL.iter().find(|version| version.as_str() == "0.2")?;
    // Only 0.1 has `authentication`, which is read as security schemes.
    if only.version.as_str() != "0.1" || !shown.security_schemes.is_empty() || card::meant(document, version).is_empty()
    {
        return None;
    }
    let interface = AgentInterface { protocol_version: version.as_str().to_owned(), ..only.interface.clone() };
    Some(Choice { interface, version, ..only.clone() })
}

/// Whether an agent speaks the version of this interface. The client reads the webhook of a task that cannot exist, by
/// the method name of this version. Any other result is unclear, and counts as no.
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
    tracing::debug!(url, version, knows, "the card does not declare the version; asked the agent");
    knows
}
