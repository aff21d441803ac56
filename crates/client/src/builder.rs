//! The settings of a client.

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

/// Builds a [`Client`].
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
    /// Sends this credential in the place that the agent's card declares.
    ///
    /// Only the origin that the user named gets the credential: the origin of the card, or of the endpoint. If the card
    /// names an interface on another origin, that origin does not get the credential; see [`Self::trust_origin`].
    pub fn credential(mut self, credential: Credential) -> Self {
        self.credentials.push(credential);
        self
    }

    /// Allows another origin to get the credentials: `https://api.example`, or `api.example:50051` as in a card's
    /// address of gRPC.
    ///
    /// An address without a scheme means the origin at which the client calls such an interface. The scheme is the
    /// scheme of the card's URL if the card has the same host; else TLS, except for a host that
    /// [is this machine](crate::is_loopback). A text that is not exactly one origin causes [`ClientError::Origin`] in
    /// [`Self::connect`].
    pub fn trust_origin(mut self, origin: &str) -> Self {
        match origin.parse() {
            Ok(trusted) => self.trusted.push(trusted),
            Err(error) => self.wrong = Some(ClientError::Origin(error)),
        }
        self
    }

    /// Sends the credentials also in the request for the card. By default a card is fetched without credentials.
    pub fn show_credentials_for_card(mut self, show: bool) -> Self {
        self.shows_credentials_for_card = show;
        self
    }

    /// Sends an additional header, or gRPC metadata, with each call. The value is a secret, like a credential.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        match crate::http::header(name, value) {
            Ok((name, value)) => drop(self.headers.insert(name, value)),
            Err(error) => self.wrong = Some(error),
        }
        self
    }

    /// Prefers these bindings, in this order, over the order of the card.
    pub fn prefer(mut self, bindings: impl IntoIterator<Item = Binding>) -> Self {
        self.preferred.extend(bindings);
        self
    }

    /// Declares an extension in each call (section 4.6).
    pub fn extension(mut self, uri: impl Into<Box<str>>) -> Self {
        self.extensions.push(uri.into());
        self
    }

    /// Sends this tenant instead of the interface's tenant.
    pub fn tenant(mut self, tenant: impl Into<Tenant>) -> Self {
        self.tenant = Some(tenant.into());
        self
    }

    /// Uses only this version, for example `0.3`; the patch number of `0.3.0` is ignored. By default the newest version
    /// in the card is used.
    ///
    /// If the card names no interface of this version, [`connect`](Self::connect) fails with
    /// [`ClientError::NoInterface`], which lists the interfaces of the card. Many old cards declare no version; such a
    /// card is taken as a card of this version.
    ///
    /// A version that this client does not know is sent unchanged, as `A2A-Version` of a request of the newest version.
    /// The agent then answers with its versions.
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.version = Some(version.into());
        self
    }

    /// The form of files over gRPC and HTTP+JSON for agents of 0.3 and 0.2, in both directions. By default
    /// [`FileBytes::Raw`]; agents based on the Python SDK need [`FileBytes::Base64`].
    pub fn file_bytes(mut self, files: FileBytes) -> Self {
        self.files = files;
        self
    }

    /// Sets the time limits.
    pub fn timeouts(mut self, timeouts: Timeouts) -> Self {
        self.http.timeouts = timeouts;
        self
    }

    /// Sets the options of HTTP.
    pub fn http(mut self, settings: HttpSettings) -> Self {
        self.http = settings;
        self
    }

    /// Sets the attempts to resume broken streams.
    pub fn reconnect(mut self, reconnect: Reconnect) -> Self {
        self.reconnect = reconnect;
        self
    }

    /// Uses the card cache of this resolver. By default all clients of the process share a cache.
    pub fn resolver(mut self, resolver: Resolver) -> Self {
        self.resolver = Some(resolver);
        self
    }

    /// Calls `observe` with the interface in use and its version: at the first call that reached an interface, and at
    /// each change of the interface. `observe` runs within the call, so `observe` should be fast.
    pub fn on_interface(mut self, observe: impl Fn(&AgentInterface, Version) + Send + Sync + 'static) -> Self {
        self.observer = Some(Observer(Arc::new(observe)));
        self
    }

    /// Finds the card of an agent and chooses an interface.
    ///
    /// # Errors
    ///
    /// `Reference` if the text is not a reference, and the errors of [`Self::resolve`] and [`Self::with_card`].
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

    /// Finds the card of an agent.
    ///
    /// # Errors
    ///
    /// - `Origin` if an origin to trust is not an origin.
    /// - `Setup` if a header or a certificate of the settings cannot be used.
    /// - `CardNotFound` with all locations that were tried.
    /// - `CardInvalid` if a card cannot be used.
    /// - `Transport` if the host cannot be reached, the connection breaks, or the host does not answer in time.
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

    /// Uses a card that the caller already has. Some cards do not declare the version clearly, or lack the requested
    /// version:
    ///
    /// - If the card fits 0.1 and 0.2, and no version was requested, the client sends a request to the agent to
    ///   determine the version.
    /// - If the card fits 1.0 and 0.3, the first call uses 1.0. If the agent does not know the method, the call is
    ///   repeated in 0.3.
    /// - If the card has no interface of the requested version, and is the card at `/.well-known/agent-card.json`, the
    ///   client reads the card at `/.well-known/agent.json`. A card of 0.3 cannot declare older versions.
    ///
    /// # Errors
    ///
    /// - `Origin` if an origin to trust is not an origin.
    /// - `Setup` if a header of the settings, or the version, cannot be sent.
    /// - `NoInterface` if the card names no interface that this client supports, or none of the requested version.
    /// - `Address` if the card names such interfaces, but none has an address that can be called.
    pub async fn with_card(self, resolved: Resolved) -> Result<Client, ClientError> {
        let builder = self.checked()?;
        let (resolved, choices) = builder.choose(resolved).await?;
        let shown = resolved.card.clone();
        let url = resolved.url.as_ref();
        // The user has chosen a card from a file, so its origins may get the credentials.
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

    /// The interface and the version that [`Self::with_card`] would use. The client sends no request to the agent,
    /// except for the older card if the card has no interface of the requested version.
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

    /// The usable interfaces of this card, or of the older card of the same agent.
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
        // The older card counts only if its interfaces declare their version.
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

    /// Calls an address over this binding without a card: in the requested version, else in the newest version.
    ///
    /// # Errors
    ///
    /// `Address` if the binding cannot use the address, `Setup` if the version does not have the binding.
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
        // Unreachable: `choose` returns only bindings that the version has.
        let transport = transport.ok_or_else(|| ClientError::Setup(format!("version {version} has no {binding}")))?;
        let transport = Box::new(Versioned::new(dialect, transport));
        Ok(Candidate { interface, url, version, transport, older: None })
    }
}

/// The interface in 0.3, if the card does not tell whether the agent speaks 0.3 or 1.0.
fn older(choice: &Choice, is_unclear: bool) -> Option<Choice> {
    let is_unsaid = choice.interface.protocol_version.trim().is_empty();
    let version = *Version::ALL.iter().find(|version| version.as_str() == "0.3")?;
    let is_meant = choice.version == Version::V1_0 && (is_unsaid || is_unclear) && has(version, choice.binding);
    is_meant.then(|| Choice { version, ..choice.clone() })
}

fn origin(url: &Url) -> Option<Origin> {
    Origin::parse(url.as_str()).ok()
}
