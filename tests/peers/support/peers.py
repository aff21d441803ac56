"""Who speaks what: every client and every agent of another version, by name.

A client is called SDK-BINDING. `python` and `js` are the SDKs of 1.0, `pythoncompat` and
`jscompat` the same ones in their own 0.3 mode, `python03`, `js03` and `python02` SDKs that are
that old, `python020` one that speaks 0.2.0, the first of its line, and `v01` speaks 0.1 by hand
(`v01said` says so in a header, too).
"""

from __future__ import annotations

import sys
from pathlib import Path

from .caller import Caller
from .js_sdk import JsSdk
from .older_sdk import OlderSdk, python
from .process import HERE
from .python_sdk import Loop, PythonSdk
from .v01 import V01

WIRES = ("jsonrpc", "rest", "grpc")
# The bindings that each has.
OLDER_SDKS = {
    "python03": WIRES,
    "js03": WIRES,
    "pythoncompat": WIRES,
    "jscompat": WIRES,
    "python02": ("jsonrpc", "grpc"),
    "python020": ("jsonrpc",),
    "v01": ("jsonrpc",),
}
OLDER = tuple(f"{sdk}-{binding}" for sdk, bindings in OLDER_SDKS.items() for binding in bindings)

LISTS_CONFIGS = {"ListTaskPushNotificationConfigs", "DeleteTaskPushNotificationConfig"}
SETS_CONFIGS = {"CreateTaskPushNotificationConfig", "GetTaskPushNotificationConfig"}
# What a client has no way to call; 0.x has no ListTasks at all.
LACKS = {
    "python03-rest": LISTS_CONFIGS,
    "pythoncompat-rest": LISTS_CONFIGS,
    # It reads the answer to its own call for the answer to another.
    "python02-grpc": LISTS_CONFIGS | SETS_CONFIGS,
    "python020-jsonrpc": LISTS_CONFIGS | {"GetExtendedAgentCard"},
    "v01-jsonrpc": LISTS_CONFIGS | {"GetExtendedAgentCard"},
}
# Python's SDKs before 1.0 put base64 where protobuf has the bytes of a file, and want it there.
BYTES_ARE_BASE64 = (
    *("python03-rest", "python03-grpc", "python02-grpc"),
    *("pythoncompat-rest", "pythoncompat-grpc"),
)

AGENTS = {
    "python03": [python("0.3"), HERE / "older" / "agent.py"],
    "js03": ["node", HERE / "js-0.3" / "agent.mjs"],
    "pythoncompat": [sys.executable, HERE / "servers" / "python_agent.py", "0.3"],
    "jscompat": ["node", HERE / "js" / "agent.mjs", "0.3"],
    "python02": [python("0.2"), HERE / "older" / "agent.py"],
    "python020": [python("0.2.4"), HERE / "older" / "agent_v020.py"],
    "v01": [sys.executable, HERE / "older" / "agent_v01.py"],
}


def able(*operations: str) -> list[str]:
    """The older clients that have these operations."""
    return [name for name in OLDER if not LACKS.get(name, set()) & set(operations)]


def connect(name: str, url: str, headers: dict, loop: Loop, log: Path) -> Caller:
    """The client called `name`, made from the card at `url`."""
    sdk, binding = name.split("-")
    version = "0.3" if sdk.endswith("compat") else "1.0"
    match sdk:
        case "python" | "pythoncompat":
            return PythonSdk(loop, url, binding, headers, version)
        case "js" | "jscompat":
            return JsSdk(url, binding, log, headers, version)
        case "v01":
            return V01(url, headers)
        case "v01said":
            return V01(url, {**headers, "A2A-Version": "0.1"})
    return OlderSdk(sdk, url, binding, log, headers)


def wire_version(name: str) -> str:
    """The version that a client speaks, as `nuncio` names it."""
    versions = {
        **{"python": "1.0", "js": "1.0", "python02": "0.2", "python020": "0.2"},
        **{"v01": "0.1", "v01said": "0.1"},
    }
    return versions.get(name.split("-")[0], "0.3")
