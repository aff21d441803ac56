#!/usr/bin/env python3
"""Records docs/recording.svg: serve, stream, kill -9, restart, and the stream goes on.

    cargo build --release && python3 docs/recording/record.py

It runs the real binary, notes when each line came, and writes an animated SVG from that. Nothing is drawn that was not
printed, but for the prompts and the word "Killed", which a shell prints.
"""

from __future__ import annotations

import argparse
import html
import os
import signal
import socket
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WIDTH, LINE, LEFT, PANE = 820, 19, 16, 30
REST = 4.0


@dataclass
class Pane:
    """What one terminal shows: each line with the second at which it came."""

    title: str
    lines: list[tuple[float, str, str]] = field(default_factory=list)


class Clock:
    def __init__(self) -> None:
        self.began = time.monotonic()

    def now(self) -> float:
        return time.monotonic() - self.began


def follow(process: subprocess.Popen[str], pane: Pane, clock: Clock, shows=lambda line: True) -> threading.Thread:
    """Notes the lines of a process until it ends."""

    def read() -> None:
        for line in process.stdout:
            if shows(line := line.rstrip("\n")):
                pane.lines.append((clock.now(), "out", line))

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    return thread


def prompt(pane: Pane, clock: Clock, command: str) -> None:
    pane.lines.append((clock.now(), "prompt", f"$ {command}"))


def wait_until(condition, seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise SystemExit("the recording got stuck")
        time.sleep(0.02)


def free_port() -> str:
    """8080, as the README has it, or any if that is taken."""
    for port in (8080, 0):
        try:
            with socket.create_server(("127.0.0.1", port)) as free:
                return str(free.getsockname()[1])
        except OSError:
            continue
    raise SystemExit("there is no free port")


def record(binary: Path, step: float) -> tuple[list[Pane], float]:
    port = free_port()
    server, client, clock = Pane("the agent"), Pane("a client"), Clock()
    agent = ["--resume", "--jsonl", "--", "python3", "examples/agents/steps.py"]
    with tempfile.TemporaryDirectory() as folder:
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("NUNCIO_", "A2ACLI_"))}
        store = f"sqlite:{folder}/tasks.db"
        environment |= {"STEP_SECONDS": str(step), "NUNCIO_SERVE_PORT": port, "NUNCIO_SERVE_STORE": store}

        def start(arguments: list[str], stderr) -> subprocess.Popen[str]:
            return subprocess.Popen(
                [binary, *arguments], cwd=ROOT, env=environment, text=True, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=stderr,
            )

        def serve() -> subprocess.Popen[str]:
            before = len(server.lines)
            process = start(["serve", *agent], subprocess.STDOUT)
            follow(process, server, clock, lambda line: line.startswith(("Agent:", "Card:")))
            wait_until(lambda: any(line.startswith("Card:") for _, _, line in server.lines[before:]))
            return process

        prompt(server, clock, f"nuncio serve {' '.join(agent)}")
        first = serve()
        second = None
        try:
            time.sleep(0.7)
            prompt(client, clock, f'nuncio send -a 127.0.0.1:{port} --stream "bake bread"')
            shown = ("Task:", "Context:", "Artifact:", "Text:")
            sender = start(["send", "-a", f"127.0.0.1:{port}", "--stream", "bake bread"], subprocess.DEVNULL)
            reader = follow(sender, client, clock, lambda line: bool(line) and not line.startswith(shown))
            wait_until(lambda: any(line.startswith("3.") for _, _, line in client.lines))
            first.send_signal(signal.SIGKILL)
            prompt(server, clock, f"kill -9 {first.pid}")
            first.wait()
            server.lines.append((clock.now(), "bad", "Killed"))
            time.sleep(1.5)
            prompt(server, clock, f"nuncio serve {' '.join(agent)}")
            second = serve()
            sender.wait(timeout=60)
            reader.join()
        finally:
            for process in (first, second):
                if process and process.poll() is None:
                    process.terminate()
                    process.wait()
    return [server, client], clock.now()


def svg(panes: list[Pane], seconds: float) -> str:
    total = seconds + REST
    rules, body, top = [], [], 0
    for number, pane in enumerate(panes):
        height = PANE + LINE * len(pane.lines) + 12
        body.append(f'<rect class="pane" x="4" y="{top + 4}" width="{WIDTH - 8}" height="{height}" rx="8"/>')
        body.append(f'<text class="title" x="{LEFT}" y="{top + 22}">{html.escape(pane.title)}</text>')
        for row, (at, kind, line) in enumerate(pane.lines):
            name = f"l{number}-{row}"
            share = 100 * at / total
            rules.append(
                f"@keyframes {name}{{0%,{share:.2f}%{{opacity:0}}{share + 0.01:.2f}%,100%{{opacity:1}}}}"
                f"#{name}{{animation:{name} {total:.2f}s linear infinite}}"
            )
            y = top + PANE + LINE * (row + 1)
            body.append(f'<text id="{name}" class="{kind}" x="{LEFT}" y="{y}">{html.escape(line)}</text>')
            body.append(f'<text class="time" x="{WIDTH - LEFT}" y="{y}"><tspan id="{name}t">{at:.1f} s</tspan></text>')
            rules.append(f"#{name}t{{animation:{name} {total:.2f}s linear infinite}}")
        top += height + 8
    style = (
        "text{font:14px ui-monospace,Menlo,Consolas,monospace;fill:#d4d4d8;white-space:pre}"
        ".pane{fill:#18181b;stroke:#3f3f46}.title{fill:#a1a1aa}.prompt{fill:#86efac}.bad{fill:#f87171}"
        ".time{fill:#71717a;text-anchor:end;font-size:12px}"
        "@media (prefers-reduced-motion:reduce){text,tspan{animation:none!important}}"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {top}" width="{WIDTH}" height="{top}" role="img" '
        f'aria-label="An agent is killed in the middle of a stream and started again; the stream goes on">\n'
        f"<style>{style}{''.join(rules)}</style>\n" + "\n".join(body) + "\n</svg>\n"
    )


def main() -> None:
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", type=Path, default=target / "release" / "nuncio")
    parser.add_argument("--step", type=float, default=0.8, help="seconds that a step of the agent takes")
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "recording.svg")
    options = parser.parse_args()
    panes, seconds = record(options.binary.resolve(), options.step)
    options.output.write_text(svg(panes, seconds))
    print(f"{options.output}: {seconds:.1f} s")


if __name__ == "__main__":
    main()
