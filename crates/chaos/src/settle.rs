//! The end of a run: wait until working tasks stop, cancel tasks that wait, then read everything.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

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

/// The maximum time until a node answers again.
const COMEBACK: Duration = Duration::from_secs(10);

/// Waits for the end of a run, and reads all tasks.
pub(crate) async fn settle(board: &Arc<Board>, mut clients: JoinSet<()>) {
    board.end();
    rest(board).await;
    let see = async { while clients.join_next().await.is_some() {} };
    if timeout(board.settle_timeout, see).await.is_err() {
        for reader in board.history.look(unfinished) {
            board.add(What::Hung { who: format!("reader {reader}") });
        }
        clients.abort_all();
    }
    // A message in transit may have created a task after all other tasks had ended.
    rest(board).await;
    called(board).await;
    for (number, (task, _)) in tasks(board).await.into_iter().enumerate() {
        if let Err(error) = read(board, number % board.caller.nodes(), &task).await {
            denied(board, &task, format!("what it is: {error:#}"));
        }
    }
}

/// Cancels a task. A task that received an answer in the meantime ends without the cancellation. If a node refuses
/// temporarily, the cancellation is repeated.
async fn cancel(board: &Board, task: &str) {
    let deadline = Instant::now() + COMEBACK.min(board.settle_timeout);
    while Instant::now() < deadline {
        match board.caller.cancel(0, task).await {
            Answer::Refused(refusal) if refusal.again => sleep(Duration::from_millis(200)).await,
            Answer::Cut => sleep(Duration::from_millis(200)).await,
            _ => return,
        }
    }
}

/// Waits until every task has ended, and cancels tasks that wait for their client. Tasks that do not end are left to
/// the checker.
async fn rest(board: &Board) {
    let deadline = Instant::now() + board.settle_timeout;
    while Instant::now() < deadline {
        let tasks = tasks(board).await;
        if tasks.values().all(|state| is_terminal(state)) {
            break;
        }
        for (task, _) in tasks.iter().filter(|(_, state)| is_interrupted(state)) {
            cancel(board, task).await;
        }
        sleep(Duration::from_millis(200)).await;
    }
}

/// All tasks with their states. If the list fails (which is a finding), the tasks from the history.
async fn tasks(board: &Board) -> BTreeMap<String, String> {
    match listed(board).await {
        Ok(tasks) => tasks,
        Err(error) => {
            denied(board, "all", format!("{error:#}"));
            known(board).await
        }
    }
}

async fn listed(board: &Board) -> Result<BTreeMap<String, String>> {
    let mut tasks = BTreeMap::new();
    let mut token = String::new();
    let deadline = Instant::now() + COMEBACK.min(board.settle_timeout);
    loop {
        let page = match board.caller.list(0, &token).await {
            // A node may need a moment after the faults.
            Answer::Cut | Answer::Refused(_) if Instant::now() < deadline => {
                sleep(Duration::from_millis(200)).await;
                continue;
            }
            listed => answer(listed, "the list of tasks")?,
        };
        for task in page["tasks"].as_array().into_iter().flatten() {
            tasks.insert(text(&task["id"]), text(&task["status"]["state"]));
        }
        match page["nextPageToken"].as_str() {
            Some(next) if !next.is_empty() => next.clone_into(&mut token),
            _ => return Ok(tasks),
        }
    }
}

async fn known(board: &Board) -> BTreeMap<String, String> {
    let known: BTreeSet<_> = board.history.look(|entries| {
        let shown = entries.iter().filter_map(|entry| match &entry.what {
            What::Accepted { task, .. } | What::Saw { task, .. } | What::Event { task, .. } => Some(task.clone()),
            _ => None,
        });
        shown.collect()
    });
    let mut tasks = BTreeMap::new();
    for task in known {
        // A task that cannot be read is reported by the final reading, so no wait is necessary here.
        if let Answer::Ok(found) = board.caller.get(0, &task).await {
            tasks.insert(task, text(&found["status"]["state"]));
        } else {
            tasks.insert(task, "TASK_STATE_FAILED".to_owned());
        }
    }
    tasks
}

fn denied(board: &Board, task: &str, denied: String) {
    board.add(What::Denied { task: task.to_owned(), denied, by: "the end of the run".to_owned() });
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn answer(answer: Answer, what: &str) -> Result<Value> {
    match answer {
        Answer::Ok(answer) => Ok(answer),
        other => bail!("{what} cannot be read after the end of all faults: {other:?}"),
    }
}

/// Readers that were opened and have not received the end of their task.
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

/// Waits until each webhook has received the end of its task. The checker reports webhooks that have not.
async fn called(board: &Board) {
    let deadline = Instant::now() + board.settle_timeout;
    while Instant::now() < deadline && board.history.look(has_pending) {
        sleep(Duration::from_millis(100)).await;
    }
}

fn has_pending(entries: &[Entry]) -> bool {
    let mut pending = BTreeSet::new();
    for Entry { what, .. } in entries {
        if let What::Hooked { hook, whole: true, .. } = what {
            pending.insert(hook);
        }
    }
    for Entry { what, .. } in entries {
        if let What::Delivered { hook, event } = what
            && state_of(event).is_some_and(is_terminal)
        {
            pending.remove(hook);
        }
    }
    !pending.is_empty()
}

/// Reads the state and the log of a task.
async fn read(board: &Board, node: usize, task: &str) -> Result<()> {
    let found = answer(board.caller.get(node, task).await, task)?;
    let hooks = answer(board.caller.hooks(node, task).await, task)?;
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

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use axum::{
        Router,
        routing::{get, post},
    };
    use parking_lot::Mutex;
    use serde_json::json;
    use tokio::{net::TcpListener, sync::Notify};

    use super::*;
    use crate::{call::Caller, history::History};

    /// A test server with at most one task. The task is working on the first read and waits for its client afterwards.
    #[derive(Debug, Default)]
    struct Server {
        state: Mutex<Option<&'static str>>,
        was_listed: Notify,
    }

    impl Server {
        fn list(&self) -> String {
            let mut state = self.state.lock();
            let tasks = state.map(|state| json!({"id": "t", "status": {"state": state}}));
            if *state == Some("TASK_STATE_SUBMITTED") {
                *state = Some("TASK_STATE_INPUT_REQUIRED");
            }
            self.was_listed.notify_one();
            json!({"tasks": Vec::from_iter(tasks), "nextPageToken": ""}).to_string()
        }

        fn cancel(&self) -> String {
            *self.state.lock() = Some("TASK_STATE_CANCELED");
            "{}".to_owned()
        }

        async fn start(self: Arc<Self>) -> Caller {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
            let address = listener.local_addr().unwrap();
            let (lists, cancels) = (Arc::clone(&self), self);
            let routes = Router::new()
                .route("/tasks", get(async move || lists.list()))
                .route("/tasks/{task}", post(async move || cancels.cancel()));
            tokio::spawn(async move { axum::serve(listener, routes).await });
            Caller::new(vec![address]).unwrap()
        }
    }

    #[tokio::test]
    async fn a_task_created_after_the_end_of_all_others_is_canceled() {
        let server = Arc::new(Server::default());
        let caller = Arc::clone(&server).start().await;
        let folder = tempfile::tempdir().unwrap();
        let history = Arc::new(History::create(&folder.path().join("history.jsonl")).unwrap());
        let board = Arc::new(Board::new(caller, history, String::new(), Duration::from_secs(20)));
        let mut clients = JoinSet::new();
        let begins = Arc::clone(&server);
        clients.spawn(async move {
            begins.was_listed.notified().await;
            *begins.state.lock() = Some("TASK_STATE_SUBMITTED");
        });
        settle(&board, clients).await;
        assert_eq!(*server.state.lock(), Some("TASK_STATE_CANCELED"));
    }
}
