"""`nuncio` as a client on a terminal: what is shown on stderr beside the result."""

import os
import pty
import re
import subprocess

import pytest

from support.process import NUNCIO, clean_environment


@pytest.fixture
def look(nuncio, tmp_path):
    """Runs a command with a terminal: its stdout where that is a pipe, and what the terminal shows."""

    def run(*arguments: str, out: bool) -> tuple[str, str]:
        master, terminal = pty.openpty()
        try:
            process = subprocess.Popen(
                [str(NUNCIO), *arguments, "-a", nuncio.url],
                stdin=subprocess.DEVNULL,
                stdout=terminal if out else subprocess.PIPE,
                stderr=terminal,
                cwd=tmp_path,
                env=clean_environment(tmp_path),
            )
        finally:
            os.close(terminal)
        shown = b""
        try:
            # It ends with the last process that has the terminal: by an error on Linux, else by nothing.
            while piece := os.read(master, 65536):
                shown += piece
        except OSError:
            pass
        finally:
            os.close(master)
        result = process.stdout.read().decode() if process.stdout else ""
        assert process.wait(timeout=20) == 0, shown
        return result, COLOR.sub("", shown.decode().replace("\r\n", "\n"))

    return run


COLOR = re.compile("\x1b\\[[0-9;]*m")

PROGRESS = re.compile(r"^task \S+ is (\S+)$", re.MULTILINE)


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize("stream", [(), ("--stream",)], ids=["whole", "stream"])
def test_progress_is_shown_on_a_terminal(look, stream, form):
    result, shown = look("send", "slow 0.3", *stream, "-o", form, out=False)
    assert PROGRESS.findall(shown) == ["working", "completed"], shown
    assert "is working" not in result


def test_a_stream_on_the_same_terminal_is_shown_once(look):
    _, shown = look("send", "slow 0.3", "--stream", out=True)
    assert PROGRESS.findall(shown) == []
    assert shown.count("State: working\n") == 1, shown
    assert shown.count("completed") == 1, shown


def test_the_end_on_the_same_terminal_is_shown_once(look):
    _, shown = look("send", "slow 0.3", out=True)
    assert PROGRESS.findall(shown) == ["working"], shown
    assert shown.count("completed") == 1, shown


def test_without_a_terminal_nothing_is_shown(command, nuncio):
    done = command("send", "slow 0.3", "-a", nuncio.url)
    assert done.code == 0 and done.err == ""
