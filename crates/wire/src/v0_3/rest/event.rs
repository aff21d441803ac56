//! Events and direct answers. An enclosing member tells their kind, or, as in JSON-RPC, their `kind`.

use nuncio_model::{Error, StreamResponse};
use serde::Deserialize;

use crate::{
    json,
    proto::fault::Fault,
    v0_3::proto::{reply, task},
};

/// Reads one event of a stream, or the result of a sent message.
pub(super) fn read(json: &[u8]) -> Result<StreamResponse, Error> {
    #[derive(Deserialize)]
    struct Kinded {
        #[serde(default)]
        kind: Option<Box<str>>,
    }
    Ok(match json::answer::<Kinded>(json)?.kind.as_deref() {
        Some("task") => StreamResponse::Task(json::answer::<task::Task>(json)?.into()),
        Some("message") => StreamResponse::Message(json::answer::<task::Message>(json)?.into()),
        Some("status-update") => {
            StreamResponse::StatusUpdate(json::answer::<task::TaskStatusUpdateEvent>(json)?.into())
        }
        Some("artifact-update") => {
            StreamResponse::ArtifactUpdate(json::answer::<task::TaskArtifactUpdateEvent>(json)?.into())
        }
        _ => {
            let event: reply::StreamResponse = json::answer(json)?;
            return event.into_event().map_err(|reason| Fault::invalid(reason).into_reply_error());
        }
    })
}
