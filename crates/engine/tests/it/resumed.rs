//! Turns that a crash cut off, or kept from beginning.

use std::{
    future::pending,
    sync::{Arc, Mutex},
};

use nuncio_engine::{Agent, AgentError, Engine, EngineBuilder, MemoryStore, TaskStore as _, Turn, store::Orphan};
use nuncio_model::{AgentCard, Message, Scope, Task, TaskState, op::SendMessageRequest};
use tokio::task::yield_now;

use crate::{rigged::Rigged, support::*};

/// Notes each turn, with whether it was run before, and is done.
struct Notes {
    turns: Arc<Mutex<Vec<(String, bool)>>>,
    resumes: bool,
}

impl Agent for Notes {
    async fn run(&self, turn: Turn) -> Result<(), AgentError> {
        self.turns.lock().unwrap().push((turn.message().text().clone(), turn.resumed().is_some()));
        Ok(())
    }

    fn resumes(&self) -> bool {
        self.resumes
    }
}

/// The agent before the crash: it never gets done with a message that says so.
fn before(store: &Arc<Rigged>) -> Engine {
    let agent = |turn: Turn| async move {
        match turn.message().text().as_str() {
            "over" => Ok(()),
            "ask" => turn.ask("what?").await,
            "auth" => {
                turn.require_auth("who?").await?;
                pending().await
            }
            "gated" => {
                turn.begin().await?;
                // Until the next message is in the log.
                while turn.referenced(turn.task_id()).await?.is_some_and(|task| task.history.len() < 2) {
                    yield_now().await;
                }
                Ok(())
            }
            _ => {
                turn.begin().await?;
                pending().await
            }
        }
    };
    builder(agent).store(Arc::clone(store) as _).build()
}

async fn begin(engine: &Engine, text: &str) -> Task {
    send(engine, at_once(Message::user(text))).await.unwrap()
}

/// Sends more to the task, and gives it when it is in the log.
async fn more(engine: &Engine, task: &Task, text: &str) {
    let request = SendMessageRequest { configuration: at_once(Message::user("")).configuration, ..follow(task, text) };
    send(engine, request).await.unwrap();
}

fn after(store: &Arc<Rigged>, agent: impl Agent) -> EngineBuilder {
    Engine::builder(agent).card(AgentCard::new("test", "Under test.")).store(Arc::clone(store) as _)
}

/// The server is gone and another one is there; gives the turns that it runs, and the task at its end.
async fn crash(store: &Arc<Rigged>, task: &Task, resumes: bool) -> (Vec<(String, bool)>, Task) {
    *store.orphans.lock().unwrap() = vec![Orphan { scope: Scope::open(), id: task.id.clone() }];
    let turns = Arc::<Mutex<Vec<_>>>::default();
    let engine = after(store, Notes { turns: Arc::clone(&turns), resumes }).build();
    within(engine.recover()).await.unwrap();
    quiet(&engine).await;
    let turns = turns.lock().unwrap().clone();
    (turns, get(&engine, task).await)
}

fn turns(expected: &[(&str, bool)]) -> Vec<(String, bool)> {
    expected.iter().map(|(text, resumed)| ((*text).to_owned(), *resumed)).collect()
}

/// A store with its logs, and one without those of tasks that rest.
fn stores() -> [Arc<Rigged>; 2] {
    [Rigged::new(), Rigged::over(MemoryStore::new())]
}

#[tokio::test]
async fn messages_that_waited_have_their_turns_in_order() {
    for store in stores() {
        let engine = before(&store);
        let task = begin(&engine, "one").await;
        for text in ["two", "three", "four"] {
            more(&engine, &task, text).await;
        }
        let (ran, task) = crash(&store, &task, true).await;
        assert_eq!(ran, turns(&[("one", true), ("two", false), ("three", false), ("four", false)]));
        assert_state(&task, TaskState::Completed);
        assert_eq!(history(&task), ["one", "two", "three", "four"]);
    }
}

#[tokio::test]
async fn a_message_whose_turn_was_over_is_not_given_again() {
    for store in stores() {
        let engine = before(&store);
        let task = begin(&engine, "gated").await;
        more(&engine, &task, "two").await;
        more(&engine, &task, "three").await;
        // The turn of the second has begun, which is known by a record after the messages.
        within(async {
            while store.inner().load(&Scope::open(), &task.id).await.unwrap().unwrap().sequence < 6 {
                yield_now().await;
            }
        })
        .await;
        let (ran, _) = crash(&store, &task, true).await;
        assert_eq!(ran, turns(&[("two", true), ("three", false)]));
    }
}

#[tokio::test]
async fn what_was_before_the_task_rested_is_over() {
    for store in stores() {
        let engine = before(&store);
        let task = send(&engine, SendMessageRequest::new(Message::user("ask"))).await.unwrap();
        more(&engine, &task, "two").await;
        more(&engine, &task, "three").await;
        let (ran, _) = crash(&store, &task, true).await;
        assert_eq!(ran, turns(&[("two", true), ("three", false)]));
    }
}

#[tokio::test]
async fn an_answer_that_waited_has_its_turn_whatever_the_agent_can() {
    for store in stores() {
        let engine = before(&store);
        let task = begin(&engine, "auth").await;
        within(async {
            while get(&engine, &task).await.state() != TaskState::AuthRequired {
                yield_now().await;
            }
        })
        .await;
        more(&engine, &task, "two").await;
        let (ran, task) = crash(&store, &task, false).await;
        assert_eq!(ran, turns(&[("two", false)]));
        assert_state(&task, TaskState::Completed);
    }
}

#[tokio::test]
async fn a_turn_that_is_cut_off_twice_is_run_a_third_time() {
    struct Sticks;
    impl Agent for Sticks {
        async fn run(&self, turn: Turn) -> Result<(), AgentError> {
            turn.working(format!("again: {}", turn.message().text())).await?;
            pending().await
        }

        fn resumes(&self) -> bool {
            true
        }
    }
    for store in stores() {
        let engine = before(&store);
        let task = begin(&engine, "one").await;
        more(&engine, &task, "two").await;
        *store.orphans.lock().unwrap() = vec![Orphan { scope: Scope::open(), id: task.id.clone() }];
        let second = after(&store, Sticks).build();
        within(second.recover()).await.unwrap();
        within(async {
            while get(&second, &task).await.status.message.is_none() {
                yield_now().await;
            }
        })
        .await;
        let (ran, _) = crash(&store, &task, true).await;
        assert_eq!(ran, turns(&[("one", true), ("two", false)]));
    }
}

#[tokio::test]
async fn a_turn_that_is_run_again_goes_on_where_it_stopped() {
    struct Counts;
    impl Agent for Counts {
        async fn run(&self, turn: Turn) -> Result<(), AgentError> {
            let done = turn.resumed().map_or(0, |task| task.artifacts[0].parts.len());
            let mut numbers = turn.artifact("numbers").appending();
            for number in done..10 {
                numbers.chunk(format!("{number};")).await?;
            }
            Ok(())
        }

        fn resumes(&self) -> bool {
            true
        }
    }
    let store = Rigged::new();
    let half = |turn: Turn| async move {
        assert!(turn.resumed().is_none());
        let mut numbers = turn.artifact("numbers");
        for number in 0..4 {
            numbers.chunk(format!("{number};")).await?;
        }
        pending().await
    };
    let engine = builder(half).store(Arc::clone(&store) as _).build();
    let task = begin(&engine, "count").await;
    within(async {
        while get(&engine, &task).await.artifacts.first().is_none_or(|artifact| artifact.parts.len() < 4) {
            yield_now().await;
        }
    })
    .await;
    *store.orphans.lock().unwrap() = vec![Orphan { scope: Scope::open(), id: task.id.clone() }];
    let engine = after(&store, Counts).build();
    within(engine.recover()).await.unwrap();
    quiet(&engine).await;
    let task = get(&engine, &task).await;
    assert_state(&task, TaskState::Completed);
    assert_eq!(task.artifacts[0].text(), "0;1;2;3;4;5;6;7;8;9;");
}
