"""The eleven operations: their types, and their HTTP+JSON verbs and paths."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import quote

from a2a.types import a2a_pb2 as pb
from google.protobuf.empty_pb2 import Empty
from google.protobuf.message import Message


class Operation(NamedTuple):
    name: str
    request: type[Message]
    response: type[Message]
    verb: str
    path: str
    streams: bool = False

    def route(self, request: dict) -> tuple[str, dict]:
        """The path for this request, and the members that the path does not carry."""
        rest = dict(request)
        path = self.path
        for name in ("id", "taskId"):
            if "{" + name + "}" in path:
                path = path.replace("{" + name + "}", quote(str(rest.pop(name, "")), safe=""))
        tenant = rest.pop("tenant", None)
        return (f"/{quote(tenant, safe='')}{path}" if tenant else path), rest


_CONFIGS = "/tasks/{taskId}/pushNotificationConfigs"

OPERATIONS = {
    operation.name: operation
    for operation in (
        Operation(
            "SendMessage", pb.SendMessageRequest, pb.SendMessageResponse, "POST", "/message:send"
        ),
        Operation(
            "SendStreamingMessage",
            pb.SendMessageRequest,
            pb.StreamResponse,
            "POST",
            "/message:stream",
            streams=True,
        ),
        Operation("GetTask", pb.GetTaskRequest, pb.Task, "GET", "/tasks/{id}"),
        Operation("ListTasks", pb.ListTasksRequest, pb.ListTasksResponse, "GET", "/tasks"),
        Operation("CancelTask", pb.CancelTaskRequest, pb.Task, "POST", "/tasks/{id}:cancel"),
        Operation(
            "SubscribeToTask",
            pb.SubscribeToTaskRequest,
            pb.StreamResponse,
            "POST",
            "/tasks/{id}:subscribe",
            streams=True,
        ),
        Operation(
            "CreateTaskPushNotificationConfig",
            pb.TaskPushNotificationConfig,
            pb.TaskPushNotificationConfig,
            "POST",
            _CONFIGS,
        ),
        Operation(
            "GetTaskPushNotificationConfig",
            pb.GetTaskPushNotificationConfigRequest,
            pb.TaskPushNotificationConfig,
            "GET",
            _CONFIGS + "/{id}",
        ),
        Operation(
            "ListTaskPushNotificationConfigs",
            pb.ListTaskPushNotificationConfigsRequest,
            pb.ListTaskPushNotificationConfigsResponse,
            "GET",
            _CONFIGS,
        ),
        Operation(
            "DeleteTaskPushNotificationConfig",
            pb.DeleteTaskPushNotificationConfigRequest,
            Empty,
            "DELETE",
            _CONFIGS + "/{id}",
        ),
        Operation(
            "GetExtendedAgentCard",
            pb.GetExtendedAgentCardRequest,
            pb.AgentCard,
            "GET",
            "/extendedAgentCard",
        ),
    )
}
