//! Tests of an agent without a port: `cargo test --example test_an_agent`. `cargo run --example test_an_agent` runs the
//! same conversation and prints the messages.

#![expect(clippy::print_stdout, reason = "an example shows what it got")]

use nuncio::{Agent, AgentError, Client, Engine, Message, Turn};

/// Asks for a number, and answers with the doubled number.
struct Doubler;

impl Agent for Doubler {
    async fn run(&self, turn: Turn) -> Result<(), AgentError> {
        match turn.message().text().trim().parse::<i64>() {
            Ok(number) => turn.artifact("double").finish((number * 2).to_string()).await,
            Err(_) => turn.ask("which number?").await,
        }
    }
}

/// A client that calls the agent in this process.
fn client() -> Client {
    nuncio::local(Engine::builder(Doubler).build())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let client = client();
    let question = client.send("double it").await?;
    println!("{}", question.text());
    let task = question.task().ok_or("the agent answers with a task")?;
    println!("{}", client.send(Message::user("21").with_task_id(task.id.clone())).await?.text());
    Ok(())
}

#[cfg(test)]
mod tests {
    use nuncio::TaskState;

    use super::*;

    #[tokio::test]
    async fn a_number_is_doubled() {
        let answer = client().send("21").await.unwrap();
        assert_eq!(answer.text(), "42");
        assert_eq!(answer.task().unwrap().state(), TaskState::Completed);
    }

    #[tokio::test]
    async fn a_text_causes_a_question_and_the_task_continues() {
        let client = client();
        let question = client.send("double it").await.unwrap();
        let task = question.task().unwrap();
        assert_eq!((task.state(), question.text().as_str()), (TaskState::InputRequired, "which number?"));
        let answer = client.send(Message::user("4").with_task_id(task.id.clone())).await.unwrap();
        assert_eq!(answer.text(), "8");
    }
}
