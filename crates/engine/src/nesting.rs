//! The depth of nested data and metadata. Every binding must be able to transport the content of every other binding.
//! Standard protobuf decoders accept a hundred nested messages, of which a list takes two and an object takes three.

use std::fmt::{self, Arguments};

use nuncio_model::{
    Artifact, Call, Error, FieldViolation, Message, PartContentRef, PartRef, StreamResponse, Struct, Task,
    json::members_nest_within, op::SendMessageRequest,
};

/// The name of the limit.
pub(crate) const LIMIT: &str = "nesting";

/// A field that nests too deep.
#[derive(Debug)]
pub(crate) struct TooDeep(FieldViolation);

impl fmt::Display for TooDeep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of the agent {} ({LIMIT})", self.0.field, self.0.description)
    }
}

/// Refuses a call with a value that nests too deep. The error is `InvalidParams` and names each such field.
pub(crate) fn check_call(call: &Call, levels: usize) -> Result<(), Error> {
    let mut check = NestingCheck { levels, violations: Vec::new() };
    match call {
        Call::SendMessage(call) => check.request(call),
        Call::SendStreamingMessage(call) => check.request(call),
        Call::CancelTask(call) => check.members(format_args!("metadata"), call.metadata.as_deref()),
        _ => {}
    }
    if check.violations.is_empty() { Ok(()) } else { Err(Error::violations(check.violations)) }
}

/// Finds the fields of an event that nest too deep.
pub(crate) fn check_event(response: &StreamResponse, levels: usize) -> Result<(), TooDeep> {
    let mut check = NestingCheck { levels, violations: Vec::new() };
    match response {
        StreamResponse::Task(task) => check.task(task),
        StreamResponse::Message(message) => check.message("message", message),
        StreamResponse::StatusUpdate(update) => {
            update.status.message.iter().for_each(|message| check.message("status.message", message));
            check.members(format_args!("metadata"), update.metadata.as_deref());
        }
        StreamResponse::ArtifactUpdate(update) => {
            check.artifact("artifact", &update.artifact);
            check.members(format_args!("metadata"), update.metadata.as_deref());
        }
    }
    check.violations.into_iter().next().map_or(Ok(()), |violation| Err(TooDeep(violation)))
}

struct NestingCheck {
    levels: usize,
    violations: Vec<FieldViolation>,
}

impl NestingCheck {
    fn request(&mut self, call: &SendMessageRequest) {
        self.message("message", &call.message);
        self.members(format_args!("metadata"), call.metadata.as_deref());
    }

    fn task(&mut self, task: &Task) {
        task.artifacts.iter().for_each(|artifact| self.artifact("artifacts", artifact));
        task.history.iter().for_each(|message| self.message("history", message));
        task.status.message.iter().for_each(|message| self.message("status.message", message));
        self.members(format_args!("metadata"), task.metadata.as_deref());
    }

    fn message(&mut self, path: &str, message: &Message) {
        self.parts(path, message.parts.iter().map(PartRef::from));
        self.members(format_args!("{path}.metadata"), message.metadata.as_deref());
    }

    fn artifact(&mut self, path: &str, artifact: &Artifact) {
        self.parts(path, &artifact.parts);
        self.members(format_args!("{path}.metadata"), artifact.metadata.as_deref());
    }

    fn parts<'a>(&mut self, path: &str, parts: impl IntoIterator<Item = PartRef<'a>>) {
        for (index, part) in parts.into_iter().enumerate() {
            if let PartContentRef::Data(data) = part.content
                && data.levels() > self.levels
            {
                self.wrong(format_args!("{path}.parts[{index}].data"));
            }
            self.members(format_args!("{path}.parts[{index}].metadata"), part.metadata());
        }
    }

    fn members(&mut self, field: Arguments<'_>, members: Option<&Struct>) {
        if members.is_some_and(|members| !members_nest_within(members, self.levels)) {
            self.wrong(field);
        }
    }

    fn wrong(&mut self, field: Arguments<'_>) {
        let description = format!("nests deeper than {} levels of lists and objects", self.levels);
        self.violations.push(FieldViolation { field: field.to_string(), description });
    }
}
