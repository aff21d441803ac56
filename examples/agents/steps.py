"""An agent with slow work: writes one line after another, and continues at the same line after a restart.

    nuncio serve --resume --jsonl -- python3 examples/agents/steps.py

STEP_SECONDS is the duration of a step.
"""

import json
import os
import sys
import time

STEPS = ("weigh the flour", "add water and salt", "knead", "let it rise", "shape it", "bake", "let it cool", "serve")
SECONDS = float(os.environ.get("STEP_SECONDS", "1"))

request = json.loads(sys.stdin.readline())
# The task has one part for each step that was written before a crash.
artifacts = request.get("task", {}).get("artifacts", [])
done = sum(len(artifact["parts"]) for artifact in artifacts)

for number, step in enumerate(STEPS[done:], start=done + 1):
    time.sleep(SECONDS)
    artifact = {"artifactId": "steps", "parts": [{"text": f"{number}. {step}\n"}]}
    print(json.dumps({"artifactUpdate": {"artifact": artifact, "append": True}}), flush=True)
