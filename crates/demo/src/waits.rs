//! `slow`, `stubborn`, `silent`: turns with a duration in seconds.

use std::time::Duration;

use nuncio_engine::{AgentError, Turn};

/// The longest wait: a day.
const LONGEST: f64 = 86_400.0;

/// Works for some time, and stops immediately on a cancellation.
pub(crate) async fn slow(turn: &Turn, seconds: &str) -> Result<(), AgentError> {
    let Some(time) = wanted(turn, seconds).await? else { return Ok(()) };
    turn.begin().await?;
    work(turn, time).await
}

/// Works for some time and ignores cancellation.
pub(crate) async fn stubborn(turn: &Turn, seconds: &str) -> Result<(), AgentError> {
    let Some(time) = wanted(turn, seconds).await? else { return Ok(()) };
    turn.begin().await?;
    tokio::time::sleep(time).await;
    Ok(())
}

/// Waits for some time without an event, then completes the task.
pub(crate) async fn silent(turn: &Turn, seconds: &str) -> Result<(), AgentError> {
    let Some(time) = wanted(turn, seconds).await? else { return Ok(()) };
    work(turn, time).await
}

/// Works until canceled.
pub(crate) async fn until_canceled(turn: &Turn) -> Result<(), AgentError> {
    turn.begin().await?;
    turn.cancelled().cancelled().await;
    Ok(())
}

/// Waits. Returns early if the client cancels; the engine then sets the state canceled.
pub(crate) async fn work(turn: &Turn, time: Duration) -> Result<(), AgentError> {
    tokio::select! {
        () = tokio::time::sleep(time) => {}
        () = turn.cancelled().cancelled() => {}
    }
    Ok(())
}

/// The requested time; `None` if the request was invalid and the task was rejected.
async fn wanted(turn: &Turn, seconds: &str) -> Result<Option<Duration>, AgentError> {
    match seconds.trim().parse::<f64>() {
        Ok(seconds) if (0.0..=LONGEST).contains(&seconds) => Ok(Some(Duration::from_secs_f64(seconds))),
        _ => {
            turn.reject("a time in seconds is required, at most a day, for example `slow 1.5`").await?;
            Ok(None)
        }
    }
}
