"""Tasks live through a crash when they are stored in a file."""

import pytest

from support.events import artifact, state, text_of
from support.process import eventually


@pytest.fixture
def stored(served, tmp_path):
    """Starts agents over one database file."""

    def start(*arguments):
        return served("--store", f"sqlite:{tmp_path / 'nuncio.db'}", *arguments)

    return start


def test_tasks_survive_a_kill_and_a_restart(stored, wire_to, binding):
    first = stored()
    wire = wire_to(first, binding)
    done = wire.send("echo kept ✓")
    parts = wire.send("parts")
    parked = wire.send("input")
    order = [task["id"] for task in wire.list()["tasks"]]
    first.kill()

    wire = wire_to(stored(), binding)
    assert wire.get(done["id"]) == done
    assert wire.get(parts["id"]) == parts
    assert wire.get(parked["id"]) == parked
    assert [task["id"] for task in wire.list()["tasks"]] == order
    answered = wire.send("more", taskId=parked["id"])
    assert state(answered) == "TASK_STATE_COMPLETED"
    texts = [text_of(message) for message in answered["history"]]
    assert texts == ["input", "what else?", "more"]


def test_every_chunk_of_a_long_task_survives(stored, wire_to):
    first = stored()
    wire = wire_to(first, "jsonrpc")
    task = wire.send("stream 1000")
    first.kill()
    kept = wire_to(stored(), "jsonrpc").get(task["id"])
    expected = "".join(f"chunk {number}\n" for number in range(1, 1001))
    assert text_of(artifact(kept, "stream-1")) == expected


def test_a_task_that_ran_at_the_crash_does_not_stay_working_for_ever(stored, wire_to):
    first = stored()
    task = wire_to(first, "jsonrpc").start("slow 60")
    first.kill()
    wire = wire_to(stored(), "jsonrpc")
    ended = eventually(
        lambda: (seen := wire.get(task["id"])) and state(seen) == "TASK_STATE_FAILED" and seen,
        40,
        "the orphaned task ends",
    )
    assert ended["status"]["message"]["parts"], "it says why"


def test_webhooks_survive_a_restart(stored, wire_to, webhook):
    path = "/after-restart"
    first = stored("--allow-private-webhooks")
    wire = wire_to(first, "rest")
    task = wire.send("input")
    made = wire.create_config(task["id"], webhook.url + path, token="made-up-token")
    first.kill()
    wire = wire_to(stored("--allow-private-webhooks"), "rest")
    assert [config["id"] for config in wire.list_configs(task["id"])] == [made["id"]]
    wire.send("more", taskId=task["id"])
    deliveries = webhook.wait_until(
        path, lambda documents: state(documents[-1]) == "TASK_STATE_COMPLETED"
    )
    assert deliveries[-1].headers["x-a2a-notification-token"] == "made-up-token"


def test_an_orderly_stop_ends_with_exit_code_zero(stored, wire_to):
    agent = stored()
    wire_to(agent, "rest").send("echo x")
    assert agent.stop() == 0
