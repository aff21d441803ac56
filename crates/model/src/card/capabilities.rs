//! Optional abilities of an agent (sections 4.4.3 and 4.4.4).

use crate::json::{Struct, json_object};

json_object! {
    /// Optional parts of the protocol; each is off unless declared (section 4.4.3).
    pub struct AgentCapabilities {
        /// `SendStreamingMessage` and `SubscribeToTask`.
        pub streaming: Option<bool> => presence "streaming",
        /// The four push notification operations.
        pub push_notifications: Option<bool> => presence "pushNotifications" | "push_notifications",
        /// The protocol extensions of the agent.
        pub extensions: Vec<AgentExtension> => implicit "extensions",
        /// `GetExtendedAgentCard`.
        pub extended_agent_card: Option<bool> => presence "extendedAgentCard" | "extended_agent_card",
    }
}

impl AgentCapabilities {
    /// Whether streaming is declared.
    pub fn streams(&self) -> bool {
        self.streaming == Some(true)
    }

    /// Whether push notifications are declared.
    pub fn pushes(&self) -> bool {
        self.push_notifications == Some(true)
    }

    /// Whether an extended card is declared.
    pub fn extends_card(&self) -> bool {
        self.extended_agent_card == Some(true)
    }
}

json_object! {
    /// An extension of the protocol (section 4.6).
    pub struct AgentExtension {
        /// The identifier of the extension.
        pub uri: String => implicit "uri",
        /// The agent's use of the extension, for people.
        pub description: Option<Box<str>> => implicit "description",
        /// Whether clients must declare the extension.
        pub required: bool => implicit "required",
        /// Settings defined by the extension.
        pub params: Option<Box<Struct>> => presence "params",
    }
}
