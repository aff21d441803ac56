"""A client of 0.1 by hand. There is no SDK; the tables of its JSON schema are the judge."""

from __future__ import annotations

import itertools
import json
import uuid
from collections.abc import Iterable, Iterator
from typing import Any

import httpx

from . import sse, v03
from .caller import Caller
from .failure import Failure
from .feed import Feed
from .v03 import present

METHODS = {
    "SendMessage": "tasks/send",
    "SendStreamingMessage": "tasks/sendSubscribe",
    "GetTask": "tasks/get",
    "CancelTask": "tasks/cancel",
    "SubscribeToTask": "tasks/resubscribe",
    "CreateTaskPushNotificationConfig": "tasks/pushNotification/set",
    "GetTaskPushNotificationConfig": "tasks/pushNotification/get",
}
STATES = ("submitted", "working", "input-required", "completed", "canceled", "failed", "unknown")
ERRORS = {
    -32700: "JSONParse",
    -32600: "InvalidRequest",
    -32601: "MethodNotFound",
    -32602: "InvalidParams",
    -32603: "Internal",
    -32001: "TaskNotFound",
    -32002: "TaskNotCancelable",
    -32003: "PushNotificationNotSupported",
    -32004: "UnsupportedOperation",
    -32005: "ContentTypeNotSupported",
    -32006: "StreamingNotSupported",
    -32007: "AuthenticationRequired",
    -32008: "AuthorizationFailed",
    -32009: "InvalidTaskState",
}

# Each member's type; "!" is required, [X] an array of X, a tuple the allowed values.
SHAPES: dict[str, dict[str, Any]] = {
    "Task": {
        "id!": str,
        "sessionId": str,
        "status!": "TaskStatus",
        "artifacts": ["Artifact"],
        "history": ["Message"],
        "metadata": dict,
    },
    "TaskStatus": {"state!": STATES, "message": "Message", "timestamp": str},
    "Message": {"role!": ("user", "agent"), "parts!": ["Part"], "metadata": dict},
    "text": {"type!": ("text",), "text!": str, "metadata": dict},
    "file": {"type!": ("file",), "file!": "FileContent", "metadata": dict},
    "data": {"type!": ("data",), "data!": (dict, list), "metadata": dict},
    "FileContent": {"name": str, "mimeType": str, "bytes": str, "uri": str},
    "Artifact": {
        "name": str,
        "description": str,
        "parts!": ["Part"],
        "index": int,
        "append": bool,
        "lastChunk": bool,
        "metadata": dict,
    },
    "Status": {"id!": str, "status!": "TaskStatus", "final": bool, "metadata": dict},
    "ArtifactEvent": {"id!": str, "artifact!": "Artifact", "metadata": dict},
    "TaskPushNotificationConfig": {"id!": str, "pushNotificationConfig!": "PushConfig"},
    "PushConfig": {"url!": str, "token": str, "authentication": "AuthenticationInfo"},
    "AuthenticationInfo": {"schemes!": [str], "credentials": str},
    "AgentCard": {
        "name!": str,
        "description": str,
        "url!": str,
        "provider": {"organization!": str, "url": str},
        "version!": str,
        "documentationUrl": str,
        "capabilities!": {
            "streaming": bool,
            "pushNotifications": bool,
            "stateTransitionHistory": bool,
        },
        "authentication": {"schemes!": [str], "credentials": str},
        "defaultInputModes": [str],
        "defaultOutputModes": [str],
        "skills!": [
            {
                "id!": str,
                "name!": str,
                "description": str,
                "tags": [str],
                "examples": [str],
                "inputModes": [str],
                "outputModes": [str],
            }
        ],
    },
}


def check(value: Any, shape: Any, path: str = "$") -> None:
    """The value has this shape, and no other member."""
    if shape == "Part":
        shape = value.get("type")
        assert shape in ("text", "file", "data"), f"{path}: {value}"
    if isinstance(shape, str):
        shape = SHAPES[shape]
    if isinstance(shape, list):
        assert isinstance(value, list), f"{path} = {value!r} is no array"
        for index, member in enumerate(value):
            check(member, shape[0], f"{path}[{index}]")
    elif isinstance(shape, dict):
        assert isinstance(value, dict), f"{path} = {value!r} is no object"
        known = {name.rstrip("!"): member for name, member in shape.items()}
        assert set(value) <= set(known), f"{path} has unknown {set(value) - set(known)}"
        required = {name[:-1] for name in shape if name.endswith("!")}
        assert required <= set(value), f"{path} lacks {required - set(value)}: {value}"
        for name, member in value.items():
            check(member, known[name], f"{path}.{name}")
    elif isinstance(shape, tuple) and isinstance(shape[0], str):
        assert value in shape, f"{path} = {value!r} is none of {shape}"
    else:
        assert isinstance(value, shape), f"{path} = {value!r} is no {shape}"
        assert not (shape is int and isinstance(value, bool)), f"{path} = {value!r}"


def of_0_1(card: dict) -> dict:
    """A card without what its later readers want: the same path is that of 0.2."""
    shape = SHAPES["AgentCard"]

    def known(members: dict, shape: dict) -> dict:
        names = {name.rstrip("!") for name in shape}
        return {name: member for name, member in members.items() if name in names}

    return known(card, shape) | {
        "capabilities": known(card["capabilities"], shape["capabilities!"])
    }


class V01(Caller):
    """Tasks, events and configurations of 0.1 in the form of 1.0; artifacts are named by index."""

    name = "v01"
    _ids = itertools.count(1)

    def __init__(self, origin: str, headers: dict | None = None):
        self.http = httpx.Client(timeout=30, headers=headers or {}, trust_env=False)
        served = self.http.get(f"{origin}/.well-known/agent.json").raise_for_status().json()
        self.card = of_0_1(served)
        check(self.card, "AgentCard")

    def close(self) -> None:
        self.http.close()

    def request(self, operation: str, document: dict) -> httpx.Request:
        envelope = {
            "jsonrpc": "2.0",
            "id": next(self._ids),
            "method": METHODS[operation],
            "params": params(operation, document),
        }
        return self.http.build_request("POST", self.card["url"], json=envelope)

    def call(self, operation, request=None) -> dict:
        sent = self.request(operation, request or {})
        response = self.http.send(sent)
        assert response.status_code == 200, response.text
        assert response.headers["content-type"] == "application/json"
        answer = result(response.json(), json.loads(sent.content)["id"])
        if "Config" in operation:
            check(answer, "TaskPushNotificationConfig")
            return config_up(answer)
        check(answer, "Task")
        task = task_up(answer)
        return {"task": task} if operation == "SendMessage" else task

    def open(self, operation, request=None) -> Feed:
        sent = self.request(operation, request or {})
        response = self.http.send(sent, stream=True)
        id_ = json.loads(sent.content)["id"]
        if not response.headers["content-type"].startswith("text/event-stream"):
            response.read()
            result(response.json(), id_)
            raise AssertionError(f"a plain answer to a streaming call: {response.text}")
        documents = (event.data for event in sse.read(response.iter_raw()))
        return Feed(events_up(documents, id_), response.close)


def params(operation: str, request: dict) -> dict:
    if operation in ("SendMessage", "SendStreamingMessage"):
        message, configuration = request["message"], request.get("configuration", {})
        push = configuration.get("taskPushNotificationConfig")
        return present(
            id=message.get("taskId") or str(uuid.uuid4()),
            sessionId=message.get("contextId"),
            message=present(
                role=message["role"].removeprefix("ROLE_").lower(),
                parts=[part_down(part) for part in message["parts"]],
                metadata=message.get("metadata"),
            ),
            historyLength=configuration.get("historyLength"),
            pushNotification=push and nameless(push),
            metadata=request.get("metadata"),
        )
    if operation == "CreateTaskPushNotificationConfig":
        return {"id": request["taskId"], "pushNotificationConfig": nameless(request)}
    if operation == "GetTaskPushNotificationConfig":
        return {"id": request["taskId"]}
    return request


def nameless(config: dict) -> dict:
    """A task has one configuration, which has no id."""
    return v03.config_down({**config, "id": None})


def result(document: dict, id_: int) -> dict:
    """The result of a response, or its failure."""
    assert document.get("jsonrpc") == "2.0" and document["id"] == id_, document
    if "error" in document:
        assert set(document) == {"jsonrpc", "id", "error"}, document
        error = document["error"]
        assert set(error) <= {"code", "message", "data"}, error
        raise Failure(ERRORS[error["code"]], error["code"], error["message"], [])
    assert set(document) == {"jsonrpc", "id", "result"}, document
    return document["result"]


def part_down(part: dict) -> dict:
    body = v03.part_down(part)
    return {"type": body.pop("kind"), **body}


def part_up(part: dict) -> dict:
    body = dict(part)
    return v03.part_up({"kind": body.pop("type"), **body})


def message_up(message: dict) -> dict:
    parts = [part_up(part) for part in message["parts"]]
    return {**message, "role": f"ROLE_{message['role'].upper()}", "parts": parts}


def status_up(status: dict) -> dict:
    state = "TASK_STATE_" + status["state"].upper().replace("-", "_")
    message = message_up(status["message"]) if "message" in status else None
    return present(**{**status, "state": state, "message": message})


def artifact_up(artifact: dict) -> dict:
    body = {key: value for key, value in artifact.items() if key not in ("append", "lastChunk")}
    index = str(body.pop("index", 0))
    return {**body, "artifactId": index, "parts": [part_up(part) for part in artifact["parts"]]}


def task_up(task: dict) -> dict:
    body = dict(task)
    return present(
        contextId=body.pop("sessionId", None),
        **{
            **body,
            "status": status_up(task["status"]),
            "artifacts": [artifact_up(artifact) for artifact in task.get("artifacts", [])],
            "history": [message_up(message) for message in task.get("history", [])],
        },
    )


def config_up(config: dict) -> dict:
    return v03.config_up({**config, "taskId": config["id"]})


def events_up(responses: Iterable[dict], id_: int) -> Iterator[dict]:
    """Events of a stream; the last one, and no other, is final."""
    final = False
    for document in responses:
        event = result(document, id_)
        assert not final, f"{event} after the final event"
        if "status" in event:
            check(event, "Status")
            final = event.get("final", False)
            status = status_up(event["status"])
            yield {"statusUpdate": {"taskId": event["id"], "status": status}}
        else:
            check(event, "ArtifactEvent")
            artifact = event["artifact"]
            chunk = {key: artifact[key] for key in ("append", "lastChunk") if key in artifact}
            update = {"taskId": event["id"], "artifact": artifact_up(artifact), **chunk}
            yield {"artifactUpdate": update}
    assert final, "the stream ends without a final event"
