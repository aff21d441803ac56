//! `whoami`: what the agent knows of its caller.

use nuncio_engine::{AgentError, Turn};
use nuncio_model::{Artifact, Part};
use serde_json::json;

pub(crate) async fn whoami(turn: &Turn, _: &str) -> Result<(), AgentError> {
    let caller = json!({
        "principal": turn.principal().to_string(),
        "authenticated": turn.principal().is_authenticated(),
        "tenant": turn.tenant().as_str(),
        "extensions": turn.extensions(),
        "acceptedOutputModes": turn.accepted_output_modes(),
    });
    turn.add_artifact(Artifact::new("whoami-1", vec![Part::data(caller)])).await
}
