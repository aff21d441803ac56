"""HTTP+JSON: paths, verbs, queries and error bodies."""

import uuid
from urllib.parse import quote

import pytest

from support.caller import user_message
from support.events import state
from support.wires import rest_failure

V1 = {"A2A-Version": "1.0"}


def failure_of(response, status, name=None):
    assert response.status_code == status, f"{response.status_code} {response.text}"
    media_type = response.headers["content-type"].split(";")[0]
    assert media_type in ("application/a2a+json", "application/json")
    document = response.json()
    assert document["error"]["code"] == status
    failure = rest_failure(document)
    assert name is None or failure.name == name, failure
    return failure


def test_cancel_works_without_body_and_content_type(rest):
    task = rest.send("input")
    response = rest.http.post(f"/tasks/{task['id']}:cancel", headers=V1)
    assert response.status_code == 200, response.text
    assert state(response.json()) == "TASK_STATE_CANCELED"


def test_cancel_works_with_an_empty_object(rest):
    task = rest.send("input")
    response = rest.http.post(f"/tasks/{task['id']}:cancel", headers=V1, json={})
    assert state(response.json()) == "TASK_STATE_CANCELED"


@pytest.mark.parametrize("verb", ["GET", "POST"])
def test_subscribe_works_by_get_and_post(rest, verb):
    task = rest.send("input")
    path = f"/tasks/{task['id']}:subscribe"
    with rest.http.stream(verb, path, headers=V1) as response:
        assert response.status_code == 200
        assert response.headers["content-type"].startswith("text/event-stream")
        rest.send("more", taskId=task["id"])
        assert "TASK_STATE_COMPLETED" in response.read().decode()


@pytest.mark.parametrize("verb", ["GET", "POST"])
def test_subscribing_to_an_unknown_task_is_a_plain_404(rest, verb):
    failure_of(rest.http.request(verb, "/tasks/no-such:subscribe", headers=V1), 404, "TaskNotFound")


def test_ids_are_percent_decoded(rest, webhook):
    task = rest.send("input")
    config_id = "a/b c:d?ü%"
    rest.create_config(task["id"], f"{webhook.url}/x", id=config_id)
    path = f"/tasks/{task['id']}/pushNotificationConfigs/{quote(config_id, safe='')}"
    response = rest.http.get(path, headers=V1)
    assert response.status_code == 200 and response.json()["id"] == config_id
    escaped = "".join(f"%{ord(char):02X}" for char in task["id"])
    assert rest.http.get(f"/tasks/{escaped}", headers=V1).json()["id"] == task["id"]
    assert rest.http.post(f"/tasks/{escaped}%3Acancel", headers=V1).status_code in (200, 404)


def test_an_escaped_colon_in_the_verb_is_read(rest):
    body = {"message": user_message("echo x")}
    response = rest.http.post("/message%3Asend", headers=V1, json=body)
    assert response.status_code == 200, response.text


@pytest.mark.parametrize(
    "query",
    [
        "historyLength=many",
        "historyLength=-1",
        "historyLength=99999999999",
    ],
)
def test_a_bad_query_of_get_is_a_400_in_the_protocols_shape(rest, query):
    task = rest.send("echo x")
    failure_of(rest.http.get(f"/tasks/{task['id']}?{query}", headers=V1), 400, "InvalidParams")


@pytest.mark.parametrize(
    "query",
    [
        "pageSize=0",
        "pageSize=-1",
        "pageSize=101",
        "pageSize=ten",
        "pageToken=garbage",
        "status=made_up",
        "statusTimestampAfter=yesterday",
        "includeArtifacts=maybe",
        "historyLength=-1",
    ],
)
def test_a_bad_query_of_list_is_a_400_in_the_protocols_shape(rest, query):
    failure_of(rest.http.get(f"/tasks?{query}", headers=V1), 400, "InvalidParams")


def test_unknown_query_members_are_ignored(rest):
    assert rest.http.get("/tasks?pageSize=1&madeUp=1", headers=V1).status_code == 200


@pytest.mark.parametrize(
    ("verb", "path"),
    [
        ("GET", "/nowhere"),
        ("POST", "/tasks/a/b/c"),
        ("DELETE", "/v1/x/y/z"),
        ("POST", "/message:shout"),
        # By its form, an id.
        ("GET", "/tasks/x:dance"),
    ],
)
def test_an_unknown_path_is_a_404_in_the_protocols_shape(rest, verb, path):
    failure_of(rest.http.request(verb, path, headers=V1), 404)


@pytest.mark.parametrize(
    ("verb", "path"),
    [
        ("GET", "/message:send"),
        ("PUT", "/message:send"),
        ("GET", "/message:stream"),
        ("DELETE", "/tasks/x"),
        ("POST", "/tasks/x"),
        ("PATCH", "/tasks"),
        ("DELETE", "/tasks/x:cancel"),
        ("GET", "/tasks/x:cancel"),
        ("PUT", "/tasks/x/pushNotificationConfigs"),
        ("POST", "/tasks/x/pushNotificationConfigs/y"),
        ("POST", "/extendedAgentCard"),
        ("POST", "/.well-known/agent-card.json"),
    ],
)
def test_a_wrong_method_is_a_405_in_the_protocols_shape(rest, verb, path):
    response = rest.http.request(verb, path, headers=V1)
    failure_of(response, 405)
    assert response.headers["allow"]


def test_the_json_rpc_endpoint_takes_post_and_sends_readers_to_the_card(rest):
    assert rest.http.put("/", headers=V1).status_code == 405
    to_the_card = rest.http.get("/", headers=V1, follow_redirects=False)
    assert to_the_card.status_code == 307
    assert to_the_card.headers["location"] == "/.well-known/agent-card.json"


def test_deleting_a_webhook_answers_200_and_an_empty_object(rest, webhook):
    task = rest.send("input")
    made = rest.create_config(task["id"], f"{webhook.url}/x")
    path = f"/tasks/{task['id']}/pushNotificationConfigs/{made['id']}"
    response = rest.http.delete(path, headers=V1)
    assert (response.status_code, response.json()) == (200, {})


def test_the_path_of_a_new_webhook_wins_over_its_body(rest, webhook):
    task = rest.send("input")
    path = f"/tasks/{task['id']}/pushNotificationConfigs"
    body = {"url": f"{webhook.url}/x", "taskId": task["id"]}
    made = rest.http.post(path, headers=V1, json=body).json()
    assert made["taskId"] == task["id"]


@pytest.mark.parametrize("media_type", ["application/json", "application/a2a+json"])
def test_both_json_media_types_are_taken(rest, media_type):
    body = '{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"echo x"}]}}'
    response = rest.http.post(
        "/message:send", headers={**V1, "Content-Type": media_type}, content=body
    )
    assert response.status_code == 200, response.text
    assert response.headers["content-type"].split(";")[0] == "application/a2a+json"


def test_another_media_type_is_refused_in_the_protocols_shape(rest):
    response = rest.http.post(
        "/message:send", headers={**V1, "Content-Type": "text/plain"}, content="{}"
    )
    # HTTP has a status of its own for this, beside the status of the error in the table of the specification.
    assert response.status_code == 415
    error = response.json()["error"]
    assert (error["code"], error["status"]) == (415, "INVALID_ARGUMENT")
    assert error["details"][0]["reason"] == "CONTENT_TYPE_NOT_SUPPORTED"


@pytest.mark.parametrize("body", ["{", "", "[]", "1", "null", '{"message":', '"x"'])
def test_a_body_that_is_no_request_is_a_400_in_the_protocols_shape(rest, body):
    headers = {**V1, "Content-Type": "application/a2a+json"}
    for path in ("/message:send", "/message:stream"):
        failure_of(rest.http.post(path, headers=headers, content=body), 400)


def test_a_tenant_may_lead_the_path(rest):
    tenant = f"tenant-{uuid.uuid4()}"
    body = {"message": user_message("echo x")}
    sent = rest.http.post(f"/{tenant}/message:send", headers=V1, json=body)
    assert sent.status_code == 200, sent.text
    task = sent.json()["task"]
    assert rest.http.get(f"/{tenant}/tasks/{task['id']}", headers=V1).status_code == 200
    failure_of(rest.http.get(f"/tasks/{task['id']}", headers=V1), 404, "TaskNotFound")
    listed = rest.http.get(f"/{tenant}/tasks", headers=V1).json()
    assert [t["id"] for t in listed["tasks"]] == [task["id"]]


def test_a_tenant_in_path_and_body_must_agree(rest):
    body = {"message": user_message("echo x"), "tenant": "other"}
    response = rest.http.post("/mine/message:send", headers=V1, json=body)
    failure_of(response, 400, "InvalidParams")


def test_a_stream_asks_proxies_not_to_hold_it_back(http_wire):
    with http_wire.stream("echo x") as feed:
        feed.rest()
    headers = http_wire.last_response.headers
    assert headers["x-accel-buffering"] == "no"
    assert "no-cache" in headers["cache-control"] or "no-store" in headers["cache-control"]


def test_nobody_elses_page_may_use_the_callers_credentials(rest):
    for path in ("/.well-known/agent-card.json", "/tasks?pageSize=1"):
        response = rest.http.get(path, headers={**V1, "Origin": "https://evil.example"})
        assert response.status_code == (403 if path.startswith("/tasks") else 200)
        allowed = response.headers.get("access-control-allow-origin", "")
        credentials = response.headers.get("access-control-allow-credentials", "false")
        assert not (allowed in ("*", "https://evil.example") and credentials == "true")
