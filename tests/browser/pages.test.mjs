// A real browser against `nuncio serve`: no page may use an open agent, unless its origin is named.
//
// NUNCIO_BIN names the binary, CHROMIUM the browser. Every attack fails on a server that takes a body without a JSON
// media type, does not look at `Origin`, or does not look at `Host`.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { chromium } from "playwright-core";

const BINARY = process.env.NUNCIO_BIN ?? "target/debug/nuncio";
const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  // A name of the attacker's that leads to this machine.
  "--host-resolver-rules=MAP evil.example 127.0.0.1",
  // Asking the user before a page may reach this machine is a protection of some browsers, not of the agent.
  "--disable-features=LocalNetworkAccessChecks,BlockInsecurePrivateNetworkRequests,PrivateNetworkAccessRespectPreflightResults",
];

let browser;
let site;
let folder;
const agents = [];

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "nuncio-browser-"));
  site = createServer((_, response) => {
    response.setHeader("content-type", "text/html");
    response.end("<!doctype html><title>evil</title>");
  });
  await new Promise((resolve) => site.listen(0, "127.0.0.1", resolve));
  site.origin = `http://evil.example:${site.address().port}`;
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: FLAGS,
  });
});

after(async () => {
  await browser?.close();
  site?.close();
  for (const agent of agents) agent.process.kill();
  rmSync(folder, { recursive: true, force: true });
});

/** An open agent whose program appends each message that it gets to a file. */
async function serve(...flags) {
  const ran = join(folder, `ran-${agents.length}`);
  const server = spawn(
    BINARY,
    ["serve", "--port", "0", "--store", "memory", "-o", "json", ...flags, "--exec", "--", "tee", "-a", ran],
    { cwd: folder, stdio: ["ignore", "pipe", "inherit"] },
  );
  const agent = { process: server };
  agents.push(agent);
  const banner = await new Promise((resolve, reject) => {
    let text = "";
    server.on("error", reject);
    server.on("exit", (code) => reject(new Error(`nuncio serve ended with ${code}: ${text}`)));
    server.stdout.on("data", (data) => {
      text += data;
      try {
        resolve(JSON.parse(text));
      } catch {
        // More of it comes.
      }
    });
  });
  agent.port = Number(banner.address.split(":").at(-1));
  agent.url = `http://127.0.0.1:${agent.port}`;
  agent.ran = () => (existsSync(ran) ? readFileSync(ran, "utf8") : "");
  return agent;
}

/** What is run in the page: each way to send a message, and then each way to read. Gives what the page could read. */
async function attack(base) {
  const text = "attack";
  const parts = [{ kind: "text", text }];
  const rpc = (method, params) => JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
  const kinded = { message: { kind: "message", messageId: "m", role: "user", parts } };
  const plain = { message: { messageId: "m", role: "ROLE_USER", parts: [{ text }] } };
  const content = { message: { messageId: "m", role: "ROLE_USER", content: [{ text }] } };
  const typed = { id: "t", message: { role: "user", parts: [{ type: "text", text }] } };
  const doors = [
    ["/", rpc("message/send", kinded)],
    ["/", rpc("message/stream", kinded)],
    ["/", rpc("tasks/send", typed)],
    ["/?A2A-Version=1.0", rpc("SendMessage", plain)],
    ["/v1/message:send", JSON.stringify(content)],
    ["/v1/message:stream", JSON.stringify(content)],
    ["/message:send?A2A-Version=1.0", JSON.stringify(plain)],
    ["/message:stream?A2A-Version=1.0", JSON.stringify(plain)],
  ];
  const bodies = [
    (json) => new Blob([json]),
    (json) => new Blob([json], { type: "text/plain" }),
    (json) => new TextEncoder().encode(json),
    (json) => json,
    (json) => new URLSearchParams([[json, ""]]),
  ];
  const seen = [];
  let beacons = 0;
  const read = async (what, response) => {
    try {
      const { status, type } = await response;
      if (type !== "opaque") seen.push(`${what}: ${status}`);
    } catch {
      // The browser keeps the answer to itself.
    }
  };
  for (const [path, json] of doors) {
    for (const body of bodies) {
      await read(`no-cors ${path}`, fetch(base + path, { method: "POST", mode: "no-cors", body: body(json) }));
      await read(`cors ${path}`, fetch(base + path, { method: "POST", body: body(json) }));
    }
    await read(
      `json ${path}`,
      fetch(base + path, { method: "POST", headers: { "content-type": "application/json" }, body: json }),
    );
    for (const body of bodies.slice(0, 3)) beacons += navigator.sendBeacon(base + path, body(json)) ? 1 : 0;
  }
  for (const path of ["/tasks?A2A-Version=1.0", "/tasks/t?A2A-Version=1.0", "/.well-known/agent-card.json"]) {
    await read(`GET ${path}`, fetch(base + path));
  }
  const sent = () => performance.getEntriesByType("resource").filter((entry) => entry.initiatorType === "beacon");
  const deadline = Date.now() + 20_000;
  while (sent().length < beacons && Date.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 20));
  if (sent().length < beacons) throw new Error(`${sent().length} of ${beacons} beacons were answered`);
  return seen;
}

/** Sends a message as a program does, which shows that the agent is at work. */
async function send(agent, text) {
  const message = { messageId: "mine", role: "ROLE_USER", parts: [{ text }] };
  const answer = await fetch(`${agent.url}/message:send`, {
    method: "POST",
    headers: { "content-type": "application/json", "a2a-version": "1.0" },
    body: JSON.stringify({ message }),
  });
  assert.equal(answer.status, 200);
}

test("a page of another origin runs nothing and reads nothing", async () => {
  const agent = await serve();
  const page = await browser.newPage();
  await page.goto(site.origin);
  assert.deepEqual(await page.evaluate(attack, agent.url), []);
  await send(agent, "mine");
  assert.equal(agent.ran(), "mine\n");
});

test("a page whose name leads to this machine runs nothing and reads nothing", async () => {
  const agent = await serve();
  const page = await browser.newPage();
  const own = `http://evil.example:${agent.port}`;
  await page.route(`${own}/page`, (route) => route.fulfill({ contentType: "text/html", body: "<!doctype html>" }));
  await page.goto(`${own}/page`);
  const seen = await page.evaluate(attack, own);
  assert.ok(seen.length > 0, "it is of the same origin, so the page reads every answer");
  assert.deepEqual(
    seen.filter((line) => !line.endsWith(": 421")),
    [],
  );
  await send(agent, "mine");
  assert.equal(agent.ran(), "mine\n");
});

test("a sandboxed frame, whose origin is null, runs nothing", async () => {
  const agent = await serve();
  const page = await browser.newPage();
  await page.goto(site.origin);
  await page.setContent('<iframe sandbox="allow-scripts" srcdoc="<!doctype html>"></iframe>');
  const frame = page.frames().at(-1);
  assert.deepEqual(await frame.evaluate(attack, agent.url), []);
  await send(agent, "mine");
  assert.equal(agent.ran(), "mine\n");
});

test("a page of a named origin may call and read", async () => {
  const agent = await serve("--cors-origin", site.origin);
  const page = await browser.newPage();
  await page.goto(site.origin);
  const status = await page.evaluate(async (base) => {
    const message = { messageId: "m", role: "ROLE_USER", parts: [{ text: "from a page" }] };
    const headers = { "content-type": "application/json", "a2a-version": "1.0" };
    const answer = await fetch(`${base}/message:send`, { method: "POST", headers, body: JSON.stringify({ message }) });
    return [answer.status, (await answer.json()).task.status.state];
  }, agent.url);
  assert.deepEqual(status, [200, "TASK_STATE_COMPLETED"]);
  assert.equal(agent.ran(), "from a page\n");
});
