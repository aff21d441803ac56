//! The request of `--request-payload`: a `SendMessageRequest` as JSON (section 3.2.1).

use nuncio_model::{
    AuthenticationInfo, Message, Role, TaskPushNotificationConfig,
    json::{Described, FieldInfo},
    op::{SendMessageConfiguration, SendMessageRequest},
};
use serde_json::Value;

use super::request::read_text;
use crate::{diag, error::CliError};

/// The shortest request.
const LEAST: &str = r#"the least is {"message":{"parts":[{"text":"hello"}]}}"#;

/// The members of an object and its nested objects.
struct ObjectMembers {
    name: &'static str,
    fields: &'static [&'static [FieldInfo]],
    /// Other accepted names, and the members of a part.
    others: &'static [&'static str],
    members: &'static [(&'static str, &'static ObjectMembers)],
}

static REQUEST: ObjectMembers = ObjectMembers {
    name: "the request",
    fields: &[SendMessageRequest::FIELDS],
    others: &[],
    members: &[("message", &MESSAGE), ("configuration", &CONFIGURATION)],
};
static MESSAGE: ObjectMembers =
    ObjectMembers { name: "a message", fields: &[Message::FIELDS], others: &["kind"], members: &[("parts", &PART)] };
static PART: ObjectMembers = ObjectMembers {
    name: "a part",
    fields: &[],
    others: &["text", "raw", "url", "data", "metadata", "filename", "mediaType"],
    members: &[],
};
static CONFIGURATION: ObjectMembers = ObjectMembers {
    name: "the configuration",
    fields: &[SendMessageConfiguration::FIELDS],
    others: &["blocking", "pushNotificationConfig"],
    members: &[("taskPushNotificationConfig", &WEBHOOK), ("pushNotificationConfig", &WEBHOOK)],
};
static WEBHOOK: ObjectMembers = ObjectMembers {
    name: "a webhook",
    fields: &[TaskPushNotificationConfig::FIELDS],
    others: &[],
    members: &[("authentication", &AUTHENTICATION)],
};
static AUTHENTICATION: ObjectMembers =
    ObjectMembers { name: "the authentication", fields: &[AuthenticationInfo::FIELDS], others: &[], members: &[] };

impl ObjectMembers {
    fn names(&self) -> impl Iterator<Item = &'static str> {
        self.fields.iter().flat_map(|fields| fields.iter().map(|field| field.json)).chain(self.others.iter().copied())
    }

    /// Adds a complaint for each member that the model does not have.
    fn find_unknown(&self, value: &Value, path: &str, found: &mut Vec<String>) {
        match value {
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.find_unknown(item, &format!("{path}[{index}]"), found);
                }
            }
            Value::Object(members) => {
                for (name, value) in members {
                    let known = camel_case(name);
                    let at = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                    if !self.names().any(|field| field == known) {
                        let names = self.names().collect::<Vec<_>>().join(", ");
                        found.push(format!("`{at}` is not known and is ignored; {} has {names}", self.name));
                    } else if let Some((_, shape)) = self.members.iter().find(|(member, _)| *member == known) {
                        shape.find_unknown(value, &at, found);
                    }
                }
            }
            _ => {}
        }
    }
}

/// A name of a field in the form that JSON has: `messageId` for `message_id`.
fn camel_case(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |text, word| {
        let mut letters = word.chars();
        let head = letters.next().map(|letter| letter.to_ascii_uppercase());
        text + &head.into_iter().chain(letters).collect::<String>()
    })
}

/// Reads a request that is given inline, or in a file or stdin. Unknown members are allowed, and warned of.
pub(super) async fn read(payload: &str) -> Result<SendMessageRequest, CliError> {
    let text = if payload.trim_start().starts_with('{') { payload.to_owned() } else { read_text(payload).await? };
    let (request, unknown) = parse(&text)?;
    for complaint in unknown {
        diag::warn(&format!("--request-payload: {complaint}"));
    }
    Ok(request)
}

/// The request of a text, and complaints about its unknown members.
fn parse(text: &str) -> Result<(SendMessageRequest, Vec<String>), CliError> {
    let members: Value = serde_json::from_str(text).map_err(|error| {
        CliError::usage(format!("--request-payload is not JSON: {error}"))
            .with_hint(format!("single quotes keep JSON from the shell; {LEAST}"))
    })?;
    let mut unknown = Vec::new();
    REQUEST.find_unknown(&members, "", &mut unknown);
    let wrong = |reason: &str| {
        let hint = unknown.first().map_or(LEAST, String::as_str);
        CliError::usage(reason).with_hint(hint)
    };
    let from = &mut serde_json::Deserializer::from_str(text);
    let mut request: SendMessageRequest = serde_path_to_error::deserialize(from).map_err(|error| {
        let path = error.path().to_string();
        let at = if path == "." { String::new() } else { format!("{path}: ") };
        wrong(&format!("--request-payload is not a SendMessageRequest: {at}{}", error.inner()))
    })?;
    if members.get("message").is_none_or(Value::is_null) {
        return Err(wrong("--request-payload has no message"));
    }
    if request.message.parts.is_empty() {
        return Err(wrong("the message of --request-payload has no parts"));
    }
    if request.message.message_id.is_empty() {
        request.message.message_id = nuncio_model::MessageId::generate();
    }
    if request.message.role == Role::Unspecified {
        request.message.role = Role::User;
    }
    Ok((request, unknown))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_members_are_named_by_their_path() {
        let known = r#"{"message": {"message_id": "m", "role": "user", "kind": "message", "parts": [{"text": "x", "metadata": {"y": 1}}],
            "metadata": {"anything": {}}}, "configuration": {"blocking": true, "historyLength": 1,
            "pushNotificationConfig": {"url": "https://x", "authentication": {"scheme": "Bearer"}}}}"#;
        assert_eq!(parse(known).unwrap().1, Vec::<String>::new());
        let (_, unknown) = parse(
            r#"{"message": {"parts": [{"text": "x"}, {"text": "y", "mimetype": "z"}], "taskID": "t"}, "config": {}}"#,
        )
        .unwrap();
        let starts: Vec<_> = unknown.iter().map(|text| text.split(" and is").next().unwrap()).collect();
        let mut expected =
            ["`message.parts[1].mimetype` is not known", "`message.taskID` is not known", "`config` is not known"];
        expected.sort_unstable();
        let mut starts = starts;
        starts.sort_unstable();
        assert_eq!(starts, expected);
        assert!(unknown.iter().any(|text| text.contains("a message has messageId, contextId, taskId")), "{unknown:?}");
    }

    #[test]
    fn a_wrong_request_names_the_member_and_the_remedy() {
        for (text, message, hint) in [
            ("{", "is not JSON", "single quotes"),
            (r#"{"message": {"parts": "x"}}"#, "message.parts: ", "the least is"),
            (r#"{"message": {"parts": [{"text": 3}]}}"#, "message.parts[0]", "the least is"),
            (r#"{"mesage": {"parts": []}}"#, "has no message", "`mesage` is not known"),
            (r#"{"message": {"part": [{"text": "x"}]}}"#, "has no parts", "`message.part` is not known"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.message.contains(message), "{text}: {error:?}");
            assert!(error.hint.as_deref().unwrap_or_default().contains(hint), "{text}: {error:?}");
        }
    }
}
