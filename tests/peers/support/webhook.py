"""A webhook receiver that remembers every delivery and answers as told."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from .process import eventually


@dataclass
class Delivery:
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def document(self) -> dict:
        return json.loads(self.body)


class Webhook:
    """`url` plus any path is a hook; `answers` are status codes to give first."""

    def __init__(self) -> None:
        self.deliveries: list[Delivery] = []
        self.answers: dict[str, list[int]] = {}
        self._lock = threading.Lock()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                length = int(self.headers.get("content-length", 0))
                status = receiver._receive(self, self.rfile.read(length))
                self.send_response(status)
                if status in (301, 302, 307, 308):
                    self.send_header("Location", f"{receiver.url}/redirected")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def _receive(self, request: BaseHTTPRequestHandler, body: bytes) -> int:
        headers = {name.lower(): value for name, value in request.headers.items()}
        with self._lock:
            self.deliveries.append(Delivery(request.path, headers, body))
            waiting = self.answers.get(request.path)
            return waiting.pop(0) if waiting else 200

    def at(self, path: str) -> list[Delivery]:
        with self._lock:
            return [delivery for delivery in self.deliveries if delivery.path == path]

    def wait_until(self, path: str, wanted, timeout: float = 15) -> list[Delivery]:
        """Deliveries at `path`, once `wanted(documents)` holds."""
        return eventually(
            lambda: (got := self.at(path)) and wanted([d.document for d in got]) and got,
            timeout,
            f"wanted deliveries at {path}: {[d.body for d in self.at(path)]}",
        )

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
