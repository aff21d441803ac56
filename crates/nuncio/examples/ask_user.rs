//! An agent that asks a question before the answer: `cargo run --example ask_user`. Then run `nuncio send -a
//! 127.0.0.1:8080 "book a table"`, and the `Resume:` command in the output.

#![expect(clippy::print_stdout, reason = "an example says how to call it")]

use nuncio::{Agent, AgentError, Engine, Message, Server, Turn};

struct Waiter;

impl Agent for Waiter {
    async fn run(&self, turn: Turn) -> Result<(), AgentError> {
        // The task exists from the second turn on; the message is then the answer to the question.
        let Some(task) = turn.task() else {
            return turn.ask("for how many?").await;
        };
        let wish = task.history.first().map(Message::text).unwrap_or_default();
        let guests = turn.message().text();
        let Ok(guests) = guests.trim().parse::<u32>() else {
            return turn.ask(format!("`{guests}` is no number; for how many?")).await;
        };
        turn.complete(format!("{wish}: done, for {guests}")).await
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = Server::builder(Engine::builder(Waiter).build()).bind("127.0.0.1:8080").await?;
    println!("serving; call: nuncio send -a 127.0.0.1:8080 \"book a table\"");
    server.serve(async { tokio::signal::ctrl_c().await.unwrap_or_default() }).await;
    Ok(())
}
