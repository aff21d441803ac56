//! Structured data as Rust types: the input of the client, and the output of the agent.

use nuncio_model::Part;
use serde::{Serialize, de::DeserializeOwned};

use super::Turn;
use crate::agent::AgentError;

impl Turn {
    /// The first data part of the message, as this type.
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
    /// If the message has no data part, or if the data does not match the type. The client reads the reason.
    pub fn data<T: DeserializeOwned>(&self) -> Result<T, AgentError> {
        let mut parts = self.message().parts.iter();
        let data = parts.find_map(Part::as_data).ok_or_else(|| AgentError::new("the message has no data part"))?;
        data.parse().map_err(|error| AgentError::new(format!("the data of the message is not as expected: {error}")))
    }

    /// A value as a data part, if the value follows the schema that the client requested, or if the client requested
    /// none ([`Self::validated`]).
    ///
    /// # Errors
    ///
    /// If the value does not follow the schema. The client reads the place. If the value cannot be written as JSON, the
    /// log has the reason.
    pub fn output(&self, value: &(impl Serialize + ?Sized)) -> Result<Part, AgentError> {
        self.validated(serde_json::to_value(value)?)
    }
}
