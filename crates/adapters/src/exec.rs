//! `nuncio serve --exec -- CMD`: any filter as an agent. The message is the program's stdin, and the stdout is the
//! artifact.

mod input;
mod output;

use nuncio_engine::{Agent, AgentError, Turn};
use tokio::io::AsyncWriteExt as _;
use tokio_util::sync::CancellationToken;

use self::output::Output;
use crate::program::{Asked, Ended, Exit, Pipes, Program, Stop, Tail};

/// The rejection of a message that requests data with a JSON schema.
const NO_SCHEMA: &str = "this agent returns text and does not support JSON schemas";

/// An agent that runs a program with text input and text output.
///
/// The program runs once for each message. The stdin is the text of the message's parts, joined by spaces. A file by
/// reference is written as `[file: URL]`, inline bytes as `[binary N bytes]`, and data as JSON. If the last line has no
/// line break, the adapter adds a line break, as in a text file. The program does not have to read the input.
///
/// The stdout becomes one artifact, `output`. Each line with its line break is a chunk, or
/// [`with_delimiter`](Self::with_delimiter) sets another separator. Chunks are sent as they arrive. After a successful
/// end of the program, the last chunk has the `lastChunk` flag. If the last line was already sent, an empty chunk with
/// the flag follows, which adds no part to the artifact. From the first line that is not UTF-8, the rest of the output
/// is one part of bytes (`application/octet-stream`). If the program writes no output, the task completes without an
/// artifact.
///
/// Exit code 0 completes the task. The task fails after any other exit code, after a signal, and if the program cannot
/// be started. The reason includes the last 20 lines of stderr, so a program should not write secrets to stderr. The
/// log also receives stderr, with the target `agent`. [`ProgramLimits`](crate::ProgramLimits) limit size and time.
///
/// A message that requests data by a JSON schema ([`Turn::requested_schema`]) is rejected, because the adapter does not
/// validate the output.
///
/// A cancellation sends SIGTERM to the program's process group, and SIGKILL after the grace period. If the turn is
/// dropped, the group gets SIGKILL immediately.
#[derive(Debug, Clone)]
pub struct Exec {
    program: Program,
    delimiter: Option<Box<[u8]>>,
}

impl Exec {
    /// An agent that runs this program.
    pub fn new(program: Program) -> Self {
        Self { program, delimiter: None }
    }

    /// Splits the output at this delimiter instead of after each line, and removes the delimiter. Each piece is text,
    /// or bytes if the piece is not UTF-8. A piece is sent when the next piece arrives, so that the last piece has the
    /// `lastChunk` flag. A piece larger than [`ProgramLimits::piece`](crate::ProgramLimits::piece) fails the task. An
    /// empty delimiter has no effect.
    pub fn with_delimiter(mut self, delimiter: impl Into<Vec<u8>>) -> Self {
        self.delimiter = Some(delimiter.into().into_boxed_slice()).filter(|delimiter| !delimiter.is_empty());
        self
    }

    /// The program.
    pub fn program(&self) -> &Program {
        &self.program
    }
}

impl Agent for Exec {
    async fn run(&self, turn: Turn) -> Result<(), AgentError> {
        if turn.requested_schema().is_some() {
            return turn.reject(NO_SCHEMA).await;
        }
        let Some((mut process, pipes)) = self.program.start(&turn).await? else { return Ok(()) };
        let Pipes { mut stdin, stdout, stderr } = pipes;
        turn.begin().await?;
        let pulse = process.pulse.clone();
        let mut tail = Tail::default();
        let mut output = Output::new(&turn, &self.program.limits, self.delimiter.as_deref());
        let input = input::text(turn.message());
        let work = async {
            let feed = async {
                // A program may ignore its input or a part of it, so a write error is not a failure.
                let _ = stdin.write_all(input.as_bytes()).await;
                drop(stdin);
                Ok(())
            };
            let log = async {
                tail.read(stderr, &pulse, turn.task_id().as_str(), &self.program.log_rate).await;
                Ok(())
            };
            tokio::try_join!(output.read(stdout, &pulse), feed, log).map(|_| ())
        };
        let asked = Asked { cancelled: turn.cancelled(), tell: None, over: &CancellationToken::new() };
        let ended = process.supervise(asked, work).await;
        conclude(ended, output, &tail).await
    }

    fn resumes(&self) -> bool {
        self.program.resumes
    }
}

async fn conclude(ended: Ended, mut output: Output<'_>, tail: &Tail) -> Result<(), AgentError> {
    let reason = match ended {
        // The engine already knows about the cancellation.
        Ended { stop: Some(Stop::Canceled), .. } => return output.flush().await,
        Ended { output: Some(Err(error)), .. } => return Err(error),
        Ended { stop: Some(Stop::Expired(expired)), .. } => tail.explain(expired),
        Ended { exit: Some(exit), .. } if exit.success() => return output.finish().await,
        Ended { exit: Some(exit), .. } => tail.explain(Exit(exit)),
        Ended { exit: None, .. } => "the program could not be stopped".to_owned(),
    };
    output.flush().await?;
    Err(AgentError::new(reason))
}
