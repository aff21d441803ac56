//! `whoami`: the agent's information about its caller, and which of the message's referenced tasks the agent can see.

use nuncio_engine::{AgentError, Turn};
use nuncio_model::{Artifact, Part};
use serde_json::json;

/// The maximum number of examined references; each reference is a read of the store.
const REFERENCES: usize = 8;

pub(crate) async fn whoami(turn: &Turn, _: &str) -> Result<(), AgentError> {
    let mut references = Vec::new();
    for id in turn.message().reference_task_ids.iter().take(REFERENCES) {
        if let Some(task) = turn.referenced(id).await? {
            references.push(json!({"taskId": task.id.as_str(), "state": task.state().short()}));
        }
    }
    let caller = json!({
        "principal": turn.principal().to_string(),
        "authenticated": turn.principal().is_authenticated(),
        "tenant": turn.tenant().as_str(),
        "extensions": turn.extensions(),
        "acceptedOutputModes": turn.accepted_output_modes(),
        "references": references,
    });
    turn.add_artifact(Artifact::new("whoami-1", vec![Part::data(caller)])).await
}
