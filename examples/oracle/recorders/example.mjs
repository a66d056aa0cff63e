// SPDX-License-Identifier: MIT
// A server whose sessions share one event store, and its test, which records a trace: node example.mjs trace.jsonl
// `mcp-resume-oracle judge trace.jsonl` finds the leak.
import { createServer } from 'node:http';

import { listen, recorder } from './record.mjs';

const record = recorder(process.argv[2] ?? 'trace.jsonl', 'example.mjs');

// ---- The server: a POST is a call of two events, whose connection breaks after the first; a GET resumes ----

const events = [];  // the fault: of all sessions
let calls = 0;
const sseOf = ({ id, data }) => `id: ${id}\ndata: ${data}\n\n`;

function issue(session, stream, data, isAnswer) {
  const event = { id: `e${events.length}`, stream, data };
  events.push(event);
  record.event(session, stream, { id: event.id, data }, isAnswer);
  return event;
}

function serve(request, response) {
  const session = request.headers['mcp-session-id'];
  const cursor = events.find(event => event.id === request.headers['last-event-id']);
  if (request.method === 'GET' && !cursor) return response.writeHead(400).end();
  response.writeHead(200, { 'Content-Type': 'text/event-stream' });
  if (request.method === 'GET') {
    const later = events.slice(events.indexOf(cursor) + 1);
    const owed = later.filter(event => event.stream === cursor.stream);
    return response.end(owed.map(sseOf).join(''));
  }
  const stream = `call ${++calls}`;
  record.stream(session, stream);
  response.write(sseOf(issue(session, stream, `{"method":"notifications/progress","params":{"of":"${session}"}}`)));
  issue(session, stream, `{"jsonrpc":"2.0","id":1,"result":{"of":"${session}"}}`, true);
  record.drop(session, stream, events.at(-2).id);
  setTimeout(() => response.destroy(), 50);
}

// ---- Its test ----

const server = createServer(serve).listen(0, '127.0.0.1', async () => {
  const url = `http://127.0.0.1:${server.address().port}/mcp`;
  const call = session => fetch(url, { method: 'POST', headers: { 'Mcp-Session-Id': session } })
    .then(response => response.text()).catch(() => {});  // it breaks
  const resume = async (session, id, as) => {
    const response = await fetch(url, { headers: { 'Mcp-Session-Id': session, 'Last-Event-ID': id } });
    record.resume(session, id, await listen(response), as);
  };
  for (const session of ['A', 'B']) {
    record.session(session);
    await call(session);
  }
  await resume('A', 'e0', 'in window');
  await resume('A', 'e9', 'never issued');
  await resume('A', 'e2', "another session's id");
  server.close();
});
