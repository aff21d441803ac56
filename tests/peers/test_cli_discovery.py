"""How `nuncio` finds a card, and where it does not send its credentials."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest

from support.events import state

WELL_KNOWN = "/.well-known/agent-card.json"


class Site:
    """A web server with documents at paths; it remembers what was asked."""

    def __init__(self):
        self.documents: dict[str, str] = {}
        self.redirects: dict[str, str] = {}
        self.requests: list[tuple[str, dict]] = []
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                headers = {name.lower(): value for name, value in self.headers.items()}
                site.requests.append((self.path, headers))
                target = site.redirects.get(self.path)
                body = site.documents.get(self.path)
                self.send_response(302 if target else 200 if body else 404)
                if target:
                    self.send_header("Location", target)
                self.send_header("Content-Type", "application/json")
                self.end_headers()
                self.wfile.write((body or "").encode())

            do_POST = do_GET

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def site():
    server = Site()
    yield server
    server.close()


@pytest.fixture
def card(nuncio) -> str:
    return httpx.get(nuncio.url + WELL_KNOWN).text


@pytest.fixture
def found(command, site, card):
    """True when the reference leads to the card that is served at `path`."""

    def look(path: str, reference: str) -> bool:
        site.documents = {path: card}
        done = command("card", "get", "-a", reference, "-o", "json")
        return done.code == 0 and done.json["name"] == json.loads(card)["name"]

    return look


def test_an_origin_has_its_card_at_the_well_known_path(found, site):
    assert found(WELL_KNOWN, site.url)
    assert found(WELL_KNOWN, site.url + "/")
    assert found(WELL_KNOWN, site.url.removeprefix("http://"))


def test_a_full_card_address_is_taken_as_it_is(found, site):
    assert found("/some/where/card.json", site.url + "/some/where/card.json")
    assert found(WELL_KNOWN, site.url + WELL_KNOWN)


def test_a_prefix_is_looked_up_below_itself_and_at_its_origin(found, site):
    assert found("/agents/one" + WELL_KNOWN, site.url + "/agents/one")
    assert found(WELL_KNOWN, site.url + "/agents/one")


def test_the_old_card_name_is_found_too(found, site):
    assert found("/.well-known/agent.json", site.url)


def test_the_error_names_all_that_was_tried(command, site):
    done = command("card", "get", "-a", site.url + "/agents/one", "-o", "json")
    assert done.code == 3
    assert done.error["code"] == "A2ACLI_ERR_CARD_NOT_FOUND"
    said = done.error["message"] + str(done.error.get("hint"))
    for path, _ in site.requests:
        assert path in said, f"{path} is not named in {said}"


def test_credentials_are_not_sent_for_the_public_card(command, site, card):
    site.documents = {WELL_KNOWN: card}
    secret = "made-up-secret-for-the-agent"
    command("card", "get", "-a", site.url, "-o", "json", "--bearer", secret)
    command("send", "echo x", "-a", site.url, "-o", "json", "--bearer", secret)
    assert site.requests
    for path, headers in site.requests:
        assert "authorization" not in headers, path


def test_credentials_do_not_follow_a_redirect_to_another_origin(command, site):
    other = Site()
    try:
        site.redirects = {"/rpc": other.url + "/stolen"}
        secret = "made-up-secret-for-the-agent"
        command(
            *("send", "echo x", "-e", site.url + "/rpc", "--transport", "jsonrpc"),
            *("--bearer", secret, "-o", "json"),
        )
        assert any(path == "/rpc" for path, _ in site.requests)
        for path, headers in other.requests:
            assert secret not in str(headers), path
    finally:
        other.close()


def test_a_card_that_points_elsewhere_is_used_with_a_warning(command, site, card):
    site.documents = {WELL_KNOWN: card}
    done = command("send", "echo x", "-a", site.url, "-o", "json")
    assert done.code == 0, done.err
    assert state(done.json["task"]) == "TASK_STATE_COMPLETED"
    assert "origin" in done.err.lower() or "warning" in done.err.lower()


def test_the_tenant_of_the_interface_is_sent_with_every_call(command, nuncio, card, tmp_path):
    document = json.loads(card)
    for interface in document["supportedInterfaces"]:
        interface["tenant"] = "acme"
    (tmp_path / "acme.json").write_text(json.dumps(document))
    for transport in ("jsonrpc", "rest", "grpc"):
        arguments = ("--transport", transport, "-o", "json")
        sent = command("send", "whoami", "-a", "acme.json", *arguments)
        assert sent.code == 0, sent.err
        assert "acme" in json.dumps(sent.json["task"]["artifacts"])
        task_id = sent.json["task"]["id"]
        assert command("task", "get", task_id, "-a", "acme.json", *arguments).code == 0
        assert command("task", "get", task_id, "-a", nuncio.url, *arguments).code == 1


def test_a_card_with_empty_tenants_means_none(command, js_agent):
    """The JavaScript SDK spells out an empty tenant."""
    done = command("send", "echo x", "-a", js_agent.url, "-o", "json", "--transport", "rest")
    assert done.code == 0, done.err
