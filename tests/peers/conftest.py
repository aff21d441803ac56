"""Servers and clients that the tests share."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.caller import Caller
from support.grpc_wire import Grpc
from support.peers import AGENTS, OLDER, WIRES, connect
from support.process import HERE, NUNCIO, Agent, Run, Served, run, serve
from support.python_sdk import BINDINGS, Loop
from support.webhook import Webhook
from support.wires import JsonRpc, Rest

SDKS = tuple(f"{sdk}-{binding}" for sdk in ("python", "js") for binding in WIRES)
ALICE, BOB = "made-up-secret-of-alice", "made-up-secret-of-bob"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--agent", help="run the client tests against this card origin instead")


@pytest.fixture(scope="session", autouse=True)
def binary() -> Path:
    """The built `nuncio`; nothing here can run without it."""
    assert NUNCIO.exists(), f"{NUNCIO} is missing: cargo build --workspace"
    return NUNCIO


@pytest.fixture(scope="session")
def nuncio(request, tmp_path_factory) -> Iterator[Served]:
    """The demo agent, open, with webhooks to this machine allowed."""
    url = request.config.getoption("--agent")
    folder = tmp_path_factory.mktemp("nuncio")
    agent = Served(url) if url else serve(
        folder, "--store", "memory", "--allow-private-webhooks", "--tenants", "any"
    )
    yield agent
    agent.stop()


@pytest.fixture(scope="session")
def base64_nuncio(tmp_path_factory) -> Iterator[Agent]:
    """The demo agent that sends files of 0.3 as the Python SDK does."""
    folder = tmp_path_factory.mktemp("base64")
    agent = serve(folder, "--store", "memory", "--file-bytes", "base64")
    yield agent
    agent.stop()


@pytest.fixture(scope="session")
def scripted(tmp_path_factory) -> Iterator[Agent]:
    """An agent that runs agents/script.py, one process a turn."""
    folder = tmp_path_factory.mktemp("scripted")
    script = HERE / "agents" / "script.py"
    agent = serve(folder, "--store", "memory", "--jsonl", "--", sys.executable, script)
    yield agent
    agent.stop()


@pytest.fixture(scope="session")
def secured(tmp_path_factory) -> Iterator[Agent]:
    """The demo agent with two callers who have tokens."""
    folder = tmp_path_factory.mktemp("secured")
    agent = serve(
        folder,
        *("--store", "memory", "--allow-private-webhooks"),
        *("--token", f"alice={ALICE}", "--token", f"bob={BOB}"),
    )
    yield agent
    agent.stop()


@pytest.fixture
def served(tmp_path) -> Iterator[Callable[..., Agent]]:
    """Starts `nuncio serve` with any options; stopped after the test."""
    agents: list[Agent] = []
    numbers = itertools.count()

    def start(*arguments: str | Path, folder: Path | None = None) -> Agent:
        agents.append(serve(folder or tmp_path / f"agent-{next(numbers)}", *arguments))
        return agents[-1]

    yield start
    for agent in agents:
        agent.stop()


def bearer(token: str | None) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"} if token else {}


def make_wire(agent: Served, binding: str, token: str | None = None) -> Caller:
    """A hand-made client of one binding."""
    kind = {"jsonrpc": JsonRpc, "rest": Rest, "grpc": Grpc}[binding]
    return kind(agent.interfaces[BINDINGS[binding]], bearer(token))


@pytest.fixture
def wire_to() -> Iterator[Callable[..., Caller]]:
    """Makes wires to any agent; closed after the test."""
    callers: list[Caller] = []

    def make(agent: Served, binding: str, token: str | None = None) -> Caller:
        callers.append(make_wire(agent, binding, token))
        return callers[-1]

    yield make
    for caller in callers:
        caller.close()


@pytest.fixture(params=WIRES)
def binding(request) -> str:
    """Each of the three bindings."""
    return request.param


@pytest.fixture(scope="session")
def _wires(nuncio) -> Iterator[dict[str, Caller]]:
    wires = {name: make_wire(nuncio, name) for name in WIRES}
    yield wires
    for wire in wires.values():
        wire.close()


@pytest.fixture
def wire(_wires, binding) -> Caller:
    """The demo agent over each binding, by hand."""
    return _wires[binding]


@pytest.fixture
def jsonrpc(_wires) -> JsonRpc:
    return _wires["jsonrpc"]


@pytest.fixture
def rest(_wires) -> Rest:
    return _wires["rest"]


@pytest.fixture
def grpc_wire(_wires) -> Grpc:
    return _wires["grpc"]


@pytest.fixture(params=["jsonrpc", "rest"])
def http_wire(request, _wires) -> Caller:
    """The two bindings of plain HTTP."""
    return _wires[request.param]


@pytest.fixture(scope="session")
def sdk_to(tmp_path_factory) -> Iterator[Callable[..., Caller]]:
    """Makes official clients to any agent, one per name, agent and token."""
    loop = Loop()
    log = tmp_path_factory.mktemp("sdk") / "clients.log"
    made: dict[tuple, Caller] = {}

    def make(agent: Served, name: str, token: str | None = None) -> Caller:
        key = (agent.url, name, token)
        if key not in made:
            made[key] = connect(name, agent.url, bearer(token), loop, log)
        return made[key]

    yield make
    for caller in made.values():
        caller.close()


@pytest.fixture(params=SDKS)
def sdk_name(request) -> str:
    """Each official client: two languages, three bindings."""
    return request.param


@pytest.fixture
def sdk(nuncio, sdk_to, sdk_name) -> Caller:
    """The demo agent through each official client."""
    return sdk_to(nuncio, sdk_name)


@pytest.fixture(params=OLDER)
def older_name(request) -> str:
    """Each client of a version before 1.0."""
    return request.param


@pytest.fixture
def older(nuncio, sdk_to, older_name) -> Caller:
    """The demo agent through each client of a version before 1.0."""
    return sdk_to(nuncio, older_name)


@pytest.fixture(scope="session")
def webhook() -> Iterator[Webhook]:
    receiver = Webhook()
    yield receiver
    receiver.close()


@pytest.fixture(scope="session")
def python_agent(tmp_path_factory) -> Iterator[Agent]:
    """An agent on the official Python SDK, all bindings."""
    agent = Agent(
        [sys.executable, HERE / "servers" / "python_agent.py"],
        tmp_path_factory.mktemp("python-agent"),
    )
    yield agent
    agent.stop()


@pytest.fixture(scope="session")
def js_agent(tmp_path_factory) -> Iterator[Agent]:
    """An agent on the official JavaScript SDK, all bindings."""
    agent = Agent(["node", HERE / "js" / "agent.mjs"], tmp_path_factory.mktemp("js-agent"))
    yield agent
    agent.stop()


@pytest.fixture(params=["python", "js"])
def foreign(request) -> Agent:
    """Each agent that is built on an official SDK."""
    return request.getfixturevalue(f"{request.param}_agent")


@pytest.fixture(scope="session")
def older_agent(tmp_path_factory) -> Iterator[Callable[[str], Agent]]:
    """Agents of versions before 1.0, by the name of their SDK; each started once."""
    agents: dict[str, Agent] = {}

    def start(name: str) -> Agent:
        if name not in agents:
            agents[name] = Agent(AGENTS[name], tmp_path_factory.mktemp(name))
        return agents[name]

    yield start
    for agent in agents.values():
        agent.stop()


@pytest.fixture
def command(tmp_path) -> Callable[..., Run]:
    """Runs the client side of `nuncio` in a folder of its own."""

    def invoke(*arguments: str | Path, **options) -> Run:
        return run(tmp_path, *arguments, **options)

    return invoke
