// SPDX-License-Identifier: MIT
// A server of the official TypeScript SDK with the SDK's own event store. Its event ids prove nothing, and the store
// sorts the events of one millisecond at random: who resumes gets them in another order, twice or not at all.
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';

import { InMemoryEventStore } from '@modelcontextprotocol/sdk/examples/shared/inMemoryEventStore.js';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { CallToolRequestSchema } from '@modelcontextprotocol/sdk/types.js';

import { sleep } from './parts.mjs';

const message = data => ({ method: 'notifications/message', params: { level: 'info', data } });

export class ForeignServer {
  static async start() {
    const server = new ForeignServer();
    server.sessions = new Map();
    server.streams = 0;    // standalone streams that were opened
    server.resumed = [];   // the cursors that came back
    server.http = http.createServer((request, response) => server.#handle(request, response));
    server.http.listen(0, '127.0.0.1');
    await once(server.http, 'listening');
    server.port = server.http.address().port;
    return server;
  }
  async stop() {
    for (const { mcp } of this.sessions.values()) await mcp.close();
    this.http.closeAllConnections();
    this.http.close();
  }
  // Sends log messages on the standalone stream of every session.
  async notify(n, tag) {
    for (const { mcp } of this.sessions.values()) {
      for (let i = 1; i <= n; ++i) await mcp.notification(message(`${tag} ${i}`));
    }
  }
  async #handle(request, response) {
    const cursor = request.headers['last-event-id'];
    if (cursor) this.resumed.push(cursor);
    if (request.method === 'GET' && !cursor) this.streams += 1;
    const session = this.sessions.get(request.headers['mcp-session-id']) ?? await this.#begin();
    await session.transport.handleRequest(request, response);
  }
  async #begin() {
    const mcp = new Server({ name: 'foreign', version: '1' }, { capabilities: { tools: {}, logging: {} } });
    mcp.setRequestHandler(CallToolRequestSchema, ({ params }, extra) => burst(params.arguments, extra));
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      eventStore: new InMemoryEventStore(),
      retryInterval: 100,
      onsessioninitialized: id => { this.sessions.set(id, { mcp, transport }); }
    });
    await mcp.connect(transport);
    return { transport };
  }
}

// The tool: n log messages on the stream of the request, `delay` ms before each, and the answer a little after them.
async function burst({ n, delay = 0, tag }, extra) {
  for (let i = 1; i <= n; ++i) {
    if (delay) await sleep(delay);
    await extra.sendNotification(message(`${tag} ${i}`));
  }
  await sleep(20);  // in a millisecond of its own, or it might be lost as well
  return { content: [{ type: 'text', text: `${tag} done ${n}` }] };
}
