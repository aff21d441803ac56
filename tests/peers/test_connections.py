"""Streams over idle and quick connections."""

import statistics
import threading
import time

from support import sse
from support.events import state

COMPLETED = "TASK_STATE_COMPLETED"


def test_idle_streams_are_kept_alive_by_comments(rest, jsonrpc):
    """Every 15 seconds; both bindings are watched at once."""
    heard: dict[str, float] = {}

    def watch(name, wire, request):
        begin = time.monotonic()
        with wire.http.stream(**request, headers={"A2A-Version": "1.0"}, timeout=25) as response:
            comments: list[bytes] = []

            def chunks():
                for chunk in response.iter_raw():
                    yield chunk
                    if comments:
                        return

            try:
                for _ in sse.read(chunks(), comments):
                    pass
            finally:
                heard[name] = time.monotonic() - begin if comments else 99

    task = rest.send("input")
    envelope = jsonrpc.envelope("SubscribeToTask", {"id": task["id"]})
    threads = [
        threading.Thread(
            target=watch,
            args=("rest", rest, {"method": "POST", "url": f"/tasks/{task['id']}:subscribe"}),
        ),
        threading.Thread(
            target=watch,
            args=("jsonrpc", jsonrpc, {"method": "POST", "url": jsonrpc.url, "json": envelope}),
        ),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    assert set(heard) == {"rest", "jsonrpc"}
    assert all(seconds < 20 for seconds in heard.values()), heard


def test_short_streams_do_not_stall(wire):
    """Without TCP_NODELAY each of them would take 40 ms more."""
    times = []
    for _ in range(21):
        begin = time.monotonic()
        assert state(wire.stream("echo x").rest()[-1]) == COMPLETED
        times.append(time.monotonic() - begin)
    assert statistics.median(times) < 0.035, times


def test_an_event_arrives_when_it_happens(wire):
    with wire.stream("stream 3 every=300") as feed:
        feed.until(lambda event: "artifactUpdate" in event)
        begin = time.monotonic()
        feed.until(lambda event: "artifactUpdate" in event)
        gap = time.monotonic() - begin
    assert 0.1 < gap < 0.6
