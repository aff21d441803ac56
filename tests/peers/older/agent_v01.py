"""An agent of 0.1 by hand, on nothing but the standard library.

Its behaviour is chosen by the first word of the message, as in the demo agent.
It prints the URL of its card and serves until it is killed.
"""

from __future__ import annotations

import base64
import json
import queue
import threading
import urllib.request
import uuid
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ENDS = ("completed", "canceled", "failed")
RESTS = (*ENDS, "input-required")


class Refused(Exception):
    def __init__(self, code: int, message: str):
        self.error = {"code": code, "message": message}


def text(words: str) -> dict:
    return {"type": "text", "text": words}


class Task:
    """A task, who watches it, and its one webhook."""

    def __init__(self, id_: str, session: str | None):
        self.document = {
            "id": id_,
            "sessionId": session or str(uuid.uuid4()),
            "status": {"state": "submitted"},
            "artifacts": [],
        }
        self.history: list[dict] = []
        self.watchers: list[queue.Queue] = []
        self.push: dict | None = None
        self.canceled = threading.Event()
        self.lock = threading.RLock()

    @property
    def state(self) -> str:
        return self.document["status"]["state"]

    def shown(self, history_length: int | None) -> dict:
        with self.lock:
            history = self.history[-history_length:] if history_length else []
            return json.loads(json.dumps({**self.document, "history": history}))

    def watch(self) -> queue.Queue:
        watcher: queue.Queue = queue.Queue()
        with self.lock:
            self.watchers.append(watcher)
        return watcher

    def tell(self, event: dict) -> None:
        with self.lock:
            for watcher in self.watchers:
                watcher.put({"id": self.document["id"], **event})

    def status(self, state: str, words: str | None = None) -> None:
        # A time without a zone, as the first servers wrote it.
        now = datetime.now(timezone.utc).replace(tzinfo=None)
        status = {"state": state, "timestamp": now.isoformat()}
        if words:
            status["message"] = {"role": "agent", "parts": [text(words)]}
        with self.lock:
            if self.state in ENDS:
                return
            self.document["status"] = status
            self.tell({"status": status, "final": state in RESTS})
            if state in RESTS:
                self.watchers.clear()
        if state in RESTS and self.push:
            self.notify()

    def artifact(self, parts: list[dict], index: int = 0, **chunk: bool) -> None:
        with self.lock:
            stored = {a["index"]: a for a in self.document["artifacts"]}
            if chunk.get("append") and index in stored:
                stored[index]["parts"] += parts
            else:
                stored[index] = {"index": index, "parts": list(parts)}
            self.document["artifacts"] = [stored[key] for key in sorted(stored)]
            self.tell({"artifact": {"index": index, "parts": parts, **chunk}})

    def notify(self) -> None:
        headers = {"Content-Type": "application/json"}
        if "token" in self.push:
            headers["X-A2A-Notification-Token"] = self.push["token"]
        body = json.dumps(self.shown(None)).encode()
        request = urllib.request.Request(self.push["url"], body, headers)
        threading.Thread(target=urllib.request.urlopen, args=(request,), daemon=True).start()

    def work(self, words: str, is_new: bool) -> None:
        word, _, rest = words.partition(" ")
        if not is_new:
            self.status("completed", f"got: {words}")
        elif word == "message":
            self.status("completed", f"message: {rest}")
        elif word == "stream":
            count = int(rest)
            self.status("working")
            for number in range(1, count + 1):
                chunk = {"append": number > 1, "lastChunk": number == count}
                self.artifact([text(f"chunk {number}\n")], **chunk)
            self.status("completed")
        elif word == "input":
            self.status("input-required", "what else?")
        elif word == "slow":
            self.status("working")
            if not self.canceled.wait(float(rest)):
                self.status("completed")
        elif word == "fail":
            self.status("working")
            self.status("failed", "it broke")
        elif word == "parts":
            self.status("working")
            for index, part in enumerate(parts()):
                self.artifact([part], index)
            self.status("completed")
        else:
            echo = rest if word == "echo" else words
            self.status("working")
            self.artifact([text(echo)])
            self.status("completed", f"echo: {echo}")


def parts() -> list[dict]:
    raw = base64.b64encode(bytes(range(256))).decode()
    octets = {"bytes": raw, "mimeType": "application/octet-stream", "name": "all.bin"}
    link = {"uri": "https://example.com/o.txt", "mimeType": "text/plain", "name": "o.txt"}
    return [
        text("héllo ✓"),
        {"type": "file", "file": octets},
        {"type": "file", "file": link},
        {"type": "data", "data": {"k": [1, 2.5, None, True, "x"]}},
    ]


TASKS: dict[str, Task] = {}


def find(params: dict) -> Task:
    if params["id"] not in TASKS:
        raise Refused(-32001, "Task not found")
    return TASKS[params["id"]]


def send(params: dict) -> tuple[Task, queue.Queue]:
    """Begins or continues a task; its events come to the queue."""
    is_new = params["id"] not in TASKS
    if is_new:
        TASKS[params["id"]] = Task(params["id"], params.get("sessionId"))
    task = TASKS[params["id"]]
    if task.state in ENDS:
        raise Refused(-32009, "Invalid task state for operation")
    task.push = params.get("pushNotification") or task.push
    message = params["message"]
    task.history.append(message)
    words = "".join(part.get("text", "") for part in message["parts"])
    watcher = task.watch()
    threading.Thread(target=task.work, args=(words, is_new), daemon=True).start()
    return task, watcher


def settle(watcher: queue.Queue):
    """The events up to the final one."""
    while True:
        event = watcher.get(timeout=60)
        yield event
        if event.get("final"):
            return


def answer(method: str, params: dict):
    """A result, or a generator of results."""
    if method == "tasks/send":
        task, watcher = send(params)
        list(settle(watcher))
        return task.shown(params.get("historyLength"))
    if method == "tasks/sendSubscribe":
        return settle(send(params)[1])
    if method == "tasks/get":
        return find(params).shown(params.get("historyLength"))
    if method == "tasks/cancel":
        task = find(params)
        if task.state in ENDS:
            raise Refused(-32002, "Task cannot be canceled")
        task.canceled.set()
        task.status("canceled")
        return task.shown(None)
    if method == "tasks/resubscribe":
        task = find(params)
        with task.lock:
            if task.state in RESTS:
                raise Refused(-32009, "Invalid task state for operation")
            return settle(task.watch())
    if method == "tasks/pushNotification/set":
        find(params).push = params["pushNotificationConfig"]
        return params
    if method == "tasks/pushNotification/get":
        return {"id": params["id"], "pushNotificationConfig": find(params).push}
    raise Refused(-32601, "Method not found")


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        if self.path == "/.well-known/agent.json":
            self.reply(200, card(self.server.server_address[1]))
        else:
            self.reply(404, {})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        envelope = {"jsonrpc": "2.0", "id": body["id"]}
        try:
            found = answer(body["method"], body["params"])
        except Refused as refused:
            self.reply(200, {**envelope, "error": refused.error})
            return
        if isinstance(found, dict):
            self.reply(200, {**envelope, "result": found})
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        for number, event in enumerate(found):
            data = json.dumps({**envelope, "result": event})
            self.wfile.write(f"id: {number}\nevent: message\ndata: {data}\n\n".encode())
            self.wfile.flush()
        self.close_connection = True

    def reply(self, status: int, document: dict) -> None:
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def card(port: int) -> dict:
    return {
        "name": "Oldest peer",
        "description": "Scripted agent of 0.1",
        "url": f"http://127.0.0.1:{port}/",
        "version": "0.9",
        "capabilities": {"streaming": True, "pushNotifications": True},
        "authentication": {"schemes": []},
        "skills": [{"id": "echo", "name": "Echo"}],
    }


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    print(f"http://127.0.0.1:{server.server_address[1]}/.well-known/agent.json", flush=True)
    server.serve_forever()
