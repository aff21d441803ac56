//! The number of JSON values in a message or an event: values of data and metadata, including the items of lists. Data
//! is text until an agent asks for its value, which then takes up to 350 bytes per JSON value.

use std::fmt;

use nuncio_model::{
    Artifact, Call, Error, ErrorKind, Message, PartContentRef, PartRef, StreamResponse, Struct, Task, Value,
    op::SendMessageRequest,
};

/// The name of the limit.
pub(crate) const LIMIT: &str = "values";

/// A message or an event with too many values.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooMany {
    values: usize,
    most: usize,
    /// The field with the largest number of values.
    field: String,
}

impl fmt::Display for TooMany {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { values, most, field } = self;
        write!(f, "{values} JSON values, most of them in {field}, where there may be {most} ({LIMIT})")
    }
}

/// Refuses a call with too many values. The error is `PayloadTooLarge` and names the limit and the field.
pub(crate) fn check_call(call: &Call, most: usize) -> Result<(), Error> {
    let mut count = Count::default();
    match call {
        Call::SendMessage(call) => count.request(call),
        Call::SendStreamingMessage(call) => count.request(call),
        Call::CancelTask(call) => count.members("metadata", call.metadata.as_deref()),
        _ => {}
    }
    count.check(most).map_err(|excess| {
        let reason = format!("the request has {excess}; send less at once, or large data as a file");
        Error::new(ErrorKind::PayloadTooLarge, reason).with_metadata("limit", LIMIT)
    })
}

/// Checks the number of values of an event.
pub(crate) fn check_event(response: &StreamResponse, most: usize) -> Result<(), TooMany> {
    let mut count = Count::default();
    match response {
        StreamResponse::Task(task) => count.task(task),
        StreamResponse::Message(message) => count.message("message", message),
        StreamResponse::StatusUpdate(update) => {
            update.status.message.iter().for_each(|message| count.message("status.message", message));
            count.members("metadata", update.metadata.as_deref());
        }
        StreamResponse::ArtifactUpdate(update) => {
            count.artifact("artifact", &update.artifact);
            count.members("metadata", update.metadata.as_deref());
        }
    }
    count.check(most)
}

/// The path of a field. The text is created only for an error.
#[derive(Debug, Clone, Copy, Default)]
struct Field {
    of: &'static str,
    part: Option<usize>,
    name: &'static str,
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { of, part, name } = self;
        let dot = if of.is_empty() { "" } else { "." };
        match part {
            Some(part) => write!(f, "{of}{dot}parts[{part}].{name}"),
            None => write!(f, "{of}{dot}{name}"),
        }
    }
}

#[derive(Default)]
struct Count {
    values: usize,
    largest: usize,
    field: Field,
}

impl Count {
    fn check(self, most: usize) -> Result<(), TooMany> {
        if self.values <= most {
            return Ok(());
        }
        Err(TooMany { values: self.values, most, field: self.field.to_string() })
    }

    fn request(&mut self, request: &SendMessageRequest) {
        self.message("message", &request.message);
        self.members("metadata", request.metadata.as_deref());
    }

    fn task(&mut self, task: &Task) {
        task.artifacts.iter().for_each(|artifact| self.artifact("artifacts", artifact));
        task.history.iter().for_each(|message| self.message("history", message));
        task.status.message.iter().for_each(|message| self.message("status.message", message));
        self.members("metadata", task.metadata.as_deref());
    }

    fn message(&mut self, of: &'static str, message: &Message) {
        self.parts(of, message.parts.len(), message.parts.iter().map(PartRef::from));
        self.metadata(of, message.metadata.as_deref());
        self.add(message.extensions.len(), Field { of, part: None, name: "extensions" });
        self.add(message.reference_task_ids.len(), Field { of, part: None, name: "referenceTaskIds" });
    }

    fn artifact(&mut self, of: &'static str, artifact: &Artifact) {
        self.parts(of, artifact.parts.len(), &artifact.parts);
        self.metadata(of, artifact.metadata.as_deref());
        self.add(artifact.extensions.len(), Field { of, part: None, name: "extensions" });
    }

    fn parts<'a>(&mut self, of: &'static str, len: usize, parts: impl IntoIterator<Item = PartRef<'a>>) {
        self.add(len, Field { of, part: None, name: "parts" });
        for (index, part) in parts.into_iter().enumerate() {
            let field = |name| Field { of, part: Some(index), name };
            if let PartContentRef::Data(data) = part.content {
                self.add(data.values(), field("data"));
            }
            self.add(part.metadata().map_or(0, of_members), field("metadata"));
        }
    }

    fn metadata(&mut self, of: &'static str, members: Option<&Struct>) {
        self.add(members.map_or(0, of_members), Field { of, part: None, name: "metadata" });
    }

    fn members(&mut self, name: &'static str, members: Option<&Struct>) {
        self.add(members.map_or(0, of_members), Field { of: "", part: None, name });
    }

    fn add(&mut self, values: usize, field: Field) {
        self.values = self.values.saturating_add(values);
        if values > self.largest {
            self.largest = values;
            self.field = field;
        }
    }
}

fn of_members(members: &Struct) -> usize {
    1 + members.values().map(of_value).sum::<usize>()
}

fn of_value(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(of_value).sum::<usize>(),
        Value::Object(members) => of_members(members),
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use nuncio_model::{Part, TaskArtifactUpdateEvent};
    use serde_json::json;

    use super::*;

    fn members(value: &Value) -> Struct {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn values_of_data_metadata_and_lists_are_counted() {
        let part = Part::data(json!([1, {"a": [2]}])).with_metadata(members(&json!({"b": 3})));
        let mut message = Message { parts: vec![Part::text("x"), part], ..Message::user("") };
        message.metadata = Some(Box::new(members(&json!({"c": [4, 5]}))));
        message.extensions = vec!["e".into()];
        message.reference_task_ids = vec!["t".into(), "u".into()];
        let mut request = SendMessageRequest::new(message);
        request.metadata = Some(Box::default());
        // Two parts, five values of data, two values of its metadata, four values of the metadata of the message, three
        // items, and an empty object.
        let call = Call::from(request);
        check_call(&call, 17).unwrap();
        let error = check_call(&call, 16).unwrap_err();
        assert_eq!((error.kind(), error.metadata()["limit"].as_str()), (ErrorKind::PayloadTooLarge, "values"));
        assert!(error.message().contains("17 JSON values, most of them in message.parts[1].data"), "{error}");
    }

    #[test]
    fn an_event_names_its_largest_field() {
        let artifact = Artifact::new("a", vec![Part::text("x"), Part::data(json!({"a": [1, 2, 3]}))]);
        let update = TaskArtifactUpdateEvent { artifact, ..Default::default() };
        let event = StreamResponse::ArtifactUpdate(update);
        check_event(&event, 7).unwrap();
        let reason = check_event(&event, 6).unwrap_err().to_string();
        assert_eq!(reason, "7 JSON values, most of them in artifact.parts[1].data, where there may be 6 (values)");
        let many = StreamResponse::Message(Message { parts: vec![Part::text(""); 9], ..Message::user("") });
        assert!(check_event(&many, 8).unwrap_err().to_string().contains("message.parts,"));
    }
}
