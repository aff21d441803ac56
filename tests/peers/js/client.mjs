// The official client as a filter: `node client.mjs CARD_ORIGIN BINDING VERSION`.
// Of the interfaces in the card it sees those of VERSION (1.0, or 0.3 through the SDK's compat mode).
// One call per line of stdin, its result, events, error or end on stdout.
import { createInterface } from 'node:readline';
import * as a2a from '@a2a-js/sdk';
import {
  ClientFactory,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
} from '@a2a-js/sdk/client';
import { GrpcTransportFactory } from '@a2a-js/sdk/client/grpc';

const [origin, binding, version] = process.argv.slice(2);
const legacyCompat = { enabled: version !== '1.0' };
const transport = {
  jsonrpc: () => new JsonRpcTransportFactory({ legacyCompat }),
  rest: () => new RestTransportFactory({ legacyCompat }),
  grpc: () => new GrpcTransportFactory({ legacyCompat }),
}[binding]();
// Only this transport: with the default ones beside it, the order in the card would choose.
const factory = new ClientFactory({ transports: [transport] });

async function connect() {
  const card = await new DefaultAgentCardResolver({ legacyCompat }).resolve(origin);
  card.supportedInterfaces = card.supportedInterfaces.filter(({ protocolVersion }) =>
    protocolVersion.startsWith(version),
  );
  return factory.createFromAgentCard(card);
}

const unary = {
  SendMessage: ['sendMessage', 'SendMessageRequest', sendResult],
  GetTask: ['getTask', 'GetTaskRequest', json('Task')],
  ListTasks: ['listTasks', 'ListTasksRequest', json('ListTasksResponse')],
  CancelTask: ['cancelTask', 'CancelTaskRequest', json('Task')],
  CreateTaskPushNotificationConfig: [
    'createTaskPushNotificationConfig',
    'TaskPushNotificationConfig',
    json('TaskPushNotificationConfig'),
  ],
  GetTaskPushNotificationConfig: [
    'getTaskPushNotificationConfig',
    'GetTaskPushNotificationConfigRequest',
    json('TaskPushNotificationConfig'),
  ],
  ListTaskPushNotificationConfigs: [
    'listTaskPushNotificationConfig',
    'ListTaskPushNotificationConfigsRequest',
    json('ListTaskPushNotificationConfigsResponse'),
  ],
  DeleteTaskPushNotificationConfig: [
    'deleteTaskPushNotificationConfig',
    'DeleteTaskPushNotificationConfigRequest',
    () => null,
  ],
};
const streaming = {
  SendStreamingMessage: ['sendMessageStream', 'SendMessageRequest'],
  SubscribeToTask: ['resubscribeTask', 'SubscribeToTaskRequest'],
};

function json(type) {
  return (value) => a2a[type].toJSON(value);
}

function sendResult(value) {
  return 'status' in value
    ? { task: a2a.Task.toJSON(value) }
    : { message: a2a.Message.toJSON(value) };
}

function say(document) {
  process.stdout.write(JSON.stringify(document) + '\n');
}

const running = new Map();

async function answer({ call, operation, request, parameters }) {
  const abort = new AbortController();
  running.set(call, abort);
  const options = { serviceParameters: parameters, signal: abort.signal };
  try {
    const client = await agent;
    if (operation === 'GetExtendedAgentCard') {
      const card = await client.getAgentCard(options);
      say({ call, result: a2a.AgentCard.toJSON(card) });
    } else if (operation in unary) {
      const [method, type, result] = unary[operation];
      say({ call, result: result(await client[method](a2a[type].fromJSON(request), options)) });
    } else {
      const [method, type] = streaming[operation];
      for await (const event of client[method](a2a[type].fromJSON(request), options)) {
        say({ call, event: a2a.StreamResponse.toJSON(event) });
      }
      say({ call, end: true });
    }
  } catch (error) {
    const message = String(error.message);
    const rpc = /\(Code: (-\d+)\)/.exec(message);
    const name = specName(error);
    if (name === 'Error' && rpc) say({ call, error: { rpc: Number(rpc[1]), message } });
    else say({ call, error: { name, code: error.code ?? null, message } });
  } finally {
    running.delete(call);
  }
}

// RestTaskNotFoundError, JsonRpcTaskNotFoundError and TaskNotFoundError are one failure.
function specName(error) {
  const name = error.name === 'Error' ? error.constructor.name : error.name;
  return name.replace(/^(JsonRpc|Rest|Grpc)/, '').replace(/Error$/, '') || name;
}

const agent = connect();
agent.catch(() => {});
for await (const line of createInterface({ input: process.stdin })) {
  const command = JSON.parse(line);
  if ('drop' in command) {
    running.get(command.drop)?.abort();
  } else {
    answer(command);
  }
}
process.exit(0);
