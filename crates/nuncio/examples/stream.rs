//! Follows the events of a task: `cargo run --example stream -- 127.0.0.1:8080 "stream 5 every=300"`.

#![expect(clippy::print_stdout, reason = "an example shows what it got")]

use futures_util::StreamExt as _;
use nuncio::{Client, StreamResponse};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let client = Client::connect(words.next().unwrap_or_else(|| "127.0.0.1:8080".into())).await?;
    // After a broken connection, the client continues the stream at the same position.
    let mut events = client.send_stream(words.next().unwrap_or_else(|| "stream 5 every=300".into())).await?;
    while let Some(event) = events.next().await {
        match &event?.response {
            StreamResponse::Task(task) => println!("task {} is {}", task.id, task.state().short()),
            StreamResponse::Message(message) => println!("{}", message.text()),
            StreamResponse::StatusUpdate(update) => println!("now {}", update.status.state.short()),
            StreamResponse::ArtifactUpdate(update) => print!("{}", update.artifact.text()),
        }
    }
    println!("over: {:?}", events.end());
    Ok(())
}
