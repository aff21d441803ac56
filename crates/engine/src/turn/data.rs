//! Structured data as Rust types: what the client sends, and what the agent answers.

use nuncio_model::Part;
use serde::{Serialize, de::DeserializeOwned};

use super::Turn;
use crate::agent::AgentError;

impl Turn {
    /// The structured data of the message as this type: its first data part.
    ///
    /// ```
    /// use nuncio_engine::{Engine, Turn, agent_fn};
    ///
    /// #[derive(serde::Deserialize)]
    /// struct Order { dish: String, guests: u32 }
    ///
    /// let waiter = agent_fn(|turn: Turn| async move {
    ///     let order: Order = turn.data()?;
    ///     turn.complete(format!("{} for {}", order.dish, order.guests)).await
    /// });
    /// # Engine::builder(waiter).build();
    /// ```
    ///
    /// # Errors
    ///
    /// If there is no data part, or if its data does not have the form of the type. The peer reads which.
    pub fn data<T: DeserializeOwned>(&self) -> Result<T, AgentError> {
        let mut parts = self.message().parts.iter();
        let data = parts.find_map(Part::as_data).ok_or_else(|| AgentError::new("the message has no data part"))?;
        data.parse().map_err(|error| AgentError::new(format!("the data of the message is not as expected: {error}")))
    }

    /// A value as a data part, if it follows the schema that the client asked for, or if the client asked for none
    /// ([`Self::validated`]).
    ///
    /// # Errors
    ///
    /// If the value does not follow the schema; the peer reads where. If the value cannot be written as JSON; the log has
    /// the reason.
    pub fn output(&self, value: &(impl Serialize + ?Sized)) -> Result<Part, AgentError> {
        self.validated(serde_json::to_value(value)?)
    }
}
