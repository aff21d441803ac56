//! The two connections of a node to the bus.

use std::{future::poll_fn, sync::Arc};

use async_trait::async_trait;
use nuncio_engine::bus::{BoxError, Connection, Listeners, Notice, Topic};
use tokio::{sync::watch, task::JoinHandle};
use tokio_postgres::{AsyncMessage, Client, Notification, Statement};

use super::channels::Channels;
use crate::postgres::{
    error::explain,
    servers::{Connected, Servers},
};

/// Sends a group of notifications.
const NOTIFY: &str =
    "SELECT pg_notify(channel, payload) FROM unnest($1::text[], $2::text[]) AS signals(channel, payload)";

/// A listening connection and a sending connection. When one of them fails, both are replaced.
pub struct PostgresConnection {
    listening: Line,
    sending: Line,
    notify: Statement,
    channels: Arc<Channels>,
    /// The reason why a connection was lost.
    lost: watch::Receiver<Option<String>>,
}

/// A client and the task that transfers its bytes. Dropping a line closes the connection.
struct Line {
    client: Client,
    driver: JoinHandle<()>,
}

impl Drop for Line {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

impl PostgresConnection {
    pub(super) async fn open(
        servers: &Servers,
        channels: &Arc<Channels>,
        listeners: Listeners,
    ) -> Result<Self, BoxError> {
        let (lost_sender, lost) = watch::channel(None);
        let lost_sender = Arc::new(lost_sender);
        let (private, (heard_sender, mut heard)) = (channels.private(), watch::channel(false));
        let on_notification = {
            let (channels, private) = (channels.clone(), private.clone());
            move |notification: &Notification| {
                if let Some(topic) = channels.topic(notification.channel()) {
                    listeners.deliver(topic, &Notice::decode(notification.payload().as_bytes()));
                } else if notification.channel() == private {
                    heard_sender.send_replace(true);
                }
            }
        };
        let listening = Line::open(servers, lost_sender.clone(), on_notification).await?;
        let sending = Line::open(servers, lost_sender, |_| {}).await?;
        // A transaction with a `NOTIFY` has a commit record. The server would wait until this record is on the disk.
        sending.client.batch_execute("SET synchronous_commit = off").await.map_err(bus_error)?;
        let notify = sending.client.prepare(NOTIFY).await.map_err(bus_error)?;
        let connection = Self { listening, sending, notify, channels: channels.clone(), lost };
        connection.listening.client.batch_execute(&format!("LISTEN \"{private}\"")).await.map_err(bus_error)?;
        connection.notify(vec![private], vec![String::new()]).await?;
        if heard.wait_for(|heard| *heard).await.is_err() {
            return Err(connection.lost().await);
        }
        Ok(connection)
    }

    async fn notify(&self, channels: Vec<String>, payloads: Vec<String>) -> Result<(), BoxError> {
        self.sending.client.query(&self.notify, &[&channels, &payloads]).await.map_err(bus_error)?;
        Ok(())
    }

    /// Executes `LISTEN` or `UNLISTEN` for each topic, in one transaction.
    async fn for_each(&self, command: &str, topics: &[Topic]) -> Result<(), BoxError> {
        let commands = topics.iter().map(|topic| format!("{command} \"{}\";", self.channels.name(*topic)));
        self.listening.client.batch_execute(&commands.collect::<String>()).await.map_err(bus_error)
    }
}

impl Line {
    async fn open(
        servers: &Servers,
        lost_sender: Arc<watch::Sender<Option<String>>>,
        on_notification: impl Fn(&Notification) + Send + 'static,
    ) -> Result<Self, BoxError> {
        let Connected { client, mut connection, .. } = servers.connect().await?;
        let driver = tokio::spawn(async move {
            let reason = loop {
                match poll_fn(|context| connection.poll_message(context)).await {
                    Some(Ok(AsyncMessage::Notification(notification))) => on_notification(&notification),
                    Some(Ok(_)) => {}
                    Some(Err(error)) => break explain(&error),
                    None => break "the connection was closed".to_owned(),
                }
            };
            lost_sender.send_replace(Some(reason));
        });
        Ok(Self { client, driver })
    }
}

#[expect(clippy::needless_pass_by_value, reason = "the signature that `map_err` needs")]
fn bus_error(error: tokio_postgres::Error) -> BoxError {
    explain(&error).into()
}

#[async_trait]
impl Connection for PostgresConnection {
    async fn listen(&self, topics: &[Topic]) -> Result<(), BoxError> {
        self.for_each("LISTEN", topics).await
    }

    async fn leave(&self, topics: &[Topic]) -> Result<(), BoxError> {
        self.for_each("UNLISTEN", topics).await
    }

    async fn send(&self, batch: &[(Topic, Notice)]) -> Result<(), BoxError> {
        self.notify(
            batch.iter().map(|(topic, _)| self.channels.name(*topic)).collect(),
            batch.iter().map(|(_, notice)| notice.encode()).collect(),
        )
        .await
    }

    async fn probe(&self) -> Result<(), BoxError> {
        let (listening, sending) =
            tokio::join!(self.listening.client.batch_execute(""), self.sending.client.batch_execute(""));
        listening.and(sending).map_err(bus_error)
    }

    async fn lost(&self) -> BoxError {
        let mut lost = self.lost.clone();
        match lost.wait_for(Option::is_some).await {
            Ok(reason) => reason.clone().unwrap_or_default().into(),
            Err(_) => "both connections have ended".into(),
        }
    }
}
