"""Blocking, streams and subscribing, on the wire of every binding."""

import threading
import time

import pytest

from support.events import (
    artifact,
    artifact_updates,
    fold_artifacts,
    has_state,
    state,
    states,
    text_of,
)
from support.failure import refused
from support.process import eventually

COMPLETED = "TASK_STATE_COMPLETED"


def test_a_blocking_send_returns_at_an_interruption(wire):
    assert state(wire.send("input")) == "TASK_STATE_INPUT_REQUIRED"
    assert state(wire.send("auth")) == "TASK_STATE_AUTH_REQUIRED"


def test_a_send_returns_immediately_even_from_a_silent_agent(wire):
    begin = time.monotonic()
    task = wire.start("silent 2")
    assert time.monotonic() - begin < 0.5
    assert state(task) in ("TASK_STATE_SUBMITTED", "TASK_STATE_WORKING")
    with wire.subscribe(task["id"]) as feed:
        assert state(feed.rest()[-1]) == COMPLETED


def test_a_subscriber_stays_through_a_wait_for_authorization(wire):
    task = wire.send("auth")
    with wire.subscribe(task["id"]) as feed:
        assert state(feed.next()) == "TASK_STATE_AUTH_REQUIRED"
        assert feed.is_silent(0.3), "the stream must stay open and quiet"
        wire.send("signed in", taskId=task["id"])
        assert state(feed.rest()[-1]) == COMPLETED


@pytest.mark.parametrize(
    "text", ["echo x", "stream 2", "append-first", "tck-stream-002", "fail", "reject", "silent 0.1"]
)
def test_the_first_event_is_always_the_task(wire, text):
    events = wire.stream(text).rest()
    assert "task" in events[0]
    assert all("task" not in event or event is events[0] or event is events[-1] for event in events)


def test_a_follow_up_stream_begins_with_the_task_too(wire):
    task = wire.send("input")
    events = wire.stream("more", taskId=task["id"]).rest()
    assert events[0]["task"]["id"] == task["id"]
    assert state(events[-1]) == COMPLETED


def test_a_waiting_task_can_be_watched_through_its_next_turn(wire):
    task = wire.send("input")
    with wire.subscribe(task["id"]) as feed:
        assert feed.next()["task"] == task
        assert feed.is_silent(0.3), "the stream must stay open and quiet"
        wire.send("more", taskId=task["id"])
        assert state(feed.rest()[-1]) == COMPLETED


def test_watching_an_ended_or_unknown_task_is_a_plain_error(wire):
    task = wire.send("echo x")
    with refused("UnsupportedOperation"):
        wire.subscribe(task["id"])
    with refused("TaskNotFound"):
        wire.subscribe("no-such-task")


def test_nothing_is_lost_between_snapshot_and_subscription(wire):
    task = wire.start("stream 200 every=10")
    with wire.subscribe(task["id"]) as feed:
        events = feed.rest()
    seen = text_of(events[0]["task"].get("artifacts", [{}])[0]) if "task" in events[0] else ""
    seen += fold_artifacts(events).get("stream-1", "")
    assert seen == "".join(f"chunk {number}\n" for number in range(1, 201))
    assert state(events[-1]) == COMPLETED


def test_an_agent_that_ends_at_once_hangs_nobody(wire):
    for _ in range(30):
        task = wire.start("tck-stream-002")
        try:
            with wire.subscribe(task["id"]) as feed:
                assert state(feed.rest()[-1]) == COMPLETED
        except Exception as error:
            assert getattr(error, "name", "") == "UnsupportedOperation", error
        assert state(wire.stream("tck-stream-002").rest()[-1]) == COMPLETED
        assert state(wire.send("tck-stream-002")) == COMPLETED


def test_subscribers_see_the_same_events_in_the_same_order(wire):
    task = wire.send("input")
    feeds = [wire.subscribe(task["id"]) for _ in range(3)]
    leaver = wire.subscribe(task["id"])
    leaver.next()
    leaver.close()
    wire.send("more", taskId=task["id"])
    runs = [feed.rest() for feed in feeds]
    assert runs[0] == runs[1] == runs[2]
    assert state(runs[0][-1]) == COMPLETED


@pytest.mark.parametrize("count", [1, 32, 33, 256, 257, 1000, 1024, 1025])
def test_no_event_is_dropped_at_any_queue_size(wire, count):
    events = wire.stream(f"stream {count}").rest()
    updates = artifact_updates(events)
    assert [text_of(u["artifact"]) for u in updates] == [
        f"chunk {number}\n" for number in range(1, count + 1)
    ]
    assert [bool(u.get("lastChunk")) for u in updates] == [False] * (count - 1) + [True]
    assert state(events[-1]) == COMPLETED


def test_twenty_thousand_chunks_are_all_in_the_stored_artifact(wire):
    events = wire.stream("stream 20000").rest(timeout=40)
    assert len(artifact_updates(events)) == 20000
    assert state(events[-1]) == COMPLETED
    stored = text_of(artifact(wire.get(events[0]["task"]["id"]), "stream-1"))
    assert stored == "".join(f"chunk {number}\n" for number in range(1, 20001))


def test_an_appended_chunk_of_an_unseen_artifact_is_kept(wire):
    events = wire.stream("append-first").rest()
    (texts,) = fold_artifacts(events).values()
    stored = wire.get(events[0]["task"]["id"])
    assert text_of(stored["artifacts"][0]) == texts != ""
    assert len(artifact_updates(events)) == 2


def test_an_artifact_sent_again_is_replaced(wire):
    events = wire.stream("replace").rest()
    updates = artifact_updates(events)
    assert len({u["artifact"]["artifactId"] for u in updates}) == 1
    stored = wire.get(events[0]["task"]["id"])
    assert len(stored["artifacts"]) == 1
    assert text_of(stored["artifacts"][0]) == text_of(updates[-1]["artifact"])
    assert text_of(updates[0]["artifact"]) != text_of(updates[-1]["artifact"])


def test_a_client_that_drops_its_stream_leaves_the_task_running(wire):
    feed = wire.stream("slow 0.4")
    task = feed.next()["task"]
    feed.close()
    eventually(lambda: state(wire.get(task["id"])) == COMPLETED, what="it completes")


@pytest.mark.parametrize("text", ["raise", "panic"])
def test_a_turn_that_breaks_ends_failed_and_wakes_everybody(wire, text):
    task = wire.send(text)
    assert state(task) == "TASK_STATE_FAILED"
    assert task["status"]["message"]["parts"]
    assert state(wire.stream(text).rest()[-1]) == "TASK_STATE_FAILED"
    assert state(wire.send("echo still here")) == COMPLETED


def test_events_of_a_stream_show_every_state(wire):
    assert states(wire.stream("echo x").rest())[-2:] == ["TASK_STATE_WORKING", COMPLETED]
    events = wire.stream("input").until(has_state("TASK_STATE_INPUT_REQUIRED"))
    assert states(events)[-1] == "TASK_STATE_INPUT_REQUIRED"


def test_a_long_stream_is_not_cut_and_many_streams_run_side_by_side(wire):
    ends = []

    def watch():
        ends.append(state(wire.stream("stream 20 every=50").rest()[-1]))

    threads = [threading.Thread(target=watch) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=20)
    assert ends == [COMPLETED] * 10
