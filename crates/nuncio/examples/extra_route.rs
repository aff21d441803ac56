//! An additional route next to the agent, on the same port: `cargo run --example extra_route`.

#![expect(clippy::print_stdout, reason = "an example shows what it got")]

use axum::{Router, routing::get};
use nuncio::{Client, Engine, Server, Turn, engine::agent_fn};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let agent = agent_fn(|turn: Turn| async move { turn.complete("hello").await });
    // These routes have priority and are not behind the server's authenticator: see the example `custom_binding`.
    let routes = Router::new().route("/about", get(async || "an agent that greets\n"));
    let server = Server::builder(Engine::builder(agent).build()).routes(routes).bind("127.0.0.1:0").await?;
    let address = server.local_addr().to_string();
    tokio::spawn(server.serve(std::future::pending()));

    print!("the route: {}", reqwest::get(format!("http://{address}/about")).await?.text().await?);
    println!("the agent: {}", Client::connect(address).await?.send("hi").await?.text());
    Ok(())
}
