//! What is wrong with bytes, and where: becomes an [`Error`] that names the field as every other binding names it.

use nuncio_model::{Error, ErrorKind};

/// Why a message could not be read. The path grows from the inside out, so reading pays nothing for it.
#[derive(Debug)]
pub(crate) struct Fault(Box<Inner>);

#[derive(Debug)]
struct Inner {
    path: Vec<Step>,
    nature: Nature,
    description: String,
}

#[derive(Debug)]
enum Step {
    Field(&'static str),
    Index(usize),
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Nature {
    /// Not protobuf.
    Garbage,
    /// Protobuf that says something the protocol does not know.
    Wrong,
}

impl Fault {
    /// The bytes are not protobuf, or not of this message.
    pub(crate) fn garbage(description: impl Into<String>) -> Self {
        Self::new(Nature::Garbage, description.into())
    }

    /// The value is not one that the protocol knows.
    pub(crate) fn wrong(description: impl Into<String>) -> Self {
        Self::new(Nature::Wrong, description.into())
    }

    #[cold]
    fn new(nature: Nature, description: String) -> Self {
        Self(Box::new(Inner { path: Vec::new(), nature, description }))
    }

    /// It happened inside this field.
    #[cold]
    pub(crate) fn inside(mut self, field: &'static str) -> Self {
        self.0.path.push(Step::Field(field));
        self
    }

    /// It happened inside this item of a list.
    #[cold]
    pub(crate) fn at(mut self, index: usize) -> Self {
        self.0.path.push(Step::Index(index));
        self
    }

    /// As the answer to a request: `InvalidParams` that names the field, or `Parse` for what is no protobuf, which
    /// names it where it came that far.
    pub(crate) fn into_request_error(self) -> Error {
        let path = self.path();
        match self.0.nature {
            Nature::Wrong => Error::invalid_params(path, self.0.description),
            Nature::Garbage if path.is_empty() => Error::new(ErrorKind::Parse, self.0.description),
            Nature::Garbage => {
                let message = format!("{path}: {}", self.0.description);
                Error::new(ErrorKind::Parse, message).with_violation(path, self.0.description)
            }
        }
    }

    /// As what a client says of an answer that it cannot read.
    pub(crate) fn into_reply_error(self) -> Error {
        let path = self.path();
        let place = if path.is_empty() { String::new() } else { format!(" at {path}") };
        Error::new(ErrorKind::InvalidAgentResponse, format!("the answer cannot be read{place}: {}", self.0.description))
    }

    /// The path in JSON names, `message.parts[0]` for example.
    fn path(&self) -> String {
        let mut path = String::new();
        for step in self.0.path.iter().rev() {
            match step {
                Step::Field(name) => {
                    if !path.is_empty() {
                        path.push('.');
                    }
                    push_camel(&mut path, name);
                }
                Step::Index(index) => {
                    path.push('[');
                    path.push_str(&index.to_string());
                    path.push(']');
                }
            }
        }
        path
    }
}

/// Appends the JSON name of a proto name: `messageId` of `message_id`.
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
