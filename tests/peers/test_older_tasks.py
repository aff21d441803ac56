"""Clients of 0.3, 0.2 and 0.1 read, cancel and watch tasks of the demo agent."""

import pytest

from support.events import has_state, state, states, text_of
from support.peers import OLDER
from support.process import eventually


def test_a_task_is_read_as_it_was_answered(older):
    all_of_it = {"historyLength": 10}
    sent = older.send("echo hello", configuration=all_of_it)
    read = older.get(sent["id"], **all_of_it)
    if older.name == "v01":
        # A server of 0.1 adds the statuses that the task had.
        statuses = read["metadata"].pop("https://nuncio.dev/a2a/state-transition-history")
        assert statuses[-1]["state"] == "completed"
        if not read["metadata"] and "metadata" not in sent:
            del read["metadata"]
    assert read == sent


# The gRPC client of 0.2 does not send it.
@pytest.mark.parametrize("older_name", [name for name in OLDER if name != "python02-grpc"])
def test_history_length_bounds_the_history(older):
    task = older.send("input")
    older.send("more", taskId=task["id"])
    newest = older.get(task["id"], historyLength=2)["history"]
    assert [text_of(message) for message in newest] == ["what else?", "more"]
    assert len(older.get(task["id"], historyLength=50)["history"]) == 3
    # Nothing said: everything, but in 0.1, where it means nothing.
    assert len(older.get(task["id"]).get("history", [])) == (0 if older.name == "v01" else 3)


def begin_slow(older) -> tuple[dict, object]:
    """A running task and the stream that began it."""
    feed = older.stream("slow 30")
    seen = feed.until(has_state("TASK_STATE_WORKING"))
    (last,) = seen[-1:]
    return last["statusUpdate"]["taskId"], feed


def test_a_running_task_is_canceled_before_the_eyes_of_all(older):
    task_id, feed = begin_slow(older)
    with feed, older.subscribe(task_id) as watcher:
        assert state(watcher.next()) == "TASK_STATE_WORKING"
        assert state(older.cancel(task_id)) == "TASK_STATE_CANCELED"
        assert state(feed.rest()[-1]) == "TASK_STATE_CANCELED"
        assert state(watcher.rest()[-1]) == "TASK_STATE_CANCELED"
    assert state(older.get(task_id)) == "TASK_STATE_CANCELED"


def test_a_waiting_task_is_canceled(older):
    task = older.send("input")
    assert state(older.cancel(task["id"])) == "TASK_STATE_CANCELED"


def test_a_client_that_leaves_its_stream_comes_back_to_it(older):
    feed = older.stream("slow 1")
    (event,) = feed.until(has_state("TASK_STATE_WORKING"))[-1:]
    feed.close()
    task_id = event["statusUpdate"]["taskId"]
    with older.subscribe(task_id) as again:
        assert states(again.rest())[-1] == "TASK_STATE_COMPLETED"
    eventually(lambda: state(older.get(task_id)) == "TASK_STATE_COMPLETED", what="it completes")
