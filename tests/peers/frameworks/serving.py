"""What the framework agents share: the words of their fake model, a free port, and the card's address on stdout."""

from __future__ import annotations

import asyncio
import socket

import uvicorn


def words(text: str, turns: int) -> list[str]:
    """What the model says to the last text of the user, word by word; `turns` is the number of texts so far."""
    if text == "fail":
        raise RuntimeError("the model broke")
    answer = f"turn {turns}" if text == "count" else f"echo: {text}"
    first, *rest = answer.split(" ")
    return [first, *(f" {word}" for word in rest)]


def listener() -> tuple[socket.socket, str]:
    """A socket on a free port, and its URL."""
    bound = socket.create_server(("127.0.0.1", 0))
    return bound, f"http://127.0.0.1:{bound.getsockname()[1]}"


def serve(app, bound: socket.socket, url: str) -> None:
    """Serves an ASGI application, and prints where its card is when it answers."""
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))

    async def run() -> None:
        serving = asyncio.create_task(server.serve(sockets=[bound]))
        while not server.started and not serving.done():
            await asyncio.sleep(0.01)
        print(f"{url}/.well-known/agent-card.json", flush=True)
        await serving

    asyncio.run(run())
