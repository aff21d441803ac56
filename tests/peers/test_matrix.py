"""Every operation of every version over every binding with a peer on the other side, each role alone.

As a server `nuncio serve` answers the clients of `SDKS`, as a client the command `nuncio` calls the
agents on them. What no peer can show is in `NOBODY`; there `crates/client/tests/it/matrix.rs` has
both roles of our own. `-s` prints the matrix.
"""

from __future__ import annotations

import contextlib
import uuid

import pytest

from conftest import ALICE
from support.events import ends, has_state, state
from support.operations import OPERATIONS
from support.peers import LACKS, WIRES
from support.process import Command

WAYS = [
    *(("1.0", binding) for binding in WIRES),
    *(("0.3", binding) for binding in WIRES),
    *(("0.2", binding) for binding in WIRES),
    ("0.1", "jsonrpc"),
]
SDKS = {
    "1.0": ("python", "js"),
    "0.3": ("python03", "js03"),
    "0.2": ("python02", "python020"),
    "0.1": ("v01",),
}
# The bindings that an SDK has, where it has not all.
BINDINGS = {"python02": ("jsonrpc", "grpc"), "python020": ("jsonrpc",), "v01": ("jsonrpc",)}
CONFIGS = {name for name in OPERATIONS if "PushNotificationConfig" in name}
LISTS = {"ListTaskPushNotificationConfigs", "DeleteTaskPushNotificationConfig"}
CARD = "GetExtendedAgentCard"
# What a version does not have.
ABSENT = {
    "0.3": {"ListTasks"},
    "0.2": {"ListTasks"},
    "0.1": {"ListTasks", CARD} | LISTS,
}
DONE = "TASK_STATE_COMPLETED"
# A matrix is two hundred calls and more.
pytestmark = pytest.mark.timeout(300)


def peers(version: str, binding: str) -> list[str]:
    return [sdk for sdk in SDKS[version] if binding in BINDINGS.get(sdk, WIRES)]


class Cell(Exception):
    """What is wrong in a cell."""


def as_server(operation: str, caller) -> None:
    """`nuncio serve` answers the operation of this client."""
    match operation:
        case "SendMessage":
            assert state(caller.send("echo x")) == DONE
        case "SendStreamingMessage":
            assert ends(caller.stream("stream 3").rest()[-1])
        case "GetTask":
            sent = caller.send("echo x")
            assert caller.get(sent["id"])["id"] == sent["id"]
        case "ListTasks":
            sent = caller.send("input")
            (listed,) = caller.list(contextId=sent["contextId"])["tasks"]
            assert listed["id"] == sent["id"]
        case "CancelTask":
            assert state(caller.cancel(caller.send("input")["id"])) == "TASK_STATE_CANCELED"
        case "SubscribeToTask":
            with caller.stream("slow 0.5") as feed:
                (seen,) = feed.until(has_state("TASK_STATE_WORKING"))[-1:]
                task = task_of(seen)
                assert state(caller.subscribe(task).rest()[-1]) == DONE
        case "GetExtendedAgentCard":
            assert caller.call("GetExtendedAgentCard")["name"]
        case _:
            task = caller.send("input")["id"]
            url = f"http://127.0.0.1:9/{uuid.uuid4()}"
            assert caller.create_config(task, url, id=task)["url"] == url
            if operation == "GetTaskPushNotificationConfig":
                assert caller.get_config(task, task)["url"] == url
            if operation == "ListTaskPushNotificationConfigs":
                assert [config["url"] for config in caller.list_configs(task)] == [url]
            if operation == "DeleteTaskPushNotificationConfig":
                caller.delete_config(task, task)
                assert caller.list_configs(task) == []


def task_of(event: dict) -> str:
    """The id of the task that an event is of."""
    return event["task"]["id"] if "task" in event else event["statusUpdate"]["taskId"]


class Ask:
    """The command `nuncio` with this agent over this binding."""

    def __init__(self, command, running, agent, binding: str):
        self._command, self._running = command, running
        self._options = ("-a", agent.url, "--transport", binding, "-o", "json")

    def __call__(self, *arguments):
        run = self._command(*arguments, *self._options)
        assert run.code == 0, f"{run.out}\n{run.err}"
        return run

    def running(self, *arguments):
        """The documents of a command as they come; it is stopped when the block ends."""
        return self._running(*arguments, *self._options)


def as_client(operation: str, ask: Ask) -> None:
    """The command `nuncio` calls the operation of this agent."""

    def send(*arguments) -> dict:
        return ask("send", *arguments).json["task"]

    match operation:
        case "SendMessage":
            assert state(send("echo x")) == DONE
        case "SendStreamingMessage":
            assert ends(ask("send", "stream 3", "--stream").lines[-1])
        case "GetTask":
            sent = send("echo x")
            assert ask("task", "get", sent["id"]).json["id"] == sent["id"]
        case "ListTasks":
            sent = send("input")
            tasks = ask("task", "list", "--context-id", sent["contextId"]).json["tasks"]
            assert [task["id"] for task in tasks] == [sent["id"]]
        case "CancelTask":
            assert state(ask("task", "cancel", send("input")["id"]).json) == "TASK_STATE_CANCELED"
        case "SubscribeToTask":
            # Some agents answer a send when they are through; a stream says at once which task it is.
            with ask.running("send", "slow 1.5", "--stream") as events:
                task = task_of(next(events))
                assert ends(ask("task", "subscribe", task, "--stream").lines[-1])
        case "GetExtendedAgentCard":
            assert ask("card", "get", "--extended", "--bearer", ALICE).json["name"]
        case _:
            task, config = send("input")["id"], ("task", "push-config")
            url = f"http://127.0.0.1:9/{uuid.uuid4()}"
            assert ask(*config, "create", task, "--url", url, "--id", task).json["url"] == url
            if operation == "GetTaskPushNotificationConfig":
                assert ask(*config, "get", task, task).json["url"] == url
            if operation == "ListTaskPushNotificationConfigs":
                assert url in ask(*config, "list", task).out
            if operation == "DeleteTaskPushNotificationConfig":
                ask(*config, "delete", task, task)
                assert url not in ask(*config, "list", task).out


# What a client of these cannot call: over gRPC, those before 1.0 send no credentials.
CANNOT_CALL = {
    **LACKS,
    "python03-grpc": {CARD},
    "js03-grpc": {CARD},
    "python02-grpc": LACKS["python02-grpc"] | {CARD},
}
# What an agent of these cannot do: the SDK has no such method, or breaks where it is called.
CANNOT_DO = {
    "python03-rest": LISTS,
    "python03-grpc": LISTS,
    "python02-grpc": {"GetTask", "CancelTask", "SubscribeToTask"} | CONFIGS,
    "python020-jsonrpc": LISTS | {CARD},
}
# No SDK has HTTP+JSON of 0.2.
REST_OF_0_2 = {(name, "0.2", "rest") for name in OPERATIONS if name != "ListTasks"}
NOBODY = {
    "server": REST_OF_0_2
    | {(CARD, "0.3", "grpc"), (CARD, "0.2", "grpc")}
    | {(name, "0.2", "grpc") for name in CONFIGS},
    "client": REST_OF_0_2 | {(name, "0.2", "grpc") for name in CANNOT_DO["python02-grpc"]},
}


def cell(role: str, operation: str, version: str, binding: str, attempt) -> str:
    """`yes` with every peer that is able, `-` where the version has no such operation."""
    cannot = {"server": CANNOT_CALL, "client": CANNOT_DO}[role]
    names = [f"{sdk}-{binding}" for sdk in peers(version, binding)]
    if operation in ABSENT.get(version, set()):
        return "-"
    names = [name for name in names if operation not in cannot.get(name, set())]
    for name in names:
        try:
            attempt(operation, name)
        except Exception as error:
            place = f"{operation} of {version} over {binding} as {role} with {name}"
            raise Cell(f"{place}: {error!r}") from error
    return "yes" if names else "nobody"


def matrix(role: str, attempt) -> None:
    """Fills and prints the matrix of a role."""
    lines, wrong, nobody = [], [], set()
    lines.append(" " * 34 + "".join(f"{f'{version} {binding}':>12}" for version, binding in WAYS))
    for operation in OPERATIONS:
        line = f"{operation:34}"
        for version, binding in WAYS:
            try:
                result = cell(role, operation, version, binding, attempt)
            except Cell as error:
                wrong.append(str(error))
                result = "WRONG"
            if result == "nobody":
                nobody.add((operation, version, binding))
            line += f"{result:>12}"
        lines.append(line)
    print(f"\nnuncio as {role}\n" + "\n".join(lines))
    assert not wrong, "\n".join(wrong)
    assert nobody == NOBODY[role], sorted(nobody ^ NOBODY[role])


def test_the_server_answers_every_operation_of_every_peer(nuncio, secured, sdk_to):
    def attempt(operation: str, name: str) -> None:
        caller = sdk_to(secured, name, ALICE) if operation == CARD else sdk_to(nuncio, name)
        as_server(operation, caller)

    matrix("server", attempt)


@pytest.fixture
def agent_of(python_agent, js_agent, older_agent):
    newest = {"python": python_agent, "js": js_agent}
    return lambda sdk: newest.get(sdk) or older_agent(sdk)


@pytest.fixture
def running(tmp_path):
    """Runs a command and gives its documents as they come."""

    @contextlib.contextmanager
    def start(*arguments):
        command = Command(tmp_path, *arguments)
        try:
            yield command.documents()
        finally:
            command.stop()

    return start


def test_the_client_calls_every_operation_of_every_peer(command, running, agent_of):
    def attempt(operation: str, name: str) -> None:
        sdk, binding = name.split("-")
        as_client(operation, Ask(command, running, agent_of(sdk), binding))

    matrix("client", attempt)
