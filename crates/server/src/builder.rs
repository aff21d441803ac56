//! The options of a server before the server listens.

use std::{io, sync::Arc, time::Duration};

use http::HeaderValue;
use nuncio_auth::{Authenticator, Open};
use nuncio_limit::Rates;
use nuncio_model::{Background, card::Binding};
use nuncio_wire::Versions;
use tokio::net::{ToSocketAddrs, lookup_host};

use crate::{
    answers::Answers,
    browser::{AllowedHost, Hosts, Origins},
    card::{self, BaseUrl, Cards, GrpcPlace, GrpcUrl, Listing, PublicUrl},
    clients::Clients,
    drain::Drain,
    error::BindError,
    health::BackendCheck,
    limits::Limits,
    listen::listen,
    load::Load,
    logins::Logins,
    mount::{Mount, MountError, Mounted, Mounts, Place},
    read::BodyLimits,
    server::Server,
    service::Service,
    stack::stack,
    tenants::Tenants,
};

/// Builds a server. Every option has a safe default.
pub struct Builder {
    mounts: Vec<Mount>,
    authenticator: Arc<dyn Authenticator>,
    allows_open: bool,
    versions: Versions,
    public_url: Option<PublicUrl>,
    listing: Listing,
    trusts_forwarded: bool,
    card_max_age: Duration,
    limits: Limits,
    cors: Vec<HeaderValue>,
    hosts: Vec<AllowedHost>,
    tenants: Tenants,
    routes: Option<axum::Router>,
    background: Vec<Box<dyn Background>>,
}

impl Builder {
    pub(crate) fn new(mounts: Vec<Mount>) -> Self {
        Self {
            mounts,
            authenticator: Arc::new(Open),
            allows_open: false,
            versions: Versions::default(),
            public_url: None,
            listing: Listing::default(),
            trusts_forwarded: false,
            card_max_age: Duration::from_mins(5),
            limits: Limits::default(),
            cors: Vec::new(),
            hosts: Vec::new(),
            tenants: Tenants::default(),
            routes: None,
            background: Vec::new(),
        }
    }

    /// Decides which callers may call. By default every caller may call, and the server listens on loopback addresses
    /// only.
    pub fn authenticator(mut self, authenticator: impl Authenticator) -> Self {
        self.authenticator = Arc::new(authenticator);
        self
    }

    /// Whether the server may listen on addresses beyond this machine without authentication. For servers behind a
    /// proxy that authenticates.
    pub fn allow_open(mut self, yes: bool) -> Self {
        self.allows_open = yes;
        self
    }

    /// The versions of the protocol that the server speaks. By default all versions.
    pub fn versions(mut self, versions: Versions) -> Self {
        self.versions = versions;
        self
    }

    /// The address of the agent in the card. By default the address that the client used.
    pub fn public_url(mut self, url: PublicUrl) -> Self {
        self.public_url = Some(url);
        self
    }

    /// The bindings that the card lists: JSON-RPC and HTTP+JSON by default. The server serves all three in any case.
    ///
    /// gRPC is not in the default, because its address in a card, `host:port`, is not a URL, and some clients refuse a
    /// card with an address that is not a URL on the card's own origin.
    pub fn bindings(mut self, bindings: impl IntoIterator<Item = Binding>) -> Self {
        self.listing.bindings = Some(bindings.into_iter().collect());
        self
    }

    /// The address of gRPC in the card, where a proxy has another host or port for gRPC. The card then lists gRPC.
    /// By default the address is the host and the port of the other bindings.
    pub fn grpc_url(mut self, url: GrpcUrl) -> Self {
        self.listing.grpc_url = Some(url);
        self
    }

    /// Whether to use the address of the agent that a proxy sends in `Forwarded` or in `X-Forwarded-Proto`, `-Host`,
    /// `-Port` and `-Prefix`. Only for servers that clients cannot reach without the proxy. Off by default.
    pub fn trust_forwarded(mut self, yes: bool) -> Self {
        self.trusts_forwarded = yes;
        self
    }

    /// How long clients may use the card without a new request. 300 s by default.
    pub fn card_max_age(mut self, age: Duration) -> Self {
        self.card_max_age = age;
        self
    }

    /// The limits of the server.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits.finite();
        self
    }

    /// The origins of pages in a browser that may call: `https://app.example`, or `*` for any. None by default. The
    /// server never tells browsers to send their own credentials.
    ///
    /// A request without credentials from a page of another origin is refused with `PermissionDenied` (403). Such a
    /// request has an `Origin` that is neither in this list nor the server's own, or a `Sec-Fetch-Site` that names
    /// another site.
    pub fn cors(mut self, origins: impl IntoIterator<Item = HeaderValue>) -> Self {
        self.cors.extend(origins);
        self
    }

    /// The hosts that the server answers for, beside loopback addresses, `localhost`, names below `localhost` and the
    /// host of the [public URL](Self::public_url). A request for another host is refused with `MisdirectedRequest` (421).
    ///
    /// A server on a loopback address that lets callers in without credentials checks the host by default, because a
    /// page in a browser can give its own name the address of this machine (DNS rebinding). Other servers check the
    /// host if hosts are named here. [`AllowedHost::any`] ends the check.
    pub fn allowed_hosts(mut self, hosts: impl IntoIterator<Item = AllowedHost>) -> Self {
        self.hosts.extend(hosts);
        self
    }

    /// The tenants that the server answers for, beside those that the interfaces of the card name. None by default. A
    /// path of another tenant is 404 over HTTP+JSON; a call that names another tenant is `InvalidParams`.
    pub fn tenants(mut self, tenants: Tenants) -> Self {
        self.tenants = tenants;
        self
    }

    /// More routes on the same port. These routes have precedence. The server does not check the credentials, the host
    /// or the origin of their requests and does not count the requests.
    pub fn routes(mut self, routes: axum::Router) -> Self {
        self.routes = Some(routes);
        self
    }

    /// Work beside the server, from the start of [`Server::serve`] until the last request is answered: for example the
    /// delivery of webhooks. Without a dispatcher no webhook is delivered.
    pub fn background(mut self, work: impl Background) -> Self {
        self.background.push(Box::new(work));
        self
    }

    /// Listens on an address, for example `127.0.0.1:8080`. Port 0 takes any free port. The server accepts no
    /// connection before [`Server::serve`].
    ///
    /// # Errors
    ///
    /// - [`BindError::Unenforced`] if a card requires credentials and the server accepts callers without credentials,
    ///   unless an open server is allowed.
    /// - [`BindError::Open`] if an open server would listen beyond this machine.
    /// - [`BindError::Card`] if some clients cannot read a card.
    /// - [`BindError::Bindings`] if the card would list no interface.
    /// - [`BindError::Tenant`] if the name of a tenant cannot be the first segment of a path.
    /// - [`BindError::Mounts`] if the agents cannot be at their places.
    /// - [`BindError::Resolve`] and [`BindError::Listen`] if the server cannot listen on the address.
    pub async fn bind(mut self, address: impl ToSocketAddrs) -> Result<Server, BindError> {
        let places = self.mounts.iter().map(Place::of).collect::<Result<Vec<_>, _>>()?;
        Place::check_all(&places)?;
        if let Some(prefix) = self.public_url.as_ref().and_then(PublicUrl::path)
            && let Some(place) = places.iter().find(|place| place.is_at_or_below(prefix))
        {
            return Err(MountError::Prefix(place.path.clone()).into());
        }
        for (index, mount) in self.mounts.iter_mut().enumerate() {
            let tenants = mount.tenants.take().unwrap_or_else(|| self.tenants.clone());
            tenants.check_names()?;
            let tenants = tenants.with_card(&mount.backend.card());
            Place::check_tenants(&places, index, &tenants)?;
            mount.tenants = Some(tenants);
        }
        let mut requires_credentials = false;
        for mount in &self.mounts {
            let (card, extended) = (mount.backend.card(), mount.backend.extended_card());
            for card in [Some(&card), extended.as_ref()].into_iter().flatten() {
                mount.backend.nesting().map_or(Ok(()), |levels| card::check(card, levels))?;
                requires_credentials |= card::asks(card);
            }
            let lists_own = !card.supported_interfaces.is_empty() || !card.signatures.is_empty();
            if !lists_own && !self.listing.is_possible(&self.versions) {
                return Err(BindError::Bindings);
            }
        }
        let addresses: Vec<_> = lookup_host(address).await.map_err(BindError::Resolve)?.collect();
        if self.authenticator.admits_strangers() && !self.allows_open && requires_credentials {
            return Err(BindError::Unenforced);
        }
        if self.authenticator.is_open()
            && !self.allows_open
            && let Some(open) = addresses.iter().find(|address| !address.ip().to_canonical().is_loopback())
        {
            return Err(BindError::Open(*open));
        }
        let mut failure = BindError::Resolve(io::ErrorKind::NotFound.into());
        for address in addresses {
            match listen(address).and_then(|listener| Ok((listener.local_addr()?, listener))) {
                Ok((local, listener)) => {
                    let base_url = BaseUrl::new(self.public_url.clone(), self.trusts_forwarded, local);
                    return Ok(self.build(places, base_url, local, listener));
                }
                Err(source) => failure = BindError::Listen { address, source },
            }
        }
        Err(failure)
    }

    fn build(
        mut self,
        places: Vec<Place>,
        base_url: BaseUrl,
        local: std::net::SocketAddr,
        listener: tokio::net::TcpListener,
    ) -> Server {
        let declaration = self.authenticator.declaration();
        let is_open = self.authenticator.is_open();
        let challenge = declaration.challenge.clone();
        let checks_host = self.authenticator.admits_strangers() && local.ip().to_canonical().is_loopback();
        let mut allowed = std::mem::take(&mut self.hosts);
        if checks_host || !allowed.is_empty() {
            allowed.extend(places.iter().filter_map(|place| place.host.as_ref()?.parse().ok()));
        }
        let hosts = Hosts::new(checks_host, allowed, base_url.public_host());
        let origins = Origins::new(&self.cors);
        let mounts = std::mem::take(&mut self.mounts);
        let mounts =
            mounts.into_iter().zip(places).map(|(mount, place)| self.mounted(mount, place, &base_url)).collect();
        let service = Arc::new(Service {
            mounts: Mounts::new(mounts),
            versions: self.versions,
            base_url,
            hosts,
            origins,
            clients: Clients::default(),
            head_limit: self.limits.head,
            body_limits: BodyLimits { size: self.limits.body, framing: 0, time: self.limits.body_time },
            keep_alive: self.limits.keep_alive,
            load: Load::new(&self.limits),
            logins: Logins::new(self.limits.failed_logins),
            answers: Arc::new(Answers::new(&self.limits)),
            rates: self.limits.rate.map(Rates::new),
            drain: Drain::default(),
            challenge,
        });
        let stack = stack(&service, self.authenticator, &self.cors);
        Server {
            listener,
            local,
            service,
            stack,
            routes: self.routes,
            background: self.background,
            limits: self.limits,
            tells_peer: !is_open,
        }
    }

    /// An agent at its place, with the parts of the server that depend on the place.
    fn mounted(&self, mount: Mount, place: Place, base_url: &BaseUrl) -> Mounted {
        let grpc = match &place.tenant {
            _ if place.is_root() => GrpcPlace::Root,
            Some(tenant) => GrpcPlace::Tenant(tenant.clone()),
            None => GrpcPlace::None,
        };
        let mut listing = Listing { grpc, ..self.listing.clone() };
        if place.host.is_some() {
            listing.use_own_grpc_host();
        }
        let tenants = mount.tenants.unwrap_or_default();
        let (declaration, is_open) = (self.authenticator.declaration(), self.authenticator.is_open());
        let base_url = base_url.at(&place.path, place.host.as_deref());
        let (backend, max_age) = (&*mount.backend, self.card_max_age);
        let cards = Cards::new(backend, base_url, listing, &self.versions, declaration, is_open, max_age);
        Mounted { backend: mount.backend, place, cards, tenants, check: BackendCheck::default() }
    }
}
