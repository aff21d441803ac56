"""An agent whose work takes a while: it writes one line after another, and goes on where it was after a restart.

    nuncio serve --resume --jsonl -- python3 examples/agents/steps.py

STEP_SECONDS is the time that a step takes.
"""

import json
import os
import sys
import time

STEPS = ("weigh the flour", "add water and salt", "knead", "let it rise", "shape it", "bake", "let it cool", "serve")
SECONDS = float(os.environ.get("STEP_SECONDS", "1"))

request = json.loads(sys.stdin.readline())
# What was written before a crash is in the task: one part for each step.
artifacts = request.get("task", {}).get("artifacts", [])
done = sum(len(artifact["parts"]) for artifact in artifacts)

for number, step in enumerate(STEPS[done:], start=done + 1):
    time.sleep(SECONDS)
    artifact = {"artifactId": "steps", "parts": [{"text": f"{number}. {step}\n"}]}
    print(json.dumps({"artifactUpdate": {"artifact": artifact, "append": True}}), flush=True)
