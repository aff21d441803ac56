//! Setting a client up.

use std::sync::Arc;

use http::{HeaderMap, HeaderValue};
use nuncio_auth::{Credential, credentials::Origin};
use nuncio_model::{
    Caller, Tenant,
    card::{AgentInterface, Binding},
};
use nuncio_wire::{FileBytes, Version, card, dialect_with};
use url::Url;

use crate::{
    ambiguous,
    choose::{Choice, Preferences, address, choose, has},
    client::Client,
    error::ClientError,
    http::{Http, Secrets},
    reference::{self, AgentRef, InvalidReference},
    resolve::{Resolved, Resolver},
    settings::{HttpSettings, Reconnect, Timeouts},
    transport::{
        Link,
        fallback::{Candidate, Fallback, Observer},
        grpc::Grpc,
        jsonrpc::JsonRpc,
        older::Older,
        rest::Rest,
        versioned::Versioned,
    },
    trust::Trusted,
};

/// Settings of a [`Client`] to be.
///
/// ```no_run
/// # async fn example() -> Result<(), nuncio_client::ClientError> {
/// use nuncio_client::{Binding, Client, Credential};
///
/// let client = Client::builder()
///     .credential(Credential::bearer("my-token"))
///     .prefer([Binding::Grpc])
///     .connect("agents.example/weather")
///     .await?;
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, Default)]
pub struct ClientBuilder {
    http: HttpSettings,
    credentials: Vec<Credential>,
    headers: HeaderMap,
    trusted: Vec<Trusted>,
    preferred: Vec<Binding>,
    extensions: Vec<Box<str>>,
    tenant: Option<Tenant>,
    version: Option<String>,
    files: FileBytes,
    pub(crate) reconnect: Reconnect,
    resolver: Option<Resolver>,
    observer: Option<Observer>,
    shows_credentials_for_card: bool,
    wrong: Option<ClientError>,
}

impl ClientBuilder {
    /// Shows this credential, placed as the agent's card says.
    ///
    /// Only the origin that the user named sees it: that of the card, or of the endpoint. A card that names an
    /// interface elsewhere does not get it sent there; see [`Self::trust_origin`].
    pub fn credential(mut self, credential: Credential) -> Self {
        self.credentials.push(credential);
        self
    }

    /// Lets another origin see the credentials: `https://api.example`, or `api.example:50051` as a card names an
    /// interface of gRPC.
    ///
    /// Without a scheme it is the origin that such an interface is called at: TLS, but as the card was fetched where
    /// the card is of the same host, and none for a host that [is this machine](crate::is_loopback). What is no origin,
    /// or more than one, is [`ClientError::Origin`] of [`Self::connect`].
    pub fn trust_origin(mut self, origin: &str) -> Self {
        match origin.parse() {
            Ok(trusted) => self.trusted.push(trusted),
            Err(error) => self.wrong = Some(ClientError::Origin(error)),
        }
        self
    }

    /// Shows the credentials when the card is fetched too. Without this a card is fetched as anybody would.
    pub fn show_credentials_for_card(mut self, show: bool) -> Self {
        self.shows_credentials_for_card = show;
        self
    }

    /// Sends a header, or gRPC metadata, of one's own with each call. It is treated as a secret, as credentials are.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        match crate::http::header(name, value) {
            Ok((name, value)) => drop(self.headers.insert(name, value)),
            Err(error) => self.wrong = Some(error),
        }
        self
    }

    /// Prefers these bindings, the first most, before the order of the card.
    pub fn prefer(mut self, bindings: impl IntoIterator<Item = Binding>) -> Self {
        self.preferred.extend(bindings);
        self
    }

    /// Declares an extension with each call (section 4.6).
    pub fn extension(mut self, uri: impl Into<Box<str>>) -> Self {
        self.extensions.push(uri.into());
        self
    }

    /// Sends this tenant instead of the one that the interface names.
    pub fn tenant(mut self, tenant: impl Into<Tenant>) -> Self {
        self.tenant = Some(tenant.into());
        self
    }

    /// Speaks this version and no other, `0.3` for example; the patch number of `0.3.0` does not count. Without it the
    /// newest is spoken that the card names.
    ///
    /// Where the card names no interface of this version, [`connect`](Self::connect) fails with
    /// [`ClientError::NoInterface`], which says what it names. A card that does not say which version it means, as many
    /// old ones do, means this one.
    ///
    /// A version that is not known here is sent as it is, as `A2A-Version` of a request of the newest: the agent will
    /// say what it speaks.
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.version = Some(version.into());
        self
    }

    /// Sends files to agents of 0.3 and 0.2 over gRPC and HTTP+JSON like this, and reads theirs. [`FileBytes::Raw`]
    /// without it; [`FileBytes::Base64`] for agents on the Python SDK.
    pub fn file_bytes(mut self, files: FileBytes) -> Self {
        self.files = files;
        self
    }

    /// Waits no longer than this.
    pub fn timeouts(mut self, timeouts: Timeouts) -> Self {
        self.http.timeouts = timeouts;
        self
    }

    /// Speaks HTTP like this.
    pub fn http(mut self, settings: HttpSettings) -> Self {
        self.http = settings;
        self
    }

    /// Takes broken streams up again like this.
    pub fn reconnect(mut self, reconnect: Reconnect) -> Self {
        self.reconnect = reconnect;
        self
    }

    /// Uses the cards that this resolver keeps, and keeps more in it. Without one, cards are kept for the whole
    /// process.
    pub fn resolver(mut self, resolver: Resolver) -> Self {
        self.resolver = Some(resolver);
        self
    }

    /// Is told the interface in use and its version: at the first call that reached one, and whenever a call had to
    /// take another. It is called within the call, so it should be quick.
    pub fn on_interface(mut self, observe: impl Fn(&AgentInterface, Version) + Send + Sync + 'static) -> Self {
        self.observer = Some(Observer(Arc::new(observe)));
        self
    }

    /// Finds the card of an agent and chooses an interface.
    ///
    /// # Errors
    ///
    /// `Reference` where the reference is none, and all of [`Self::resolve`] and [`Self::with_card`].
    pub async fn connect<R>(self, reference: R) -> Result<Client, ClientError>
    where
        R: TryInto<AgentRef>,
        R::Error: Into<InvalidReference>,
    {
        let reference = reference.try_into().map_err(Into::into)?;
        let builder = self.checked()?;
        let resolved = builder.resolve(&reference).await?;
        builder.with_card(resolved).await
    }

    /// Finds the card of an agent, and does no more.
    ///
    /// # Errors
    ///
    /// `Origin` where an origin to trust is none; `Setup` where a header or a certificate of the settings cannot be
    /// used; `CardNotFound` with all places that were tried; `CardInvalid` where there is a card that cannot be used;
    /// `Transport` where the host cannot be reached, breaks off or does not answer in time.
    pub async fn resolve(&self, reference: &AgentRef) -> Result<Resolved, ClientError> {
        if let Some(error) = &self.wrong {
            return Err(error.clone());
        }
        let secrets = reference.as_url().map(|url| self.secrets_for_card(url)).unwrap_or_default();
        self.finder().resolve_with(reference, &secrets).await
    }

    fn finder(&self) -> Resolver {
        self.resolver.clone().unwrap_or_else(|| Resolver::shared(self.http.clone()))
    }

    fn secrets_for_card(&self, at: &Url) -> Secrets {
        let named = Some(at).filter(|_| self.shows_credentials_for_card).and_then(origin);
        self.secrets(named.into_iter().collect(), Some(at))
    }

    /// Uses a card that is at hand. Where it does not tell whether its agent speaks 0.1 or 0.2, and no version is asked
    /// for, the agent is asked. Where it does not tell whether its agent speaks 1.0 or 0.3, the first call is made in 1.0, and
    /// once more in 0.3 where the agent does not know the method. Where it has no interface of the version that is asked for, and is of
    /// `/.well-known/agent-card.json`, the card of `/.well-known/agent.json` beside it is used if that has one: a card
    /// of 0.3 has no place for older versions.
    ///
    /// # Errors
    ///
    /// `Origin` where an origin to trust is none; `Setup` where a header of the settings, or the version, cannot be
    /// sent; `NoInterface` where the card names none that is spoken here, or none of the version that was asked for;
    /// `Address` where it names some, but no address of theirs can be called.
    pub async fn with_card(self, resolved: Resolved) -> Result<Client, ClientError> {
        let builder = self.checked()?;
        let (resolved, choices) = builder.choose(resolved).await?;
        let shown = resolved.card.clone();
        let url = resolved.url.as_ref();
        // A card from a file is the user's own word.
        let origins = match url {
            Some(url) => origin(url).into_iter().collect(),
            None => choices.iter().filter_map(|choice| origin(&choice.url)).collect(),
        };
        let secrets = builder.secrets(origins, url).with_card(Some(shown.clone()));
        let http = Http::new(builder.http.clone());
        let withheld = choices.first().is_some_and(|choice| secrets.is_withheld_from(&choice.url));
        let other =
            if builder.version.is_none() { ambiguous::other(&choices, &shown, &resolved.document) } else { None };
        let is_pinned = builder.version.is_some();
        let is_unclear = card::is_unclear(&resolved.document);
        let candidates = choices.into_iter().map(|choice| {
            let older = if is_pinned { None } else { older(&choice, is_unclear) };
            let mut candidate = builder.candidate(&http, &secrets, choice)?;
            if let Some(older) = older {
                let Candidate { version, transport, .. } = builder.candidate(&http, &secrets, older)?;
                candidate.older = Some(Older::new(version, transport));
            }
            Ok::<_, ClientError>(candidate)
        });
        let mut candidates = candidates.collect::<Result<Vec<_>, _>>()?;
        if let Some(other) = other {
            let other = builder.candidate(&http, &secrets, other)?;
            if ambiguous::is_spoken(&other).await {
                candidates = vec![other];
            }
        }
        let fallback = Fallback::new(candidates, builder.observer.clone());
        Ok(Client::new(Arc::new(fallback), Some(resolved), withheld, &builder))
    }

    /// The interface that [`Self::with_card`] would use, and the version it would speak. Nothing is asked of the agent,
    /// but for a card of an older version if the card has none of the version that is asked for.
    ///
    /// # Errors
    ///
    /// As [`Self::with_card`].
    pub async fn interface(&self, resolved: Resolved) -> Result<(AgentInterface, Version), ClientError> {
        if let Some(error) = &self.wrong {
            return Err(error.clone());
        }
        let card = resolved.card.clone();
        let (_, choices) = self.choose(resolved).await?;
        let choice = choices.into_iter().next().ok_or_else(|| ClientError::no_interface(&card, self.pinned()))?;
        Ok((choice.interface, choice.version))
    }

    /// The interfaces to use, of the card that is at hand or of the older one beside it.
    async fn choose(&self, resolved: Resolved) -> Result<(Resolved, Vec<Choice>), ClientError> {
        let meant = self.pinned().map(|version| card::meant(&resolved.document, version)).unwrap_or_default();
        let missing = match self.choices(&resolved, &meant) {
            Ok(choices) => return Ok((resolved, choices)),
            Err(missing) => missing,
        };
        let beside = resolved.url.as_ref().and_then(reference::older_card);
        let (Some(version), Some(url)) = (self.pinned(), beside) else { return Err(missing) };
        let secrets = self.secrets_for_card(&url);
        let Some(older) = self.finder().resolve_at(&url, &secrets).await else { return Err(missing) };
        // An agent that says its versions elsewhere is not guessed at.
        let mut meant = card::meant(&older.document, version);
        meant.retain(|interface| !interface.protocol_version.is_empty());
        match self.choices(&older, &meant) {
            Ok(choices) => Ok((older, choices)),
            Err(also_missing) => Err(missing.and_offers_of(also_missing)),
        }
    }

    fn choices(&self, resolved: &Resolved, meant: &[AgentInterface]) -> Result<Vec<Choice>, ClientError> {
        let wanted = Preferences { bindings: &self.preferred, version: self.pinned() };
        choose(&resolved.card, meant, &wanted, resolved.url.as_ref())
    }

    /// Speaks this binding to an address, without a card: in the version that was asked for, else in the newest.
    ///
    /// # Errors
    ///
    /// `Address` where the binding cannot be spoken to it, `Setup` where the version has no such binding.
    pub fn endpoint(self, url: &str, binding: Binding) -> Result<Client, ClientError> {
        let builder = self.checked()?;
        let address = address(url, binding, None)?;
        let version = builder.pinned().unwrap_or(Version::LATEST);
        if !has(version, binding) {
            let spoken = Binding::ALL.into_iter().filter(|binding| has(version, *binding)).map(Binding::name);
            let spoken = spoken.collect::<Vec<_>>().join(", ");
            return Err(ClientError::Setup(format!("version {version} has no {binding}; it has {spoken}")));
        }
        let mut interface = AgentInterface::new(url, binding.name());
        version.as_str().clone_into(&mut interface.protocol_version);
        let secrets = builder.secrets(origin(&address).into_iter().collect(), None);
        let choice = Choice { interface, binding, version, url: address };
        let candidate = builder.candidate(&Http::new(builder.http.clone()), &secrets, choice)?;
        let fallback = Fallback::new(vec![candidate], builder.observer.clone());
        Ok(Client::new(Arc::new(fallback), None, false, &builder))
    }

    fn checked(mut self) -> Result<Self, ClientError> {
        match self.wrong.take() {
            Some(error) => Err(error),
            None => Ok(self),
        }
    }

    fn pinned(&self) -> Option<Version> {
        self.version.as_deref()?.parse().ok()
    }

    fn secrets(&self, mut origins: Vec<Origin>, card_url: Option<&Url>) -> Secrets {
        if !origins.is_empty() {
            origins.extend(self.trusted.iter().filter_map(|trusted| trusted.origin(card_url)));
        }
        Secrets::new(&self.credentials, &self.headers, &origins)
    }

    fn candidate(&self, http: &Http, secrets: &Secrets, choice: Choice) -> Result<Candidate, ClientError> {
        let Choice { interface, binding, version, url } = choice;
        let unknown = self.version.clone().filter(|_| self.pinned().is_none());
        let header = unknown.unwrap_or_else(|| version.to_string());
        let header = HeaderValue::try_from(&header)
            .map_err(|_| ClientError::Setup(format!("`{header}` cannot be sent as a version")))?;
        let link = Link {
            http: http.clone(),
            base: url.clone(),
            secrets: secrets.clone(),
            tenant: self.tenant.clone().or_else(|| interface.tenant.clone()),
            version: header,
            extensions: self.extensions.clone(),
        };
        let dialect = dialect_with(version, self.files);
        let transport: Option<Box<dyn Caller>> = match binding {
            Binding::JsonRpc => Some(Box::new(JsonRpc::new(link, dialect.jsonrpc()))),
            Binding::HttpJson => dialect.rest().map(|dialect| Box::new(Rest::new(link, dialect)) as _),
            Binding::Grpc => dialect.grpc().map(|dialect| Box::new(Grpc::new(link, dialect)) as _),
        };
        // Nothing is chosen that its version does not have.
        let transport = transport.ok_or_else(|| ClientError::Setup(format!("version {version} has no {binding}")))?;
        let transport = Box::new(Versioned::new(dialect, transport));
        Ok(Candidate { interface, url, version, transport, older: None })
    }
}

/// The interface in 0.3, where the card does not tell whether it speaks that or 1.0.
fn older(choice: &Choice, is_unclear: bool) -> Option<Choice> {
    let is_unsaid = choice.interface.protocol_version.trim().is_empty();
    let version = *Version::ALL.iter().find(|version| version.as_str() == "0.3")?;
    let is_meant = choice.version == Version::V1_0 && (is_unsaid || is_unclear) && has(version, choice.binding);
    is_meant.then(|| Choice { version, ..choice.clone() })
}

fn origin(url: &Url) -> Option<Origin> {
    Origin::parse(url.as_str()).ok()
}
