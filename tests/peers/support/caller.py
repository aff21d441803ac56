"""What every client of the tests can do: eleven operations in their JSON form."""

from __future__ import annotations

import uuid
from typing import Any

from .feed import Feed

TERMINAL = {
    "TASK_STATE_COMPLETED",
    "TASK_STATE_FAILED",
    "TASK_STATE_CANCELED",
    "TASK_STATE_REJECTED",
}


def text_part(text: str) -> dict:
    return {"text": text}


def user_message(content: str | list[dict], **members: Any) -> dict:
    """A valid user message; `members` override or add, None removes."""
    parts = [text_part(content)] if isinstance(content, str) else content
    message = {"messageId": str(uuid.uuid4()), "role": "ROLE_USER", "parts": parts, **members}
    return {key: value for key, value in message.items() if value is not None}


class Caller:
    """Calls an agent. Failures are raised as `Failure`, with spec names."""

    name = ""

    def call(self, operation: str, request: dict | None = None, **options: Any) -> dict:
        """One answer, in its JSON form."""
        raise NotImplementedError

    def open(self, operation: str, request: dict | None = None, **options: Any) -> Feed:
        """A stream; fails here, not in the feed, when it is refused."""
        raise NotImplementedError

    def close(self) -> None:
        """Drops connections."""

    def send(
        self,
        content: str | list[dict],
        *,
        configuration: dict | None = None,
        metadata: dict | None = None,
        tenant: str | None = None,
        options: dict | None = None,
        **members: Any,
    ) -> dict:
        """SendMessage; the answer is the task or the message."""
        request = _send_request(content, configuration, metadata, tenant, members)
        answer = self.call("SendMessage", request, **(options or {}))
        assert len(answer) == 1 and set(answer) <= {"task", "message"}, answer
        return next(iter(answer.values()))

    def start(self, content: str | list[dict], **arguments: Any) -> dict:
        """SendMessage that returns immediately."""
        configuration = {"returnImmediately": True, **arguments.pop("configuration", {})}
        return self.send(content, configuration=configuration, **arguments)

    def stream(
        self,
        content: str | list[dict],
        *,
        configuration: dict | None = None,
        metadata: dict | None = None,
        tenant: str | None = None,
        options: dict | None = None,
        **members: Any,
    ) -> Feed:
        """SendStreamingMessage."""
        request = _send_request(content, configuration, metadata, tenant, members)
        return self.open("SendStreamingMessage", request, **(options or {}))

    def get(self, task_id: str, **members: Any) -> dict:
        return self.call("GetTask", {"id": task_id, **members})

    def list(self, **members: Any) -> dict:
        """ListTasks with all four members present."""
        page = self.call("ListTasks", members)
        return {"tasks": [], "nextPageToken": "", "pageSize": 0, "totalSize": 0, **page}

    def cancel(self, task_id: str, **members: Any) -> dict:
        return self.call("CancelTask", {"id": task_id, **members})

    def subscribe(self, task_id: str, **members: Any) -> Feed:
        return self.open("SubscribeToTask", {"id": task_id, **members})

    def create_config(self, task_id: str, url: str, **members: Any) -> dict:
        return self.call(
            "CreateTaskPushNotificationConfig", {"taskId": task_id, "url": url, **members}
        )

    def get_config(self, task_id: str, config_id: str) -> dict:
        return self.call("GetTaskPushNotificationConfig", {"taskId": task_id, "id": config_id})

    def list_configs(self, task_id: str) -> list[dict]:
        answer = self.call("ListTaskPushNotificationConfigs", {"taskId": task_id})
        return answer.get("configs", [])

    def delete_config(self, task_id: str, config_id: str) -> None:
        self.call("DeleteTaskPushNotificationConfig", {"taskId": task_id, "id": config_id})


def _send_request(content, configuration, metadata, tenant, members) -> dict:
    request: dict = {"message": user_message(content, **members)}
    if configuration:
        request["configuration"] = configuration
    if metadata:
        request["metadata"] = metadata
    if tenant:
        request["tenant"] = tenant
    return request
