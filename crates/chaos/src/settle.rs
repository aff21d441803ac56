//! The end of a run: what is at work comes to rest by itself, what waits is canceled, and everything is read.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use anyhow::{Result, bail};
use serde_json::Value;
use tokio::{
    task::JoinSet,
    time::{Instant, sleep, timeout},
};

use crate::{
    board::Board,
    call::Answer,
    event::{is_interrupted, is_terminal, state_of},
    history::{Entry, What},
    reader,
};

/// How long tasks may take to come to rest, and webhooks to be called, with no fault left.
const REST: Duration = Duration::from_secs(40);
/// How long readers may take to see the ends of tasks that have ended.
const SEE: Duration = Duration::from_secs(30);

/// Comes to the end of a run.
pub(crate) async fn settle(board: &Arc<Board>, mut clients: JoinSet<()>) -> Result<()> {
    board.end();
    rest(board, |state| is_terminal(state) || is_interrupted(state)).await?;
    for (task, state) in tasks(board).await? {
        if is_interrupted(&state) {
            // One that was answered meanwhile ends by itself.
            board.caller.cancel(0, &task).await;
        }
    }
    rest(board, is_terminal).await?;
    let see = async { while clients.join_next().await.is_some() {} };
    if timeout(SEE, see).await.is_err() {
        for reader in board.history.look(unfinished) {
            board.add(What::Hung { who: format!("reader {reader}") });
        }
        clients.abort_all();
    }
    called(board).await;
    for (number, (task, _)) in tasks(board).await?.into_iter().enumerate() {
        if let Err(error) = read(board, number % board.caller.nodes(), &task).await {
            let denied = format!("what it is at the end: {error:#}");
            board.add(What::Denied { task, denied, by: "the end of the run".to_owned() });
        }
    }
    Ok(())
}

/// Waits until every task is in such a state. Those that never are stay as they are, for the checker to see.
async fn rest(board: &Board, is_at_rest: impl Fn(&str) -> bool) -> Result<()> {
    let deadline = Instant::now() + REST;
    while Instant::now() < deadline {
        if tasks(board).await?.values().all(|state| is_at_rest(state)) {
            break;
        }
        sleep(Duration::from_millis(200)).await;
    }
    Ok(())
}

/// All tasks, with their states.
async fn tasks(board: &Board) -> Result<BTreeMap<String, String>> {
    let mut tasks = BTreeMap::new();
    let mut token = String::new();
    let deadline = Instant::now() + REST;
    loop {
        let page = match board.caller.list(0, &token).await {
            // A node that has just come back from all this may need a moment.
            Answer::Cut | Answer::Refused(_) if Instant::now() < deadline => {
                sleep(Duration::from_millis(200)).await;
                continue;
            }
            listed => answer(listed, "the list of tasks")?,
        };
        for task in page["tasks"].as_array().into_iter().flatten() {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            tasks.insert(text(&task["id"]), text(&task["status"]["state"]));
        }
        match page["nextPageToken"].as_str() {
            Some(next) if !next.is_empty() => next.clone_into(&mut token),
            _ => return Ok(tasks),
        }
    }
}

fn answer(answer: Answer, what: &str) -> Result<Value> {
    match answer {
        Answer::Ok(answer) => Ok(answer),
        other => bail!("{what} cannot be read when all faults are over: {other:?}"),
    }
}

/// Readers that were opened and have not seen the end.
fn unfinished(entries: &[Entry]) -> Vec<u64> {
    let mut open = BTreeMap::new();
    for Entry { what, .. } in entries {
        match what {
            What::Opened { reader, .. } => drop(open.insert(*reader, true)),
            What::Closed { reader, .. } => drop(open.insert(*reader, false)),
            _ => {}
        }
    }
    open.into_iter().filter_map(|(reader, is_open)| is_open.then_some(reader)).collect()
}

/// Waits until each webhook was told the end of its task. The checker sees those that never were.
async fn called(board: &Board) {
    let deadline = Instant::now() + REST;
    while Instant::now() < deadline && board.history.look(owes) {
        sleep(Duration::from_millis(100)).await;
    }
}

fn owes(entries: &[Entry]) -> bool {
    let mut owed = std::collections::BTreeSet::new();
    for Entry { what, .. } in entries {
        if let What::Hooked { hook, whole: true, .. } = what {
            owed.insert(hook);
        }
    }
    for Entry { what, .. } in entries {
        if let What::Delivered { hook, event } = what
            && state_of(event).is_some_and(is_terminal)
        {
            owed.remove(hook);
        }
    }
    !owed.is_empty()
}

/// Reads all of a task.
async fn read(board: &Board, node: usize, task: &str) -> Result<()> {
    let found = answer(board.caller.get(node, task).await, task)?;
    let hooks = answer(board.caller.hooks(node, task).await, task)?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let all = |of: &Value, member: &str| of.as_array().into_iter().flatten().map(|one| text(&one[member])).collect();
    board.add(What::Final {
        task: task.to_owned(),
        state: text(&found["status"]["state"]),
        reason: crate::event::text_of(&found["status"]["message"]),
        messages: all(&found["history"], "messageId"),
        hooks: all(&hooks["configs"], "id"),
        artifacts: found["artifacts"].clone(),
    });
    for (id, event) in reader::log(board, node, task).await?.into_iter().flatten() {
        board.add(What::Logged { task: task.to_owned(), id, event });
    }
    Ok(())
}
