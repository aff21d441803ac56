"""Agent frameworks that speak A2A, each with a fake model of its own kind: clients and agents by name."""

from __future__ import annotations

from pathlib import Path

from .lines import Lines
from .process import HERE, ROOT

FOLDER = HERE / "frameworks"


def python(environment: str) -> Path:
    """The interpreter of an environment of the frameworks."""
    return ROOT / ".test" / environment / "bin" / "python"


NEW, OLD = python("venv-frameworks"), python("venv-frameworks-0.3")

# By name: the interpreter, the script, what the script needs beside the agent's URL.
CLIENTS = {
    "adk": [NEW, "adk_client.py"],
    "agent-framework": [NEW, "agent_framework_client.py", "JSONRPC", "stream"],
    "agent-framework-run": [NEW, "agent_framework_client.py", "HTTP+JSON", "run"],
    "ag2-jsonrpc": [NEW, "ag2_client.py", "jsonrpc", "stream"],
    "ag2-rest": [NEW, "ag2_client.py", "rest", "stream"],
    "ag2-grpc": [NEW, "ag2_client.py", "grpc", "stream"],
    "ag2-poll": [NEW, "ag2_client.py", "jsonrpc", "poll"],
    "strands": [OLD, "strands_client.py"],
}

AGENTS = {
    "adk": [NEW, FOLDER / "adk_agent.py"],
    "agent-framework": [NEW, FOLDER / "agent_framework_agent.py", "stream"],
    "ag2-jsonrpc": [NEW, FOLDER / "ag2_agent.py", "jsonrpc"],
    "ag2-rest": [NEW, FOLDER / "ag2_agent.py", "rest"],
    "strands": [OLD, FOLDER / "strands_agent.py"],
    "strands-artifacts": [OLD, FOLDER / "strands_agent.py", "artifacts"],
    "fasta2a": [OLD, FOLDER / "fasta2a_agent.py"],
}
# An agent whose answer only the history of the task has.
IN_HISTORY = [NEW, FOLDER / "agent_framework_agent.py"]


class Client:
    """A framework's client of one agent, in a process of its own."""

    def __init__(self, name: str, url: str, log: Path, token: str | None = None):
        interpreter, script, *options = CLIENTS[name]
        environment = {"AGENT_TOKEN": token} if token else {}
        self.lines = Lines([interpreter, FOLDER / script, url, *options], log, environment)

    def ask(self, text: str, session: str = "default") -> dict:
        """What the framework makes of the answer: `text`, `pieces` while it comes, `error`."""
        return self.lines.call("ask", {"text": text, "session": session})

    def close(self) -> None:
        self.lines.close()
