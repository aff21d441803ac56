//! Callers with tokens; each caller has separate tasks: `cargo run --example authentication`.

#![expect(clippy::print_stdout, reason = "an example shows what it got")]

use nuncio::{Client, Credential, Engine, Server, Turn, auth::Tokens, engine::agent_fn};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let greeter = agent_fn(|turn: Turn| async move {
        let name = turn.principal().name().unwrap_or("stranger").to_owned();
        turn.complete(format!("hello, {name}")).await
    });
    let tokens = Tokens::new().with("alice", "a-long-secret-of-alice")?.with("bob", "a-long-secret-of-bob")?;
    let server = Server::builder(Engine::builder(greeter).build()).authenticator(tokens).bind("127.0.0.1:0").await?;
    let address = server.local_addr().to_string();
    tokio::spawn(server.serve(std::future::pending()));

    let connect =
        async |secret: &str| Client::builder().credential(Credential::bearer(secret)).connect(&*address).await;
    let alice = connect("a-long-secret-of-alice").await?;
    let bob = connect("a-long-secret-of-bob").await?;

    let answer = alice.send("hi").await?;
    println!("alice reads: {}", answer.text());
    let task = answer.task().ok_or("the agent answers with a task")?;
    println!("bob reads the task of alice: {:?}", bob.task(task.id.clone()).await.map(|task| task.id));

    let stranger = Client::connect(&*address).await?;
    println!("a caller without a token: {:?}", stranger.send("hi").await.map(|answer| answer.text()));
    Ok(())
}
