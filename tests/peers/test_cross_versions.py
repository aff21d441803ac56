"""A task that a client of one version began, in the hands of a client of another: every pair."""

import itertools
import uuid

import pytest

from support import v01, v03
from support.events import has_state, roles, state, status_text, text_of
from support.peers import wire_version

CLIENTS = {
    "1.0": "python-jsonrpc",
    "0.3": "js03-jsonrpc",
    "0.2": "python02-jsonrpc",
    # Three methods of 0.1 have the names of 0.3: of a task that it did not begin, a client of 0.1 gets
    # the shapes of 0.3 unless it says what it speaks.
    "0.1": "v01said-jsonrpc",
}
PAIRS = [(CLIENTS[a], CLIENTS[b]) for a, b in itertools.permutations(CLIENTS, 2)]
# The same version in other bindings and other hands.
PAIRS += [
    ("js-rest", "python03-rest"),
    ("python03-rest", "js-grpc"),
    ("python03-grpc", "js03-rest"),
    ("js03-grpc", "python02-jsonrpc"),
    ("pythoncompat-jsonrpc", "js03-rest"),
    ("jscompat-rest", "v01said-jsonrpc"),
    ("v01-jsonrpc", "pythoncompat-grpc"),
    ("python020-jsonrpc", "js-grpc"),
    ("python03-rest", "python020-jsonrpc"),
]
IDS = ["-then-".join(pair) for pair in PAIRS]


@pytest.fixture(params=PAIRS, ids=IDS)
def pair(request, nuncio, sdk_to):
    return tuple(sdk_to(nuncio, name) for name in request.param)


@pytest.fixture
def names(pair, request) -> tuple[str, str]:
    return request.node.callspec.params["pair"]


@pytest.fixture
def listed(nuncio, sdk_to):
    """The only task of a context, as a client of 1.0 lists it."""

    def find(context: str) -> dict:
        (task,) = sdk_to(nuncio, "python-jsonrpc").list(contextId=context)["tasks"]
        return task

    return find


def test_it_is_listed_read_watched_and_continued(pair, listed):
    first, second = pair
    context = f"shared-{uuid.uuid4()}"
    begun = first.send("input", contextId=context)
    # A client of 0.1 made an id of its own; all others know the task by the server's.
    task_id = listed(context)["id"]
    assert task_id == begun["id"] or first.name == "v01"
    seen = second.get(task_id, historyLength=10)
    assert (seen["id"], seen["contextId"]) == (task_id, context)
    assert state(seen) == "TASK_STATE_INPUT_REQUIRED" and status_text(seen) == "what else?"
    assert [text_of(message) for message in seen["history"]][:1] == ["input"]

    feed = second.stream("more", taskId=task_id, contextId=context)
    assert state(feed.rest()[-1]) == "TASK_STATE_COMPLETED"
    ended = first.get(begun["id"], historyLength=10)
    assert state(ended) == "TASK_STATE_COMPLETED" and status_text(ended) == "got: more"
    assert roles(ended) == ["ROLE_USER", "ROLE_AGENT", "ROLE_USER"]
    assert state(listed(context)) == "TASK_STATE_COMPLETED"


def test_it_is_watched_and_canceled(pair, listed):
    first, second = pair
    context = f"shared-{uuid.uuid4()}"
    with first.stream("slow 30", contextId=context) as feed:
        feed.until(has_state("TASK_STATE_WORKING"))
        task_id = listed(context)["id"]
        with second.subscribe(task_id) as watcher:
            assert state(watcher.next()) == "TASK_STATE_WORKING"
            assert state(second.cancel(task_id)) == "TASK_STATE_CANCELED"
            assert state(watcher.rest()[-1]) == "TASK_STATE_CANCELED"
        assert state(feed.rest()[-1]) == "TASK_STATE_CANCELED"


def read(version: str, document: dict) -> dict:
    """The body of a delivery, which must be of this version, in the form of 1.0."""
    if version == "1.0":
        assert len(document) == 1, document
        return document
    if version == "0.1":
        v01.check(document, "Task")
        return {"task": v01.task_up(document)}
    return v03.event(document)


def test_each_webhook_is_called_in_the_version_of_who_set_it(pair, names, listed, webhook):
    context = f"shared-{uuid.uuid4()}"
    begun = pair[0].send("input", contextId=context)
    ids = (begun["id"], listed(context)["id"])
    paths = [f"/cross/{uuid.uuid4()}" for _ in pair]
    # One webhook a task is all that 0.1 and gRPC of 0.2 know, so whoever has names comes last.
    order = sorted(zip(pair, ids, paths, names), key=lambda entry: entry[3] > "python02")
    for caller, task_id, path, name in order:
        caller.create_config(task_id, webhook.url + path, id=name)
    pair[1].send("more", taskId=ids[1], contextId=context)
    for path, name in zip(paths, names):
        version = wire_version(name)
        kinds = {"1.0": "application/a2a+json"}
        deliveries = webhook.wait_until(
            path, lambda d, v=version: state(read(v, d[-1])) == "TASK_STATE_COMPLETED"
        )
        for delivery in deliveries:
            read(version, delivery.document)
            media_type = delivery.headers["content-type"].split(";")[0]
            assert media_type == kinds.get(version, "application/json")
