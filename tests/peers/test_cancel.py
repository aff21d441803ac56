"""Cancel really cancels, on the wire of every binding."""

import threading

from support.events import has_state, state
from support.failure import Failure, refused
from support.process import eventually

CANCELED = "TASK_STATE_CANCELED"


def test_a_waiting_task_is_canceled_and_its_watchers_hear_it(wire):
    task = wire.send("input")
    with wire.subscribe(task["id"]) as feed:
        feed.next()
        assert state(wire.cancel(task["id"])) == CANCELED
        assert state(feed.rest()[-1]) == CANCELED
    assert state(wire.get(task["id"])) == CANCELED


def test_a_task_before_its_first_event_is_canceled(wire):
    task = wire.start("silent 30")
    assert state(wire.cancel(task["id"])) == CANCELED
    assert state(wire.get(task["id"])) == CANCELED


def test_a_running_agent_is_told_to_stop(wire):
    feed = wire.stream("slow 30")
    task = feed.until(has_state("TASK_STATE_WORKING"))[0]["task"]
    assert state(wire.cancel(task["id"])) == CANCELED
    assert state(feed.rest()[-1]) == CANCELED


def test_an_agent_that_ignores_cancel_is_cut_off(wire):
    task = wire.start("stubborn 40")
    try:
        wire.cancel(task["id"])
    except Failure as failure:  # best effort: it may still be waiting for the agent
        raise AssertionError(f"a running task must be cancelable: {failure}") from failure
    eventually(lambda: state(wire.get(task["id"])) == CANCELED, 15, "the task is canceled")


def test_a_blocked_sender_gets_the_canceled_task(wire):
    answers = []
    context = "cancel-" + wire.name

    def send():
        answers.append(wire.send("slow 30", contextId=context))

    thread = threading.Thread(target=send)
    thread.start()
    running = eventually(
        lambda: wire.list(contextId=context, status="TASK_STATE_WORKING")["tasks"],
        what="the task runs",
    )
    wire.cancel(running[0]["id"])
    thread.join(timeout=10)
    assert [state(task) for task in answers] == [CANCELED]


def test_a_task_that_ended_cannot_be_canceled(wire):
    for text in ("echo x", "fail", "reject"):
        task = wire.send(text)
        with refused("TaskNotCancelable"):
            wire.cancel(task["id"])
        assert wire.get(task["id"]) == task


def test_a_canceled_task_cannot_be_canceled_again(wire):
    task = wire.send("input")
    wire.cancel(task["id"])
    with refused("TaskNotCancelable"):
        wire.cancel(task["id"])


def test_a_canceled_task_takes_no_message(wire):
    task = wire.send("input")
    wire.cancel(task["id"])
    with refused("UnsupportedOperation"):
        wire.send("more", taskId=task["id"])


def test_an_unknown_task_cannot_be_canceled(wire):
    with refused("TaskNotFound"):
        wire.cancel("no-such-task")


def test_a_hundred_cancels_racing_completion_leave_one_end(wire):
    task = wire.start("slow 0.15")
    with wire.subscribe(task["id"]) as feed:
        outcomes = []

        def cancel():
            try:
                outcomes.append(state(wire.cancel(task["id"])))
            except Failure as failure:
                outcomes.append(failure.name)

        threads = [threading.Thread(target=cancel) for _ in range(100)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=20)
        ends = [
            event for event in feed.rest() if state(event) in (CANCELED, "TASK_STATE_COMPLETED")
        ]
    assert len(ends) == 1, "exactly one terminal event"
    assert set(outcomes) <= {CANCELED, "TaskNotCancelable"} and len(outcomes) == 100
    assert state(wire.get(task["id"])) == state(ends[0])
