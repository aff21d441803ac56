//! From flags and settings to a client.

mod notice;

use std::{sync::OnceLock, time::Duration};

use nuncio_client::{
    AgentRef, Binding, Client, ClientBuilder, ClientError, Credential, HttpSettings, Reconnect, Resolved,
    UnknownBinding, interface_address,
};

use url::Url;

use crate::{
    args::{ConnectArgs, duration, file_bytes, key_value, secret},
    config::Source,
    context::Context,
    diag,
    error::{CliError, Code},
};

/// A client, and facts about its creation.
pub(crate) struct Connection {
    pub(crate) client: Client,
    /// What must be repeated on the command line to reach the same agent, without secrets.
    pub(crate) flags: String,
    /// How long a stream may be silent; `None` is for ever.
    pub(crate) idle: Option<Duration>,
    has_credentials: bool,
}

/// The longest time to reconnect a broken stream without a new event.
pub(crate) const RECONNECT_LIMIT: Duration = Duration::from_secs(15);

/// Which agent the user means.
enum Target {
    Card(AgentRef),
    Endpoint(String, Binding),
}

impl Connection {
    pub(crate) async fn open(context: &Context, args: &ConnectArgs) -> Result<Self, CliError> {
        let target = target(context, args)?;
        let (builder, has_credentials) = builder(context, args, &target)?;
        let client = match &target {
            Target::Endpoint(url, binding) => builder.endpoint(url, *binding)?,
            Target::Card(reference) => {
                let resolved = builder.resolve(reference).await.map_err(|error| explain(error, has_credentials))?;
                let path = notice::of_other_place(reference, &resolved)?;
                of_path(builder, path, args).with_card(resolved).await.map_err(unusable)?
            }
        };
        let connection = Self { client, flags: flags(context, args), idle: idle(context, args)?, has_credentials };
        connection.look_around(context, args);
        Ok(connection)
    }

    /// An error of a call, with what is known of the credentials.
    pub(crate) fn explain(&self, error: impl Into<CliError>) -> CliError {
        let mut error = error.into();
        let flag = notice::trust_flag(&self.client);
        if error.code == Code::CredentialsMissing && self.has_credentials && flag.is_none() {
            return error.with_hint(
                "no credential at hand is for that; --auth 'SCHEME VALUE' sends a whole Authorization header, and `nuncio card get` shows the schemes",
            );
        }
        if let (Some(404 | 405), Some(url), None) = (error.a2a_code, self.client.url(), self.client.card())
            && matches!(error.code, Code::Agent("MethodNotFoundError" | "InvalidAgentResponseError"))
        {
            let origin = url.origin().ascii_serialization();
            error.message = format!("nothing answers at {url}: {}", error.message);
            return error.with_hint(format!(
                "check the path of -e; `nuncio card get {origin}` shows the addresses of the agent there"
            ));
        }
        if error.code == Code::AuthFailed && (!self.has_credentials || flag.is_some()) {
            error.code = Code::CredentialsMissing;
            error.hint = Some(match flag {
                Some(flag) => format!("the credentials are for another origin; {flag} sends them to this one"),
                None => {
                    "give --bearer or --api-key, or set A2ACLI_BEARER or A2ACLI_API_KEY; `nuncio card get` shows which"
                        .to_owned()
                }
            });
        }
        error
    }
}

/// Finds the card and does no more.
pub(crate) async fn resolve(context: &Context, args: &ConnectArgs) -> Result<Resolved, CliError> {
    let (reference, builder, has_credentials) = card(context, args)?;
    let resolved = builder.resolve(&reference).await.map_err(|error| explain(error, has_credentials))?;
    // A card can be looked at in any case; a call could reach another agent.
    if let Err(error) = notice::of_other_place(&reference, &resolved) {
        diag::warn(&error.message);
        error.hint.iter().for_each(|hint| diag::hint(hint));
    }
    Ok(resolved)
}

/// A client for what the path of a reference means. `--tenant` wins over the tenant of a path.
fn of_path(builder: ClientBuilder, path: notice::Path, args: &ConnectArgs) -> ClientBuilder {
    match path {
        notice::Path::Tenant(tenant) if args.tenant.is_none() => builder.tenant(tenant),
        _ => builder,
    }
}

/// Finds the document of a card, valid or not, and the reason why `send` could not use the card.
pub(crate) async fn document(
    context: &Context,
    args: &ConnectArgs,
) -> Result<(Vec<u8>, Option<ClientError>), CliError> {
    let (reference, builder, has_credentials) = card(context, args)?;
    match builder.resolve(&reference).await {
        Ok(resolved) => Ok((resolved.document.to_vec(), builder.interface(resolved).await.err())),
        Err(ClientError::CardInvalid { document: Some(document), .. }) => Ok((document.into(), None)),
        Err(error) => Err(explain(error, has_credentials)),
    }
}

/// Where a card is looked for, and by what.
fn card(context: &Context, args: &ConnectArgs) -> Result<(AgentRef, ClientBuilder, bool), CliError> {
    let target = target(context, args)?;
    let (builder, has_credentials) = builder(context, args, &target)?;
    match target {
        Target::Card(reference) => Ok((reference, builder, has_credentials)),
        Target::Endpoint(..) => Err(CliError::usage("an endpoint has no card").with_hint("name the agent with -a")),
    }
}

fn explain(error: nuncio_client::ClientError, has_credentials: bool) -> CliError {
    let is_locked = matches!(&error, nuncio_client::ClientError::CardNotFound(missing) if missing.wants_credentials);
    let mut error = CliError::from(error);
    if !is_locked {
        return error;
    }
    if !has_credentials {
        error.code = Code::CredentialsMissing;
    }
    error.with_hint(if has_credentials {
        "the card itself wants credentials; --card-auth shows them"
    } else {
        "the card itself wants credentials; give --bearer or --api-key, and --card-auth"
    })
}

/// The address of the agent of this command, once known.
static PLACE: OnceLock<Url> = OnceLock::new();

/// The address of the agent of this command; `None` for a card in a file.
pub(crate) fn place() -> Option<Url> {
    PLACE.get().cloned()
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
        if let Ok(url) = interface_address(&url, binding) {
            let _ = PLACE.set(url);
        }
        return Ok(Target::Endpoint(url, binding));
    }
    let reference = context.text(args.agent_card.as_ref(), "agent-card");
    let reference = reference.ok_or_else(|| {
        CliError::usage("no agent is named").with_hint("name one with -a localhost:8080, or set A2ACLI_AGENT_CARD")
    })?;
    let reference: AgentRef = reference.parse().map_err(|error| CliError::from(ClientError::Reference(error)))?;
    if let Some(url) = reference.as_url() {
        let _ = PLACE.set(url.clone());
    }
    Ok(Target::Card(reference))
}

fn bindings(context: &Context, args: &ConnectArgs) -> Result<Vec<Binding>, CliError> {
    let names = context.list(&args.transport, "transport");
    let source =
        if args.transport.is_empty() { context.layers.get("transport").map(|(_, source)| source) } else { None };
    let source = source.unwrap_or(&Source::Flag);
    let read =
        |name: &String| name.parse().map_err(|error: UnknownBinding| source.refuse("transport", &error.to_string()));
    names.iter().map(read).collect()
}

/// How long a stream may be silent.
fn idle(context: &Context, args: &ConnectArgs) -> Result<Option<Duration>, CliError> {
    let idle = context.value(args.idle_timeout, "idle-timeout", duration)?.unwrap_or(Duration::from_mins(1));
    Ok(Some(idle).filter(|idle| !idle.is_zero()))
}

/// The builder of the client, and whether there are credentials. Warns on stderr about risks for the credentials.
fn builder(context: &Context, args: &ConnectArgs, target: &Target) -> Result<(ClientBuilder, bool), CliError> {
    let mut settings = HttpSettings::default();
    let is_insecure = context.switch(args.insecure, "insecure")?;
    settings.insecure = is_insecure;
    // The waits of a command are its own: --timeout.
    settings.timeouts.answer = Some(Duration::from_mins(1));
    settings.timeouts.stall = idle(context, args)?;
    // After this time the task is read instead of its stream.
    let mut reconnect = Reconnect::default();
    reconnect.time_limit = settings.timeouts.stall.into_iter().chain([RECONNECT_LIMIT]).min();
    let mut builder = Client::builder().http(settings).reconnect(reconnect).prefer(bindings(context, args)?);
    let mut has_credentials = false;
    let bearer = context.value(args.bearer.clone(), "bearer", secret)?;
    let api_key = context.value(args.api_key.clone(), "api-key", secret)?;
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
    let pin = context.text(args.a2a_version.as_ref(), "a2a-version");
    let is_pinned = pin.is_some();
    if let Some(version) = pin {
        builder = builder.version(version);
    }
    if let Some(files) = context.value(args.file_bytes, "file-bytes", file_bytes)? {
        builder = builder.file_bytes(files);
    }
    let shows_card = context.switch(args.card_auth, "card-auth")?;
    let is_verbose = context.global.verbose;
    builder = builder.on_interface(move |interface, version| {
        if !is_pinned {
            notice::of_version(version);
        }
        if is_verbose {
            notice::of_interface(interface, version);
        }
    });
    if is_insecure {
        notice::of_insecure(has_credentials);
    }
    if let Target::Card(reference) = target
        && let Some(url) = reference.as_url().filter(|_| shows_card && has_credentials)
    {
        notice::of_plain_text(url);
    }
    Ok((builder.show_credentials_for_card(shows_card), has_credentials))
}

/// The service parameters of flags, otherwise of the setting, with the header of `--auth`.
fn parameters(context: &Context, args: &ConnectArgs) -> Result<Vec<(String, String)>, CliError> {
    let mut parameters = args.svc_param.clone();
    if parameters.is_empty()
        && let Some(parameter) = context.layers.parsed("svc-param", key_value)?
    {
        parameters.push(parameter);
    }
    if let Some(value) = context.value(args.auth.clone(), "auth", secret)? {
        parameters.push(("Authorization".to_owned(), value));
    }
    Ok(parameters)
}

/// The secrets among flags and settings, which are hidden in all output.
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

/// The flags of a command that calls the same agent. Settings are not repeated, and possible secrets are omitted.
fn flags(context: &Context, args: &ConnectArgs) -> String {
    let mut flags = Vec::new();
    let mut add = |flag: &str, value: &str| flags.push(format!("{flag} {}", quoted(value)));
    if let Some(file) = &context.global.config {
        add("--config", &file.to_string_lossy());
    }
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
    args.trust_origin.iter().for_each(|origin| add("--trust-origin", origin));
    args.extension.iter().for_each(|uri| add("--extension", uri));
    let switches = [(args.card_auth, "--card-auth"), (args.insecure, "--insecure")];
    flags.extend(switches.into_iter().filter(|(is_on, _)| *is_on).map(|(_, flag)| flag.to_owned()));
    flags.join(" ")
}

/// A word, quoted for a shell if necessary.
pub(crate) fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.:/@%+=,".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// The error of a card that cannot be used. An address of a card is not a mistake of the user.
fn unusable(error: ClientError) -> CliError {
    match error {
        ClientError::Address { .. } => CliError::new(Code::CardInvalid, error.to_string())
            .with_hint("`nuncio card get --validate` shows what is wrong with the card"),
        error => error.into(),
    }
}
