// An agent on the JavaScript SDK 0.3: JSON-RPC, HTTP+JSON and gRPC.
// Its behaviour is chosen by the first word of the message, as in the demo agent.
// It prints the URL of its card and serves until it is killed.
import { randomUUID } from 'node:crypto';
import express from 'express';
import * as grpc from '@grpc/grpc-js';
import {
  DefaultPushNotificationSender,
  DefaultRequestHandler,
  InMemoryPushNotificationStore,
  InMemoryTaskStore,
} from '@a2a-js/sdk/server';
import { UserBuilder, agentCardHandler, jsonRpcHandler, restHandler } from '@a2a-js/sdk/server/express';
import { A2AService, grpcService } from '@a2a-js/sdk/server/grpc';

class Scripted {
  canceled = new Map();

  async execute(request, bus) {
    const { taskId, contextId, userMessage, task } = request;
    const text = userMessage.parts.map((part) => part.text ?? '').join('');
    const [word, rest] = split(text);
    const agentMessage = (words) => ({
      kind: 'message',
      messageId: randomUUID(),
      role: 'agent',
      parts: [{ kind: 'text', text: words }],
      contextId,
    });
    if (word === 'message') {
      bus.publish(agentMessage(`message: ${rest}`));
      bus.finished();
      return;
    }
    const status = (state, { words, final = false } = {}) => {
      const message = words && { ...agentMessage(words), taskId };
      const timestamp = new Date().toISOString();
      const body = { state, timestamp, ...(message && { message }) };
      bus.publish({ kind: 'status-update', taskId, contextId, status: body, final });
    };
    const artifact = (artifactId, part, chunk = {}) => {
      const body = { artifactId, parts: [part] };
      bus.publish({ kind: 'artifact-update', taskId, contextId, artifact: body, ...chunk });
    };
    const end = (state, words) => status(state, { words, final: true });
    if (!task) {
      const submitted = { state: 'submitted', timestamp: new Date().toISOString() };
      bus.publish({
        kind: 'task',
        id: taskId,
        contextId,
        status: submitted,
        history: [userMessage],
      });
    }
    if (task) {
      end('completed', `got: ${text}`);
    } else if (word === 'stream') {
      const count = Number(rest);
      status('working');
      for (let number = 1; number <= count; number += 1) {
        const chunk = { append: number > 1, lastChunk: number === count };
        artifact('stream-1', { kind: 'text', text: `chunk ${number}\n` }, chunk);
      }
      end('completed');
    } else if (word === 'input') {
      end('input-required', 'what else?');
    } else if (word === 'auth') {
      end('auth-required', 'please sign in');
    } else if (word === 'slow') {
      status('working');
      const canceled = await new Promise((resolve) => {
        const timer = setTimeout(resolve, Number(rest) * 1000, false);
        this.canceled.set(taskId, () => {
          clearTimeout(timer);
          resolve(true);
        });
      });
      end(canceled ? 'canceled' : 'completed');
    } else if (word === 'fail') {
      status('working');
      end('failed', 'it broke');
    } else if (word === 'reject') {
      end('rejected', 'not with me');
    } else if (word === 'parts') {
      status('working');
      for (const [name, part] of Object.entries(parts())) artifact(name, part);
      end('completed');
    } else {
      const echo = word === 'echo' ? rest : text;
      status('working');
      artifact('echo-1', { kind: 'text', text: echo });
      end('completed', `echo: ${echo}`);
    }
    bus.finished();
  }

  async cancelTask(taskId, bus) {
    const stop = this.canceled.get(taskId);
    if (stop) {
      stop();
      return;
    }
    const status = { state: 'canceled', timestamp: new Date().toISOString() };
    bus.publish({ kind: 'status-update', taskId, contextId: '', status, final: true });
    bus.finished();
  }
}

function split(text) {
  const space = text.indexOf(' ');
  return space < 0 ? [text, ''] : [text.slice(0, space), text.slice(space + 1)];
}

function parts() {
  const bytes = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)).toString('base64');
  const octets = { bytes, mimeType: 'application/octet-stream', name: 'all.bin' };
  const link = { uri: 'https://example.com/o.txt', mimeType: 'text/plain', name: 'o.txt' };
  return {
    'a-text': { kind: 'text', text: 'héllo ✓' },
    'a-raw': { kind: 'file', file: octets },
    'a-url': { kind: 'file', file: link },
    'a-data': { kind: 'data', data: { k: [1, 2.5, null, true, 'x'] } },
  };
}

function card(origin, grpcAddress) {
  const modes = ['text/plain', 'application/json', 'application/octet-stream'];
  return {
    name: 'Older JavaScript peer',
    description: 'Scripted agent on the JavaScript SDK 0.3',
    version: '1.0.0',
    protocolVersion: '0.3.0',
    url: `${origin}/a2a/rpc`,
    preferredTransport: 'JSONRPC',
    additionalInterfaces: [
      { url: `${origin}/a2a/rpc`, transport: 'JSONRPC' },
      { url: `${origin}/a2a/rest`, transport: 'HTTP+JSON' },
      { url: grpcAddress, transport: 'GRPC' },
    ],
    capabilities: { streaming: true, pushNotifications: true },
    defaultInputModes: modes,
    defaultOutputModes: modes,
    skills: [{ id: 'echo', name: 'Echo', description: 'Says it again', tags: ['test'] }],
    supportsAuthenticatedExtendedCard: true,
  };
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

const agentCard = card(origin, `127.0.0.1:${grpcPort}`);
const configs = new InMemoryPushNotificationStore();
const requestHandler = new DefaultRequestHandler(
  agentCard,
  new InMemoryTaskStore(),
  new Scripted(),
  undefined,
  configs,
  new DefaultPushNotificationSender(configs),
  { ...agentCard, description: 'The extended card' },
);
const userBuilder = UserBuilder.noAuthentication;
grpcServer.addService(A2AService, grpcService({ requestHandler, userBuilder }));
app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: requestHandler }));
app.use('/a2a/rpc', jsonRpcHandler({ requestHandler, userBuilder }));
app.use('/a2a/rest', restHandler({ requestHandler, userBuilder }));
console.log(`${origin}/.well-known/agent-card.json`);
