//! Calls any agent: `cargo run --example call_agent -- 127.0.0.1:8080 "hello"`.

#![expect(clippy::print_stdout, reason = "an example shows what it got")]

use nuncio::{Client, model::op::SendMessageResponse};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let client = Client::connect(words.next().unwrap_or_else(|| "127.0.0.1:8080".into())).await?;
    match client.send(words.next().unwrap_or_else(|| "hello".into())).await? {
        SendMessageResponse::Message(message) => println!("{}", message.text()),
        SendMessageResponse::Task(task) => {
            println!("{} is {}", task.id, task.state().short());
            task.artifacts.iter().for_each(|artifact| println!("{}", artifact.text()));
        }
    }
    Ok(())
}
