//! From flags and settings to a client.

use std::time::Duration;

use nuncio_client::{AgentRef, Binding, Client, ClientBuilder, Credential, HttpSettings, Resolved};
use nuncio_wire::Version;

use crate::{
    args::{ConnectArgs, file_bytes, key_value},
    context::Context,
    diag,
    error::{CliError, Code},
};

/// A client, and what is to be known of how it was made.
pub(crate) struct Connection {
    pub(crate) client: Client,
    /// What must be repeated on the command line to reach the same agent, without secrets.
    pub(crate) flags: String,
    has_credentials: bool,
}

/// Which agent the user means.
enum Target {
    Card(AgentRef),
    Endpoint(String, Binding),
}

impl Connection {
    pub(crate) async fn open(context: &Context, args: &ConnectArgs) -> Result<Self, CliError> {
        let target = target(context, args)?;
        let (builder, has_credentials) = builder(context, args)?;
        let client = match &target {
            Target::Endpoint(url, binding) => builder.endpoint(url, *binding)?,
            Target::Card(reference) => {
                let resolved = builder.resolve(reference).await.map_err(|error| explain(error, has_credentials))?;
                warn_of_other_place(reference, &resolved);
                builder.with_card(resolved).await?
            }
        };
        let connection = Self { client, flags: flags(args), has_credentials };
        connection.look_around(context, args);
        Ok(connection)
    }

    /// Says what a user should know before anything is sent.
    fn look_around(&self, context: &Context, args: &ConnectArgs) {
        let Some(interface) = self.client.interface() else { return };
        let version = self.client.version().map(Version::as_str).unwrap_or_default();
        tracing::debug!(url = interface.url, binding = interface.protocol_binding, version, "interface");
        match context.text(args.a2a_version.as_ref(), "a2a-version") {
            Some(pin) if pin.parse::<Version>().is_err() => diag::warn(&format!(
                "version {pin} is not known here; calls have the form of version {version}, and say that they are of {pin}"
            )),
            None if version != Version::LATEST.as_str() => {
                diag::progress(&format!("the agent speaks version {version} of the protocol"));
            }
            _ => {}
        }
        if context.global.verbose {
            diag::line(&format!("interface: {}, {} {version}", interface.url, interface.protocol_binding));
        }
        let wanted = bindings(context, args).unwrap_or_default();
        if Binding::from_name(&interface.protocol_binding).is_some_and(|it| !wanted.is_empty() && !wanted.contains(&it))
        {
            let names = wanted.iter().map(|it| it.name()).collect::<Vec<_>>().join(" or ");
            let pin = context.text(args.a2a_version.as_ref(), "a2a-version");
            let pin = pin.map(|pin| format!(" in version {pin}")).unwrap_or_default();
            diag::warn(&format!(
                "the agent does not speak {names}{pin}; it is called by {}",
                interface.protocol_binding
            ));
        }
        let elsewhere = self.client.card_url().is_some_and(|card| !is_same_origin(card.as_str(), &interface.url));
        if self.client.withholds_credentials() {
            diag::warn(&format!(
                "the card points to another origin, {}, which does not get the credentials; \
                 --trust-origin sends them there",
                interface.url
            ));
        } else if elsewhere {
            diag::warn(&format!("the card points to another origin, {}", interface.url));
        }
        let is_insecure = context.switch(args.insecure, "insecure").unwrap_or(false);
        if is_insecure {
            diag::warn("certificates are not verified (--insecure)");
        }
        if self.has_credentials && is_insecure && interface.url.starts_with("https:") {
            diag::warn("credentials go over a connection whose other end is not verified");
        }
        if self.has_credentials && interface.url.starts_with("http:") && !is_local(&interface.url) {
            diag::warn("credentials go over a connection without TLS");
        }
    }

    /// An error of a call, with what is known of the credentials.
    pub(crate) fn explain(&self, error: impl Into<CliError>) -> CliError {
        let mut error = error.into();
        if error.code == Code::AuthFailed && (!self.has_credentials || self.client.withholds_credentials()) {
            error.code = Code::CredentialsMissing;
            error.hint = Some(if self.client.withholds_credentials() {
                "the credentials are for another origin; --trust-origin sends them to this one".to_owned()
            } else {
                "give --bearer or --api-key, or set A2ACLI_BEARER or A2ACLI_API_KEY; `nuncio card get` shows which"
                    .to_owned()
            });
        }
        error
    }
}

/// Finds the card and does no more.
pub(crate) async fn resolve(context: &Context, args: &ConnectArgs) -> Result<Resolved, CliError> {
    let Target::Card(reference) = target(context, args)? else {
        return Err(CliError::usage("an endpoint has no card").with_hint("name the agent with -a"));
    };
    let (builder, has_credentials) = builder(context, args)?;
    let resolved = builder.resolve(&reference).await.map_err(|error| explain(error, has_credentials))?;
    warn_of_other_place(&reference, &resolved);
    Ok(resolved)
}

/// A path that has no card is one of the origin's agent, or a slip that reaches another agent than the one meant.
fn warn_of_other_place(reference: &AgentRef, resolved: &Resolved) {
    let (Some(wanted), Some(found)) = (reference.as_url(), &resolved.url) else { return };
    let bare = |url: &str| url.split(['?', '#']).next().unwrap_or_default().trim_end_matches('/').to_owned();
    let (place, path) = (bare(wanted.as_str()), wanted.path().trim_end_matches('/'));
    let is_interface = resolved.card.supported_interfaces.iter().any(|interface| bare(&interface.url) == place);
    if !path.is_empty() && !found.path().starts_with(path) && !is_interface {
        diag::warn(&format!("no card at {place}, using that of {}", found.origin().ascii_serialization()));
    }
}

/// Finds the document of a card, also of one that cannot be used.
pub(crate) async fn document(context: &Context, args: &ConnectArgs) -> Result<Vec<u8>, CliError> {
    let Target::Card(reference) = target(context, args)? else {
        return Err(CliError::usage("an endpoint has no card").with_hint("name the agent with -a"));
    };
    let (builder, has_credentials) = builder(context, args)?;
    match builder.resolve(&reference).await {
        Ok(resolved) => Ok(resolved.document.into()),
        Err(nuncio_client::ClientError::CardInvalid { document: Some(document), .. }) => Ok(document.into()),
        Err(error) => Err(explain(error, has_credentials)),
    }
}

fn explain(error: nuncio_client::ClientError, has_credentials: bool) -> CliError {
    let is_locked = error.to_string().contains("(401 ");
    let error = CliError::from(error);
    if !is_locked {
        return error;
    }
    error.with_hint(if has_credentials {
        "the card itself wants credentials; --card-auth shows them"
    } else {
        "the card itself wants credentials; give --bearer or --api-key, and --card-auth"
    })
}

fn target(context: &Context, args: &ConnectArgs) -> Result<Target, CliError> {
    let endpoint = args.endpoint.clone().or_else(|| match &args.agent_card {
        Some(_) => None,
        None => context.layers.value("endpoint").map(str::to_owned),
    });
    if let Some(url) = endpoint {
        let bindings = bindings(context, args)?;
        let [binding] = bindings[..] else {
            return Err(CliError::usage("--endpoint needs exactly one --transport")
                .with_hint("say which: --transport jsonrpc, rest or grpc"));
        };
        return Ok(Target::Endpoint(url, binding));
    }
    let reference = context.text(args.agent_card.as_ref(), "agent-card");
    let reference = reference.ok_or_else(|| {
        CliError::usage("no agent is named").with_hint("name one with -a localhost:8080, or set A2ACLI_AGENT_CARD")
    })?;
    let reference = reference.parse().map_err(|error| CliError::from(nuncio_client::ClientError::Reference(error)))?;
    Ok(Target::Card(reference))
}

fn bindings(context: &Context, args: &ConnectArgs) -> Result<Vec<Binding>, CliError> {
    let names = context.list(&args.transport, "transport");
    names.iter().map(|name| name.parse().map_err(|error| CliError::usage(format!("{error}")))).collect()
}

fn builder(context: &Context, args: &ConnectArgs) -> Result<(ClientBuilder, bool), CliError> {
    let mut settings = HttpSettings::default();
    settings.insecure = context.switch(args.insecure, "insecure")?;
    // The waits of a command are its own: --timeout.
    settings.timeouts.answer = Some(Duration::from_mins(1));
    let mut builder = Client::builder().http(settings).prefer(bindings(context, args)?);
    let mut has_credentials = false;
    let bearer = context.text(args.bearer.as_ref(), "bearer");
    let api_key = context.text(args.api_key.as_ref(), "api-key");
    for credential in [bearer.map(Credential::bearer), api_key.map(Credential::api_key)].into_iter().flatten() {
        builder = builder.credential(credential);
        has_credentials = true;
    }
    for (name, value) in parameters(context, args)? {
        has_credentials |= nuncio_client::redact::is_secret_header(&name);
        builder = builder.header(&name, &value);
    }
    for origin in context.list(&args.trust_origin, "trust-origin") {
        builder = builder.trust_origin(&origin);
    }
    for uri in context.list(&args.extension, "extension") {
        builder = builder.extension(uri);
    }
    if let Some(tenant) = context.text(args.tenant.as_ref(), "tenant") {
        builder = builder.tenant(tenant);
    }
    if let Some(version) = context.text(args.a2a_version.as_ref(), "a2a-version") {
        builder = builder.version(version);
    }
    if let Some(files) = context.value(args.file_bytes, "file-bytes", file_bytes)? {
        builder = builder.file_bytes(files);
    }
    let builder = builder.show_credentials_for_card(context.switch(args.card_auth, "card-auth")?);
    Ok((builder, has_credentials))
}

/// The service parameters: flags, else the setting, and `--auth` as one of them.
fn parameters(context: &Context, args: &ConnectArgs) -> Result<Vec<(String, String)>, CliError> {
    let mut parameters = args.svc_param.clone();
    if parameters.is_empty()
        && let Some(parameter) = context.layers.parsed("svc-param", key_value)?
    {
        parameters.push(parameter);
    }
    if let Some(value) = context.text(args.auth.as_ref(), "auth") {
        parameters.push(("Authorization".to_owned(), value));
    }
    Ok(parameters)
}

/// Secrets among flags and settings, so that nothing prints them.
pub(crate) fn secrets(context: &Context, args: &ConnectArgs) -> Vec<String> {
    let mut secrets: Vec<_> = [
        context.text(args.bearer.as_ref(), "bearer"),
        context.text(args.api_key.as_ref(), "api-key"),
        context.text(args.auth.as_ref(), "auth"),
    ]
    .into_iter()
    .flatten()
    .collect();
    secrets.extend(parameters(context, args).unwrap_or_default().into_iter().map(|(_, value)| value));
    let behind_scheme = |secret: &String| secret.split_once(' ').map(|(_, rest)| rest.to_owned());
    let bare: Vec<_> = secrets.iter().filter_map(behind_scheme).collect();
    secrets.extend(bare);
    secrets
}

/// The flags of a command that reaches the same agent; settings need not be repeated.
fn flags(args: &ConnectArgs) -> String {
    let mut flags = Vec::new();
    let mut add = |flag: &str, value: &str| flags.push(format!("{flag} {}", quoted(value)));
    if let Some(reference) = &args.agent_card {
        add("-a", reference);
    }
    if let Some(url) = &args.endpoint {
        add("-e", url);
    }
    args.transport.iter().for_each(|name| add("--transport", name));
    if let Some(version) = &args.a2a_version {
        add("--a2a-version", version);
    }
    if let Some(files) = args.file_bytes {
        add("--file-bytes", files.as_str());
    }
    if let Some(tenant) = &args.tenant {
        add("--tenant", tenant);
    }
    flags.join(" ")
}

/// A word as a shell takes it.
pub(crate) fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.:/@%+=,".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

fn is_same_origin(one: &str, two: &str) -> bool {
    let origin = |address: &str| nuncio_auth::credentials::Origin::parse(address).ok();
    // An address without a scheme, of gRPC, is taken for the card's.
    if two.contains("://") { origin(one) == origin(two) } else { host(one) == host(two) }
}

fn host(address: &str) -> Option<String> {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    rest.split(['/', '?']).next().map(str::to_ascii_lowercase)
}

fn is_local(url: &str) -> bool {
    host(url).is_some_and(|host| host.starts_with("127.") || host.starts_with("localhost") || host.starts_with("[::1]"))
}
