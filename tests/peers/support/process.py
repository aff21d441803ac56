"""Child processes: agents that serve until they are stopped, commands that end."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import httpx

HERE = Path(__file__).resolve().parent.parent
ROOT = HERE.parent.parent
NUNCIO = Path(os.environ.get("NUNCIO_BIN", ROOT / "target" / "debug" / "nuncio"))
CARD_URL = re.compile(r"(http://127\.0\.0\.1:\d+)\S*/\.well-known/agent(-card)?\.json")


def clean_environment(home: Path) -> dict[str, str]:
    """No settings of the person who runs the tests."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("A2ACLI_", "NUNCIO_", "OTEL_"))
    }
    return {**kept, "HOME": str(home), "XDG_CONFIG_HOME": str(home / ".config")}


class Served:
    """An agent at an origin; its card names where each binding is."""

    def __init__(self, url: str):
        self.url = url
        self.port = int(url.rsplit(":", 1)[1])

    @cached_property
    def interfaces(self) -> dict[str, str]:
        """The address of each 1.0 binding."""
        card = httpx.get(f"{self.url}/.well-known/agent-card.json", trust_env=False).json()
        return {
            interface["protocolBinding"]: interface["url"]
            for interface in reversed(card["supportedInterfaces"])
            if interface["protocolVersion"].startswith("1.")
        }

    def stop(self) -> int:
        """Somebody else's process."""
        return 0


class Agent(Served):
    """A server process that tests start; it names its card when it is ready."""

    def __init__(self, command: Sequence[str | Path], folder: Path, deadline: float = 20):
        self.command = [str(word) for word in command]
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.stdout = folder / "stdout.log"
        self.stderr = folder / "stderr.log"
        with self.stdout.open("ab") as out, self.stderr.open("ab") as err:
            self.process = subprocess.Popen(
                self.command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                cwd=folder,
                env=clean_environment(folder),
            )
        super().__init__(self._wait_for_card(deadline))

    def _wait_for_card(self, deadline: float) -> str:
        end = time.monotonic() + deadline
        while time.monotonic() < end:
            found = CARD_URL.search(self.stdout.read_text(errors="replace"))
            if found:
                return found.group(1)
            if self.process.poll() is not None:
                break
            time.sleep(0.01)
        self.stop()
        raise AssertionError(
            f"{' '.join(self.command)} named no card URL on stdout "
            f"(exit {self.process.poll()}):\n{self.stdout.read_text(errors='replace')}"
            f"\n--- stderr\n{self.log()}"
        )

    def log(self) -> str:
        return self.stderr.read_text(errors="replace")

    def is_running(self) -> bool:
        return self.process.poll() is None

    def stop(self) -> int:
        """SIGTERM, then SIGKILL; the exit code."""
        if self.is_running():
            self.process.terminate()
            try:
                self.process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                self.process.kill()
        return self.process.wait(timeout=10)

    def kill(self) -> None:
        """SIGKILL, as a power cut would."""
        self.process.kill()
        self.process.wait(timeout=10)


def serve(folder: Path, *arguments: str | Path) -> Agent:
    """`nuncio serve` on a free port of the loopback address, with all bindings in its card."""
    port = () if "--port" in arguments else ("--port", "0")
    listed = () if "--bindings" in arguments else ("--bindings", "jsonrpc,rest,grpc")
    return Agent([NUNCIO, "serve", *port, *listed, *arguments], folder)


@dataclass
class Run:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict:
        """The single document on stdout."""
        return json.loads(self.out)

    @property
    def lines(self) -> list[dict]:
        """One document per line of stdout."""
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def error(self) -> dict:
        """The error that is the only document on stdout, or its last line."""
        try:
            return self.json["error"]
        except json.JSONDecodeError:
            return self.lines[-1]["error"]


def run(folder: Path, *arguments: str | Path, stdin: str = "", timeout: float = 30) -> Run:
    """The client side of `nuncio`."""
    done = subprocess.run(
        [str(NUNCIO), *map(str, arguments)],
        input=stdin,
        capture_output=True,
        text=True,
        cwd=folder,
        env=clean_environment(folder),
        timeout=timeout,
        check=False,
    )
    return Run(done.returncode, done.stdout, done.stderr)


class Command:
    """A client command that is still running; its lines can be awaited."""

    def __init__(self, folder: Path, *arguments: str | Path):
        self.process = subprocess.Popen(
            [str(NUNCIO), *map(str, arguments)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=folder,
            env=clean_environment(folder),
        )

    def documents(self) -> Iterator[dict]:
        """Documents of stdout as they come."""
        assert self.process.stdout
        for line in self.process.stdout:
            yield json.loads(line)

    def finish(self, timeout: float = 20) -> int:
        return self.process.wait(timeout)

    def interrupt(self) -> None:
        self.process.send_signal(signal.SIGINT)

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(timeout=10)
        for pipe in (self.process.stdout, self.process.stderr):
            if pipe:
                pipe.close()


def eventually(condition, timeout: float = 10, what: str = "condition"):
    """The first true value of `condition()` before the deadline."""
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError(f"not within {timeout} s: {what}")


def free_port() -> int:
    """A port that was free a moment ago."""
    with socket.create_server(("127.0.0.1", 0)) as bound:
        return bound.getsockname()[1]


def free_pid(pid: int) -> bool:
    """True when no process has this id (or only a zombie does)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except FileNotFoundError:
        return True
