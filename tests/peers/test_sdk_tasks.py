"""Official clients read, list, cancel and watch tasks of the demo agent."""

import uuid

from support.events import has_state, state, states, text_of
from support.process import eventually


def test_a_task_is_read_with_artifacts_and_history(sdk):
    sent = sdk.send("echo hello")
    got = sdk.get(sent["id"])
    assert got == sent


def test_history_length_bounds_the_history(sdk):
    task = sdk.send("input")
    sdk.send("more", taskId=task["id"])
    assert len(sdk.get(task["id"])["history"]) == 3
    assert "history" not in sdk.get(task["id"], historyLength=0)
    newest = sdk.get(task["id"], historyLength=2)["history"]
    assert [text_of(message) for message in newest] == ["what else?", "more"]
    assert len(sdk.get(task["id"], historyLength=50)["history"]) == 3


def test_history_length_bounds_the_answer_of_a_send(sdk):
    assert "history" not in sdk.send("echo x", configuration={"historyLength": 0})
    task = sdk.send("input")
    answered = sdk.send("more", taskId=task["id"], configuration={"historyLength": 1})
    assert [text_of(message) for message in answered["history"]] == ["more"]


def test_a_list_is_read_page_by_page_newest_first(sdk):
    context = str(uuid.uuid4())
    sent = [sdk.send(f"echo {number}", contextId=context)["id"] for number in range(5)]
    seen, token, sizes = [], "", []
    while True:
        page = sdk.list(contextId=context, pageSize=2, **({"pageToken": token} if token else {}))
        assert page["totalSize"] == 5 and page["pageSize"] == 2
        seen += [task["id"] for task in page["tasks"]]
        sizes.append(len(page["tasks"]))
        token = page["nextPageToken"]
        if not token:
            break
    assert seen == sent[::-1]
    assert sizes == [2, 2, 1]


def test_a_list_is_filtered_by_state_and_time(sdk):
    context = str(uuid.uuid4())
    done = sdk.send("echo done", contextId=context)
    parked = sdk.send("input", contextId=context)
    by_state = sdk.list(contextId=context, status="TASK_STATE_INPUT_REQUIRED")
    assert [task["id"] for task in by_state["tasks"]] == [parked["id"]]
    since = sdk.list(contextId=context, statusTimestampAfter=parked["status"]["timestamp"])
    assert parked["id"] in [task["id"] for task in since["tasks"]]
    both = sdk.list(contextId=context, statusTimestampAfter=done["status"]["timestamp"])
    assert [task["id"] for task in both["tasks"]] == [parked["id"], done["id"]]


def test_a_list_shows_artifacts_only_on_request(sdk):
    context = str(uuid.uuid4())
    sdk.send("echo hello", contextId=context)
    assert "artifacts" not in sdk.list(contextId=context)["tasks"][0]
    shown = sdk.list(contextId=context, includeArtifacts=True)["tasks"][0]
    assert text_of(shown["artifacts"][0]) == "hello"


def test_an_empty_list_is_an_answer(sdk):
    page = sdk.list(contextId=str(uuid.uuid4()))
    assert page == {"tasks": [], "nextPageToken": "", "pageSize": 50, "totalSize": 0}


def test_a_running_task_is_canceled(sdk):
    task = sdk.start("slow 30")
    with sdk.subscribe(task["id"]) as feed:
        feed.until(has_state("TASK_STATE_WORKING"))
        assert state(sdk.cancel(task["id"])) == "TASK_STATE_CANCELED"
        assert state(feed.rest()[-1]) == "TASK_STATE_CANCELED"
    assert state(sdk.get(task["id"])) == "TASK_STATE_CANCELED"


def test_a_waiting_task_is_canceled(sdk):
    task = sdk.send("input")
    assert state(sdk.cancel(task["id"], metadata={"why": "test"})) == "TASK_STATE_CANCELED"


def test_a_subscriber_sees_the_task_and_all_that_follows(sdk):
    task = sdk.start("slow 1")
    with sdk.subscribe(task["id"]) as feed:
        events = feed.rest()
    assert events[0]["task"]["id"] == task["id"]
    assert states(events)[-1] == "TASK_STATE_COMPLETED"


def test_a_subscriber_of_a_waiting_task_sees_the_next_turn(sdk):
    task = sdk.send("input")
    with sdk.subscribe(task["id"]) as feed:
        assert state(feed.next()) == "TASK_STATE_INPUT_REQUIRED"
        sdk.send("more", taskId=task["id"])
        assert state(feed.rest()[-1]) == "TASK_STATE_COMPLETED"


def test_two_subscribers_see_the_same_events(sdk):
    task = sdk.send("input")
    with sdk.subscribe(task["id"]) as one, sdk.subscribe(task["id"]) as two:
        assert one.next() == two.next()
        sdk.send("more", taskId=task["id"])
        assert one.rest() == two.rest()


def test_a_client_that_leaves_its_stream_leaves_the_task_running(sdk):
    feed = sdk.stream("slow 0.4")
    task = feed.next()["task"]
    feed.close()
    eventually(lambda: state(sdk.get(task["id"])) == "TASK_STATE_COMPLETED", what="it completes")
