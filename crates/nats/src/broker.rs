//! Connecting to a server.

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
use nuncio_model::error::{causes, with_causes};
use secrecy::ExposeSecret as _;
use tokio::sync::watch;

use crate::{
    connection::NatsConnection,
    options::{Login, NatsOptions},
};

/// The timeout of a connection attempt to a server. This timeout is shorter than the timeout of the bus, so that the
/// bus can try another server.
const CONNECT_TIMEOUT: Duration = Duration::from_millis(1_500);

/// The interval of the client's pings on an idle connection.
const PING_INTERVAL: Duration = Duration::from_secs(2);

/// The capacity of the queue of a topic's messages. Messages are handled quickly, so a full queue is a fault.
const QUEUE_CAPACITY: usize = 65_536;

/// NATS as the broker of signals between nodes.
#[derive(Debug)]
pub struct NatsBroker(NatsOptions);

impl NatsBroker {
    /// A broker without a connection.
    pub fn new(options: NatsOptions) -> Self {
        Self(options)
    }

    async fn try_connect(&self, server: &ServerAddr) -> Result<(Client, watch::Receiver<Option<String>>), BoxError> {
        let (lost, is_lost) = watch::channel(None);
        let lost = Arc::new(lost);
        let mut options = ConnectOptions::new()
            .name("nuncio")
            .connection_timeout(CONNECT_TIMEOUT)
            .ping_interval(PING_INTERVAL)
            .subscription_capacity(QUEUE_CAPACITY)
            .ignore_discovered_servers()
            .event_callback(on_event(lost.clone()))
            // The client reconnects by itself, and would silently miss the signals of the outage. Reconnecting cannot
            // be turned off, but the client asks for the delay before each attempt: the second attempt ends this
            // connection.
            .max_reconnects(1)
            .reconnect_delay_callback(on_reconnect(lost));
        options = match &self.0.login {
            Login::Anonymous => options,
            Login::Token(token) => options.token(token.expose_secret().to_owned()),
            Login::User(user, password) => options.user_and_password(user.clone(), password.expose_secret().to_owned()),
        };
        if let Some(path) = &self.0.credentials {
            options = options.credentials_file(path).await?;
        }
        // Configured certificates require TLS, even if the server accepts plain text.
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
        let mut failure: BoxError = "no server is configured".into();
        for number in 0..servers.len() {
            let server = &servers[first.wrapping_add(number) % servers.len()];
            match self.try_connect(server).await {
                Ok((client, lost)) => return NatsConnection::open(client, lost, &self.0.prefix, listeners).await,
                Err(error) => {
                    failure = format!("{}:{}: {}", server.host(), server.port(), describe(&*error)).into();
                }
            }
        }
        Err(failure)
    }
}

/// The text of an error and its causes, followed by a hint for known TLS errors.
fn describe(error: &(dyn std::error::Error + 'static)) -> String {
    let text = with_causes(error);
    match causes(error).find_map(tls_hint) {
        Some(hint) => format!("{text}; {hint}"),
        None => text,
    }
}

fn tls_hint(cause: &(dyn std::error::Error + 'static)) -> Option<&'static str> {
    let inner = cause.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
    match inner.and_then(|inner| inner.downcast_ref())? {
        rustls::Error::InvalidMessage(_) => {
            Some("the server does not use TLS: remove tls://, ca and cert, or enable TLS on the server")
        }
        rustls::Error::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        ) => Some("use the host name of the certificate"),
        rustls::Error::InvalidCertificate(_) => Some("set ca=FILE to the authority of the certificate"),
        _ => None,
    }
}

/// Every fault ends the connection. The bus then connects again and reports the lost signals.
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

fn on_reconnect(lost: Arc<watch::Sender<Option<String>>>) -> impl Fn(usize) -> Duration + Send + Sync + 'static {
    let has_connected = AtomicBool::new(false);
    move |_| {
        if has_connected.swap(true, Ordering::Relaxed) {
            lose(&lost, "disconnected");
        }
        Duration::ZERO
    }
}

/// Keeps the first reason.
fn lose(lost: &watch::Sender<Option<String>>, reason: &str) {
    lost.send_if_modified(|lost| {
        let is_first = lost.is_none();
        lost.get_or_insert_with(|| reason.to_owned());
        is_first
    });
}
