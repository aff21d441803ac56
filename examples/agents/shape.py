#!/usr/bin/env python3
"""Counts the words of a message, and answers with data for the client's JSON schema.

    nuncio serve --jsonl -- python3 shape.py
    nuncio send -a 127.0.0.1:8080 -o json --request-payload '{"message": {"parts": [{"text": "three little words",
        "metadata": {"schema": {"type": "object", "required": ["words"]}}}]}}'
"""

import json
import sys


def say(**line):
    print(json.dumps(line), flush=True)


request = json.loads(sys.stdin.readline())
parts = request["message"]["parts"]
text = " ".join(part["text"] for part in parts if "text" in part)
known = {"words": len(text.split()), "letters": len(text), "text": text}

# The first part with a schema determines the form of the data.
schemas = (part.get("metadata", {}).get("schema") for part in parts)
schema = next(filter(None, schemas), None)

if schema is None:
    say(text=f"{known['words']} words")
    sys.exit()

wanted = schema.get("required", ["words"])
if unknown := [name for name in wanted if name not in known]:
    # A failure is better than an answer in another form.
    reason = f"this agent knows nothing of {', '.join(unknown)}"
    say(statusUpdate={"status": {"state": "TASK_STATE_FAILED", "message": {"parts": [{"text": reason}]}}})
    sys.exit()

data = {name: known[name] for name in wanted}
say(artifactUpdate={"artifact": {"parts": [{"data": data, "mediaType": "application/json"}]}})
