// An echo agent on the official JavaScript SDK, for the comparison of the README and `./bench peers`: JSON-RPC at `/`,
// tasks in memory, webhooks, 1.0 and 0.3.
// An `echo` has the same three events as that of Nuncio's demo agent; `stream N every=200` writes N chunks, one every
// 200 ms. It prints its address and serves until it is killed.
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import express from 'express';
import { AgentCard, Task, TaskArtifactUpdateEvent, TaskStatusUpdateEvent } from '@a2a-js/sdk';
import { AgentEvent, DefaultRequestHandler, InMemoryPushNotificationStore, InMemoryTaskStore } from '@a2a-js/sdk/server';
import { UserBuilder, jsonRpcHandler } from '@a2a-js/sdk/server/express';
import { createLegacyAwarePushNotificationSender } from '@a2a-js/sdk/compat/v0_3/server';

class Echo {
  async execute(request, bus) {
    const { taskId, contextId, userMessage } = request;
    const text = userMessage.parts.map((part) => part.content?.value ?? '').join('').replace(/^echo /, '');
    const status = (state, words) => {
      const parts = [{ text: words }];
      const message = words && { messageId: randomUUID(), role: 'ROLE_AGENT', parts, contextId, taskId };
      const update = { taskId, contextId, status: { state: `TASK_STATE_${state}`, message } };
      bus.publish(AgentEvent.statusUpdate(TaskStatusUpdateEvent.fromJSON(update)));
    };
    const artifact = (artifactId, words, append = false) => {
      const update = { taskId, contextId, artifact: { artifactId, parts: [{ text: words }] }, append };
      bus.publish(AgentEvent.artifactUpdate(TaskArtifactUpdateEvent.fromJSON(update)));
    };
    const task = Task.fromJSON({ id: taskId, contextId, status: { state: 'TASK_STATE_SUBMITTED' } });
    task.history = [userMessage];
    bus.publish(AgentEvent.task(task));
    status('WORKING');
    if (text.startsWith('stream ')) {
      for (let number = 1; number <= parseInt(text.slice(7), 10); number += 1) {
        await sleep(200);
        artifact('stream-1', `chunk ${number}\n`, number > 1);
      }
      status('COMPLETED');
    } else {
      artifact('echo-1', text);
      status('COMPLETED', `echo: ${text}`);
    }
    bus.finished();
  }

  async cancelTask(_taskId, bus) {
    bus.finished();
  }
}

const app = express();
const http = app.listen(0, '127.0.0.1');
await new Promise((resolve) => http.once('listening', resolve));
const origin = `http://127.0.0.1:${http.address().port}`;
const card = AgentCard.fromJSON({
  name: 'Echo',
  description: 'Says it again',
  version: '1.0.0',
  supportedInterfaces: ['1.0', '0.3'].map((protocolVersion) => ({ url: `${origin}/`, protocolBinding: 'JSONRPC', protocolVersion })),
  capabilities: { streaming: true, pushNotifications: true },
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [{ id: 'echo', name: 'Echo', description: 'Says it again', tags: ['test'] }],
});
const configs = new InMemoryPushNotificationStore();
const requestHandler = new DefaultRequestHandler(
  card,
  new InMemoryTaskStore(),
  new Echo(),
  undefined,
  configs,
  createLegacyAwarePushNotificationSender(configs),
);
const userBuilder = UserBuilder.noAuthentication;
app.use('/', jsonRpcHandler({ requestHandler, userBuilder, legacyCompat: { enabled: true } }));
console.log(`listening on ${origin}/`);
