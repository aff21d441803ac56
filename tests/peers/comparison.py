#!/usr/bin/env python3
"""The comparison of the README, measured: each cell is one check against a real server of each kind.

    python3 tests/peers/comparison.py NUNCIO PYTHON [RUST]

NUNCIO is the binary, PYTHON the interpreter of an environment with a2a-sdk, RUST the echo agent of `rust-sdk`. The agent on
the JavaScript SDK runs if the packages of `js` are installed. It prints the table as Markdown. `./bench peers` runs it, and
a test compares its cells with the README.
"""

from __future__ import annotations

import http.server
import json
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).resolve().parent
YES, NO = "yes", "no"


class Server:
    """A server of one kind: starts, dies and starts again in the same directory."""

    def __init__(self, command: list[str], folder: Path) -> None:
        self.command, self.folder = command, folder
        self.process: subprocess.Popen[str] | None = None
        self.url = ""

    def start(self) -> None:
        log = self.folder / "log"
        with log.open("w") as output:
            self.process = subprocess.Popen(
                self.command, cwd=self.folder, stdout=output, stderr=output, stdin=subprocess.DEVNULL
            )
        end = time.monotonic() + 30
        while not (found := re.search(r"http://127\.0\.0\.1:[1-9]\d*", log.read_text())):
            if time.monotonic() > end or self.process.poll() is not None:
                raise RuntimeError(f"{self.command[0]} does not start: {log.read_text()}")
            time.sleep(0.05)
        self.url = f"{found[0]}/"

    def kill(self) -> None:
        assert self.process
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def post(self, method: str, params: dict, version: str | None = "1.0", **headers: str):
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
        head = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        if version:
            head["A2A-Version"] = version
        head |= {name.replace("_", "-"): value for name, value in headers.items()}
        return urllib.request.urlopen(urllib.request.Request(self.url, body, head), timeout=30)

    def call(self, method: str, params: dict, version: str | None = "1.0", **headers: str) -> dict:
        with self.post(method, params, version, **headers) as answer:
            return json.load(answer)

    @contextmanager
    def stream(self, method: str, params: dict, **headers: str) -> Iterator[Iterator[tuple[str, dict]]]:
        """The events of a stream: each with its id and its result. Leaving the block cuts the connection."""

        def events() -> Iterator[tuple[str, dict]]:
            number = ""
            for line in answer:
                name, _, value = line.decode().rstrip("\r\n").partition(":")
                if name == "id":
                    number = value.strip()
                elif name == "data":
                    yield number, json.loads(value).get("result", {})

        with self.post(method, params, **headers) as answer:
            yield events()


def message(text: str, **more: object) -> dict:
    return {"message": {"messageId": f"m-{time.monotonic_ns()}", "role": "ROLE_USER", "parts": [{"text": text}]}, **more}


def old_clients(server: Server) -> str:
    """A client of 0.3 sends a message, and says nothing of its version."""
    parts = [{"kind": "text", "text": "echo hi"}]
    params = {"message": {"kind": "message", "messageId": "m", "role": "user", "parts": parts}}
    answer = server.call("message/send", params, None)
    return YES if answer.get("result", {}).get("status", {}).get("state") == "completed" else NO


def oldest_clients(server: Server) -> str:
    """A client of 0.1 sends a task."""
    params = {"id": "t-1", "message": {"role": "user", "parts": [{"type": "text", "text": "echo hi"}]}}
    answer = server.call("tasks/send", params, None)
    return YES if answer.get("result", {}).get("status", {}).get("state") == "completed" else NO


def survives(server: Server) -> str:
    """A completed task is there after kill -9, as the server is set up by default."""
    task = server.call("SendMessage", message("echo hi"))["result"]["task"]["id"]
    server.kill()
    server.start()
    return YES if server.call("GetTask", {"id": task}).get("result", {}).get("id") == task else NO


def settles(server: Server) -> str:
    """A task that was at work at kill -9 comes to an end after the restart."""
    begun = message("stream 50 every=200", configuration={"returnImmediately": True})
    task = server.call("SendMessage", begun)["result"]["task"]["id"]
    time.sleep(0.5)
    server.kill()
    server.start()
    end = time.monotonic() + 5
    while time.monotonic() < end:
        state = server.call("GetTask", {"id": task}).get("result", {}).get("status", {}).get("state", "")
        if state in ("TASK_STATE_FAILED", "TASK_STATE_COMPLETED"):
            return YES
        time.sleep(0.2)
    return NO


def resumes(server: Server) -> str:
    """A stream that was cut gives the events that were missed, each once, with Last-Event-ID."""
    seen, task = [], ""
    with server.stream("SendStreamingMessage", message("stream 10 every=200")) as events:
        for number, event in events:
            task = task or event.get("task", {}).get("id", "") or event.get("statusUpdate", {}).get("taskId", "")
            seen += chunks(event)
            if len(seen) == 3:
                break
    time.sleep(0.7)
    with server.stream("SubscribeToTask", {"id": task}, Last_Event_ID=number) as events:
        for _, event in events:
            seen += chunks(event)
    return YES if seen == [f"chunk {it}\n" for it in range(1, 11)] else NO


def chunks(event: dict) -> list[str]:
    return [part["text"] for part in event.get("artifactUpdate", {}).get("artifact", {}).get("parts", []) if "text" in part]


def catches_up(server: Server) -> str:
    """A webhook that was down when the task ended gets its end afterwards."""
    ended = threading.Event()

    class Receiver(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if b"TASK_STATE_COMPLETED" in body:
                ended.set()
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver) as free:
        port = free.server_address[1]
    webhook = {"url": f"http://127.0.0.1:{port}/", "token": "t"}
    server.call("SendMessage", message("stream 2 every=200", configuration={"taskPushNotificationConfig": webhook}))
    # Attempts that are made as the task ends find nobody.
    time.sleep(1.5)
    with http.server.ThreadingHTTPServer(("127.0.0.1", port), Receiver) as receiver:
        threading.Thread(target=receiver.serve_forever, daemon=True).start()
        came = ended.wait(20)
        receiver.shutdown()
    return YES if came else NO


CHECKS: dict[str, Callable[[Server], str]] = {
    "Answers clients of 0.3": old_clients,
    "Answers clients of 0.1": oldest_clients,
    "Keeps a finished task through `kill -9`, by default": survives,
    "Ends a task that `kill -9` cut off": settles,
    "Sends the missed events of a cut stream, not a snapshot": resumes,
    "Tells a webhook that was down": catches_up,
}


def table(servers: dict[str, list[str]]) -> dict[str, list[str]]:
    """The cells of each row, in the order of the servers. Each check has a server of its own."""
    rows = {}
    for row, check in CHECKS.items():
        cells = []
        for command in servers.values():
            with tempfile.TemporaryDirectory() as folder:
                server = Server(command, Path(folder))
                server.start()
                try:
                    cells.append(check(server))
                except Exception as error:  # a check that cannot be made is not a no
                    raise RuntimeError(f"{row}: {command[0]}") from error
                finally:
                    server.kill()
        rows[row] = cells
    return rows


def commands(nuncio: str, python: str, rust: str | None = None) -> dict[str, list[str]]:
    found = {
        "Nuncio": [nuncio, "serve", "--port", "0", "--allow-private-webhooks"],
        "Python SDK 1.3.0": [python, str(HERE / "servers" / "echo_agent.py")],
    }
    if (HERE / "js" / "node_modules").exists():
        found["JavaScript SDK 1.3.0"] = ["node", str(HERE / "js" / "echo_agent.mjs")]
    if rust:
        found["Rust SDK 0.5.3"] = [rust]
    return found


def main() -> None:
    servers = commands(*(str(Path(it).absolute()) for it in sys.argv[1:]))
    print(f"| | {' | '.join(servers)} |")
    print(f"|---|{'---|' * len(servers)}")
    for row, cells in table(servers).items():
        print(f"| {row} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
