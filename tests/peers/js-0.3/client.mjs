// The client of @a2a-js/sdk 0.3 as a filter: `node client.mjs CARD_ORIGIN BINDING HEADERS`.
// One call per line of stdin, its result, events, error or end on stdout; see older/lines.py.
import { createInterface } from 'node:readline';
import { status } from '@grpc/grpc-js';
import { ClientFactory, JsonRpcTransportFactory, RestTransportFactory } from '@a2a-js/sdk/client';
import { GrpcTransportFactory } from '@a2a-js/sdk/client/grpc';

const [origin, binding, headers] = process.argv.slice(2);
const serviceParameters = JSON.parse(headers);
const transport = {
  jsonrpc: () => new JsonRpcTransportFactory(),
  rest: () => new RestTransportFactory(),
  grpc: () => new GrpcTransportFactory(),
}[binding]();

const unary = {
  'message/send': 'sendMessage',
  'tasks/get': 'getTask',
  'tasks/cancel': 'cancelTask',
  'tasks/pushNotificationConfig/set': 'setTaskPushNotificationConfig',
  'tasks/pushNotificationConfig/get': 'getTaskPushNotificationConfig',
  'tasks/pushNotificationConfig/list': 'listTaskPushNotificationConfig',
  'tasks/pushNotificationConfig/delete': 'deleteTaskPushNotificationConfig',
};
const streaming = { 'message/stream': 'sendMessageStream', 'tasks/resubscribe': 'resubscribeTask' };

function say(document) {
  process.stdout.write(JSON.stringify(document) + '\n');
}

const running = new Map();

async function answer({ call, operation, request }) {
  const abort = new AbortController();
  running.set(call, abort);
  const options = { serviceParameters, signal: abort.signal };
  try {
    const client = await agent;
    if (operation === 'agent/getAuthenticatedExtendedCard' || operation === 'card') {
      say({ call, result: await client.getAgentCard(options) });
    } else if (operation in unary) {
      say({ call, result: (await client[unary[operation]](request, options)) ?? null });
    } else {
      for await (const event of client[streaming[operation]](request, options)) {
        say({ call, event });
      }
      say({ call, end: true });
    }
  } catch (error) {
    if (abort.signal.aborted) say({ call, end: true });
    else say({ call, error: failure(error) });
  } finally {
    running.delete(call);
  }
}

// Some errors have a class of their own, others only a code, which the cause may hold.
function failure(error) {
  const inner = error.errorResponse ? error : error.cause ?? error;
  const message = String(inner.message || error.message);
  if (inner.errorResponse) return { rpc: inner.errorResponse.error.code, message };
  if (error.name !== 'Error') return { name: error.name.replace(/Error$/, ''), message };
  const named = /(\w+)Error: /.exec(inner.details ?? '');
  if (named) return { name: named[1], message };
  if (inner.details !== undefined) return { name: status[inner.code], message };
  const code = /\(Code: (-?\d+)\)/.exec(message);
  return code ? { rpc: Number(code[1]), message } : { name: 'Error', message };
}

const agent = new ClientFactory({ transports: [transport] }).createFromUrl(origin);
agent.catch(() => {});
for await (const line of createInterface({ input: process.stdin })) {
  const command = JSON.parse(line);
  if ('drop' in command) running.get(command.drop)?.abort();
  else answer(command);
}
process.exit(0);
