//! The errors of the client.

use std::fmt;

use bytes::Bytes;
use nuncio_model::{
    AgentCard, Error,
    card::{AgentInterface, Binding},
};
use nuncio_wire::Version;

use crate::{failure::Failure, reference::InvalidReference, trust::InvalidOrigin};

/// The reason why a call of a [`Client`](crate::Client) failed.
#[derive(Clone, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// The reference does not name an agent.
    #[error(transparent)]
    Reference(#[from] InvalidReference),
    /// The binding cannot use an address.
    #[error("`{url}` is not an address for {binding}: {reason}")]
    Address {
        /// The address.
        url: String,
        /// The binding.
        binding: String,
        /// The reason.
        reason: String,
    },
    /// No location of the reference has a card.
    #[error(transparent)]
    CardNotFound(#[from] CardNotFound),
    /// The document is not a card, or the card cannot be used.
    #[error("the card at {at} cannot be used: {reason}")]
    CardInvalid {
        /// The location.
        at: String,
        /// The fault of the document.
        reason: String,
        /// The document, if all of the document was read.
        document: Option<Bytes>,
    },
    /// The card names no interface that this client supports, or none of the requested version.
    #[error("`{agent}` offers {}, only {}; {}", missing(pinned.as_ref()), list(offered), advice(pinned.as_ref()))]
    NoInterface {
        /// The name of the agent.
        agent: String,
        /// The requested version.
        pinned: Option<String>,
        /// The interfaces of the card, for people.
        offered: Vec<String>,
        /// Whether only the version is missing: the card has an interface over a supported binding, but in no supported
        /// version.
        is_for_version: bool,
    },
    /// No answer arrived, or the answer cannot be read.
    #[error(transparent)]
    Transport(Failure),
    /// The text to trust with credentials is not an origin.
    #[error(transparent)]
    Origin(#[from] InvalidOrigin),
    /// The client cannot be set up: a certificate cannot be read, or a header cannot be sent.
    #[error("{0}")]
    Setup(String),
    /// The error of the protocol from the agent, with its details.
    #[error(transparent)]
    Agent(Error),
}

/// The message and the causes that are not in the message: the output of `fn main() -> Result<(), ClientError>`.
impl fmt::Debug for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Agent(error) => fmt::Debug::fmt(error, f),
            Self::Transport(failure) => fmt::Debug::fmt(failure, f),
            other => nuncio_model::error::write_causes(f, other),
        }
    }
}

impl ClientError {
    /// The error of the protocol, if the agent answered with an error.
    pub fn as_agent_error(&self) -> Option<&Error> {
        match self {
            Self::Agent(error) => Some(error),
            _ => None,
        }
    }

    pub(crate) fn no_interface(card: &AgentCard, pinned: Option<Version>) -> Self {
        let offered = card.supported_interfaces.iter().map(|interface| {
            let version = Some(interface.protocol_version.trim()).filter(|it| !it.is_empty());
            let version = version.unwrap_or("without a version");
            format!("{} {version} at {}", interface.protocol_binding, interface.url)
        });
        let is_spoken = |interface: &AgentInterface| Binding::from_name(&interface.protocol_binding).is_some();
        Self::NoInterface {
            agent: card.name.clone(),
            pinned: pinned.map(|version| version.to_string()),
            offered: offered.collect(),
            is_for_version: pinned.is_some() || card.supported_interfaces.iter().any(is_spoken),
        }
    }

    /// This error, with the interfaces of another card of the same agent.
    pub(crate) fn and_offers_of(mut self, other: Self) -> Self {
        if let (Self::NoInterface { offered, .. }, Self::NoInterface { offered: more, .. }) = (&mut self, other) {
            offered.extend(more);
        }
        self
    }
}

impl From<Error> for ClientError {
    fn from(error: Error) -> Self {
        // The error of a transport is the source of a protocol error, and returns unchanged.
        let own = std::error::Error::source(&error).and_then(|source| source.downcast_ref::<Self>()).cloned();
        own.unwrap_or_else(|| match Failure::of(&error) {
            Some(failure) => Self::Transport(failure.clone()),
            None => Self::Agent(error),
        })
    }
}

impl From<Failure> for ClientError {
    fn from(failure: Failure) -> Self {
        Self::Transport(failure)
    }
}

/// The corresponding error of the protocol, for a server that passes the error on to its own client.
impl From<ClientError> for Error {
    fn from(error: ClientError) -> Self {
        match error {
            ClientError::Agent(error) => error,
            ClientError::Transport(failure) => failure.into(),
            other => Self::new(nuncio_model::ErrorKind::Unavailable, other.to_string()).with_source(other),
        }
    }
}

/// No card was found. The error lists the locations.
#[derive(Clone, PartialEq, Eq)]
pub struct CardNotFound {
    /// The reference.
    pub reference: String,
    /// Each location and its result.
    pub tried: Vec<(String, String)>,
    /// Whether a location requires credentials (HTTP status 401).
    pub wants_credentials: bool,
}

impl CardNotFound {
    /// Whether the reference was a file.
    pub fn is_file(&self) -> bool {
        matches!(&self.tried[..], [(place, _)] if *place == self.reference && !place.contains("://"))
    }
}

impl fmt::Display for CardNotFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no agent card for {}", self.reference)?;
        if let [(_, found)] = &self.tried[..]
            && self.is_file()
        {
            return write!(f, ": {found}");
        }
        for (index, (place, found)) in self.tried.iter().enumerate() {
            f.write_str(if index == 0 { "; tried " } else { ", " })?;
            write!(f, "{place} ({found})")?;
        }
        Ok(())
    }
}

impl std::error::Error for CardNotFound {}

nuncio_model::debug_is_text!(CardNotFound);

fn missing(pinned: Option<&String>) -> String {
    match pinned {
        Some(version) => format!("no interface of version {version}"),
        None => "no supported interface".to_owned(),
    }
}

fn list(offered: &[String]) -> String {
    if offered.is_empty() { "nothing".to_owned() } else { offered.join(", ") }
}

fn advice(pinned: Option<&String>) -> String {
    if pinned.is_some() {
        return "request one of these versions, or none".to_owned();
    }
    let versions: Vec<_> = Version::ALL.iter().rev().map(|version| version.as_str()).collect();
    let bindings = Binding::ALL.map(Binding::name);
    format!("this client supports versions {} over {}", versions.join(", "), bindings.join(", "))
}
