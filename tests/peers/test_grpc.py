"""What only gRPC has: metadata, statuses with details, big messages, h2c."""

import uuid

import grpc
import pytest
from a2a.types import a2a_pb2 as pb

from support.caller import user_message
from support.events import artifact, state, text_of
from support.failure import BAD_REQUEST, DOMAIN, ERROR_INFO, refused
from support.grpc_wire import UNLIMITED, status_details
from support.strict import request

VERSION = (("a2a-version", "1.0"),)


def status_of(call) -> grpc.RpcError:
    with pytest.raises(grpc.RpcError) as caught:
        call()
    return caught.value


def test_a_missing_task_has_its_reason_in_the_status_details(grpc_wire):
    error = status_of(
        lambda: grpc_wire.stub.GetTask(pb.GetTaskRequest(id="no-such-task"), metadata=VERSION)
    )
    assert error.code() is grpc.StatusCode.NOT_FOUND
    (info,) = [d for d in status_details(error) if d["@type"] == ERROR_INFO]
    assert (info["reason"], info["domain"]) == ("TASK_NOT_FOUND", DOMAIN)


def test_an_invalid_request_names_its_field_in_the_status_details(grpc_wire):
    error = status_of(lambda: grpc_wire.stub.GetTask(pb.GetTaskRequest(), metadata=VERSION))
    assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
    (bad,) = [d for d in status_details(error) if d["@type"] == BAD_REQUEST]
    assert [v["field"] for v in bad["fieldViolations"]] == ["id"]
    assert all(v["description"] for v in bad["fieldViolations"])


def test_a_refused_stream_is_a_status_without_an_event(grpc_wire):
    stream = grpc_wire.stub.SubscribeToTask(
        pb.SubscribeToTaskRequest(id="no-such-task"), metadata=VERSION
    )
    assert status_of(lambda: next(stream)).code() is grpc.StatusCode.NOT_FOUND


def test_an_unknown_method_is_unimplemented(grpc_wire):
    call = grpc_wire.channel.unary_unary("/lf.a2a.v1.A2AService/NoSuchMethod")
    assert status_of(lambda: call(b"", metadata=VERSION)).code() is grpc.StatusCode.UNIMPLEMENTED
    call = grpc_wire.channel.unary_unary("/made.up.Service/GetTask")
    assert status_of(lambda: call(b"", metadata=VERSION)).code() is grpc.StatusCode.UNIMPLEMENTED


def test_bytes_that_are_no_message_are_an_error_not_a_crash(grpc_wire):
    call = grpc_wire.channel.unary_unary("/lf.a2a.v1.A2AService/SendMessage")
    error = status_of(lambda: call(b"\xff\xff\xff\xff", metadata=VERSION))
    assert error.code() in (grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.INTERNAL)
    assert state(grpc_wire.send("echo still here")) == "TASK_STATE_COMPLETED"


@pytest.mark.parametrize("size", [5 * 2**20])
def test_messages_over_four_megabytes_go_both_ways(wire, size):
    text = "0123456789abcdef" * (size // 16)
    task = wire.send(f"echo {text}")
    assert text_of(artifact(task, "echo-1")) == text


def test_a_single_event_over_four_megabytes_is_streamed(wire):
    events = wire.stream(f"stream 1 size={5 * 2**20}").rest()
    (update,) = [e["artifactUpdate"] for e in events if "artifactUpdate" in e]
    assert len(text_of(update["artifact"]).encode()) == 5 * 2**20
    assert state(events[-1]) == "TASK_STATE_COMPLETED"


def test_the_tenant_is_read_from_every_request(grpc_wire):
    tenant = f"tenant-{uuid.uuid4()}"
    task = grpc_wire.send("input", tenant=tenant)
    assert grpc_wire.get(task["id"], tenant=tenant)["id"] == task["id"]
    with refused("TaskNotFound"):
        grpc_wire.get(task["id"])
    with refused("TaskNotFound"):
        grpc_wire.get(task["id"], tenant="other")
    with refused("TaskNotFound"):
        grpc_wire.subscribe(task["id"], tenant="other")
    with refused("TaskNotFound"):
        grpc_wire.cancel(task["id"], tenant="other")
    assert grpc_wire.list(tenant=tenant)["totalSize"] == 1
    assert state(grpc_wire.cancel(task["id"], tenant=tenant)) == "TASK_STATE_CANCELED"


def test_many_calls_share_one_connection(nuncio, grpc_wire):
    message = request({"message": user_message("echo x")}, pb.SendMessageRequest)
    futures = [grpc_wire.stub.SendMessage.future(message, metadata=VERSION) for _ in range(100)]
    answers = [future.result(timeout=20) for future in futures]
    assert len({answer.task.id for answer in answers}) == 100


def test_a_deadline_that_passes_leaves_the_task_running(grpc_wire):
    context = "grpc-deadline"
    message = request({"message": user_message("slow 1", contextId=context)}, pb.SendMessageRequest)
    error = status_of(lambda: grpc_wire.stub.SendMessage(message, metadata=VERSION, timeout=0.2))
    assert error.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    (task,) = grpc_wire.list(contextId=context)["tasks"]
    assert state(task) == "TASK_STATE_WORKING"
    with grpc_wire.subscribe(task["id"]) as feed:
        assert state(feed.rest()[-1]) == "TASK_STATE_COMPLETED"


def test_a_caller_without_token_is_unauthenticated(secured):
    target = secured.url.removeprefix("http://")
    with grpc.insecure_channel(target, options=UNLIMITED) as channel:
        call = channel.unary_unary("/lf.a2a.v1.A2AService/ListTasks")
        error = status_of(lambda: call(b"", metadata=VERSION))
    assert error.code() is grpc.StatusCode.UNAUTHENTICATED


def test_grpc_without_http_2_is_refused(rest):
    response = rest.http.post(
        "/lf.a2a.v1.A2AService/GetTask",
        headers={"Content-Type": "application/grpc"},
        content=b"\0\0\0\0\0",
    )
    assert response.status_code >= 400 or "grpc-status" in response.headers
