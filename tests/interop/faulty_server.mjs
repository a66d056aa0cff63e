// SPDX-License-Identifier: MIT
// A small MCP server that resumes as it should, but for the rules that a test replaces to give it one fault.
import { once } from 'node:events';
import http from 'node:http';
import { randomUUID } from 'node:crypto';
import { after } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

class Stream {
  constructor(name) { Object.assign(this, { name, issued: 0, events: [], isDone: false, answers: [] }); }
}

// Whatever still listens when the file's tests have ended, since one of them failed.
const started = [];
after(() => { for (const each of started) each.stop(); });

export class FaultyServer {
  // What a test may replace. Its functions have the server as `this`.
  rules = {
    answersJson: () => false,
    givesIds: () => true,
    idOf: (session, stream, seq) => `${session.tag}.${stream.name}.${seq}`,
    sessionHeader: session => session.id,
    placeOf: (session, cursor) => this.placeOf(session, cursor),
    unknownCursor: answer => answer.writeHead(409).end(),
    replayed: events => events,
    isAttached: () => true,                                   // a resumed stream goes on live
    occupied: undefined,                                      // instead of taking over: the newer connection's answer
    takesOver: () => true,                                    // a newer connection ends the older ones
    keeps: () => true,                                        // an event for which nobody listens
    receivers: answers => answers.slice(-1),                  // of an event, among a stream's connections
    atEnd: answer => answer.writeHead(204).end(),             // everything was delivered before
    noSession: answer => answer.writeHead(400).end(),
    unknownSession: answer => answer.writeHead(404).end(),
    get: undefined,                                           // instead of all the rules for GET
    end: (session, answer) => { this.sessions.delete(session.id); answer.writeHead(204).end(); }
  };
  static async start(rules = {}) {
    const server = new FaultyServer();
    for (const [name, rule] of Object.entries(rules)) server.rules[name] = rule.bind(server);
    Object.assign(server, { sessions: new Map(), ended: [], requests: [], tools: [] });
    server.http = http.createServer((asked, answer) => server.#handle(asked, answer).catch(error => answer.destroy(error)));
    server.http.listen(0, '127.0.0.1');
    await once(server.http, 'listening');
    started.push(server);
    server.url = `http://127.0.0.1:${server.http.address().port}/mcp`;
    return server;
  }
  stop() {
    this.http.closeAllConnections();
    this.http.close();
  }

  placeOf(session, cursor) {
    for (const stream of session.streams) {
      const at = stream.events.findIndex(event => event.id === cursor);
      if (at >= 0) return { stream, at };
    }
    return undefined;
  }
  frame({ id, data }) { return `${this.rules.givesIds() ? `id: ${id}\n` : ''}data: ${data}\n\n`; }
  openStream(answer) { answer.writeHead(200, { 'Content-Type': 'text/event-stream' }).flushHeaders(); }

  async #handle(asked, answer) {
    this.requests.push(asked);
    let body = '';
    for await (const piece of asked.setEncoding('utf8')) body += piece;
    const message = body ? JSON.parse(body) : {};
    if (message.method === 'initialize') return this.#initialize(message, answer);
    if (asked.method === 'GET' && this.rules.get) return this.rules.get(asked, answer);
    const id = asked.headers['mcp-session-id'];
    const session = this.sessions.get(id);
    if (!id) return this.rules.noSession(answer, asked);
    if (!session) return this.rules.unknownSession(answer, asked);
    if (asked.method === 'DELETE') return this.rules.end(session, answer);
    if (asked.method === 'GET') return this.#get(session, asked.headers['last-event-id'], answer);
    if (message.method === 'tools/call') return this.#call(session, message, answer);
    answer.writeHead(202).end();
  }
  #initialize({ id }, answer) {
    const session = { id: randomUUID(), tag: randomUUID().slice(0, 8), streams: [new Stream('get')] };
    this.sessions.set(session.id, session);
    const header = this.rules.sessionHeader(session);
    answer.writeHead(200, { 'Content-Type': 'application/json', ...(header && { 'Mcp-Session-Id': header }) });
    const result = { protocolVersion: '2025-11-25', capabilities: { tools: {} },
                     serverInfo: { name: 'faulty', version: '1' } };
    answer.end(JSON.stringify({ jsonrpc: '2.0', id, result }));
  }
  #get(session, cursor, answer) {
    if (!cursor) return this.#attach(session.streams[0], answer);
    const place = this.rules.placeOf(session, cursor);
    if (!place) return this.rules.unknownCursor(answer, session);
    const { stream, at } = place;
    const owed = stream.events.slice(at + 1);
    if (owed.length === 0 && stream.isDone) return this.rules.atEnd(answer);
    if (stream.answers.length && this.rules.occupied) return this.rules.occupied(answer);
    this.openStream(answer);
    for (const event of this.rules.replayed(owed, stream, at, session)) answer.write(this.frame(event));
    if (stream.isDone) answer.end();
    else if (this.rules.isAttached()) this.#attach(stream, answer);
  }
  #attach(stream, answer) {
    if (!answer.headersSent) this.openStream(answer);
    if (this.rules.takesOver()) for (const older of stream.answers.splice(0)) older.end();
    stream.answers.push(answer);
    answer.on('close', () => { stream.answers = stream.answers.filter(each => each !== answer); });
  }
  #append(session, stream, data) {
    const event = { id: this.rules.idOf(session, stream, stream.issued++), data };
    if (stream.answers.length || this.rules.keeps()) stream.events.push(event);
    for (const each of this.rules.receivers(stream.answers, stream)) each.write(this.frame(event));
  }
  async #call(session, { id, params }, answer) {
    const { n = 3, delay = 0, alone = false } = params.arguments;
    this.tools.push(params.name);
    const response = JSON.stringify({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: 'counted' }] } });
    if (this.rules.answersJson()) return answer.writeHead(200, { 'Content-Type': 'application/json' }).end(response);
    const stream = new Stream(String(session.streams.length));
    session.streams.push(stream);
    this.#attach(stream, answer);
    this.#append(session, stream, '');
    for (let i = 1; i <= n; i++) {
      if (delay) await sleep(delay);
      const note = { jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: `${id}: ${i}` } };
      this.#append(session, alone ? session.streams[0] : stream, JSON.stringify(note));
    }
    stream.isDone = true;
    this.#append(session, stream, response);
    for (const each of this.rules.receivers(stream.answers, stream)) each.end();
  }
}
