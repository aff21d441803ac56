//! What a caller of the client is told.

use std::fmt;

use bytes::Bytes;
use nuncio_model::{
    AgentCard, Error,
    card::{AgentInterface, Binding},
};
use nuncio_wire::Version;

use crate::{failure::Failure, reference::InvalidReference, trust::InvalidOrigin};

/// Why a call of a [`Client`](crate::Client) did not give what it should.
#[derive(Clone, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// The reference names no agent.
    #[error(transparent)]
    Reference(#[from] InvalidReference),
    /// An address is not one that the binding can be spoken to.
    #[error("`{url}` is not an address for {binding}: {reason}")]
    Address {
        /// The address.
        url: String,
        /// The binding.
        binding: String,
        /// Why not.
        reason: String,
    },
    /// The reference leads to no card.
    #[error(transparent)]
    CardNotFound(#[from] CardNotFound),
    /// What is there is no card, or a card that cannot be used.
    #[error("the card at {at} cannot be used: {reason}")]
    CardInvalid {
        /// Where it is.
        at: String,
        /// What is wrong with it.
        reason: String,
        /// What is there, where all of it was read.
        document: Option<Bytes>,
    },
    /// The card names no interface that is spoken here, or none of the version that was asked for.
    #[error("`{agent}` offers {}, only {}; {}", missing(pinned.as_ref()), list(offered), advice(pinned.as_ref()))]
    NoInterface {
        /// The agent's name.
        agent: String,
        /// The version that was asked for.
        pinned: Option<String>,
        /// What it offers, for people.
        offered: Vec<String>,
        /// Whether a version is what is missing: it is offered over a binding that is spoken here, in no version that
        /// is.
        is_for_version: bool,
    },
    /// No answer came, or none that can be read.
    #[error(transparent)]
    Transport(Failure),
    /// What is to be trusted with credentials is no origin.
    #[error(transparent)]
    Origin(#[from] InvalidOrigin),
    /// The client cannot be set up: a certificate that cannot be read, a header that cannot be sent.
    #[error("{0}")]
    Setup(String),
    /// What the agent answered: an error of the protocol, with the details that came with it.
    #[error(transparent)]
    Agent(Error),
}

/// The message, with the causes that it does not tell already: what `fn main() -> Result<(), ClientError>` prints.
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
    /// The error of the protocol, where the agent answered with one.
    pub fn as_agent_error(&self) -> Option<&Error> {
        match self {
            Self::Agent(error) => Some(error),
            _ => None,
        }
    }

    pub(crate) fn no_interface(card: &AgentCard, pinned: Option<Version>) -> Self {
        let offered = card.supported_interfaces.iter().map(|interface| {
            let version = Some(interface.protocol_version.trim()).filter(|it| !it.is_empty());
            let version = version.unwrap_or("of no version");
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

    /// This error, and what another card of the same agent offers beside.
    pub(crate) fn and_offers_of(mut self, other: Self) -> Self {
        if let (Self::NoInterface { offered, .. }, Self::NoInterface { offered: more, .. }) = (&mut self, other) {
            offered.extend(more);
        }
        self
    }
}

impl From<Error> for ClientError {
    fn from(error: Error) -> Self {
        // What a transport met with comes through the protocol's error unchanged.
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

/// The error of the protocol that stands for it, for one who answers a peer of its own with it.
impl From<ClientError> for Error {
    fn from(error: ClientError) -> Self {
        match error {
            ClientError::Agent(error) => error,
            ClientError::Transport(failure) => failure.into(),
            other => Self::new(nuncio_model::ErrorKind::Unavailable, other.to_string()).with_source(other),
        }
    }
}

/// No card was found; says where it was looked for.
#[derive(Clone, PartialEq, Eq)]
pub struct CardNotFound {
    /// What was asked for.
    pub reference: String,
    /// Each place, and what was there instead.
    pub tried: Vec<(String, String)>,
    /// Whether one of the places wants credentials (HTTP status 401).
    pub wants_credentials: bool,
}

impl CardNotFound {
    /// Whether it was looked for in a file.
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
        None => "no interface that is spoken here".to_owned(),
    }
}

fn list(offered: &[String]) -> String {
    if offered.is_empty() { "nothing".to_owned() } else { offered.join(", ") }
}

fn advice(pinned: Option<&String>) -> String {
    if pinned.is_some() {
        return "ask for one of these, or for none".to_owned();
    }
    let versions: Vec<_> = Version::ALL.iter().rev().map(|version| version.as_str()).collect();
    let bindings = Binding::ALL.map(Binding::name);
    format!("spoken here are versions {} over {}", versions.join(", "), bindings.join(", "))
}
