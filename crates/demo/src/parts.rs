//! `parts`: an artifact of each kind of part.

use nuncio_engine::{AgentError, Turn};
use nuncio_model::{Artifact, Part};
use serde_json::json;

pub(crate) async fn parts(turn: &Turn, _: &str) -> Result<(), AgentError> {
    let every_byte: Vec<u8> = (0..=255).collect();
    let parts = [
        ("a-text", Part::text("héllo ✓")),
        ("a-raw", Part::raw(every_byte).with_media_type("application/octet-stream").with_filename("all.bin")),
        ("a-url", Part::url("https://example.com/o.txt").with_media_type("text/plain").with_filename("o.txt")),
        ("a-data", Part::data(json!({"k": [1, 2.5, null, true, "x"]}))),
    ];
    turn.begin().await?;
    for (id, part) in parts {
        turn.add_artifact(Artifact::new(id, vec![part])).await?;
    }
    Ok(())
}
