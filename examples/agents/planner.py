#!/usr/bin/env python3
"""A trip planner with JSON lines: asks a question, streams, and returns a file and data. No library is needed.

    nuncio serve --jsonl -- python3 planner.py
    nuncio send -a 127.0.0.1:8080 Lisbon         # the agent asks a question; answer with --task-id
"""

import base64
import json
import sys
import time

IDEAS = ["walk through the old town", "visit a museum", "take a boat", "climb a hill", "sit in a park"]


def say(**line):
    print(json.dumps(line), flush=True)


def status(state, text):
    say(statusUpdate={"status": {"state": f"TASK_STATE_{state}", "message": {"parts": [{"text": text}]}}})


def text_of(message):
    return " ".join(part["text"] for part in message["parts"] if "text" in part).strip()


request = json.loads(sys.stdin.readline())
answer = text_of(request["message"])

# The first turn has no task yet. One process runs one turn, so ask a question and exit.
if "task" not in request:
    status("INPUT_REQUIRED", f"How many days in {answer}?")
    sys.exit()

# A later turn: the task has the earlier messages.
place = text_of(request["task"]["history"][0])
if answer not in ("1", "2", "3", "4", "5"):
    status("INPUT_REQUIRED", "A number from 1 to 5, please.")
    sys.exit()

status("WORKING", f"Planning {answer} days in {place}")
plan = []
for day in range(1, int(answer) + 1):
    plan.append(f"Day {day}: {IDEAS[day - 1]}\n")
    say(text=plan[-1])  # a chunk of the default artifact
    time.sleep(0.1)

file = base64.b64encode("".join(plan).encode()).decode()
part = {"raw": file, "filename": "plan.txt", "mediaType": "text/plain"}
say(artifactUpdate={"artifact": {"artifactId": "file", "parts": [part]}})
say(artifactUpdate={"artifact": {"artifactId": "data", "parts": [{"data": {"place": place, "days": len(plan)}}]}})
status("COMPLETED", f"Enjoy {place}!")
