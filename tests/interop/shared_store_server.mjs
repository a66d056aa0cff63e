// SPDX-License-Identifier: MIT
// A server of the official SDK as its example builds one, with ONE event store for all sessions: whoever names another
// session's event id gets that session's events. Prints its URL.
import { randomUUID } from 'node:crypto';
import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

import { InMemoryEventStore } from '@modelcontextprotocol/sdk/examples/shared/inMemoryEventStore.js';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { CallToolRequestSchema, isInitializeRequest, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';

const eventStore = new InMemoryEventStore();
const transports = new Map();
const note = data => ({ method: 'notifications/message', params: { level: 'info', data } });

// Waits before each event, since the SDK's store sorts those of one millisecond at random.
async function count({ n, delay, alone }, { sendNotification }, server) {
  for (let i = 1; i <= n; i++) {
    await sleep(delay);
    await (alone ? server.notification(note(`alone ${i}`)) : sendNotification(note(`count ${i}`)));
  }
  await sleep(delay);
  return { content: [{ type: 'text', text: 'counted' }] };
}

function newServer() {
  const server = new Server({ name: 'shared-store', version: '1' }, { capabilities: { tools: {}, logging: {} } });
  const inputSchema = { type: 'object', properties: { n: { type: 'integer' }, delay: { type: 'integer' },
                                                      alone: { type: 'boolean' } } };
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: [{ name: 'count', inputSchema }] }));
  server.setRequestHandler(CallToolRequestSchema, ({ params }, extra) => count(params.arguments, extra, server));
  return server;
}

async function newTransport() {
  const transport = new StreamableHTTPServerTransport({
    eventStore,
    sessionIdGenerator: randomUUID,
    onsessioninitialized: id => { transports.set(id, transport); },
    onsessionclosed: id => { transports.delete(id); }
  });
  await newServer().connect(transport);
  return transport;
}

async function bodyOf(asked) {
  let text = '';
  for await (const piece of asked.setEncoding('utf8')) text += piece;
  return text ? JSON.parse(text) : undefined;
}

const listener = http.createServer(async (asked, answer) => {
  const id = asked.headers['mcp-session-id'];
  const body = await bodyOf(asked);
  const transport = id ? transports.get(id) : isInitializeRequest(body) ? await newTransport() : undefined;
  if (transport) return transport.handleRequest(asked, answer, body);
  answer.writeHead(id ? 404 : 400).end();
});
listener.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${listener.address().port}/mcp`));
