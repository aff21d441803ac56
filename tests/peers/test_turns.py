"""Turns, ids and history, on the wire of every binding."""

import threading
import uuid

import pytest

from support.caller import user_message
from support.events import artifact, ends, roles, state, status_text, text_of
from support.failure import refused


def test_the_same_message_id_twice_makes_two_tasks(wire):
    one = wire.send("echo x", messageId="same-id")
    two = wire.send("echo x", messageId="same-id")
    assert one["id"] != two["id"]


def test_the_same_message_id_twice_in_one_task_stays_twice_in_history(wire):
    task = wire.send("tck-multi-turn", messageId="same-id")
    wire.send("again", messageId="same-id", taskId=task["id"])
    history = wire.get(task["id"])["history"]
    assert [text_of(m) for m in history if m["role"] == "ROLE_USER"] == ["tck-multi-turn", "again"]


def test_a_task_id_without_context_continues_the_task_in_its_context(wire):
    task = wire.send("input")
    answered = wire.send("more", taskId=task["id"])
    assert (answered["id"], answered["contextId"]) == (task["id"], task["contextId"])


def test_another_context_id_is_refused_and_the_task_is_untouched(wire):
    task = wire.send("input")
    with refused("InvalidParams"):
        wire.send("more", taskId=task["id"], contextId=str(uuid.uuid4()))
    with refused("InvalidParams"):
        wire.stream("more", taskId=task["id"], contextId=str(uuid.uuid4()))
    assert wire.get(task["id"]) == task


def test_an_unknown_task_is_a_plain_error_not_a_stream(wire):
    context = str(uuid.uuid4())
    with refused("TaskNotFound"):
        wire.send("echo x", taskId="no-such-task", contextId=context)
    with refused("TaskNotFound"):
        wire.stream("echo x", taskId="no-such-task", contextId=context)
    assert wire.list(contextId=context)["tasks"] == []


@pytest.mark.parametrize("text", ["echo x", "fail", "reject"])
def test_a_task_that_ended_takes_no_message_also_not_streaming(wire, text):
    task = wire.send(text)
    with refused("UnsupportedOperation"):
        wire.send("more", taskId=task["id"])
    with refused("UnsupportedOperation"):
        wire.stream("more", taskId=task["id"])
    assert wire.get(task["id"]) == task


@pytest.mark.parametrize("context", ["x", "not a uuid / ünïcode", "a" * 200])
def test_a_clients_context_id_is_kept_verbatim(wire, context):
    assert wire.send("echo x", contextId=context)["contextId"] == context
    assert wire.send("message x", contextId=context)["contextId"] == context


def test_a_missing_context_id_is_made_for_tasks_and_messages(wire):
    contexts = {
        wire.send("echo x")["contextId"],
        wire.send("echo x")["contextId"],
        wire.send("message x")["contextId"],
        wire.send("message x")["contextId"],
    }
    assert len(contexts) == 4 and all(contexts)


def test_a_new_task_in_an_old_context_starts_empty(wire):
    context = str(uuid.uuid4())
    wire.send("echo old", contextId=context, metadata={"k": "v"})
    new = wire.send("tck-complete-task", contextId=context)
    assert "artifacts" not in new or new["artifacts"] == []
    assert [text_of(message) for message in new["history"]] == ["tck-complete-task"]
    assert not new.get("metadata")


def test_history_holds_user_and_agent_in_turns(wire):
    task = wire.send("tck-input-required")
    wire.send("tck-input-required", taskId=task["id"])
    third = wire.send("tck-input-required", taskId=task["id"])
    assert roles(third) == ["ROLE_USER", "ROLE_AGENT"] * 2 + ["ROLE_USER"]
    assert state(third) == "TASK_STATE_INPUT_REQUIRED"


def test_history_length_means_the_same_on_every_operation(wire):
    context = str(uuid.uuid4())
    task = wire.send("input", contextId=context)
    wire.send("more", taskId=task["id"])
    full = ["input", "what else?", "more"]

    def by_get(**members):
        return wire.get(task["id"], **members)

    def by_list(**members):
        return wire.list(contextId=context, **members)["tasks"][0]

    for read in (by_get, by_list):
        assert [text_of(m) for m in read()["history"]] == full
        assert "history" not in read(historyLength=0)
        assert [text_of(m) for m in read(historyLength=1)["history"]] == full[-1:]
        assert [text_of(m) for m in read(historyLength=2)["history"]] == full[-2:]
        assert [text_of(m) for m in read(historyLength=99)["history"]] == full
        with refused("InvalidParams"):
            read(historyLength=-1)


@pytest.mark.parametrize("length", [0, 1, 2])
def test_history_length_bounds_the_answers_of_send_and_stream(wire, length):
    def limited(task):
        return [text_of(message) for message in task.get("history", [])]

    expected = ["input", "what else?", "more"][3 - length :] if length else []
    task = wire.send("input")
    configuration = {"historyLength": length}
    sent = wire.send("more", taskId=task["id"], configuration=configuration)
    assert limited(sent) == expected
    assert ("history" in sent) == (length > 0)
    task = wire.send("input")
    first = wire.stream("more", taskId=task["id"], configuration=configuration).rest()[0]["task"]
    assert len(first.get("history", [])) <= length


def test_a_negative_history_length_of_a_send_is_refused(wire):
    with refused("InvalidParams"):
        wire.send("echo x", configuration={"historyLength": -1})
    with refused("InvalidParams"):
        wire.stream("echo x", configuration={"historyLength": -1})


def test_messages_sent_at_once_to_a_waiting_task_are_all_kept(wire):
    task = wire.send("tck-multi-turn")
    texts = [f"turn {number}" for number in range(8)]
    threads = [
        threading.Thread(target=wire.send, args=(text,), kwargs={"taskId": task["id"]})
        for text in texts
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=20)
    final = wire.get(task["id"])
    kept = [text_of(m) for m in final["history"] if m["role"] == "ROLE_USER"]
    assert sorted(kept[1:]) == texts
    assert state(final) == "TASK_STATE_INPUT_REQUIRED"


def test_a_bare_message_leaves_no_task_behind(wire):
    context = str(uuid.uuid4())
    message = wire.send("message hi", contextId=context)
    assert not message.get("taskId") and message["role"] == "ROLE_AGENT"
    assert wire.list(contextId=context)["totalSize"] == 0


def test_a_streamed_bare_message_is_exactly_one_event(wire):
    events = wire.stream("message hi").rest()
    assert [list(event) for event in events] == [["message"]]


def test_an_event_after_the_end_is_not_forwarded(wire):
    events = wire.stream("after-end").rest()
    last = [event for event in events if ends(event)]
    assert len(last) == 1 and events[-1] is last[0], events
    assert "task" in events[0] and state(last[0]) == "TASK_STATE_COMPLETED"


def test_two_bare_messages_are_an_error_of_the_agent(wire):
    with refused("InvalidAgentResponse"):
        wire.send("two-messages")


def test_a_client_cannot_speak_as_the_agent(wire):
    with refused("InvalidParams") as holder:
        wire.send("echo x", role="ROLE_AGENT")
    assert any("role" in field for field in holder.failure.fields), holder.failure


@pytest.mark.parametrize(
    ("members", "field"),
    [
        ({"parts": []}, "parts"),
        ({"parts": None}, "parts"),
        ({"messageId": None}, "messageId"),
        ({"messageId": ""}, "messageId"),
        ({"role": None}, "role"),
        ({"role": "ROLE_UNSPECIFIED"}, "role"),
    ],
)
@pytest.mark.parametrize("operation", ["SendMessage", "SendStreamingMessage"])
def test_an_incomplete_message_is_refused_and_the_field_is_named(wire, operation, members, field):
    request = {"message": user_message("echo x", **members)}
    with refused("InvalidParams") as holder:
        call = wire.open if operation == "SendStreamingMessage" else wire.call
        call(operation, request)
    snake = {"messageId": "message_id"}.get(field, field)
    assert any(field in f or snake in f for f in holder.failure.fields), holder.failure


def test_a_request_without_a_message_is_refused_and_the_field_is_named(wire):
    with refused("InvalidParams") as holder:
        wire.call("SendMessage", {})
    assert any("message" in field for field in holder.failure.fields), holder.failure


def test_table_follows_the_schema_of_the_message(wire):
    schema = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "count": {"type": "integer"}},
    }
    task = wire.send([{"text": "table", "metadata": {"schema": schema}}])
    (part,) = task["artifacts"][0]["parts"]
    assert "data" in part


def test_two_states_never_share_one_answer(wire):
    task = wire.send("echo a")
    assert status_text(task) == "echo: a" and text_of(artifact(task, "echo-1")) == "a"
