//! `nuncio serve --jsonl -- CMD`: any script as a full agent. It reads the request as a line of JSON, and writes lines.

mod conversation;
mod line;
mod opening;

use nuncio_engine::{Agent, AgentError, Turn};
use tokio_util::sync::CancellationToken;

use self::conversation::Conversation;
use crate::program::{Asked, Ended, Exit, Pipes, Program, Stop, Tail};

/// Makes an agent of a program that speaks the JSON-lines agent protocol. `examples/agents` explains it, with programs.
///
/// The program runs once for each turn. The first line of its stdin is the `SendMessageRequest` as JSON, with the
/// members `task` (the task so far; absent on the first turn) and `context` (the ids of earlier tasks of the context,
/// newest first) added, and `"resumed":true` where the turn was cut off by a crash and is run again
/// ([`Program::with_resume`]): `task` then has what it had said. When the client cancels, the line `{"cancel":{}}`
/// follows. stdin ends after the program's last word.
///
/// Each line of its stdout is a `StreamResponse` as JSON, in which ids, times and roles may be left out, or
/// `{"text":"…"}`: a chunk of the default artifact, `output`. An artifact without an id is a new one; with `append` it
/// is the one that the program wrote last. The last chunk of the default artifact is marked as such when the turn ends
/// well; where it had been sent before that was known, an empty chunk follows, which adds no part to the artifact. An
/// empty text behind others adds nothing either.
///
/// Exit code 0 completes the task, unless the program has ended or parked it. Any other, and a signal, fail it; the
/// reason has the last 20 lines of stderr. A line that is not JSON, that is over
/// [`ProgramLimits::piece`](crate::ProgramLimits::piece), or that the task's state does not allow fails the task, and the
/// reason names the line. What comes after a word that ends the task is logged and ignored.
///
/// After a word that ends the task, or asks the client for input, the program has the grace to exit; the turn is over
/// when it has. A program that needs credentials (`TASK_STATE_AUTH_REQUIRED`) may go on.
#[derive(Debug, Clone)]
pub struct JsonLines {
    program: Program,
}

impl JsonLines {
    /// An agent of this program.
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
        // stdin ends with the last word, or with stdout: nothing that is written there could be answered.
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
        // The engine knows that the task is canceled.
        (Some(Stop::Canceled), ..) => return conversation.flush().await,
        (_, Some(Err(error)), _) => return Err(error),
        (Some(Stop::Expired(expired)), ..) => tail.explain(expired),
        (_, _, exit) if conversation.is_settled() => {
            if let Some(exit) = exit.filter(|_| !ended_well) {
                tracing::info!(target: "agent", "{exit} after its last word");
            }
            return Ok(());
        }
        _ if ended_well => return conversation.finish().await,
        (_, _, Some(exit)) => tail.explain(exit),
        (_, _, None) => "the program could not be ended".to_owned(),
    };
    conversation.flush().await?;
    Err(AgentError::new(reason))
}
