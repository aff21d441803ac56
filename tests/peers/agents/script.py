"""A JSON-lines agent: the first word of the message picks what it does.

stdin: the request with `task` and `context` added, later maybe {"cancel":{}}.
stdout: one StreamResponse a line, or {"text": ...}.
"""

import json
import os
import signal
import subprocess
import sys
import time


def say(document) -> None:
    print(json.dumps(document), flush=True)


def status(state: str, text: str | None = None) -> None:
    message = {"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": text}]} if text else None
    body = {"state": f"TASK_STATE_{state}", **({"message": message} if message else {})}
    say({"statusUpdate": {"status": body}})


def nested(levels: int) -> dict:
    """Objects within one another."""
    value = "x"
    for _ in range(levels):
        value = {"k": value}
    return value


def until_canceled() -> None:
    for line in sys.stdin:
        if "cancel" in json.loads(line):
            return


request = json.loads(sys.stdin.readline())
text = "".join(part.get("text", "") for part in request["message"]["parts"])
word, _, rest = text.partition(" ")

if "task" in request and request["task"]["status"]["state"] != "TASK_STATE_SUBMITTED":
    # A later turn: it shows that the task so far is there.
    earlier = [m["parts"][0]["text"] for m in request["task"].get("history", [])]
    say({"text": f"got {text} after {len(earlier)} messages"})
elif word == "echo":
    say({"text": rest})
elif word == "chunks":
    for number in range(int(rest)):
        say({"text": f"{number}\n"})
elif word == "events":
    status("WORKING", "on it")
    part = {"text": "one"}
    say({"artifactUpdate": {"artifact": {"artifactId": "mine", "name": "n", "parts": [part]}}})
    more = {"artifact": {"artifactId": "mine", "parts": [{"text": "two"}]}, "append": True}
    say({"artifactUpdate": {**more, "lastChunk": True}})
    status("COMPLETED", "done")
elif word == "busy":
    status("WORKING", "begun")
    time.sleep(float(rest))
    status("INPUT_REQUIRED", "rested")
elif word == "audio":
    wave = {"raw": "UklGRg==", "mediaType": "audio/wav", "filename": "answer.wav"}
    say({"artifactUpdate": {"artifact": {"parts": [wave]}}})
elif word == "write":
    # Whatever line the client asks for.
    print(rest, flush=True)
    time.sleep(30)
elif word == "ask":
    status("INPUT_REQUIRED", "what else?")
elif word == "message":
    say({"message": {"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": rest}]}})
elif word == "request":
    say({"artifactUpdate": {"artifact": {"parts": [{"data": request}]}}})
elif word == "deep":
    value = nested(int(rest))
    parts = [{"data": value, "metadata": value}]
    message = {"messageId": "m", "role": "ROLE_AGENT", "parts": parts, "metadata": value}
    artifact = {"artifactId": "deep", "parts": parts, "metadata": value}
    say({"artifactUpdate": {"artifact": artifact, "metadata": value}})
    status_update = {"state": "TASK_STATE_COMPLETED", "message": message}
    say({"statusUpdate": {"status": status_update, "metadata": value}})
elif word == "context":
    say({"text": json.dumps(request["context"])})
elif word == "log":
    print("a line for the log", file=sys.stderr)
    say({"text": "logged"})
elif word == "die":
    print("first line of the trouble", file=sys.stderr)
    print("the made-up reason", file=sys.stderr)
    sys.exit(3)
elif word == "signal":
    os.kill(os.getpid(), signal.SIGKILL)
elif word == "lie":
    say({"text": "fine so far"})
    print("this is not json", flush=True)
    time.sleep(30)
elif word == "break":
    status("COMPLETED", "done")
    say({"text": "one more thing"})
    time.sleep(30)
elif word == "finish-and-fail":
    status("COMPLETED", "done")
    sys.exit(9)
elif word == "silent":
    time.sleep(float(rest))
elif word == "endless":
    while True:
        say({"text": "x" * 1000})
elif word == "long-line":
    sys.stdout.write('{"text":"' + "x" * int(rest))
    sys.stdout.flush()
    time.sleep(30)
elif word == "polite":
    status("WORKING")
    until_canceled()
    say({"text": "stopping"})
    status("CANCELED", "stopped politely")
elif word == "stubborn":
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    child = subprocess.Popen(["sleep", "300"])
    say({"text": f"{os.getpid()} {child.pid}"})
    while True:
        time.sleep(1)
elif word == "no-read":
    sys.stdin.close()
    say({"text": "done without reading"})
