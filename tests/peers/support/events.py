"""Reading tasks and events in their JSON form."""

from __future__ import annotations

from .caller import TERMINAL


def state(event_or_task: dict) -> str | None:
    """The state that a task, a task event or a status event shows."""
    body = event_or_task.get("task") or event_or_task.get("statusUpdate") or event_or_task
    return body.get("status", {}).get("state")


def ends(event: dict) -> bool:
    """A terminal status, or a bare message."""
    return "message" in event or state(event) in TERMINAL


def has_state(wanted: str):
    return lambda event: state(event) == wanted


def states(events: list[dict]) -> list[str]:
    """States in order, repeats folded."""
    seen: list[str] = []
    for event in events:
        current = state(event)
        if current and (not seen or seen[-1] != current):
            seen.append(current)
    return seen


def text_of(message_or_artifact: dict) -> str:
    return "".join(part.get("text", "") for part in message_or_artifact.get("parts", []))


def status_text(task: dict) -> str:
    return text_of(task["status"].get("message", {}))


def artifact(task: dict, artifact_id: str) -> dict:
    """The artifact with this id; exactly one must be there."""
    found = [a for a in task.get("artifacts", []) if a["artifactId"] == artifact_id]
    assert len(found) == 1, task.get("artifacts")
    return found[0]


def artifact_updates(events: list[dict]) -> list[dict]:
    return [event["artifactUpdate"] for event in events if "artifactUpdate" in event]


def fold_artifacts(events: list[dict]) -> dict[str, str]:
    """The text of each artifact after all updates, by the rules of append."""
    texts: dict[str, str] = {}
    for update in artifact_updates(events):
        key = update["artifact"]["artifactId"]
        before = texts.get(key, "") if update.get("append") else ""
        texts[key] = before + text_of(update["artifact"])
    return texts


def roles(task: dict) -> list[str]:
    return [message["role"] for message in task.get("history", [])]
