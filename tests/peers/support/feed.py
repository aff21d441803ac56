"""A stream of events read in the background, with a deadline on every wait."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Iterator

END = object()


class StreamEnded(Exception):
    """The stream closed where an event was expected."""


class Feed:
    """Events of one stream, in order; reading never waits for ever."""

    def __init__(self, events: Iterable[dict], close: Callable[[], None]):
        self._queue: queue.Queue = queue.Queue()
        self._close = close
        self._done = False
        self._thread = threading.Thread(target=self._read, args=(events,), daemon=True)
        self._thread.start()

    def _read(self, events: Iterable[dict]) -> None:
        try:
            for event in events:
                self._queue.put(event)
            self._queue.put(END)
        except BaseException as error:  # the reader of the feed gets it
            self._queue.put(error)

    def next(self, timeout: float = 10) -> dict:
        """The next event; StreamEnded at a clean end."""
        if self._done:
            raise StreamEnded
        try:
            item = self._queue.get(timeout=timeout)
        except queue.Empty:
            raise TimeoutError(f"no event within {timeout} s") from None
        if item is END:
            self._done = True
            raise StreamEnded
        if isinstance(item, BaseException):
            self._done = True
            raise item
        return item

    def rest(self, timeout: float = 20) -> list[dict]:
        """All events up to the clean end."""
        events = []
        try:
            while True:
                events.append(self.next(timeout))
        except StreamEnded:
            return events

    def until(self, wanted: Callable[[dict], bool], timeout: float = 10) -> list[dict]:
        """Events up to and including the first that is `wanted`."""
        events = []
        while True:
            events.append(self.next(timeout))
            if wanted(events[-1]):
                return events

    def is_silent(self, seconds: float) -> bool:
        """True when the stream stays open and brings nothing for `seconds`."""
        try:
            self._queue.put(self._queue.get(timeout=seconds))
        except queue.Empty:
            return True
        return False

    def close(self) -> None:
        """Drops the connection."""
        self._done = True
        self._close()

    def __enter__(self) -> Feed:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[dict]:
        return iter(self.rest())
