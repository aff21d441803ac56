//! Connects to one of the servers.

use std::{
    hash::{BuildHasher, Hasher, RandomState},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_nats::{
    Client, ConnectOptions, Event, ServerAddr,
    rustls::{self, CertificateError},
};
use async_trait::async_trait;
use nuncio_engine::bus::{BoxError, Broker, Listeners};
use secrecy::ExposeSecret as _;
use tokio::sync::watch;

use crate::{
    connection::NatsConnection,
    options::{Login, NatsOptions},
};

/// How long one server may take to be connected to. The bus gives up a little later, and begins with another one.
const PATIENCE: Duration = Duration::from_millis(1_500);

/// After how much silence the client itself asks for a sign of life.
const PING: Duration = Duration::from_secs(2);

/// Messages of one topic that may wait to be looked at. Looking is quick: with more, something is wrong.
const WAITING: usize = 65_536;

/// NATS, as the way that signals between nodes take.
#[derive(Debug)]
pub struct NatsBroker(NatsOptions);

impl NatsBroker {
    /// Connects to nobody yet.
    pub fn new(options: NatsOptions) -> Self {
        Self(options)
    }

    async fn try_connect(&self, server: &ServerAddr) -> Result<(Client, watch::Receiver<Option<String>>), BoxError> {
        let (lost, is_lost) = watch::channel(None);
        let lost = Arc::new(lost);
        let mut options = ConnectOptions::new()
            .name("nuncio")
            .connection_timeout(PATIENCE)
            .ping_interval(PING)
            .subscription_capacity(WAITING)
            .ignore_discovered_servers()
            .event_callback(on_event(lost.clone()))
            // The client would connect again by itself, and what was sent meanwhile would be missed in silence. It
            // cannot be told not to, but asks here how long to wait for each attempt: with the second, this connection
            // is over.
            .max_reconnects(1)
            .reconnect_delay_callback(on_attempt(lost));
        options = match &self.0.login {
            Login::Nobody => options,
            Login::Token(token) => options.token(token.expose_secret().to_owned()),
            Login::User(user, password) => options.user_and_password(user.clone(), password.expose_secret().to_owned()),
        };
        if let Some(path) = &self.0.credentials {
            options = options.credentials_file(path).await?;
        }
        // Who names certificates wants them looked at, and not plain text where the server is content with it.
        if let Some(path) = &self.0.ca {
            options = options.add_root_certificates(path.clone()).require_tls(true);
        }
        if let Some((cert, key)) = &self.0.identity {
            options = options.add_client_certificate(cert.clone(), key.clone()).require_tls(true);
        }
        Ok((options.connect(server.clone()).await?, is_lost))
    }
}

#[async_trait]
impl Broker for NatsBroker {
    type Connection = NatsConnection;

    async fn connect(&self, listeners: Listeners) -> Result<NatsConnection, BoxError> {
        let servers = &self.0.servers;
        let first = usize::try_from(RandomState::new().build_hasher().finish() >> 1).unwrap_or_default();
        let mut failure: BoxError = "there is no server".into();
        for number in 0..servers.len() {
            let server = &servers[first.wrapping_add(number) % servers.len()];
            match self.try_connect(server).await {
                Ok((client, lost)) => return NatsConnection::open(client, lost, &self.0.prefix, listeners).await,
                Err(error) => {
                    failure = format!("{}:{}: {}", server.host(), server.port(), because(&*error)).into();
                }
            }
        }
        Err(failure)
    }
}

/// What an error and its causes say, and what to do about it where that is clear.
fn because(error: &(dyn std::error::Error + 'static)) -> String {
    let (mut text, mut advice) = (error.to_string(), None);
    let mut source = error.source();
    while let Some(cause) = source {
        advice = advice.or(advice_on_tls(cause));
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    advice.map_or(text.clone(), |advice| format!("{text}; {advice}"))
}

fn advice_on_tls(cause: &(dyn std::error::Error + 'static)) -> Option<&'static str> {
    let inner = cause.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
    match inner.and_then(|inner| inner.downcast_ref())? {
        rustls::Error::InvalidMessage(_) => {
            Some("it speaks no TLS: leave out tls://, ca and cert, or turn TLS on there")
        }
        rustls::Error::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        ) => Some("name the host as its certificate does"),
        rustls::Error::InvalidCertificate(_) => Some("name who signed its certificate with ca=FILE"),
        _ => None,
    }
}

/// Whatever goes wrong ends the connection: then all that it missed is made up for.
fn on_event(
    lost: Arc<watch::Sender<Option<String>>>,
) -> impl Fn(Event) -> std::future::Ready<()> + Send + Sync + 'static {
    move |event| {
        if !matches!(event, Event::Connected | Event::LameDuckMode | Event::Draining) {
            lose(&lost, &event.to_string());
        }
        std::future::ready(())
    }
}

fn on_attempt(lost: Arc<watch::Sender<Option<String>>>) -> impl Fn(usize) -> Duration + Send + Sync + 'static {
    let has_connected = AtomicBool::new(false);
    move |_| {
        if has_connected.swap(true, Ordering::Relaxed) {
            lose(&lost, "disconnected");
        }
        Duration::ZERO
    }
}

/// The first reason stays.
fn lose(lost: &watch::Sender<Option<String>>, reason: &str) {
    lost.send_if_modified(|lost| {
        let is_first = lost.is_none();
        lost.get_or_insert_with(|| reason.to_owned());
        is_first
    });
}
