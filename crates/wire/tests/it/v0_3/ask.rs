//! The plans of a client for calls to a peer of 0.3: removal of history, and streams that begin with a task.

use nuncio_model::{Call, Error, ErrorKind, Message, Reply, StreamResponse, Task, TaskState, op};
use nuncio_wire::{Dialect, Version, dialect};

use super::{
    caller::{Prepared, all, quiet, ready, stream},
    serve::{chunk, status, task},
};

fn version() -> &'static dyn Dialect {
    dialect(Version::V0_3)
}

fn with_history() -> Task {
    let StreamResponse::Task(mut task) = task(TaskState::Completed) else { unreachable!() };
    task.history = vec![Message::user("hi"), Message::agent("ho")];
    task
}

fn at_work() -> Task {
    let StreamResponse::Task(task) = task(TaskState::Working) else { unreachable!() };
    task
}

fn length(length: Option<i32>) -> op::SendMessageConfiguration {
    op::SendMessageConfiguration { history_length: length, ..Default::default() }
}

fn send(history: Option<i32>) -> op::SendMessageRequest {
    op::SendMessageRequest::new(Message::user("hi")).with_configuration(length(history))
}

fn asked_length(call: &Call) -> Option<i32> {
    match call {
        Call::GetTask(get) => get.history_length,
        Call::SendMessage(send) => send.history_length(),
        Call::SendStreamingMessage(send) => send.history_length(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_request_for_no_history_is_not_sent_and_the_history_is_removed() {
    let get = |history_length| op::GetTaskRequest { history_length, ..op::GetTaskRequest::new("t") };
    let calls: [fn(Option<i32>) -> Call; 2] =
        [|n| send(n).into(), |n| op::GetTaskRequest { history_length: n, ..op::GetTaskRequest::new("t") }.into()];
    for call in calls {
        for (wanted, asked, left) in [(Some(0), None, 0), (Some(1), Some(1), 2), (None, None, 2)] {
            let peer = Prepared::with([Ok(Reply::Task(with_history().into()))]);
            let Ok(Reply::Task(task)) = peer.ask(version(), call(wanted)) else { panic!() };
            assert_eq!((asked_length(&peer.asked()[0]), task.history.len()), (asked, left), "{wanted:?}");
        }
    }
    // In 0.2 a client must request all history explicitly.
    for (wanted, asked) in [(None, Some(i32::MAX)), (Some(0), None), (Some(3), Some(3))] {
        let peer = Prepared::with([Ok(Reply::Task(with_history().into()))]);
        peer.ask(dialect(Version::V0_2), get(wanted)).unwrap();
        assert_eq!(asked_length(&peer.asked()[0]), asked);
    }
    let peer = Prepared::with([Ok(stream([StreamResponse::Task(with_history()), status(TaskState::Completed)]))]);
    let events = all(peer.ask(version(), op::SendStreamingMessageRequest(send(Some(0)))));
    assert_eq!(asked_length(&peer.asked()[0]), None);
    assert_eq!(events[0], (Some(1), task(TaskState::Completed)));
}

#[test]
fn a_stream_that_begins_with_a_task_or_message_is_unchanged() {
    for first in [task(TaskState::Working), StreamResponse::Message(Message::agent("hi"))] {
        let events = vec![first, status(TaskState::Working), status(TaskState::Completed)];
        let numbered: Vec<_> = (1..).map(Some).zip(events.clone()).collect();
        let call = op::SendStreamingMessageRequest(send(None));
        assert_eq!(all(Prepared::with([Ok(stream(events.clone()))]).ask(version(), call)), numbered);
        let call = op::SubscribeToTaskRequest::new("t");
        assert_eq!(all(Prepared::with([Ok(stream(events))]).ask(version(), call)), numbered);
    }
    let call = op::SendStreamingMessageRequest(send(None));
    assert_eq!(all(Prepared::with([Ok(stream([]))]).ask(version(), call)), []);
}

#[test]
fn a_new_stream_that_begins_with_an_event_gets_its_task() {
    for first in [status(TaskState::Working), chunk("a", false)] {
        let events = vec![first.clone(), status(TaskState::Completed)];
        let peer = Prepared::with([Ok(stream(events))]);
        let seen = all(peer.ask(version(), op::SendStreamingMessageRequest(send(None))));
        let expected = [(None, task(TaskState::Submitted)), (Some(1), first), (Some(2), status(TaskState::Completed))];
        assert_eq!(seen, expected);
        assert_eq!(peer.asked().len(), 1);
    }
}

#[test]
fn a_stream_of_an_existing_task_begins_with_the_task() {
    let last = (Some(2), status(TaskState::Completed));
    for (first, is_shown) in
        [(status(TaskState::Submitted), true), (chunk("a", false), true), (chunk("a", true), false)]
    {
        // A chunk that the artifact of the task already contains is not delivered again.
        let mut found = at_work();
        found.artifacts = vec![nuncio_model::Artifact::new("a", vec!["a".into()])];
        found.artifacts.retain(|_| !is_shown);
        let peer = Prepared::with([Ok(stream([first.clone(), last.1.clone()])), Ok(Reply::Task(found.clone().into()))]);
        let seen = all(peer.ask(version(), op::SubscribeToTaskRequest::new("t")));
        let mut expected = vec![(None, StreamResponse::Task(found))];
        expected.extend(is_shown.then_some((Some(1), first)));
        expected.push(last.clone());
        assert_eq!(seen, expected);
        assert!(matches!(&peer.asked()[1], Call::GetTask(get) if get.id.as_str() == "t"));
    }
}

#[test]
fn a_silent_stream_of_an_existing_task_begins_at_once() {
    let found = at_work();
    let peer = Prepared::with([Ok(Reply::Events(quiet())), Ok(Reply::Task(found.clone().into()))]);
    let seen = ready(peer.ask(version(), op::SubscribeToTaskRequest::new("t")));
    assert_eq!(seen, [(None, StreamResponse::Task(found))]);
    // For a new task, nothing is known before the first event.
    let peer = Prepared::with([Ok(Reply::Events(quiet()))]);
    assert_eq!(ready(peer.ask(version(), op::SendStreamingMessageRequest(send(None)))), []);
}

#[test]
fn unsupported_operations_are_refused_without_a_call() {
    let peer = Prepared::default();
    let error = peer.ask(version(), op::ListTasksRequest::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnsupportedOperation);
    assert!(error.message().contains("list"), "{error}");
    assert_eq!(peer.asked(), []);
}

#[test]
fn errors_of_the_peer_are_passed_on() {
    let peer = Prepared::with([Err(Error::task_not_found("t"))]);
    let error = peer.ask(version(), op::SubscribeToTaskRequest::new("t")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TaskNotFound);
}
