//! An agent that follows a script.

use std::sync::Arc;

use nuncio_engine::{AgentError, Engine, Limits, Turn};
use nuncio_model::{Artifact, Part, StreamResponse, TaskArtifactUpdateEvent};
use tokio::task::yield_now;

use crate::{rigged::Rigged, support::builder};

#[derive(Debug, Clone)]
pub(super) enum Step {
    Work,
    Piece { artifact: u8, append: bool },
    Flood(u16),
    Yield(u8),
    Ask,
    NeedAuth,
    Complete,
    Fail,
    Reply,
    Error,
    Panic,
    UntilCanceled,
    ForEver,
    BreakTheProtocol,
    LeaveSomethingBehind,
}

pub(super) fn engine(scripts: Vec<Vec<Step>>, limits: Limits, store: &Arc<Rigged>) -> Engine {
    let scripts = Arc::new(scripts);
    builder(move |turn| {
        let scripts = Arc::clone(&scripts);
        async move {
            let script: usize = turn.message().text().parse()?;
            let turn = Arc::new(turn);
            for step in &scripts[script] {
                take(&turn, step).await?;
            }
            Ok(())
        }
    })
    .limits(limits)
    .store(Arc::clone(store) as _)
    .build()
}

fn piece(artifact: u8, parts: Vec<Part>, append: bool) -> StreamResponse {
    let artifact = Artifact::new(artifact.to_string(), parts);
    StreamResponse::ArtifactUpdate(TaskArtifactUpdateEvent { artifact, append, ..Default::default() })
}

async fn take(turn: &Arc<Turn>, step: &Step) -> Result<(), AgentError> {
    match step {
        Step::Work => turn.working("working").await,
        Step::Piece { artifact, append } => turn.emit(piece(*artifact, vec![Part::text("x")], *append)).await,
        Step::Flood(count) => {
            for _ in 0..*count {
                turn.emit(piece(9, vec![Part::text("y")], true)).await?;
            }
            Ok(())
        }
        Step::Yield(times) => {
            for _ in 0..*times {
                yield_now().await;
            }
            Ok(())
        }
        Step::Ask => turn.ask("what?").await,
        Step::NeedAuth => turn.require_auth("who?").await,
        Step::Complete => turn.complete("done").await,
        Step::Fail => turn.fail("failed").await,
        Step::Reply => turn.reply("direct").await,
        Step::Error => Err(AgentError::new("an error")),
        Step::Panic => std::panic::resume_unwind(Box::new("a panic of the agent")),
        Step::UntilCanceled => {
            turn.cancelled().cancelled().await;
            Ok(())
        }
        Step::ForEver => std::future::pending().await,
        Step::BreakTheProtocol => turn.emit(piece(0, Vec::new(), false)).await,
        Step::LeaveSomethingBehind => {
            let turn = Arc::clone(turn);
            tokio::spawn(async move {
                for _ in 0..20 {
                    yield_now().await;
                    if turn.working("left behind").await.is_err() {
                        return;
                    }
                }
            });
            Ok(())
        }
    }
}
