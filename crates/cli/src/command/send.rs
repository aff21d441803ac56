//! `nuncio send` (sections 3.1.1 and 3.1.2): sends a message and follows its task.

mod answer;
mod payload;
mod request;

use std::{ffi::OsString, path::PathBuf, process::ExitCode};

use clap::{
    Args,
    error::{ContextKind, ContextValue},
};
use nuncio_client::{Client, ClientError, Failure, PeerCode, Version};
use nuncio_model::{
    Error, ErrorKind, StreamResponse, Struct,
    op::{SendMessageRequest, SendMessageResponse},
};

use super::short_id;
use crate::{
    args::{ConnectArgs, PartArgs, WaitArgs, history_length, metadata},
    connect::Connection,
    context::Context,
    diag,
    error::{CliError, Code},
    files::{self, Saved},
    follow::{self, Follower, Outcome},
    output::Output,
    reference::InHand,
};

#[derive(Debug, Args)]
pub(crate) struct SendArgs {
    /// A text before all other parts; - reads the text from stdin
    #[arg(value_name = "MESSAGE")]
    message: Option<String>,
    #[command(flatten, next_help_heading = "Parts")]
    parts: PartArgs,
    /// Start a new task in this context
    #[arg(long, value_name = "ID", help_heading = "Conversation")]
    context_id: Option<String>,
    /// Continue this task
    #[arg(long, value_name = "ID", help_heading = "Conversation")]
    task_id: Option<String>,
    /// Name another task that the message is about; repeatable
    #[arg(long, value_name = "ID", help_heading = "Conversation")]
    about: Vec<String>,
    /// Data to send along, a JSON object; repeatable, later members win
    #[arg(long, value_name = "JSON", value_parser = metadata, help_heading = "Conversation")]
    metadata: Vec<Struct>,
    /// How many messages of history to show [default: all]
    #[arg(long, value_name = "N", value_parser = history_length, allow_negative_numbers = true,
        help_heading = "Conversation")]
    history: Option<i32>,
    /// Take answers of this media type, text/plain for example; repeatable, best first [default: any]
    #[arg(long, value_name = "MODE", value_delimiter = ',', help_heading = "Answer")]
    accept: Vec<String>,
    /// Ask for data that follows the JSON schema in this file
    #[arg(long, value_name = "FILE", help_heading = "Answer")]
    schema: Option<PathBuf>,
    /// Print only the text of the answer [default: off]
    #[arg(long, help_heading = "Answer", conflicts_with_all = ["stream", "return_at_once"])]
    answer: bool,
    /// Write the files of the answer into this folder; a missing folder is created
    #[arg(long, value_name = "DIR", help_heading = "Answer")]
    save_fileparts: Option<PathBuf>,
    /// A whole SendMessageRequest, as a file or inline
    #[arg(long, value_name = "PATH|JSON", help_heading = "Conversation", conflicts_with_all = [
        "message", "text-part", "file-part", "data-part", "context_id", "task_id", "metadata", "history", "return_at_once", "about",
        "accept", "schema",
    ])]
    request_payload: Option<String>,
    /// Do not wait: print the ids and go [default: off]
    #[arg(long = "async", visible_aliases = ["return-immediately", "no-wait"], help_heading = "Waiting")]
    return_at_once: bool,
    /// Wait until the task has ended or is interrupted [default: true]
    #[arg(long, visible_alias = "watch", num_args = 0..=1, require_equals = true, default_missing_value = "true",
        conflicts_with = "return_at_once", help_heading = "Waiting")]
    wait: Option<bool>,
    /// Exit with 1 when the task ends failed, rejected or canceled [default: off]
    #[arg(long, help_heading = "Waiting")]
    fail: bool,
    #[command(flatten)]
    waiting: WaitArgs,
    #[command(flatten)]
    pub(crate) connect: ConnectArgs,
}

pub(crate) async fn run(context: &Context, args: &SendArgs) -> Result<ExitCode, CliError> {
    let is_stream = context.global.stream;
    // A flag beats a setting that says otherwise.
    let at_once = match args.wait {
        Some(wait) => !wait,
        None if is_stream => args.return_at_once,
        None => context.switch(args.return_at_once, "async")? || context.layers.switch("wait")? == Some(false),
    };
    if at_once && is_stream {
        return Err(CliError::usage("--stream waits for events, --async does not wait")
            .with_hint("leave one out: after --async, `nuncio task subscribe --stream` gives the events"));
    }
    if args.answer && !context.output.is_text() {
        return Err(CliError::usage("--answer prints text, and -o asks for JSON").with_hint("leave one of them out"));
    }
    let mut request = request::build(context, args).await?;
    let history = request.history_length();
    let task = request.message.task_id.as_ref().map(ToString::to_string);
    follow::within(context, &args.waiting, async {
        let connection = Connection::open(context, &args.connect).await?;
        if let Some(task) = &mut request.message.task_id {
            *task = short_id::resolve(&connection, task.as_str()).await?;
        }
        for task in &mut request.message.reference_task_ids {
            *task = short_id::resolve(&connection, task.as_str()).await?;
        }
        let mut follower = Follower::new(context, &connection, &args.waiting, history, is_stream)?;
        if args.answer {
            follower.output = follower.output.only_answer();
        }
        let came = if at_once {
            request.configuration.get_or_insert_default().return_immediately = true;
            let answered = connection.client.send(request).await.map_err(|error| connection.explain(error));
            outcome(answered.map_err(|error| ended(error, task.as_deref(), &connection))?)
        } else {
            send(&follower, request).await.map_err(|error| ended(error, task.as_deref(), &connection))?
        };
        report(&follower, came, args)
    })
    .await
}

/// Sends and follows, by a stream if the agent supports streams. A stream has the id of a new task at once. If the id
/// is known, a unary call is used, which every agent supports. Agents of 0.3 or 0.2 get a unary call unless events
/// are printed: their SDKs report the error of an agent in the answer to a unary call, and not in a stream.
async fn send(follower: &Follower<'_>, mut request: SendMessageRequest) -> Result<Outcome, CliError> {
    let connection = follower.connection;
    let known = request.message.task_id.clone().filter(|_| !follower.is_stream);
    let by_stream = follower.is_stream || !tells_errors_in_answers(&connection.client);
    if by_stream && known.is_none() && connection.client.card().is_none_or(|card| card.capabilities.streams()) {
        match connection.client.send_stream(request.clone()).await {
            // When the stream begins, a continued task may still have the state of the turn before.
            Ok(watch) => return follower.watch(watch, request.message.task_id.is_some()).await,
            // The card says too much, or there is none. Nothing was done, so the message can be sent another way.
            Err(error) if error.as_agent_error().is_some_and(|it| is_about_streaming(it, &request)) => {
                tracing::debug!(%error, "the agent does not stream");
            }
            Err(error) => return Err(connection.explain(error)),
        }
    }
    if follower.is_stream {
        diag::progress("the agent does not stream; asking for the task instead");
        // An immediate answer would have a continued task as it was before this turn.
        let is_new = request.message.task_id.is_none();
        request.configuration.get_or_insert_default().return_immediately = is_new;
    }
    let answered = match (connection.client.send(request).await, known) {
        (Err(ClientError::Transport(failure @ Failure::Broken { .. })), Some(task)) => {
            diag::warn(&format!("{failure}; whether the agent heard the message is not known"));
            return follower.poll(&task, None, false).await;
        }
        (answered, _) => outcome(answered.map_err(|error| connection.explain(error))?),
    };
    match answered {
        Outcome::Task(task) => follower.go_on(*task).await,
        Outcome::Message(message) => {
            if follower.is_stream {
                follower.output.event(&StreamResponse::Message((*message).clone()))?;
            }
            Ok(Outcome::Message(message))
        }
    }
}

/// Whether an agent reports errors in answers to unary calls only. This holds for 0.3, and for 0.2 since 0.2.5, whose
/// cards declare a version. Older SDKs do not end a unary call that is answered with a message.
fn tells_errors_in_answers(client: &Client) -> bool {
    let declared = client.interface().map_or("", |interface| interface.protocol_version.trim());
    match client.version().map(Version::as_str) {
        Some("0.3") => true,
        Some("0.2") => declared.starts_with("0.2."),
        _ => false,
    }
}

/// A task that has ended takes no messages (section 3.1.1), but can be read.
fn ended(error: CliError, task: Option<&str>, connection: &Connection) -> CliError {
    match task {
        Some(task) if error.code == Code::Agent("UnsupportedOperationError") => {
            let show = InHand::named(task, connection).get_command();
            error.with_hint(format!("a task that has ended takes no messages; {show}; --debug shows what was sent"))
        }
        _ => error,
    }
}

/// Whether an error means missing streaming, and not a refused message.
fn is_about_streaming(error: &Error, request: &SendMessageRequest) -> bool {
    match error.kind() {
        ErrorKind::MethodNotFound => true,
        ErrorKind::UnsupportedOperation => request.message.task_id.is_none(),
        // Not in the words of the protocol.
        _ => PeerCode::of(error) == Some(PeerCode::Http(501)),
    }
}

fn outcome(response: SendMessageResponse) -> Outcome {
    match response {
        SendMessageResponse::Task(task) => Outcome::Task(Box::new(task)),
        SendMessageResponse::Message(message) => Outcome::Message(Box::new(message)),
    }
}

fn report(follower: &Follower<'_>, outcome: Outcome, args: &SendArgs) -> Result<ExitCode, CliError> {
    match outcome {
        Outcome::Message(message) => {
            if let Some(folder) = &args.save_fileparts {
                tell(&files::save_message(&message, folder)?);
            }
            if follower.is_stream {
                return Ok(ExitCode::SUCCESS);
            }
            if follower.output.is_answer() {
                Output::answer(&answer::of_message(&message))?;
                return Ok(ExitCode::SUCCESS);
            }
            let response = SendMessageResponse::Message(*message);
            follower.output.document(&response, |to| {
                if let SendMessageResponse::Message(message) = &response {
                    to.message(message);
                }
            })?;
            Ok(ExitCode::SUCCESS)
        }
        Outcome::Task(task) => {
            if let Some(folder) = &args.save_fileparts {
                tell(&files::save_task(&task, folder)?);
            }
            if follower.output.is_answer() {
                Output::answer(&answer::of_task(&task))?;
            } else if !follower.is_stream {
                let has_head = follower.has_head();
                let response = SendMessageResponse::Task((*task).clone());
                follower.output.document(&response, |to| if has_head { to.outcome(&task) } else { to.task(&task) })?;
            }
            follower.close(&task, args.fail)
        }
    }
}

/// Says on stderr which files were written: stdout has the answer.
pub(crate) fn tell(saved: &[Saved]) {
    for file in saved {
        diag::line(&format!("saved {}", file.about()));
    }
}

/// The hint for a second message, which mostly is a message without quotes.
pub(crate) fn words_hint(error: &clap::Error, arguments: &[OsString]) -> Option<String> {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidArg) else { return None };
    let is_send = arguments.get(1).is_some_and(|command| command == "send");
    (is_send && !word.starts_with('-'))
        .then(|| "a message of several words needs quotes: nuncio send \"hello there\"".to_owned())
}
