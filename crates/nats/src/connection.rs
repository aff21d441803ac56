//! A connection to NATS.

use std::collections::HashMap;

use async_nats::{Client, Subscriber};
use async_trait::async_trait;
use futures_util::StreamExt as _;
use nuncio_engine::bus::{BoxError, Connection, Listeners, Notice, Topic};
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;

use crate::subjects::Subjects;

/// A connection to NATS, until its first failure.
pub struct NatsConnection {
    client: Client,
    subjects: Subjects,
    listeners: Listeners,
    /// The task that reads the messages of each topic.
    readers: Mutex<HashMap<Topic, AbortOnDropHandle<()>>>,
    echo: Echo,
    /// The reason why the connection is lost.
    lost: watch::Receiver<Option<String>>,
}

/// Messages from this connection to itself. An echo arrives after the server has handled all earlier commands. A
/// request without responders would not prove the same, because a subscriber of `>` can receive the request.
struct Echo {
    subject: String,
    sent: tokio::sync::Mutex<u64>,
    received: watch::Receiver<u64>,
    _reader: AbortOnDropHandle<()>,
}

impl NatsConnection {
    pub(crate) async fn open(
        client: Client,
        lost: watch::Receiver<Option<String>>,
        prefix: &str,
        listeners: Listeners,
    ) -> Result<Self, BoxError> {
        let subjects = Subjects::new(prefix);
        let echo = Echo::open(&client, subjects.echo()).await?;
        Ok(Self { client, subjects, listeners, readers: Mutex::default(), echo, lost })
    }

    /// Waits until the server has handled all earlier commands.
    async fn round_trip(&self) -> Result<(), BoxError> {
        let mut sent = self.echo.sent.lock().await;
        *sent += 1;
        let mut received = self.echo.received.clone();
        self.client.publish(self.echo.subject.clone(), sent.to_string().into()).await?;
        received.wait_for(|received| *received >= *sent).await?;
        Ok(())
    }
}

impl Echo {
    async fn open(client: &Client, subject: String) -> Result<Self, BoxError> {
        let mut subscriber = client.subscribe(subject.clone()).await?;
        let (arrived, received) = watch::channel(0);
        let reader = tokio::spawn(async move {
            while let Some(message) = subscriber.next().await {
                let number = std::str::from_utf8(&message.payload).ok().and_then(|text| text.parse().ok());
                arrived.send_replace(number.unwrap_or_default());
            }
        });
        Ok(Self { subject, sent: tokio::sync::Mutex::default(), received, _reader: AbortOnDropHandle::new(reader) })
    }
}

async fn read(mut subscriber: Subscriber, topic: Topic, listeners: Listeners) {
    while let Some(message) = subscriber.next().await {
        listeners.deliver(topic, &Notice::decode(&message.payload));
    }
}

#[async_trait]
impl Connection for NatsConnection {
    async fn listen(&self, topics: &[Topic]) -> Result<(), BoxError> {
        for topic in topics {
            if self.readers.lock().contains_key(topic) {
                continue;
            }
            let subscriber = self.client.subscribe(self.subjects.of(*topic)).await?;
            let reader = tokio::spawn(read(subscriber, *topic, self.listeners.clone()));
            self.readers.lock().insert(*topic, AbortOnDropHandle::new(reader));
        }
        self.round_trip().await
    }

    async fn leave(&self, topics: &[Topic]) -> Result<(), BoxError> {
        // Dropping a subscriber unsubscribes.
        let mut readers = self.readers.lock();
        for topic in topics {
            readers.remove(topic);
        }
        Ok(())
    }

    async fn send(&self, batch: &[(Topic, Notice)]) -> Result<(), BoxError> {
        for (topic, notice) in batch {
            self.client.publish(self.subjects.of(*topic), notice.encode().into()).await?;
        }
        self.round_trip().await
    }

    async fn probe(&self) -> Result<(), BoxError> {
        self.round_trip().await
    }

    async fn lost(&self) -> BoxError {
        let mut lost = self.lost.clone();
        match lost.wait_for(Option::is_some).await {
            Ok(reason) => reason.clone().unwrap_or_default().into(),
            Err(_) => "the NATS client stopped".into(),
        }
    }
}
