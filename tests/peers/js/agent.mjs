// An agent on the official JavaScript SDK: JSON-RPC, HTTP+JSON and gRPC.
// `agent.mjs 0.3` speaks 0.3 instead of 1.0, through the SDK's own compatibility mode.
// Its behaviour is chosen by the first word of the message, as in the demo agent.
// It prints the URL of its card and serves until it is killed.
import { randomUUID } from 'node:crypto';
import express from 'express';
import * as grpc from '@grpc/grpc-js';
import { AgentCard, Message, Task, TaskArtifactUpdateEvent, TaskStatusUpdateEvent } from '@a2a-js/sdk';
import {
  AgentEvent,
  DefaultPushNotificationSender,
  DefaultRequestHandler,
  InMemoryPushNotificationStore,
  InMemoryTaskStore,
} from '@a2a-js/sdk/server';
import { UserBuilder, agentCardHandler, jsonRpcHandler, restHandler } from '@a2a-js/sdk/server/express';
import { A2AService, grpcService } from '@a2a-js/sdk/server/grpc';
import { createLegacyAwarePushNotificationSender } from '@a2a-js/sdk/compat/v0_3/server';
import { LegacyA2AService, legacyGrpcService } from '@a2a-js/sdk/compat/v0_3/server/grpc';

const version = process.argv[2] ?? '1.0';
const legacyCompat = { enabled: version !== '1.0' };

class Scripted {
  canceled = new Map();

  async execute(request, bus) {
    const { taskId, contextId, userMessage, task } = request;
    const text = userMessage.parts.map((part) => part.content?.value ?? '').join('');
    const [word, rest] = split(text);
    const agentMessage = (words) => ({
      messageId: randomUUID(),
      role: 'ROLE_AGENT',
      parts: [{ text: words }],
      contextId,
    });
    if (word === 'message') {
      bus.publish(AgentEvent.message(Message.fromJSON(agentMessage(`message: ${rest}`))));
      bus.finished();
      return;
    }
    const status = (state, words) => {
      const timestamp = new Date().toISOString();
      const message = words && { ...agentMessage(words), taskId };
      const update = { taskId, contextId, status: { state: `TASK_STATE_${state}`, timestamp, message } };
      bus.publish(AgentEvent.statusUpdate(TaskStatusUpdateEvent.fromJSON(update)));
    };
    const artifact = (artifactId, part, chunk = {}) => {
      const update = { taskId, contextId, artifact: { artifactId, parts: [part] }, ...chunk };
      bus.publish(AgentEvent.artifactUpdate(TaskArtifactUpdateEvent.fromJSON(update)));
    };
    const created = Task.fromJSON({
      id: taskId,
      contextId,
      status: { state: 'TASK_STATE_SUBMITTED', timestamp: new Date().toISOString() },
    });
    created.history = [userMessage];
    // The SDK wants a task before all else, on later turns too.
    bus.publish(AgentEvent.task(task ?? created));
    if (task) {
      status('COMPLETED', `got: ${text}`);
    } else if (word === 'stream') {
      const count = Number(rest);
      status('WORKING');
      for (let number = 1; number <= count; number += 1) {
        const chunk = { append: number > 1, lastChunk: number === count };
        artifact('stream-1', { text: `chunk ${number}\n` }, chunk);
      }
      status('COMPLETED');
    } else if (word === 'input') {
      status('INPUT_REQUIRED', 'what else?');
    } else if (word === 'auth') {
      status('AUTH_REQUIRED', 'please sign in');
    } else if (word === 'slow') {
      status('WORKING');
      const canceled = await new Promise((resolve) => {
        const timer = setTimeout(resolve, Number(rest) * 1000, false);
        this.canceled.set(taskId, () => {
          clearTimeout(timer);
          resolve(true);
        });
      });
      status(canceled ? 'CANCELED' : 'COMPLETED');
    } else if (word === 'fail') {
      status('WORKING');
      status('FAILED', 'it broke');
    } else if (word === 'reject') {
      status('REJECTED', 'not with me');
    } else if (word === 'parts') {
      status('WORKING');
      for (const [name, part] of Object.entries(parts())) artifact(name, part);
      status('COMPLETED');
    } else {
      const echo = word === 'echo' ? rest : text;
      status('WORKING');
      artifact('echo-1', { text: echo });
      status('COMPLETED', `echo: ${echo}`);
    }
    bus.finished();
  }

  async cancelTask(taskId, bus) {
    const stop = this.canceled.get(taskId);
    if (stop) {
      stop();
      return;
    }
    const update = {
      taskId,
      status: { state: 'TASK_STATE_CANCELED', timestamp: new Date().toISOString() },
    };
    bus.publish(AgentEvent.statusUpdate(TaskStatusUpdateEvent.fromJSON(update)));
    bus.finished();
  }
}

function split(text) {
  const space = text.indexOf(' ');
  return space < 0 ? [text, ''] : [text.slice(0, space), text.slice(space + 1)];
}

function parts() {
  const raw = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)).toString('base64');
  return {
    'a-text': { text: 'héllo ✓' },
    'a-raw': { raw, mediaType: 'application/octet-stream', filename: 'all.bin' },
    'a-url': { url: 'https://example.com/o.txt', mediaType: 'text/plain', filename: 'o.txt' },
    'a-data': { data: { k: [1, 2.5, null, true, 'x'] } },
  };
}

function card(origin, grpcAddress) {
  const modes = ['text/plain', 'application/json', 'application/octet-stream'];
  return AgentCard.fromJSON({
    name: 'JavaScript peer',
    description: 'Scripted agent on the official JavaScript SDK',
    version: '1.0.0',
    supportedInterfaces: [
      { url: `${origin}/a2a/rest`, protocolBinding: 'HTTP+JSON', protocolVersion: version },
      { url: `${origin}/a2a/rpc`, protocolBinding: 'JSONRPC', protocolVersion: version },
      { url: grpcAddress, protocolBinding: 'GRPC', protocolVersion: version },
    ],
    capabilities: { streaming: true, pushNotifications: true, extendedAgentCard: true },
    defaultInputModes: modes,
    defaultOutputModes: modes,
    skills: [{ id: 'echo', name: 'Echo', description: 'Says it again', tags: ['test'] }],
  });
}

// The card for callers who are known, with one skill more.
function extended(publicCard) {
  const secret = { id: 'secret', name: 'Secret', description: 'Not for everybody', tags: ['test'] };
  const whole = AgentCard.toJSON(publicCard);
  return AgentCard.fromJSON({ ...whole, skills: [...whole.skills, secret] });
}

const app = express();
const http = app.listen(0, '127.0.0.1');
await new Promise((resolve) => http.once('listening', resolve));
const origin = `http://127.0.0.1:${http.address().port}`;

const grpcServer = new grpc.Server();
const grpcPort = await new Promise((resolve, reject) => {
  const credentials = grpc.ServerCredentials.createInsecure();
  grpcServer.bindAsync('127.0.0.1:0', credentials, (error, port) => (error ? reject(error) : resolve(port)));
});

const configs = new InMemoryPushNotificationStore();
const agentCard = card(origin, `127.0.0.1:${grpcPort}`);
const requestHandler = new DefaultRequestHandler(
  agentCard,
  new InMemoryTaskStore(),
  new Scripted(),
  undefined,
  configs,
  legacyCompat.enabled
    ? createLegacyAwarePushNotificationSender(configs)
    : new DefaultPushNotificationSender(configs),
  () => extended(agentCard),
);
const userBuilder = UserBuilder.noAuthentication;
if (legacyCompat.enabled) {
  grpcServer.addService(LegacyA2AService, legacyGrpcService({ requestHandler, userBuilder }));
} else {
  grpcServer.addService(A2AService, grpcService({ requestHandler, userBuilder }));
}
app.use(
  '/.well-known/agent-card.json',
  agentCardHandler({ agentCardProvider: requestHandler, legacyCompat }),
);
app.use('/a2a/rpc', jsonRpcHandler({ requestHandler, userBuilder, legacyCompat }));
app.use('/a2a/rest', restHandler({ requestHandler, userBuilder, legacyCompat }));
console.log(`${origin}/.well-known/agent-card.json`);
