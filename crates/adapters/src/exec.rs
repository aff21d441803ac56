//! `nuncio serve --exec -- CMD`: any filter as an agent. The message goes to its stdin, its stdout is the artifact.

mod input;
mod output;

use nuncio_engine::{Agent, AgentError, Turn};
use tokio::io::AsyncWriteExt as _;
use tokio_util::sync::CancellationToken;

use self::output::Output;
use crate::program::{Asked, Ended, Exit, Pipes, Program, Stop, Tail};

/// Why a message is rejected that asks for data of a certain shape.
const NO_SCHEMA: &str = "this agent writes text, and cannot give data that follows a JSON schema";

/// Makes an agent of a program that reads text and writes text.
///
/// The program runs once for each message. Its stdin is the text of the message's parts, joined by a space; a file by
/// reference reads `[file: URL]`, inline bytes `[binary N bytes]`, data is JSON. A last line without a line break gets
/// one, as in a text file. It need not read it.
///
/// Its stdout is one artifact, `output`, in chunks as they come: a line each, with its line break, or by
/// [`with_delimiter`](Self::with_delimiter). The last is marked as such when the program has ended well; where a line
/// had been sent before that was known, an empty chunk follows, which adds no part to the artifact. From the first line
/// that is not UTF-8 on, the rest is one part of bytes (`application/octet-stream`). A program without output completes
/// its task without an artifact.
///
/// Exit code 0 completes the task. Any other, a signal, and a program that cannot be started fail it; the reason has
/// the last 20 lines of stderr, so a program should keep secrets from there. Stderr goes to the log, with the
/// target `agent`. [`ProgramLimits`](crate::ProgramLimits) bound it in size and time.
///
/// A message that asks for data by a JSON schema ([`Turn::requested_schema`]) is rejected, as nothing holds the output
/// against it.
///
/// On a cancel the program's process group gets SIGTERM, and SIGKILL after the grace. When the turn is dropped, it gets
/// SIGKILL at once.
#[derive(Debug, Clone)]
pub struct Exec {
    program: Program,
    delimiter: Option<Box<[u8]>>,
}

impl Exec {
    /// An agent of this program.
    pub fn new(program: Program) -> Self {
        Self { program, delimiter: None }
    }

    /// Cuts the output at this delimiter instead of after each line, and leaves the delimiter out. Each piece is text,
    /// or bytes where it is not UTF-8, and is sent when the next one is there, so that the last is marked as such. A
    /// piece over [`ProgramLimits::piece`](crate::ProgramLimits::piece) fails the task. An empty delimiter is none.
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
                // A program that does not read all of its input, or none, is in its right.
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
        // The engine knows that the task is canceled.
        Ended { stop: Some(Stop::Canceled), .. } => return output.flush().await,
        Ended { output: Some(Err(error)), .. } => return Err(error),
        Ended { stop: Some(Stop::Expired(expired)), .. } => tail.explain(expired),
        Ended { exit: Some(exit), .. } if exit.success() => return output.finish().await,
        Ended { exit: Some(exit), .. } => tail.explain(Exit(exit)),
        Ended { exit: None, .. } => "the program could not be ended".to_owned(),
    };
    output.flush().await?;
    Err(AgentError::new(reason))
}
