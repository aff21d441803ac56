//! `table`: structured data, by the client's schema and in a form that the client accepts.

use nuncio_engine::{AgentError, Turn};
use nuncio_model::{Artifact, Part, Value};
use serde_json::json;

use crate::sample;

const JSON: &str = "application/json";

/// Answers with data for the schema in the message, or with a small table if there is no schema. A client that does not
/// accept JSON gets the table as text; a client that accepts neither gets a rejection.
pub(crate) async fn table(turn: &Turn, _: &str) -> Result<(), AgentError> {
    let part = match turn.requested_schema() {
        Some(_) if !takes(turn, JSON) => {
            return turn.reject("data for a schema is available only as application/json").await;
        }
        Some(schema) => match turn.validated(sample::of(schema)) {
            Ok(part) => part,
            Err(error) => return turn.reject(format!("cannot create a sample for this schema: {error}")).await,
        },
        None if takes(turn, JSON) => Part::data(rows()),
        None => match ["text/csv", "text/plain"].into_iter().find(|text| takes(turn, text)) {
            Some(media_type) => Part::text(csv()).with_media_type(media_type),
            None => return turn.reject("the table is available as application/json, text/csv or text/plain").await,
        },
    };
    turn.begin().await?;
    turn.add_artifact(Artifact::new("table-1", vec![part]).with_name("table")).await
}

/// Whether the client accepts this media type; a client without accepted types accepts all.
fn takes(turn: &Turn, media_type: &str) -> bool {
    let modes = turn.accepted_output_modes();
    let kind = media_type.split('/').next().unwrap_or_default();
    modes.is_empty()
        || modes
            .iter()
            .map(|mode| mode.split(';').next().unwrap_or_default().trim())
            .any(|mode| mode.eq_ignore_ascii_case(media_type) || mode == "*/*" || mode.strip_suffix("/*") == Some(kind))
}

const TABLE: [(&str, u32); 3] = [("apples", 3), ("pears", 5), ("plums", 8)];

fn rows() -> Value {
    TABLE.iter().map(|(name, count)| json!({"name": name, "count": count})).collect()
}

fn csv() -> String {
    TABLE.iter().fold("name,count\n".to_owned(), |text, (name, count)| text + &format!("{name},{count}\n"))
}
