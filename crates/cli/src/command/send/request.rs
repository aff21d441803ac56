//! The request of `nuncio send`: its parts in the order of the command line.

use std::path::Path;

use nuncio_model::{Message, Part, Role, Value, op::SendMessageRequest};
use tokio::io::AsyncReadExt as _;

use super::{SendArgs, payload};
use crate::{
    args::{PartFlag, PartKind},
    command::{task_cancel::merged, task_get::history},
    context::Context,
    error::CliError,
};

/// Schemes of URLs that are sent as references.
const BY_REFERENCE: [&str; 6] = ["http", "https", "s3", "gs", "ftp", "ftps"];

pub(super) async fn build(context: &Context, args: &SendArgs) -> Result<SendMessageRequest, CliError> {
    if let Some(payload) = &args.request_payload {
        return payload::read(payload).await;
    }
    let mut parts = Vec::new();
    match args.message.as_deref() {
        Some("-") => parts.push(Part::text(stdin_text().await?)),
        Some(text) => parts.push(Part::text(text)),
        None => {}
    }
    for flag in &args.parts.0 {
        parts.push(part(flag).await?);
    }
    if parts.is_empty() {
        return Err(CliError::usage("there is nothing to send").with_hint(
            "give a message, - to read it from stdin, or a part by --text-part, --file-part or --data-part",
        ));
    }
    let mut message = Message::new(Role::User, parts);
    message.task_id = context.text(args.task_id.as_ref(), "task-id").map(Into::into);
    message.context_id = context.text(args.context_id.as_ref(), "context-id").map(Into::into);
    message.reference_task_ids = args.about.iter().map(|id| id.as_str().into()).collect();
    if let Some(path) = &args.schema {
        ask_for(&mut message, schema(path).await?);
    }
    let mut request = SendMessageRequest::new(message);
    if !args.accept.is_empty() {
        request.configuration.get_or_insert_default().accepted_output_modes.clone_from(&args.accept);
    }
    request.metadata = merged(context, &args.metadata)?.map(Box::new);
    if let Some(length) = history(context, args.history)? {
        request.configuration.get_or_insert_default().history_length = Some(length);
    }
    Ok(request)
}

/// The JSON schema in a file.
async fn schema(path: &Path) -> Result<Value, CliError> {
    let text = read_text(&path.to_string_lossy()).await?;
    let schema: Value = serde_json::from_str(&text)
        .map_err(|error| CliError::usage(format!("--schema {}: it is not JSON: {error}", path.display())))?;
    if schema.is_object() || schema.is_boolean() {
        return Ok(schema);
    }
    Err(CliError::usage(format!("--schema {}: a JSON schema is an object", path.display())))
}

/// Asks for data by a schema: the metadata of the first part has the schema and the media type of the answer.
fn ask_for(message: &mut Message, schema: Value) {
    if let Some(part) = message.parts.first_mut() {
        let members = [("mimeType".to_owned(), "application/json".into()), ("schema".to_owned(), schema)];
        *part = std::mem::replace(part, Part::text("")).with_metadata(members.into_iter().collect());
    }
}

async fn part(flag: &PartFlag) -> Result<Part, CliError> {
    let part = match flag.kind {
        PartKind::Text => Part::text(flag.value.as_str()),
        PartKind::Data => data(&flag.value).await?,
        PartKind::File => file(&flag.value).await?,
    };
    Ok(match &flag.media_type {
        Some(media_type) => part.with_media_type(media_type.as_str()),
        None => part,
    })
}

/// JSON from stdin, inline, or from a file.
async fn data(value: &str) -> Result<Part, CliError> {
    let is_json = |text: &str| serde_json::from_str::<Value>(text);
    let (text, place) = if value == "-" {
        (stdin_text().await?, "stdin")
    } else if Path::new(value).is_file() {
        (read_text(value).await?, value)
    } else if value.trim_start().starts_with(['{', '[', '"']) || is_json(value).is_ok() {
        // A text that begins like JSON is JSON. The error names the position of a mistake.
        (value.to_owned(), "--data-part")
    } else {
        let message = format!("--data-part `{value}` is neither a file nor JSON");
        return Err(CliError::usage(message).with_hint("a text needs quotes within: '\"text\"'"));
    };
    let data = is_json(&text).map_err(|error| {
        CliError::usage(format!("{place} is not JSON: {error}")).with_hint(if place == "--data-part" {
            r#"single quotes keep it from the shell: --data-part '{"width":100}'"#
        } else {
            "one JSON value is wanted, and nothing behind it"
        })
    })?;
    Ok(Part::data(data).with_media_type("application/json"))
}

/// A file by reference or by its bytes.
async fn file(value: &str) -> Result<Part, CliError> {
    let scheme = value.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
    if scheme.as_deref().is_some_and(|scheme| BY_REFERENCE.contains(&scheme)) {
        let path = value.split(['?', '#']).next().unwrap_or_default();
        return Ok(match mime_guess::from_path(path).first() {
            Some(media_type) => Part::url(value).with_media_type(media_type.essence_str()),
            None => Part::url(value),
        });
    }
    let path = Path::new(value.strip_prefix("file://").unwrap_or(value));
    let bytes = tokio::fs::read(path).await.map_err(|error| {
        unreadable(value, &error).with_hint("name a file that is there, or a URL: https://... is sent as it is")
    })?;
    let media_type = mime_guess::from_path(path).first_or_octet_stream();
    let part = Part::raw(bytes).with_media_type(media_type.essence_str());
    Ok(match path.file_name() {
        Some(name) => part.with_filename(name.to_string_lossy().as_ref()),
        None => part,
    })
}

pub(super) async fn read_text(path: &str) -> Result<String, CliError> {
    let text = tokio::fs::read_to_string(path).await;
    text.map_err(|error| unreadable(path, &error).with_hint("name a file that is there, of text in UTF-8"))
}

async fn stdin_text() -> Result<String, CliError> {
    let mut text = String::new();
    tokio::io::stdin().read_to_string(&mut text).await.map_err(|error| {
        let failed = CliError::usage(format!("stdin cannot be read: {error}"));
        match error.kind() {
            std::io::ErrorKind::InvalidData => {
                failed.with_hint("a text is UTF-8; send other bytes as a file: --file-part PATH")
            }
            _ => failed.with_hint("look where stdin comes from"),
        }
    })?;
    Ok(text)
}

fn unreadable(path: &str, error: &std::io::Error) -> CliError {
    CliError::usage(format!("cannot read {path}: {error}")).with_hint("name a file that is there")
}
