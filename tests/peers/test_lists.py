"""Lists of tasks, on the wire of every binding."""

import uuid

import pytest

from support.events import state, text_of
from support.failure import refused


def fresh() -> str:
    return str(uuid.uuid4())


def test_an_empty_list_is_spelled_out(http_wire):
    page = http_wire.call("ListTasks", {"contextId": fresh()})
    assert page == {"tasks": [], "nextPageToken": "", "pageSize": 50, "totalSize": 0}


def test_the_last_page_spells_out_all_four_members(http_wire):
    context = fresh()
    http_wire.send("echo x", contextId=context)
    page = http_wire.call("ListTasks", {"contextId": context, "pageSize": 1})
    assert (page["nextPageToken"], page["pageSize"], page["totalSize"]) == ("", 1, 1)


def test_artifacts_are_absent_unless_asked_for(wire):
    context = fresh()
    wire.send("echo x", contextId=context)
    for members in ({}, {"includeArtifacts": False}, {"status": "TASK_STATE_COMPLETED"}):
        (task,) = wire.list(contextId=context, **members)["tasks"]
        assert "artifacts" not in task
    (task,) = wire.list(contextId=context, includeArtifacts=True)["tasks"]
    assert text_of(task["artifacts"][0]) == "x"


def test_the_newest_status_comes_first(wire):
    context = fresh()
    first = wire.send("input", contextId=context)
    second = wire.send("echo x", contextId=context)
    order = [task["id"] for task in wire.list(contextId=context)["tasks"]]
    assert order == [second["id"], first["id"]]
    wire.send("more", taskId=first["id"])
    order = [task["id"] for task in wire.list(contextId=context)["tasks"]]
    assert order == [first["id"], second["id"]]


def test_pages_join_without_gap_or_repeat(wire):
    context = fresh()
    sent = {wire.send(f"echo {n}", contextId=context)["id"] for n in range(7)}
    seen, token = [], None
    while token != "":
        page = wire.list(contextId=context, pageSize=3, **({"pageToken": token} if token else {}))
        seen += [task["id"] for task in page["tasks"]]
        token = page["nextPageToken"]
    assert len(seen) == 7 and set(seen) == sent


def test_a_page_stays_right_when_tasks_change_between_pages(wire):
    context = fresh()
    sent = [wire.send("input", contextId=context)["id"] for _ in range(6)]
    page = wire.list(contextId=context, pageSize=2)
    seen = [task["id"] for task in page["tasks"]]
    wire.send("echo new", contextId=context)
    wire.send("more", taskId=seen[-1])
    while page["nextPageToken"]:
        page = wire.list(contextId=context, pageSize=2, pageToken=page["nextPageToken"])
        seen += [task["id"] for task in page["tasks"]]
    assert len(seen) == len(set(seen)), "a task came twice"
    assert set(sent) <= set(seen), "a task that did not change was skipped"


def test_the_default_page_holds_fifty(wire):
    context = fresh()
    for number in range(51):
        wire.send(f"echo {number}", contextId=context)
    page = wire.list(contextId=context)
    assert (len(page["tasks"]), page["pageSize"], page["totalSize"]) == (50, 50, 51)
    assert page["nextPageToken"]
    assert len(wire.list(contextId=context, pageSize=100)["tasks"]) == 51


@pytest.mark.parametrize("size", [0, -1, 101, 2**31 - 1])
def test_a_page_size_out_of_range_is_refused(wire, size):
    with refused("InvalidParams") as holder:
        wire.list(pageSize=size)
    assert any("page" in field for field in holder.failure.fields), holder.failure


@pytest.mark.parametrize("token", ["garbage", "AAAA", "{}", "🚀", "x" * 5000])
def test_a_garbage_page_token_is_refused(wire, token):
    with refused("InvalidParams"):
        wire.list(pageToken=token)


def test_a_page_token_is_good_for_its_list_alone(wire):
    context = str(uuid.uuid4())
    for _ in range(3):
        wire.send("echo x", contextId=context)
    token = wire.list(contextId=context, pageSize=2)["nextPageToken"]
    assert len(wire.list(contextId=context, pageSize=5, pageToken=token)["tasks"]) == 1
    for other in ({}, {"contextId": str(uuid.uuid4())}, {"status": "TASK_STATE_COMPLETED"}):
        with refused("InvalidParams") as holder:
            wire.list(pageToken=token, **other)
        assert any("page" in field for field in holder.failure.fields), holder.failure


@pytest.mark.parametrize("status", ["TASK_STATE_MADE_UP", "bogus", "task_state_"])
def test_an_unknown_status_name_is_refused(http_wire, status):
    with refused("InvalidParams"):
        http_wire.list(status=status)


@pytest.mark.parametrize("time", ["yesterday", "2026-13-01T00:00:00Z", "12:00", "2026-01-01"])
def test_a_malformed_time_is_refused(http_wire, time):
    with refused("InvalidParams"):
        http_wire.list(statusTimestampAfter=time)


def test_the_time_filter_is_inclusive(wire):
    context = fresh()
    task = wire.send("echo x", contextId=context)
    stamp = wire.list(contextId=context)["tasks"][0]["status"]["timestamp"]
    assert stamp == task["status"]["timestamp"]
    page = wire.list(contextId=context, statusTimestampAfter=stamp)
    assert [t["id"] for t in page["tasks"]] == [task["id"]]
    later = wire.list(contextId=context, statusTimestampAfter="2199-01-01T00:00:00Z")
    assert later["tasks"] == []


def test_unspecified_is_no_filter(wire):
    context = fresh()
    wire.send("echo x", contextId=context)
    wire.send("input", contextId=context)
    page = wire.list(contextId=context, status="TASK_STATE_UNSPECIFIED")
    assert page["totalSize"] == 2


def test_each_state_is_a_filter(wire):
    context = fresh()
    texts = {
        "TASK_STATE_COMPLETED": "echo x",
        "TASK_STATE_FAILED": "fail",
        "TASK_STATE_REJECTED": "reject",
        "TASK_STATE_INPUT_REQUIRED": "input",
        "TASK_STATE_AUTH_REQUIRED": "auth",
    }
    sent = {wanted: wire.send(text, contextId=context)["id"] for wanted, text in texts.items()}
    for wanted, task_id in sent.items():
        page = wire.list(contextId=context, status=wanted)
        assert [task["id"] for task in page["tasks"]] == [task_id]
        assert page["totalSize"] == 1
        assert state(page["tasks"][0]) == wanted


def test_a_list_respects_history_length(wire):
    context = fresh()
    wire.send("echo x", contextId=context)
    assert "history" not in wire.list(contextId=context, historyLength=0)["tasks"][0]
    assert len(wire.list(contextId=context, historyLength=1)["tasks"][0]["history"]) == 1
