"""Hostile and careless clients: deep, big, broken, slow and gone."""

import json
import socket
import time

import pytest

from support.caller import user_message
from support.events import state
from support.failure import Failure, refused
from support.process import eventually

V1 = {"A2A-Version": "1.0", "Content-Type": "application/json"}
DEEP = 20_000


def alive(wire) -> None:
    assert state(wire.send("echo still here")) == "TASK_STATE_COMPLETED"


def deep(opening: str, closing: str) -> str:
    return opening * DEEP + closing * DEEP


@pytest.mark.parametrize("value", [deep("[", "]"), deep('{"a":', "}").replace(":}", ":1}")])
def test_json_nested_twenty_thousand_deep_is_refused(http_wire, value):
    message = json.dumps(user_message([{"data": "HERE"}])).replace('"HERE"', value)
    if http_wire.name == "jsonrpc":
        body = f'{{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{{"message":{message}}}}}'
        response = http_wire.http.post("/", headers=V1, content=body)
        assert response.json()["error"]["code"] in (-32700, -32602, -32600)
    else:
        response = http_wire.http.post(
            "/message:send", headers=V1, content=f'{{"message":{message}}}'
        )
        assert response.status_code == 400 and response.json()["error"]["code"] == 400
    alive(http_wire)


@pytest.mark.parametrize("body", [deep("[", "]"), deep('{"params":', "}"), "[" * 200_000])
def test_nothing_but_nesting_is_refused(http_wire, body):
    path = "/" if http_wire.name == "jsonrpc" else "/message:send"
    response = http_wire.http.post(path, headers=V1, content=body)
    assert "error" in response.json()
    alive(http_wire)


def test_data_far_too_deep_is_refused_and_harms_nobody(wire):
    value: list = []
    # A list is two messages in protobuf, whose readers go no deeper than 100.
    for _ in range(40 if wire.name == "grpc" else 90):
        value = [value]
    with refused("InvalidParams") as refusal:
        wire.send([{"text": "echo x"}, {"data": value}])
    assert refusal.failure.fields == ["message.parts[1].data"]
    assert wire.send("echo y")["status"]["state"] == "TASK_STATE_COMPLETED"


def raw_request(agent, head: str, body: bytes = b"") -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", agent.port), timeout=20)
    connection.sendall(head.replace("\n", "\r\n").encode() + body)
    return connection


def read_answer(connection: socket.socket) -> tuple[int, bytes]:
    """Status and body of an answer that closes or has a length."""
    data = b""
    while b"\r\n\r\n" not in data:
        chunk = connection.recv(65536)
        if not chunk:
            break
        data += chunk
    head, _, body = data.partition(b"\r\n\r\n")
    length = next(
        (
            int(line[15:])
            for line in head.lower().split(b"\r\n")
            if line.startswith(b"content-length:")
        ),
        None,
    )
    while length is not None and len(body) < length:
        chunk = connection.recv(65536)
        if not chunk:
            break
        body += chunk
    return int(head.split()[1]), body


@pytest.mark.parametrize("path", ["/", "/message:send", "/message:stream"])
def test_a_body_over_the_limit_is_a_413_in_the_protocols_shape(nuncio, http_wire, path):
    head = (
        f"POST {path} HTTP/1.1\nHost: localhost\nA2A-Version: 1.0\nConnection: close\n"
        f"Content-Type: application/json\nContent-Length: {10**12}\n\n"
    )
    with raw_request(nuncio, head, b'{"jsonrpc":"2.0"') as connection:
        status, body = read_answer(connection)
    assert status == 413
    document = json.loads(body)
    if path == "/":
        assert document["jsonrpc"] == "2.0" and document["id"] is None
        assert isinstance(document["error"]["code"], int)
    else:
        assert document["error"]["code"] == 413
    alive(http_wire)


def test_a_body_over_the_limit_without_a_length_is_cut_off(nuncio, rest):
    head = (
        "POST /message:send HTTP/1.1\nHost: localhost\nA2A-Version: 1.0\nConnection: close\n"
        "Content-Type: application/json\nTransfer-Encoding: chunked\n\n"
    )
    chunk = b"100000\r\n" + b" " * 0x100000 + b"\r\n"
    with raw_request(nuncio, head) as connection:
        sent = 0
        try:
            while sent < 300:
                connection.sendall(chunk)
                sent += 1
        except OSError:
            pass  # cut off, as wanted
        assert sent < 300, "300 MB were taken"
    alive(rest)


def test_a_body_that_stops_half_way_holds_nobody_up(nuncio, rest):
    head = (
        "POST /message:send HTTP/1.1\nHost: localhost\nA2A-Version: 1.0\n"
        "Content-Type: application/json\nContent-Length: 1000\n\n"
    )
    with raw_request(nuncio, head, b'{"message":'):
        alive(rest)
    alive(rest)


@pytest.mark.parametrize(
    "head",
    ["GARBAGE\n\n", "GET / HTTP/9.9\n\n", "POST / HTTP/1.1\nContent-Length: -1\n\n", "\0\0\0\0"],
)
def test_what_is_no_http_is_dropped(nuncio, rest, head):
    with raw_request(nuncio, head) as connection:
        connection.shutdown(socket.SHUT_WR)
        connection.recv(65536)
    alive(rest)


def open_and_ignore(nuncio, text: str) -> socket.socket:
    """A stream whose client never reads."""
    body = json.dumps({"message": user_message(text)}).encode()
    head = (
        "POST /message:stream HTTP/1.1\nHost: localhost\nA2A-Version: 1.0\nConnection: close\n"
        f"Content-Type: application/json\nContent-Length: {len(body)}\n\n"
    )
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.settimeout(20)
    connection.connect(("127.0.0.1", nuncio.port))
    connection.sendall(head.replace("\n", "\r\n").encode() + body)
    return connection


def first_task(connection: socket.socket) -> tuple[str, bytes]:
    data = b""
    while b'"task"' not in data or b"\n\n" not in data[data.index(b'"task"') :]:
        data += connection.recv(1024)
    line = next(line for line in data.split(b"\n") if line.startswith(b"data:"))
    return json.loads(line[5:])["task"]["id"], data


def test_a_client_that_stops_reading_holds_nobody_up(nuncio, rest):
    with open_and_ignore(nuncio, "stream 1000 size=12000") as connection:
        task_id, data = first_task(connection)
        # Another reader of the same task, and other tasks, go on meanwhile.
        alive(rest)
        try:
            with rest.subscribe(task_id) as feed:
                feed.rest(timeout=30)
        except Failure as failure:
            assert failure.name == "UnsupportedOperation"
        eventually(lambda: state(rest.get(task_id)) == "TASK_STATE_COMPLETED", 30, "it completes")
        # When it reads again, it gets everything, or sees that it was cut.
        while chunk := connection.recv(65536):
            data += chunk
    chunks = data.count(b'"artifactUpdate"')
    if b"TASK_STATE_COMPLETED" in data:
        assert chunks == 1000, "an end was shown, yet events are missing"


def test_many_clients_that_vanish_leave_no_trace(nuncio, rest):
    def open_files() -> int:
        import os

        return len(os.listdir(f"/proc/{nuncio.process.pid}/fd"))

    before = open_files()
    for _ in range(50):
        open_and_ignore(nuncio, "slow 0.2").close()
    alive(rest)
    eventually(lambda: open_files() <= before + 5, 15, "their sockets are closed")


def test_idle_connections_do_no_harm(nuncio, rest):
    connections = [socket.create_connection(("127.0.0.1", nuncio.port)) for _ in range(100)]
    begin = time.monotonic()
    alive(rest)
    assert time.monotonic() - begin < 2
    for connection in connections:
        connection.close()


@pytest.mark.parametrize(("length", "status"), [(10_000, 400), (20_000, 431), (60_000, 431)])
def test_a_url_of_any_length_gets_an_answer(rest, length, status):
    response = rest.http.get("/tasks/" + "x" * length, headers=V1)
    assert response.status_code == status
    assert response.json()["error"]["code"] == status


@pytest.mark.parametrize("path", ["/tasks/%", "/tasks/%ff%fe", "/tasks/%00", "//", "/%2e%2e/x"])
def test_broken_paths_get_an_error_in_the_protocols_shape(nuncio, rest, path):
    head = f"GET {path} HTTP/1.1\nHost: localhost\nA2A-Version: 1.0\nConnection: close\n\n"
    with raw_request(nuncio, head) as connection:
        status, body = read_answer(connection)
    assert status in (400, 404)
    assert json.loads(body)["error"]["code"] == status
    alive(rest)
