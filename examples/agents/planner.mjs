#!/usr/bin/env node
// A trip planner with JSON lines: asks a question, streams, and returns a file and data. No library is needed.
//
//     nuncio serve --jsonl -- node planner.mjs
//     nuncio send -a 127.0.0.1:8080 Lisbon         # the agent asks a question; answer with --task-id

import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";

const IDEAS = ["walk through the old town", "visit a museum", "take a boat", "climb a hill", "sit in a park"];

const say = (line) => console.log(JSON.stringify(line));
const status = (state, text) =>
  say({ statusUpdate: { status: { state: `TASK_STATE_${state}`, message: { parts: [{ text }] } } } });
const textOf = (message) => message.parts.flatMap((part) => part.text ?? []).join(" ").trim();

const lines = createInterface({ input: process.stdin });
const request = JSON.parse((await lines[Symbol.asyncIterator]().next()).value);
lines.close();
process.stdin.unref();
const answer = textOf(request.message);

if (!request.task) {
  // The first turn has no task yet. One process runs one turn, so ask a question and exit.
  status("INPUT_REQUIRED", `How many days in ${answer}?`);
} else if (!["1", "2", "3", "4", "5"].includes(answer)) {
  status("INPUT_REQUIRED", "A number from 1 to 5, please.");
} else {
  // A later turn: the task has the earlier messages.
  const place = textOf(request.task.history[0]);
  status("WORKING", `Planning ${answer} days in ${place}`);
  const plan = IDEAS.slice(0, Number(answer)).map((idea, index) => `Day ${index + 1}: ${idea}\n`);
  for (const text of plan) {
    say({ text }); // a chunk of the default artifact
    await sleep(100);
  }
  const raw = Buffer.from(plan.join("")).toString("base64");
  const file = { raw, filename: "plan.txt", mediaType: "text/plain" };
  say({ artifactUpdate: { artifact: { artifactId: "file", parts: [file] } } });
  say({ artifactUpdate: { artifact: { artifactId: "data", parts: [{ data: { place, days: plan.length } }] } } });
  status("COMPLETED", `Enjoy ${place}!`);
}
