//! Puts the parts together, and serves until a signal comes.

use std::{process::ExitCode, sync::Arc, time::Duration};

use http::HeaderValue;
use nuncio_auth::Tokens;
use nuncio_engine::{Engine, Housekeeping};
use nuncio_push::{Dispatcher, Guard, Retry};
use nuncio_server::{AllowedHost, BindError, PublicUrl, Server, Tenants};
use nuncio_wire::Versions;

use super::{
    agent,
    announce::{About, Address},
    bindings, bus, housekeeping, limits, origin,
    settings::Settings,
    store, versions,
};
use crate::{
    context::Context,
    diag,
    error::{CliError, Code},
    sealed,
    signal::Signals,
};

/// The server as the settings define it. Nothing is opened or started yet.
pub(super) struct Plan {
    tokens: Option<Tokens>,
    chosen: agent::Chosen,
    limits: nuncio_server::Limits,
    host: String,
    port: u16,
    house: Housekeeping,
    spoken: Versions,
    store: store::WantedStore,
    bus: Option<bus::WantedBus>,
    retry: Retry,
    public: Option<PublicUrl>,
    listed: bindings::Listed,
    origins: Vec<HeaderValue>,
    hosts: Vec<AllowedHost>,
    tenants: Tenants,
}

impl Plan {
    /// Refuses whatever cannot be served.
    pub(super) fn of(settings: &Settings) -> Result<Self, CliError> {
        let tokens = tokens(settings)?;
        let parse_url = |url: &str| url.parse::<PublicUrl>().map_err(|error| error.to_string());
        let origins = settings.list("cors-origin").into_iter().map(|origin| {
            origin::read(origin).map_err(|reason| {
                settings
                    .wrong("cors-origin", &reason)
                    .with_hint("it is https://HOST, with :PORT where it is another, or *")
            })
        });
        let hosts = settings.list("allowed-host").into_iter().map(|host| {
            host.trim().parse::<AllowedHost>().map_err(|error| {
                settings.wrong("allowed-host", &error.to_string()).with_hint(
                    "it is a name or an address without scheme and port: agent.example, 192.0.2.1, or * for any",
                )
            })
        });
        let chosen = agent::choose(settings, tokens.is_some())?;
        Ok(Self {
            tokens,
            limits: limits::server(settings)?,
            host: settings.get("host").unwrap_or("127.0.0.1").to_owned(),
            port: settings.port()?.unwrap_or(8080),
            house: housekeeping::housekeeping(settings)?,
            spoken: versions::choose(settings)?,
            store: store::wanted(settings, &chosen.identity)?,
            bus: bus::wanted(settings)?,
            retry: limits::retry(settings)?,
            public: settings.parsed("public-url", parse_url)?,
            listed: bindings::choose(settings)?,
            origins: origins.collect::<Result<_, _>>()?,
            hosts: hosts.collect::<Result<_, _>>()?,
            tenants: tenants(settings)?,
            chosen,
        })
    }
}

pub(super) async fn serve(context: &Context, settings: &Settings) -> Result<ExitCode, CliError> {
    raise_file_limit();
    if settings.get("exec").or(settings.get("jsonl")).is_some() {
        sealed::forbid_inspection();
    }
    let Plan {
        tokens,
        chosen,
        limits,
        host,
        port,
        house,
        spoken,
        store,
        bus,
        retry,
        public,
        listed,
        origins,
        hosts,
        tenants,
    } = Plan::of(settings)?;
    let address = (host.trim_matches(['[', ']']), port);
    look(address).await.map_err(|error| explain(&error, &host))?;
    let opened = store::open(store, &chosen.identity, settings.switch("adopt")?).await?;
    let guard = Guard::new().allow_private(settings.switch("allow-private-webhooks")?);
    let database = opened.database;
    let bus = bus.map(|bus| bus::start(settings, bus)).transpose()?;
    let engine = chosen.engine.store(opened.store).housekeeping(house);
    let mut engine = engine.push_guard(Arc::new(guard.clone()));
    if let Some(bus) = &bus {
        engine = engine.bus(Arc::clone(&bus.bus));
    }
    let engine = engine.build();
    let mut builder = Server::builder(engine.clone())
        .trust_forwarded(settings.switch("trust-forwarded")?)
        .versions(spoken.clone())
        .bindings(listed.bindings.clone())
        .cors(origins)
        .allowed_hosts(hosts)
        .tenants(tenants)
        .limits(limits);
    if let Some(url) = public {
        builder = builder.public_url(url);
    }
    if let Some(url) = listed.grpc_url.clone() {
        builder = builder.grpc_url(url);
    }
    if let Some(age) = settings.duration("card-max-age")? {
        builder = builder.card_max_age(age);
    }
    if engine.card().capabilities.pushes() {
        builder = builder.background(dispatcher(settings, &engine, guard, retry)?);
    }
    let has_tokens = tokens.is_some();
    builder = match tokens {
        Some(tokens) => builder.authenticator(tokens),
        None => builder.allow_open(settings.switch("allow-open")?),
    };
    let server = builder.bind(address).await.map_err(|error| explain(&error, &host))?;
    // After the bind: a server that cannot listen must not touch any task.
    recover(&engine).await?;
    let place = Address { local: server.local_addr(), public: settings.get("public-url").map(str::to_owned) };
    let wants_token = has_tokens && !settings.switch("anonymous")?;
    let (agent, name) = (&*chosen.about, &*chosen.card.name);
    let about = About {
        agent,
        name,
        versions: spoken.spoken(),
        listed: chosen.card.signatures.is_empty().then_some(&listed),
        database,
        bus: bus.map(|bus| bus.about),
        tasks: opened.tasks,
        wants_token,
        tenants: settings.list("tenants").into_iter().map(str::trim).collect(),
    };
    place.announce(context, &about)?;
    run(server).await
}

/// Checks the address before a database is created for a server that cannot listen. The bind of the server decides
/// later.
async fn look(address: (&str, u16)) -> Result<(), BindError> {
    let mut failure = BindError::Resolve(std::io::ErrorKind::NotFound.into());
    for address in tokio::net::lookup_host(address).await.map_err(BindError::Resolve)? {
        match std::net::TcpListener::bind(address) {
            Ok(_) => return Ok(()),
            Err(source) => failure = BindError::Listen { address, source },
        }
    }
    Err(failure)
}

/// Settles the tasks that a crash left at work. A task that cannot be settled does not block the others.
async fn recover(engine: &Engine) -> Result<(), CliError> {
    match engine.recover().await {
        Ok(recovered) if recovered.put_off == 0 => Ok(()),
        Ok(recovered) => {
            let tasks = if recovered.put_off == 1 { "1 task" } else { &*format!("{} tasks", recovered.put_off) };
            diag::warn(&format!(
                "{tasks} from before cannot be settled yet; the log says why, and it is tried again (`nuncio db check` finds damage)"
            ));
            Ok(())
        }
        Err(error) => {
            engine.shutdown(Duration::ZERO).await;
            Err(CliError::internal(format!("stored tasks cannot be read: {error}")))
        }
    }
}

/// Serves until the first signal, and then shuts down gracefully; the second signal ends the process at once.
async fn run(server: Server) -> Result<ExitCode, CliError> {
    let (told, first) = tokio::sync::oneshot::channel::<()>();
    let signals = async {
        let mut signals = Signals::new();
        signals.next().await;
        diag::line("stopping; once more to stop at once");
        // The receiver is gone after the end of the server.
        let _ = told.send(());
        signals.next().await
    };
    let serving = server.serve(async {
        let _ = first.await;
    });
    tokio::select! {
        () = serving => Ok(ExitCode::SUCCESS),
        signal = signals => Ok(signal.exit()),
    }
}

/// The tenants that the server answers for: names, or `any`.
fn tenants(settings: &Settings) -> Result<Tenants, CliError> {
    let names: Vec<_> = settings.list("tenants").into_iter().map(str::trim).collect();
    let wrong = |reason: &str| settings.wrong("tenants", reason).with_hint("name tenants (acme,other), or say any");
    match &names[..] {
        ["any" | "*"] => Ok(Tenants::any()),
        names if names.iter().any(|name| matches!(*name, "any" | "*")) => {
            Err(wrong("`any` stands for every tenant, so no other is named beside it"))
        }
        names => {
            names.iter().try_for_each(|name| Tenants::check_name(name)).map_err(|error| wrong(&error.to_string()))?;
            Ok(Tenants::named(names.iter().copied()))
        }
    }
}

/// The known callers; `None` without authentication.
fn tokens(settings: &Settings) -> Result<Option<Tokens>, CliError> {
    let entries = settings.list("token");
    let is_anonymous = settings.switch("anonymous")?;
    if entries.is_empty() {
        return if is_anonymous {
            Err(CliError::usage("--anonymous lets callers in beside those with tokens, and there are none")
                .with_hint("add --token NAME=SECRET, or leave --anonymous out"))
        } else {
            Ok(None)
        };
    }
    let mut tokens = Tokens::new();
    for entry in entries {
        if let Some((name, secret)) = entry.split_once('=') {
            diag::hide([secret.to_owned()]);
            if let Some(weakness) = weakness(secret) {
                diag::warn(&format!("the secret of `{name}` {weakness}"));
            }
        }
        tokens = tokens.with_entry(entry).map_err(|error| settings.wrong("token", &error.to_string()))?;
    }
    Ok(Some(tokens.with_anonymous(is_anonymous)))
}

/// The weakness of a secret, if there is one.
fn weakness(secret: &str) -> Option<&'static str> {
    if secret.contains('$') {
        Some("contains `$`: a shell did not put in the value of a variable, as single quotes and TOML files prevent")
    } else if secret.chars().count() < SHORTEST_SECRET {
        Some("is shorter than 16 characters and can be guessed; `openssl rand -hex 16` makes a good one")
    } else {
        None
    }
}

/// What callers cannot find by trying.
const SHORTEST_SECRET: usize = 16;

fn dispatcher(settings: &Settings, engine: &Engine, guard: Guard, retry: Retry) -> Result<Dispatcher, CliError> {
    let mut dispatcher = Dispatcher::builder(engine, guard).retry(retry);
    if let Some(timeout) = settings.duration("webhook-timeout")? {
        dispatcher = dispatcher.timeout(timeout);
    }
    dispatcher.build().map_err(|error| CliError::internal(format!("webhooks cannot be called: {error}")))
}

fn explain(error: &BindError, host: &str) -> CliError {
    if let BindError::Listen { address, source } = error {
        let failed = CliError::internal(format!("cannot listen on {address}: {}", bare(source)));
        return match source.kind() {
            std::io::ErrorKind::AddrInUse => {
                failed.with_hint("stop what listens there, or choose another --port; 0 takes one that is free")
            }
            std::io::ErrorKind::PermissionDenied => {
                failed.with_hint("ports below 1024 are the system's; choose another --port")
            }
            std::io::ErrorKind::AddrNotAvailable => failed.with_hint("--host must be an address of this machine"),
            _ => failed,
        };
    }
    let text = error.to_string();
    match (text.split_once("\nhint: "), error) {
        (Some((message, _)), BindError::Open(_)) => CliError::new(Code::Usage, message).with_hint(
            "give callers tokens (NUNCIO_SERVE_TOKEN=NAME=SECRET, [token] in the file of --config, or --token), listen on a \
             loopback address such as 127.0.0.1, or say --allow-open where something before it asks callers who they are",
        ),
        (Some((message, _)), BindError::Unenforced) => CliError::new(Code::Usage, message).with_hint(
            "give callers tokens (--token) without --anonymous, take securityRequirements out of the file of --card, or say \
             --allow-open where something before the server asks callers who they are",
        ),
        (Some((message, hint)), BindError::Card { .. } | BindError::Bindings | BindError::Tenant(_)) => CliError::new(Code::Usage, message).with_hint(hint),
        _ => CliError::new(Code::Usage, format!("the host `{host}` cannot be resolved"))
            .with_hint("--host must be an address or a name of this machine"),
    }
}

fn bare(error: &std::io::Error) -> String {
    error.to_string().split(" (os error").next().unwrap_or_default().to_lowercase()
}

/// How long what is cut off may take to end, child processes above all.
pub(crate) const CUT_OFF: Duration = Duration::from_secs(2);

/// Each connection is a file, and the usual soft limit is a thousand.
#[cfg(unix)]
fn raise_file_limit() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current < limit.maximum || limit.maximum.is_none() {
        limit.current = limit.maximum;
        if let Err(error) = setrlimit(Resource::Nofile, limit) {
            tracing::debug!(%error, "the limit of open files stays as it is");
        }
    }
}

#[cfg(not(unix))]
fn raise_file_limit() {}
