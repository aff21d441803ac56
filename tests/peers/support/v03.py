"""Documents of 0.3 and 0.2 in the form of 1.0, and requests of 1.0 in theirs."""

from __future__ import annotations

import base64
import binascii

METHODS = {
    "SendMessage": "message/send",
    "SendStreamingMessage": "message/stream",
    "GetTask": "tasks/get",
    "CancelTask": "tasks/cancel",
    "SubscribeToTask": "tasks/resubscribe",
    "CreateTaskPushNotificationConfig": "tasks/pushNotificationConfig/set",
    "GetTaskPushNotificationConfig": "tasks/pushNotificationConfig/get",
    "ListTaskPushNotificationConfigs": "tasks/pushNotificationConfig/list",
    "DeleteTaskPushNotificationConfig": "tasks/pushNotificationConfig/delete",
    "GetExtendedAgentCard": "agent/getAuthenticatedExtendedCard",
}


def present(**members) -> dict:
    return {key: value for key, value in members.items() if value is not None}


# Requests, from 1.0.


def request(operation: str, document: dict) -> dict:
    """The params of the method of `operation`."""
    match operation:
        case "SendMessage" | "SendStreamingMessage":
            configuration = document.get("configuration", {})
            push = configuration.get("taskPushNotificationConfig")
            return present(
                message=message_down(document["message"]),
                configuration={
                    "blocking": not configuration.get("returnImmediately", False),
                    "acceptedOutputModes": configuration.get("acceptedOutputModes", []),
                    **present(
                        historyLength=configuration.get("historyLength"),
                        pushNotificationConfig=push and config_down(push),
                    ),
                },
                metadata=document.get("metadata"),
            )
        case "CreateTaskPushNotificationConfig":
            config = config_down(document)
            return {"taskId": document["taskId"], "pushNotificationConfig": config}
        case "GetTaskPushNotificationConfig" | "DeleteTaskPushNotificationConfig":
            return {"id": document["taskId"], "pushNotificationConfigId": document["id"]}
        case "ListTaskPushNotificationConfigs":
            return {"id": document["taskId"]}
    return document


def message_down(message: dict) -> dict:
    role = message["role"].removeprefix("ROLE_").lower()
    parts = [part_down(part) for part in message["parts"]]
    return {**message, "kind": "message", "role": role, "parts": parts}


def part_down(part: dict) -> dict:
    metadata = present(metadata=part.get("metadata"))
    if "text" in part:
        return {"kind": "text", "text": part["text"], **metadata}
    if "data" in part:
        return {"kind": "data", "data": part["data"], **metadata}
    file = present(
        bytes=part.get("raw"),
        uri=part.get("url"),
        name=part.get("filename"),
        mimeType=part.get("mediaType"),
    )
    return {"kind": "file", "file": file, **metadata}


def config_down(config: dict) -> dict:
    authentication = config.get("authentication")
    return present(
        id=config.get("id"),
        url=config["url"],
        token=config.get("token"),
        authentication=authentication
        and present(
            schemes=[authentication["scheme"]], credentials=authentication.get("credentials")
        ),
    )


# Answers, to 1.0.


def answer(operation: str, result) -> dict:
    """The answer to `operation`."""
    match operation:
        case "SendMessage":
            assert result["kind"] in ("task", "message"), result
            return event(result)
        case "GetTask" | "CancelTask":
            assert result["kind"] == "task", result
            return event(result)["task"]
        case "ListTaskPushNotificationConfigs":
            return {"configs": [config_up(config) for config in result]}
        case "CreateTaskPushNotificationConfig" | "GetTaskPushNotificationConfig":
            return config_up(result)
        case "DeleteTaskPushNotificationConfig":
            assert result is None, result
            return {}
    return result


def bare(document: dict) -> dict:
    """Without empty members: clients that read protobuf cannot tell them from absent ones."""
    return {key: value for key, value in document.items() if value not in ("", {}, [], None)}


def event(document: dict) -> dict:
    """What a stream brings, by its `kind`."""
    body = dict(document)
    kind = body.pop("kind")
    match kind:
        case "message":
            return {"message": message_up(document)}
        case "task":
            return {
                "task": bare(
                    {
                        **body,
                        "status": status_up(body["status"]),
                        "artifacts": [artifact_up(a) for a in body.get("artifacts", [])],
                        "history": [message_up(message) for message in body.get("history", [])],
                    }
                )
            }
        case "status-update":
            assert isinstance(body.pop("final"), bool), document
            return {"statusUpdate": bare({**body, "status": status_up(body["status"])})}
        case "artifact-update":
            return {"artifactUpdate": bare({**body, "artifact": artifact_up(body["artifact"])})}
    raise AssertionError(f"an event of kind {kind}: {document}")


def status_up(status: dict) -> dict:
    state = "TASK_STATE_" + status["state"].upper().replace("-", "_")
    message = status.get("message")
    # The same for a message that is not there.
    message = message_up(message) if message and message["messageId"] else None
    return bare({**status, "state": state, "message": message})


def message_up(message: dict) -> dict:
    assert message["kind"] == "message", message
    members = {key: value for key, value in message.items() if key != "kind"}
    role = f"ROLE_{message['role'].upper()}"
    parts = [part_up(part) for part in message["parts"]]
    return bare({**members, "role": role, "parts": parts})


def artifact_up(artifact: dict) -> dict:
    return bare({**artifact, "parts": [part_up(part) for part in artifact["parts"]]})


def part_up(part: dict) -> dict:
    metadata = present(metadata=part.get("metadata") or None)
    if part["kind"] == "text":
        return {"text": part["text"], **metadata}
    if part["kind"] == "data":
        return {"data": part["data"], **metadata}
    file = part["file"]
    assert ("bytes" in file) != ("uri" in file), part
    content = present(raw=file.get("bytes"), url=file.get("uri"))
    about = present(filename=file.get("name") or None, mediaType=file.get("mimeType") or None)
    return {**content, **about, **metadata}


def config_up(config: dict) -> dict:
    inner = config["pushNotificationConfig"]
    authentication = inner.get("authentication")
    return present(
        taskId=config["taskId"],
        id=inner.get("id"),
        url=inner["url"],
        token=inner.get("token") or None,
        authentication=authentication
        and present(
            scheme=next(iter(authentication["schemes"]), ""),
            credentials=authentication.get("credentials") or None,
        ),
    )


def unwrapped(raw: str) -> bytes:
    """The bytes of a file; Python's 0.x SDKs put base64 in base64 into protobuf."""
    first = base64.b64decode(raw)
    try:
        return base64.b64decode(first, validate=True)
    except binascii.Error:
        return first
