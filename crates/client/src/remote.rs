//! A remote agent as the backend of a server.

use std::{future::ready, sync::Arc};

use nuncio_model::{AgentCard, Backend, Call, Caller, Calling, Error, ErrorKind, Request, resume};
use nuncio_wire::Version;

use crate::client::Client;

/// A remote agent behind a server of this process. The server accepts calls over any binding and version, and forwards
/// the calls in the version and binding of the remote agent.
///
/// Tasks, contexts, streams with their sequence numbers, webhooks and errors are those of the remote agent. The remote
/// agent sees all callers of the server as one caller, with the client's credentials, so each caller can see the tasks
/// of the others. Calls with a tenant are refused, unless the tenant is the place of the agent on the server
/// (`Mount::tenant`). Clients of version 0.1 cannot begin tasks, because they choose the ids of their tasks.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use nuncio_client::{Client, RemoteAgent};
///
/// let client = Client::connect("https://agent.example").await?;
/// let agent = RemoteAgent::new(client);
/// // Server::builder(agent).bind("127.0.0.1:8080").await?.serve(std::future::pending()).await;
/// # let _ = agent;
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct RemoteAgent {
    client: Client,
    card: Arc<AgentCard>,
}

impl RemoteAgent {
    /// The agent of a client, with the card that the client found. The addresses, the signatures and the security
    /// requirements of this card are left out, because the server has its own. A client without a card gives a card
    /// with the name `agent`.
    pub fn new(client: Client) -> Self {
        let card = client.card().map_or_else(|| AgentCard::new("agent", ""), |card| AgentCard::clone(&card));
        Self::with_card(client, card)
    }

    /// The agent of a client, with a card in the place of the agent's own.
    pub fn with_card(client: Client, mut card: AgentCard) -> Self {
        card.supported_interfaces.clear();
        card.signatures.clear();
        card.security_schemes.clear();
        card.security_requirements.clear();
        for skill in &mut card.skills {
            skill.security_requirements.clear();
        }
        // The agent gives this card to the client's identity, which is not the identity of the caller.
        card.capabilities.extended_agent_card = None;
        Self { client, card: card.into() }
    }

    /// The version of the remote agent, which is the version of its notifications.
    fn version(&self) -> &str {
        self.client.version().map_or("1.0", Version::as_str)
    }

    /// The error of a call that the remote agent cannot execute as the caller means it.
    fn refusal(&self, request: &Request) -> Option<Error> {
        let (kind, reason) = match &request.call {
            Call::GetExtendedAgentCard(_) => (ErrorKind::UnsupportedOperation, "this agent has no extended card"),
            _ if request.new_task.is_some() => (
                ErrorKind::UnsupportedOperation,
                "the remote agent chooses the ids of its tasks; use version 0.2 or later",
            ),
            call if registers_webhook(call) && request.push_format.unwrap_or("1.0") != self.version() => (
                ErrorKind::PushNotificationNotSupported,
                "the remote agent sends notifications in another version of the protocol",
            ),
            // A call goes with the tenant of the client's interface, so the tasks of all tenants would be together.
            call if call.tenant().is_some_and(|tenant| !tenant.is_empty()) => {
                (ErrorKind::UnsupportedOperation, "this agent has no tenants")
            }
            _ => return None,
        };
        Some(Error::new(kind, reason))
    }
}

/// Whether a call registers a webhook.
fn registers_webhook(call: &Call) -> bool {
    let configuration = match call {
        Call::CreateTaskPushNotificationConfig(_) => return true,
        Call::SendMessage(request) => &request.configuration,
        Call::SendStreamingMessage(request) => &request.0.configuration,
        _ => return false,
    };
    configuration.as_ref().is_some_and(|configuration| configuration.task_push_notification_config.is_some())
}

impl Caller for RemoteAgent {
    fn call(&self, request: Request) -> Calling<'_> {
        match self.refusal(&request) {
            Some(error) => Box::pin(ready(Err(error))),
            None => Caller::call(&self.client, request),
        }
    }
}

impl Backend for RemoteAgent {
    fn card(&self) -> Arc<AgentCard> {
        Arc::clone(&self.card)
    }

    fn resumes(&self) -> bool {
        resume::is_declared(&self.card)
    }
}

impl std::fmt::Debug for RemoteAgent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RemoteAgent").field("card", &self.card.name).finish_non_exhaustive()
    }
}
