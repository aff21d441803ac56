"""README and docs: the README's commands run as written, and every `nuncio` command of the docs is one."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import comparison
import pytest
from support.process import NUNCIO, ROOT, clean_environment

BLOCK = re.compile(r"(<!-- not run: (?P<reason>[^>]+) -->\n)?```console\n(?P<body>.*?)```", re.DOTALL)
DOCUMENTS = ["README.md", *(str(it.relative_to(ROOT)) for it in sorted(ROOT.glob("docs/*.md"))), "examples/agents/README.md"]
COMMAND = re.compile(
    r"(?:^|[|;&]\s*|\s)nuncio ((?:serve|send|card|task|config|db|push)\b(?:'[^']*'|\"[^\"]*\"|[^|;&<>#'\"])*)"
)
# Commands of which a part is left to the reader.
PLACEHOLDER = re.compile(r"…|\.\.\.|\[[A-Z]|\bURL\b|--store postgres")


def blocks(document: str) -> Iterator[tuple[str | None, list[str]]]:
    """The console blocks of a document: why it is not run, and its commands."""
    for found in BLOCK.finditer((ROOT / document).read_text()):
        commands: list[str] = []
        for line in found["body"].splitlines():
            if line.startswith(("$ ", "# ")):
                commands.append(line[2:])
            elif commands and commands[-1].endswith("\\"):
                commands[-1] = f"{commands[-1][:-1]} {line.strip()}"
            elif commands and unbalanced(commands[-1]):
                commands[-1] = f"{commands[-1]}\n{line}"
        yield found["reason"], [without_comment(it) for it in commands]


def unbalanced(command: str) -> bool:
    return command.count("'") % 2 == 1


def without_comment(command: str) -> str:
    return re.sub(r"\s{2,}#.*$", "", command)


class Shell:
    """Runs commands as a reader does: each server in a terminal of its own, until the next one is started."""

    def __init__(self, folder: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = str(free.getsockname()[1])
        tools = folder / "bin"
        tools.mkdir()
        (tools / "nuncio").symlink_to(NUNCIO)
        # `cargo run` would build the binary that is built already.
        cargo = tools / "cargo"
        cargo.write_text(
            '#!/bin/sh\n[ "$1 $2 $3" = "run --release --" ] && shift 3 && exec nuncio "$@"\n'
            '[ "$1 $2" = "install --locked" ] && [ -f "$4/Cargo.toml" ] && exit 0\n'
            'echo "not a command of the README: $*" >&2; exit 1\n'
        )
        cargo.chmod(0o755)
        (tools / "python3").symlink_to(sys.executable)
        self.environment = clean_environment(folder) | {
            "PATH": f"{tools}:{os.environ['PATH']}",
            "NUNCIO_SERVE_PORT": self.port,
            "NUNCIO_SERVE_STORE": f"sqlite:{folder}/tasks.db",
            "STEP_SECONDS": "0.1",
        }
        self.folder, self.server = folder, None

    def run(self, command: str) -> str:
        command = command.replace("127.0.0.1:8080", f"127.0.0.1:{self.port}")
        if re.match(r"(nuncio|cargo run --release --) serve\b", command):
            return self.serve(command)
        done = subprocess.run(
            ["sh", "-c", command], cwd=ROOT, env=self.environment, text=True, timeout=50,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )
        assert done.returncode == 0, f"{command}: {done.stdout}"
        return done.stdout

    def serve(self, command: str) -> str:
        self.stop()
        # The next agent keeps its tasks in a database of its own.
        self.environment["NUNCIO_SERVE_STORE"] = f"sqlite:{self.folder}/{time.monotonic_ns()}.db"
        log = self.folder / "log"
        with log.open("w") as output:
            self.server = subprocess.Popen(
                ["sh", "-c", f"exec {command}"], cwd=ROOT, env=self.environment, stdin=subprocess.DEVNULL,
                stdout=output, stderr=output,
            )
        end = time.monotonic() + 20
        while "Card: " not in log.read_text():
            assert self.server.poll() is None and time.monotonic() < end, f"{command}: {log.read_text()}"
            time.sleep(0.02)
        return log.read_text()

    def stop(self) -> None:
        if self.server and self.server.poll() is None:
            self.server.send_signal(signal.SIGTERM)
            self.server.wait(timeout=30)


@pytest.mark.timeout(180)
def test_the_commands_of_the_readme_run_as_written(tmp_path: Path) -> None:
    shell, ran = Shell(tmp_path), []
    try:
        for reason, commands in blocks("README.md"):
            if reason is None:
                ran += [(command, shell.run(command)) for command in commands]
    finally:
        shell.stop()
    answers = dict(ran)
    assert "chunk 5" in answers['cargo run --release -- send -a 127.0.0.1:8080 --stream "stream 5 every=300"']
    assert "\n3\n" in answers['nuncio send -a 127.0.0.1:8080 "how many words"']
    assert len(ran) >= 10


def test_a_recipe_that_is_not_run_says_why() -> None:
    reasons = [reason for reason, _ in blocks("README.md") if reason]
    assert reasons and all(len(reason) > 10 for reason in reasons)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_command_of_a_document_is_one(document: str, tmp_path: Path) -> None:
    """`--help` behind the flags of a command prints help if all of them exist, and an error if one does not."""
    wrong = []
    for _, commands in blocks(document):
        for line in commands:
            for command in COMMAND.findall(line):
                if PLACEHOLDER.search(command):
                    continue
                flags = re.split(r" --(?:exec|jsonl)\b| -- ", command)[0]
                done = subprocess.run(
                    ["sh", "-c", f'"{NUNCIO}" {flags} --help'], env=clean_environment(tmp_path), text=True,
                    capture_output=True, timeout=20,
                )
                if done.returncode != 0:
                    wrong.append(f"{command}: {done.stderr.splitlines()[:1]}")
    assert not wrong


@pytest.mark.timeout(240)
def test_the_comparison_of_the_readme_is_what_is_measured() -> None:
    text = (ROOT / "README.md").read_text()
    rows = [row.strip("| ").split(" | ") for row in text.split("<!-- comparison -->\n")[1].split("\n\n")[0].splitlines()]
    servers = comparison.commands(str(NUNCIO), sys.executable)
    columns = [rows[0].index(name) for name in servers]
    written = {cells[0]: [cells[column + 1] for column in columns] for cells in rows[2:]}
    assert written == comparison.table(servers)


@pytest.mark.timeout(120)
def test_the_recording_shows_a_stream_that_goes_on_after_a_kill(tmp_path: Path) -> None:
    output = tmp_path / "recording.svg"
    script = ROOT / "docs" / "recording" / "record.py"
    subprocess.run([sys.executable, script, "--binary", NUNCIO, "--step", "0.3", "--output", output], check=True)
    for picture in (output, ROOT / "docs" / "recording.svg"):
        lines = re.findall(r'<text id="[^"]*"[^>]*>([^<]*)</text>', picture.read_text())
        assert [line[:2] for line in lines if re.match(r"\d\. ", line)] == [f"{it}." for it in range(1, 9)]
        assert "Killed" in lines and lines[-1] == "State: completed"


@pytest.mark.parametrize("document", ["docs/readings.md"])
def test_the_tests_that_a_document_names_are_there(document: str) -> None:
    rows = [line for line in (ROOT / document).read_text().splitlines() if line.startswith("| ") and "Test |" not in line]
    sources = "\n".join(it.read_text() for it in ROOT.glob("crates/**/*.rs"))
    named = {name for row in rows for name in re.findall(r"`([a-z0-9_]+)`", row.split(" | ")[-1])}
    assert len(named) >= len(rows)
    assert not [name for name in named if not re.search(rf"fn {name}\b", sources)]
