//! A client for an engine in the same process: calls of an agent without a network.

use nuncio_client::Client;
use nuncio_engine::Engine;

/// A client that calls an engine directly: for tests of an agent, and for agents that call each other in one process.
///
/// ```
/// use nuncio::{Agent, AgentError, Engine, Turn, model::op::SendMessageResponse};
///
/// struct Echo;
///
/// impl Agent for Echo {
///     async fn run(&self, turn: Turn) -> Result<(), AgentError> {
///         turn.reply(turn.message().text()).await
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let client = nuncio::local(Engine::builder(Echo).build());
/// let answer = client.send("hello").await?;
/// assert!(matches!(answer, SendMessageResponse::Message(message) if message.text() == "hello"));
/// # Ok(()) }
/// ```
pub fn local(engine: Engine) -> Client {
    Client::over(engine)
}
