"""`nuncio` as a client: the error envelope and the exit codes."""

import json
import socket

import httpx
import pytest

from conftest import ALICE
from support.process import eventually


@pytest.fixture
def ask(command, foreign, binding):
    def invoke(*arguments):
        return command(*arguments, "-a", foreign.url, "--transport", binding, "-o", "json")

    return invoke


def check_envelope(done, name: str, code: int) -> dict:
    """One error document on stdout, with the right exit code."""
    assert done.code == code, f"{done.code}: {done.out}\n{done.err}"
    document = json.loads(done.out)
    assert list(document) == ["error"]
    error = document["error"]
    assert set(error) <= {"code", "message", "hint", "a2aCode"}, error
    assert error["code"] == name, error
    assert isinstance(error["message"], str) and error["message"]
    return error


def test_an_unknown_task_has_the_protocols_name(ask):
    for arguments in (
        ("task", "get", "no-such-task"),
        ("task", "cancel", "no-such-task"),
        ("task", "subscribe", "no-such-task"),
        ("send", "x", "--task-id", "no-such-task"),
    ):
        error = check_envelope(ask(*arguments), "TaskNotFoundError", 1)
        assert error["a2aCode"] is not None


def test_an_error_of_a_stream_is_the_last_line(ask):
    for arguments in (
        ("send", "x", "--task-id", "no-such-task", "--stream"),
        ("task", "subscribe", "no-such-task", "--stream"),
    ):
        done = ask(*arguments)
        assert done.code == 1
        assert done.error["code"] == "TaskNotFoundError"


def test_a_finished_task_is_refused_by_name(ask):
    task = ask("send", "echo x").json["task"]
    check_envelope(ask("task", "cancel", task["id"]), "TaskNotCancelableError", 1)
    check_envelope(ask("send", "x", "--task-id", task["id"]), "UnsupportedOperationError", 1)


def test_ids_that_do_not_match_are_refused_and_debug_is_named(ask):
    task = ask("send", "input").json["task"]
    done = ask("send", "x", "--task-id", task["id"], "--context-id", "another")
    assert done.code == 1
    assert "--debug" in done.out + done.err


@pytest.mark.parametrize(
    "arguments",
    [
        ("send",),
        ("send", "x", "y"),
        ("send", "x", "--no-such-flag"),
        ("send", "x", "--media-type", "text/plain"),
        ("send", "x", "--metadata", "not json"),
        ("send", "x", "--transport", "pigeon"),
        ("send", "x", "--stream", "--async"),
        ("task", "get"),
        ("task", "list", "--status", "made-up"),
        ("no-such-command",),
    ],
    ids=" ".join,
)
def test_wrong_usage_is_exit_code_two(command, python_agent, arguments):
    done = command(*arguments, "-a", python_agent.url, "-o", "json")
    check_envelope(done, "A2ACLI_ERR_USAGE", 2)


def test_no_agent_at_all_is_wrong_usage(command):
    check_envelope(command("send", "x", "-o", "json"), "A2ACLI_ERR_USAGE", 2)


def test_an_endpoint_without_one_transport_is_wrong_usage(command, python_agent):
    done = command("send", "x", "-e", f"{python_agent.url}/rpc", "-o", "json")
    check_envelope(done, "A2ACLI_ERR_USAGE", 2)


def test_an_agent_and_an_endpoint_together_are_wrong_usage(command, python_agent):
    url = python_agent.url
    done = command(
        "send", "x", "-a", url, "-e", f"{url}/rpc", "--transport", "jsonrpc", "-o", "json"
    )
    check_envelope(done, "A2ACLI_ERR_USAGE", 2)


def unused_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def test_an_agent_that_is_not_there_is_exit_code_three(command):
    done = command("send", "x", "-a", f"http://127.0.0.1:{unused_port()}", "-o", "json")
    assert done.code == 3
    assert done.error["code"] in ("A2ACLI_ERR_UNREACHABLE", "A2ACLI_ERR_CARD_NOT_FOUND")


@pytest.mark.parametrize("transport", ["jsonrpc", "rest", "grpc"])
def test_an_endpoint_that_is_not_there_is_exit_code_three(command, transport):
    address = f"127.0.0.1:{unused_port()}"
    url = address if transport == "grpc" else f"http://{address}"
    done = command("send", "x", "-e", url, "--transport", transport, "-o", "json")
    check_envelope(done, "A2ACLI_ERR_UNREACHABLE", 3)


def test_a_place_without_a_card_is_exit_code_three(command, webhook):
    done = command("card", "get", "-a", webhook.url, "-o", "json")
    check_envelope(done, "A2ACLI_ERR_CARD_NOT_FOUND", 3)


def test_a_card_file_that_is_not_there_is_exit_code_three(command):
    done = command("card", "get", "-a", "./no-such-card.json", "-o", "json")
    check_envelope(done, "A2ACLI_ERR_CARD_NOT_FOUND", 3)


@pytest.mark.parametrize("content", ["{", "[]", "{}", '{"name": 5}'])
def test_a_broken_card_is_exit_code_one(command, tmp_path, content):
    (tmp_path / "card.json").write_text(content)
    done = command("send", "x", "-a", "./card.json", "-o", "json")
    check_envelope(done, "A2ACLI_ERR_CARD_INVALID", 1)


def test_a_card_file_is_as_good_as_an_address(command, foreign, tmp_path):
    card = httpx.get(f"{foreign.url}/.well-known/agent-card.json").json()
    (tmp_path / "card.json").write_text(json.dumps(card))
    for reference in ("card.json", "./card.json", f"file://{tmp_path}/card.json"):
        done = command("send", "echo x", "-a", reference, "-o", "json")
        assert done.code == 0, done.err


def test_a_timeout_is_exit_code_five_and_the_task_id_is_not_lost(command, foreign, binding):
    done = command(
        *("send", "slow 20", "--timeout", "1s", "-a", foreign.url),
        *("--transport", binding, "-o", "json"),
    )
    check_envelope(done, "A2ACLI_ERR_TIMEOUT", 5)


def test_missing_and_wrong_credentials_are_exit_code_four(command, secured, binding):
    arguments = ("send", "x", "-a", secured.url, "--transport", binding, "-o", "json")
    missing = command(*arguments)
    assert missing.code == 4, missing.out
    assert missing.error["code"] in ("A2ACLI_ERR_CREDENTIALS_MISSING", "A2ACLI_ERR_AUTH_FAILED")
    wrong = command(*arguments, "--bearer", "made-up-wrong-token")
    check_envelope(wrong, "A2ACLI_ERR_AUTH_FAILED", 4)
    assert "made-up-wrong-token" not in wrong.out + wrong.err
    right = command(*arguments, "--bearer", ALICE, "--debug")
    assert right.code == 0, right.err
    assert ALICE not in right.out + right.err


def test_the_version_is_sent_and_its_error_is_shown(ask, command, foreign, binding):
    done = command(
        *("send", "echo x", "--a2a-version", "1.9", "-a", foreign.url),
        *("--transport", binding, "-o", "json"),
    )
    # The SDKs take any 1.x or only 1.0: an answer, or the error by its name.
    assert done.code in (0, 1)
    if done.code == 1:
        assert done.error["code"] == "VersionNotSupportedError"


def test_text_output_names_task_context_and_state(command, foreign):
    done = command("send", "input", "-a", foreign.url)
    assert done.code == 0, done.err
    shown = done.out + done.err
    assert "INPUT_REQUIRED" in shown.upper().replace("-", "_").replace(" ", "_")
    assert "--task-id" in shown, "the command that resumes is shown"
    assert "\x1b" not in done.out


def test_errors_in_text_go_to_stderr(command, foreign):
    done = command("task", "get", "no-such-task", "-a", foreign.url)
    assert done.code == 1
    assert (done.out == "" and "not found" in done.err.lower()) or "TaskNotFound" in done.err


def test_a_pipe_that_closes_early_is_no_crash(foreign, tmp_path):
    import subprocess

    from support.process import NUNCIO, clean_environment

    done = subprocess.run(
        ["sh", "-c", f'"{NUNCIO}" send "stream 300" --stream -o json -a {foreign.url} | head -1'],
        capture_output=True,
        text=True,
        env=clean_environment(tmp_path),
        cwd=tmp_path,
        timeout=30,
        check=False,
    )
    assert "panicked" not in done.stderr
    assert eventually(lambda: len(done.stdout.splitlines()) == 1)
