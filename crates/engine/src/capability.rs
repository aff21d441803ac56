//! Checks the capabilities and requirements of the card before an operation runs (section 3.3.4 "Capability
//! Validation").

use nuncio_model::{AgentCard, Call, Error, ErrorKind, Part, Request};

use crate::shared::Shared;

/// Refuses a call of a capability that the card does not declare, or a call without a required extension.
pub(crate) fn check(shared: &Shared, request: &Request) -> Result<(), Error> {
    let capabilities = &shared.card.capabilities;
    match &request.call {
        Call::SendStreamingMessage(_) | Call::SubscribeToTask(_) if !capabilities.streams() => {
            return Err(Error::new(ErrorKind::UnsupportedOperation, "this agent does not stream"));
        }
        Call::CreateTaskPushNotificationConfig(_)
        | Call::GetTaskPushNotificationConfig(_)
        | Call::ListTaskPushNotificationConfigs(_)
        | Call::DeleteTaskPushNotificationConfig(_)
            if !pushes(shared) =>
        {
            return Err(no_push());
        }
        Call::GetExtendedAgentCard(_) if !capabilities.extends_card() => {
            return Err(Error::new(ErrorKind::UnsupportedOperation, "this agent has no extended card"));
        }
        _ => {}
    }
    let missing = capabilities
        .extensions
        .iter()
        .find(|extension| extension.required && !request.extensions.iter().any(|uri| **uri == *extension.uri));
    match missing {
        Some(extension) => Err(Error::new(
            ErrorKind::ExtensionSupportRequired,
            format!("this agent requires the extension {}; name it in A2A-Extensions", extension.uri),
        )
        .with_metadata("extension", extension.uri.clone())),
        None => Ok(()),
    }
}

/// Whether webhooks can be registered.
pub(crate) fn pushes(shared: &Shared) -> bool {
    shared.card.capabilities.pushes() && shared.guard.is_some()
}

pub(crate) fn no_push() -> Error {
    Error::new(ErrorKind::PushNotificationNotSupported, "this agent does not send push notifications")
}

/// Refuses parts with a media type that neither the card nor one of its skills accepts (section 3.1.1 "Send Message").
/// A card without media types accepts all types. A part without a media type is accepted.
///
/// Data of a vendor type is ignored if the agent accepts another part of the message. Some frameworks add such data to
/// each message for agents of the same framework: AG2 adds its history of the conversation.
pub(crate) fn check_media_types(card: &AgentCard, parts: &[Part]) -> Result<(), Error> {
    let is_taken = |part: &Part| {
        let Some(media_type) = part.media_type() else { return true };
        let mut modes = card.input_modes().peekable();
        modes.peek().is_none() || modes.any(|mode| takes(mode, media_type))
    };
    for (index, part) in parts.iter().enumerate() {
        let is_passed_over = || part.is_vendor_data() && parts.iter().any(is_taken);
        if !is_taken(part) && !is_passed_over() {
            let media_type = part.media_type().unwrap_or_default();
            return Err(Error::new(
                ErrorKind::ContentTypeNotSupported,
                format!("message.parts[{index}]: this agent does not take {media_type}"),
            )
            .with_metadata("mediaType", media_type));
        }
    }
    Ok(())
}

/// Refuses a message if its client accepts none of the media types of the card and its skills (`acceptedOutputModes`,
/// section 3.2.2 "SendMessageConfiguration"). A card without media types can produce all types. All text is also
/// `text/plain`. A client that accepts only `application/json` gets text, too: CrewAI sends this value with each
/// message, and reads text.
pub(crate) fn check_output_modes(card: &AgentCard, accepted: &[String]) -> Result<(), Error> {
    let accepted = || accepted.iter().map(|mode| mode.trim()).filter(|mode| !mode.is_empty());
    let meets = |mode: &str| accepted().any(|wanted| meets(mode, wanted));
    let mut modes = card.output_modes().peekable();
    let is_json = accepted().all(|mode| takes("application/json", mode));
    if accepted().next().is_none()
        || modes.peek().is_none()
        || modes.any(|mode| meets(mode) || is_json && is_text(mode))
    {
        return Ok(());
    }
    let produced: Vec<_> = card.output_modes().collect();
    Err(Error::new(
        ErrorKind::ContentTypeNotSupported,
        format!(
            "configuration.acceptedOutputModes: this agent produces none of {}; it produces {}",
            accepted().collect::<Vec<_>>().join(", "),
            produced.join(", ")
        ),
    )
    .with_metadata("acceptedOutputModes", accepted().collect::<Vec<_>>().join(",")))
}

/// Whether the output of a mode of a card can match a media type of the client.
fn meets(mode: &str, wanted: &str) -> bool {
    takes(mode, wanted) || takes(wanted, mode) || is_text(mode) && takes("text/plain", wanted)
}

fn is_text(mode: &str) -> bool {
    takes("text/*", mode) || takes("text", mode)
}

/// Whether a mode of a card (`text/plain`, `image/*`, `*/*`, `text`) includes a media type. Parameters are ignored.
fn takes(mode: &str, media_type: &str) -> bool {
    let essence = |text: &str| text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let (mode, media_type) = (essence(mode), essence(media_type));
    match mode.split_once('/') {
        Some(("*", "*")) => true,
        Some((kind, "*")) => media_type.split_once('/').is_some_and(|(other, _)| other == kind),
        Some(_) => mode == media_type,
        None => mode == media_type || media_type.split_once('/').is_some_and(|(kind, _)| kind == mode),
    }
}

#[cfg(test)]
mod tests {
    use nuncio_model::AgentCard;

    use super::{check_output_modes, meets, takes};

    #[test]
    fn a_client_that_accepts_only_json_gets_text() {
        let refuses = |produced: &str, accepted: &[&str]| {
            let mut card = AgentCard::new("a", "b");
            card.default_output_modes = vec![produced.to_owned()];
            let accepted: Vec<_> = accepted.iter().map(|&mode| mode.to_owned()).collect();
            check_output_modes(&card, &accepted).is_err()
        };
        assert!(!refuses("text/plain", &["application/json"]));
        assert!(refuses("text/plain", &["application/json", "image/png"]));
        assert!(refuses("image/png", &["application/json"]));
    }

    #[test]
    fn a_mode_covers_its_media_types() {
        for (mode, media_type) in [
            ("text/plain", "Text/Plain; charset=utf-8"),
            ("image/*", "image/png"),
            ("*/*", "a/b"),
            ("text", "text/csv"),
        ] {
            assert!(takes(mode, media_type), "{mode} {media_type}");
        }
        assert!(!takes("text/plain", "text/html"));
        assert!(!takes("image/*", "text/plain"));
    }

    #[test]
    fn a_mode_matches_its_possible_media_types() {
        for (mode, wanted) in [
            ("text/plain", "text/plain"),
            ("text/markdown", "text/plain; charset=utf-8"),
            ("text", "text/plain"),
            ("image/*", "image/png"),
            ("image/png", "image/*"),
            ("*/*", "a/b"),
            ("a/b", "*/*"),
        ] {
            assert!(meets(mode, wanted), "{mode} {wanted}");
        }
        assert!(!meets("text/plain", "text/markdown"));
        assert!(!meets("application/json", "text/plain"));
    }
}
