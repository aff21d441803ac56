//! The reason and the place of a decoding failure. A fault becomes an [`Error`] that names the field in the same way as
//! every other binding.

use nuncio_model::{Error, ErrorKind, FieldViolation};

/// The reason why a message cannot be read. The path grows from the inside to the outside while the error returns, so
/// successful reads have no cost for the path.
#[derive(Debug)]
pub(crate) struct Fault(Box<Inner>);

#[derive(Debug)]
struct Inner {
    path: Vec<PathStep>,
    kind: FaultKind,
    description: String,
    /// Other faults of the same message.
    others: Vec<Fault>,
}

#[derive(Debug)]
enum PathStep {
    Field(&'static str),
    Index(usize),
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum FaultKind {
    /// The bytes are not protobuf.
    Malformed,
    /// The bytes are protobuf, but a value is not valid in the protocol.
    Invalid,
}

impl Fault {
    /// The bytes are not protobuf, or are not this message.
    pub(crate) fn malformed(description: impl Into<String>) -> Self {
        Self::new(FaultKind::Malformed, description.into())
    }

    /// The value is not valid in the protocol.
    pub(crate) fn invalid(description: impl Into<String>) -> Self {
        Self::new(FaultKind::Invalid, description.into())
    }

    #[cold]
    fn new(kind: FaultKind, description: String) -> Self {
        Self(Box::new(Inner { path: Vec::new(), kind, description, others: Vec::new() }))
    }

    /// Adds the field that contains the fault to the path.
    #[cold]
    pub(crate) fn inside(mut self, field: &'static str) -> Self {
        self.each(&|path| path.push(PathStep::Field(field)));
        self
    }

    /// Adds the list index that contains the fault to the path.
    #[cold]
    pub(crate) fn at(mut self, index: usize) -> Self {
        self.each(&|path| path.push(PathStep::Index(index)));
        self
    }

    fn each(&mut self, change: &impl Fn(&mut Vec<PathStep>)) {
        change(&mut self.0.path);
        self.0.others.iter_mut().for_each(|other| other.each(change));
    }

    /// This fault and another one of the same message.
    pub(crate) fn and(mut self, other: Self) -> Self {
        self.0.others.push(other);
        self
    }

    /// Whether the rest of the message can be read all the same.
    pub(crate) fn is_invalid(&self) -> bool {
        self.0.kind == FaultKind::Invalid
    }

    /// The fields that this fault and the others name.
    pub(crate) fn into_violations(mut self) -> Vec<FieldViolation> {
        let others = std::mem::take(&mut self.0.others);
        let first = FieldViolation { field: self.path(), description: self.0.description };
        let others = others.into_iter().flat_map(Self::into_violations);
        std::iter::once(first).chain(others.collect::<Vec<_>>()).collect()
    }

    /// Converts the fault to the answer for a request: `InvalidParams`, which names the field, or `Parse` if the bytes
    /// are not protobuf. A `Parse` error also names the field if the reader reached a field.
    pub(crate) fn into_request_error(self) -> Error {
        let path = self.path();
        match self.0.kind {
            FaultKind::Invalid => Error::invalid_params(path, self.0.description),
            FaultKind::Malformed if path.is_empty() => Error::new(ErrorKind::Parse, self.0.description),
            FaultKind::Malformed => {
                let message = format!("{path}: {}", self.0.description);
                Error::new(ErrorKind::Parse, message).with_violation(path, self.0.description)
            }
        }
    }

    /// Converts the fault to the error of a client that cannot read an answer.
    pub(crate) fn into_reply_error(self) -> Error {
        let path = self.path();
        let place = if path.is_empty() { String::new() } else { format!(" at {path}") };
        Error::new(ErrorKind::InvalidAgentResponse, format!("the answer cannot be read{place}: {}", self.0.description))
    }

    /// The path in JSON names, for example `message.parts[0]`.
    fn path(&self) -> String {
        let mut path = String::new();
        for step in self.0.path.iter().rev() {
            match step {
                PathStep::Field(name) => {
                    if !path.is_empty() {
                        path.push('.');
                    }
                    push_camel(&mut path, name);
                }
                PathStep::Index(index) => {
                    path.push('[');
                    path.push_str(&index.to_string());
                    path.push(']');
                }
            }
        }
        path
    }
}

/// Appends the JSON name of a proto name, for example `messageId` for `message_id`.
fn push_camel(to: &mut String, name: &str) {
    let mut upper = false;
    for letter in name.chars() {
        match letter {
            '_' => upper = true,
            letter if upper => {
                to.push(letter.to_ascii_uppercase());
                upper = false;
            }
            letter => to.push(letter),
        }
    }
}
