//! `nuncio serve --jsonl -- CMD`: any script as a full agent. The script reads the request as a JSON line and writes
//! events as JSON lines.

mod conversation;
mod line;
mod opening;

use nuncio_engine::{Agent, AgentError, Turn};
use tokio_util::sync::CancellationToken;

use self::conversation::Conversation;
use crate::program::{Asked, Ended, Exit, Pipes, Program, Stop, Tail};

/// An agent that runs a program with the JSON-lines agent protocol. `examples/agents` explains the protocol and has
/// programs.
///
/// The program runs once for each turn. The first line of stdin is the `SendMessageRequest` as JSON with up to three
/// added members. `task` is the task so far (absent on the first turn). `context` lists the ids of earlier tasks of the
/// context, newest first. `"resumed":true` means that a crash interrupted the turn and the turn runs again
/// ([`Program::with_resume`]); `task` then includes the events that the program sent before the crash. If the client
/// cancels, the line `{"cancel":{}}` follows. stdin ends after the program's last event.
///
/// Each line of stdout is a `StreamResponse` as JSON, in which ids, times and roles are optional, or `{"text":"…"}`: a
/// chunk of the default artifact, `output`. An artifact without an id is a new artifact; with `append` it is the
/// artifact of the previous artifact line. If the turn ends successfully, the last chunk of the default artifact has
/// the `lastChunk` flag. If the last chunk was already sent, an empty chunk with the flag follows, which adds no part
/// to the artifact. An empty text after other texts adds no part either.
///
/// Exit code 0 completes the task, unless the program has already ended the task or requested input. The task fails
/// after any other exit code and after a signal; the reason includes the last 20 lines of stderr. A line also fails the
/// task if the line is not JSON, is longer than [`ProgramLimits::piece`](crate::ProgramLimits::piece), or is not
/// allowed in the state of the task; the reason names the line. Lines after an event that ends the task are logged and
/// ignored.
///
/// After an event that ends the task or requests input from the client, the program must exit within the grace period;
/// the turn ends with the program. A program that requests credentials (`TASK_STATE_AUTH_REQUIRED`) can continue.
#[derive(Debug, Clone)]
pub struct JsonLines {
    program: Program,
}

impl JsonLines {
    /// An agent that runs this program.
    pub fn new(program: Program) -> Self {
        Self { program }
    }

    /// The program.
    pub fn program(&self) -> &Program {
        &self.program
    }
}

impl Agent for JsonLines {
    async fn run(&self, turn: Turn) -> Result<(), AgentError> {
        let opening = opening::line(&turn).await?;
        let Some((mut process, pipes)) = self.program.start(&turn).await? else { return Ok(()) };
        let Pipes { stdin, stdout, stderr } = pipes;
        let pulse = process.pulse.clone();
        let (told, over) = (CancellationToken::new(), CancellationToken::new());
        // stdin ends after the last event, or at the end of stdout: the program can no longer answer.
        let closed = over.child_token();
        let mut tail = Tail::default();
        let mut conversation = Conversation::new(&turn, &self.program.limits, &over);
        let work = async {
            let read = async {
                let read = conversation.read(stdout, &pulse).await;
                closed.cancel();
                read
            };
            let write = async {
                opening::write(stdin, &opening, &told, &closed).await;
                Ok(())
            };
            let log = async {
                tail.read(stderr, &pulse, turn.task_id().as_str(), &self.program.log_rate).await;
                Ok(())
            };
            tokio::try_join!(read, write, log).map(|_| ())
        };
        let asked = Asked { cancelled: turn.cancelled(), tell: Some(&told), over: &over };
        let ended = process.supervise(asked, work).await;
        conclude(ended, conversation, &tail).await
    }

    fn resumes(&self) -> bool {
        self.program.resumes
    }
}

async fn conclude(ended: Ended, mut conversation: Conversation<'_>, tail: &Tail) -> Result<(), AgentError> {
    let exit = ended.exit.map(Exit);
    let ended_well = exit.as_ref().is_some_and(|exit| exit.0.success());
    let reason = match (ended.stop, ended.output, exit) {
        // The engine already knows about the cancellation.
        (Some(Stop::Canceled), ..) => return conversation.flush().await,
        (_, Some(Err(error)), _) => return Err(error),
        (Some(Stop::Expired(expired)), ..) => tail.explain(expired),
        (_, _, exit) if conversation.is_settled() => {
            if let Some(exit) = exit.filter(|_| !ended_well) {
                tracing::info!(target: "agent", "{exit} after its last event");
            }
            return Ok(());
        }
        _ if ended_well => return conversation.finish().await,
        (_, _, Some(exit)) => tail.explain(exit),
        (_, _, None) => "the program could not be stopped".to_owned(),
    };
    conversation.flush().await?;
    Err(AgentError::new(reason))
}
