// SPDX-License-Identifier: MIT
// The parts of the interop tests: the example server as a process, a relay that breaks connections, and both official
// TypeScript clients behind one face.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import http from 'node:http';
import net from 'node:net';
import readline from 'node:readline';
import { after } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { LoggingMessageNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { Client as ClientV2, StreamableHTTPClientTransport as TransportV2 } from '@modelcontextprotocol/client';

export { sleep };

// Waits until the condition holds; fails after `ms`.
export async function until(condition, what, ms = 20000) {
  for (const end = Date.now() + ms; !condition(); await sleep(10)) {
    if (Date.now() > end) throw new Error(`not within ${ms} ms: ${what()}`);
  }
}

// A program under test. Whatever still runs when the file's tests have ended, since one of them failed, is killed.
export function launch(program, args, stdio) {
  const started = spawn(program, args, { stdio });
  launched.push(started);
  return started;
}
const launched = [];
after(() => { for (const each of launched) each.kill('SIGKILL'); });

export class Server {
  static async start(options = [], port = 0) {
    const server = new Server();
    server.process = launch(process.env.MCP_RESUME_SERVER, ['--port', String(port), ...options],
                            ['ignore', 'pipe', 'pipe']);
    server.log = [];
    readline.createInterface(server.process.stderr).on('line', line => server.log.push(line));
    readline.createInterface(server.process.stdout).on('line', line => { server.url ??= line; });
    const hasEnded = () => server.process.exitCode !== null;
    await until(() => server.url || hasEnded(), () => 'the server says nothing');
    if (hasEnded()) throw new Error(server.log.join('\n'));
    server.port = Number(new URL(server.url).port);
    return server;
  }
  async stop(signal = 'SIGTERM') {
    if (this.process.exitCode !== null || this.process.signalCode !== null) return this.process.exitCode;
    this.process.kill(signal);
    const [code] = await once(this.process, 'exit');
    return code;
  }
}

// The example client as a process, and the lines that it prints.
export class CppClient {
  constructor(url, ...args) {
    this.process = launch(process.env.MCP_RESUME_CLIENT, [url, ...args], ['ignore', 'pipe', 'inherit']);
    this.lines = [];
    readline.createInterface(this.process.stdout).on('line', line => this.lines.push(line));
    this.exit = once(this.process, 'close');  // its lines have come
  }
  events(stream) {
    return this.lines.filter(line => line.startsWith(`${stream}> `))
      .map(line => JSON.parse(line.slice(stream.length + 2)).params).filter(params => params);
  }
  says(text) { return this.lines.some(line => line.includes(text)); }
  async status() { return (await this.exit)[0]; }
}

// Passes bytes on between clients and the server, until it is told to break a connection.
export class Relay {
  static async to(port) {
    const relay = new Relay();
    relay.pairs = new Set();
    relay.accepted = 0;
    relay.limit = Infinity;  // bytes that the server may send on a connection; then it is cut
    relay.listener = net.createServer(near => relay.#join(near, net.connect(port, '127.0.0.1')));
    relay.listener.listen(0, '127.0.0.1');
    await once(relay.listener, 'listening');
    relay.url = `http://127.0.0.1:${relay.listener.address().port}/mcp`;
    return relay;
  }
  #join(near, far) {
    const pair = { near, far };
    let sent = 0;
    this.accepted += 1;
    this.pairs.add(pair);
    near.on('data', bytes => far.write(bytes));
    far.on('data', bytes => {
      const left = this.limit - sent;
      sent += bytes.length;
      near.write(bytes.subarray(0, Math.max(0, left)));
      if (sent >= this.limit) this.#break(pair, () => near.end());
    });
    for (const side of [near, far]) side.on('error', () => {});
    near.on('close', () => { if (!pair.isHalfOpen) far.destroy(); this.pairs.delete(pair); });
    far.on('close', () => near.end());
  }
  #break(pair, close) {
    close();
    if (!pair.isHalfOpen) pair.far.destroy();
    this.pairs.delete(pair);
  }
  cut() { for (const pair of [...this.pairs]) this.#break(pair, () => pair.near.destroy()); }
  // A socket that is being shut down is not reset: Node.js 22 would never exit after that.
  reset() {
    for (const pair of [...this.pairs]) {
      this.#break(pair, () => { pair.near.writableEnded ? pair.near.destroy() : pair.near.resetAndDestroy(); });
    }
  }
  // The client's side breaks; the server is not told, and its bytes go nowhere.
  halfOpen() {
    for (const pair of [...this.pairs]) {
      pair.isHalfOpen = true;
      pair.far.removeAllListeners('data');
      pair.far.resume();
      this.#break(pair, () => pair.near.destroy());
    }
  }
  close() {
    this.cut();
    this.listener.close();
  }
}

// One client as an application sees it: its log messages in order, and its calls.
class Application {
  constructor(client, transport) {
    this.client = client;
    this.transport = transport;
    this.messages = [];
    this.errors = [];
    transport.onerror = error => this.errors.push(String(error));
  }
  async call(name, args, options = {}) {
    const result = await this.client.callTool({ name, arguments: args }, ...this.schema, { timeout: 30000, ...options });
    return result.content[0].text;
  }
  texts(prefix) { return this.messages.filter(text => text.startsWith(prefix)); }
  close() { return this.client.close(); }
}

async function connectV1(url, options) {
  const transport = new TransportV1(new URL(url), options);
  const one = new Application(new ClientV1({ name: 'interop', version: '1' }), transport);
  one.schema = [undefined];
  one.client.setNotificationHandler(LoggingMessageNotificationSchema, note => { one.messages.push(note.params.data); });
  await one.client.connect(transport);
  return one;
}

async function connectV2(url, options) {
  const transport = new TransportV2(new URL(url), options);
  const one = new Application(new ClientV2({ name: 'interop', version: '1' }), transport);
  one.schema = [];
  one.client.setNotificationHandler('notifications/message', note => { one.messages.push(note.params.data); });
  await one.client.connect(transport);
  return one;
}

export const clients = { v1: connectV1, v2: connectV2 };

// A session by hand, for what no client sends.
export class Raw {
  static async open(url, headers = {}) {
    const raw = new Raw();
    Object.assign(raw, { url, headers });
    const answer = await raw.post('initialize', { protocolVersion: '2025-11-25', capabilities: {},
                                                  clientInfo: { name: 'raw', version: '1' } });
    raw.headers = { ...headers, 'Mcp-Session-Id': answer.headers.get('mcp-session-id'),
                    'MCP-Protocol-Version': '2025-11-25' };
    await answer.text();
    return raw;
  }
  post(method, params) {
    return fetch(this.url, {
      method: 'POST',
      headers: { ...this.headers, 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
    });
  }
  // The ids of the stream that answers a call.
  async idsOf(name, args = {}) {
    const text = await (await this.post('tools/call', { name, arguments: args })).text();
    return [...text.matchAll(/^id: (.*)$/gm)].map(found => found[1]);
  }
  get(lastEventId, headers = {}) {
    return fetch(this.url, {
      headers: { ...this.headers, Accept: 'text/event-stream', ...(lastEventId && { 'Last-Event-ID': lastEventId }),
                 ...headers }
    });
  }
  async status(lastEventId, headers = {}) {
    const answer = await this.get(lastEventId, headers);
    await answer.body?.cancel();
    return answer.status;
  }
  delete() { return fetch(this.url, { method: 'DELETE', headers: this.headers }); }
}

// One request as it passed a FrameRelay: its answer frame by frame, and when it ended.
class Exchange {
  constructor(asked, answer) {
    const { 'last-event-id': cursor, 'mcp-protocol-version': version } = asked.headers;
    Object.assign(this, { answer, method: asked.method, cursor, version, frames: [], at: performance.now() });
  }
  // The number of its stream, where it is known.
  get stream() {
    const id = this.cursor ?? this.frames.find(frame => frame.id)?.id;
    return id ? Number(id.split('.')[2]) : this.method === 'GET' ? 0 : undefined;
  }
  get kinds() { return this.frames.map(frame => frame.kind); }
  get isOpen() { return this.endedAt === undefined; }
}

export function frameOf(block) {
  const field = name => block.match(new RegExp(`^${name}: ?(.*)$`, 'm'))?.[1];
  const frame = { event: field('event'), id: field('id'), data: field('data'), retry: field('retry') };
  const { result, error, method } = frame.data ? JSON.parse(frame.data) : {};
  const isMarker = frame.event === 'resume' || (frame.id && !frame.data);
  const isSignal = frame.event === 'gap' || frame.event === 'reset';
  frame.kind = isSignal ? frame.event : isMarker ? 'marker' : result ? 'result' : error ? 'error'
             : method.endsWith('/list_changed') ? 'list_changed' : 'event';
  return frame;
}

// Passes HTTP on frame by frame: keeps every exchange, holds GETs back, and cuts a stream right after a chosen frame.
export class FrameRelay {
  static async to(port) {
    const relay = new FrameRelay();
    Object.assign(relay, { port, exchanges: [], retry: 0, cuts: { GET: [], POST: [] }, held: undefined });
    relay.listener = http.createServer((asked, answer) => relay.#pass(asked, answer));
    relay.listener.listen(0, '127.0.0.1');
    await once(relay.listener, 'listening');
    relay.url = `http://127.0.0.1:${relay.listener.address().port}/mcp`;
    return relay;
  }
  // The next resumed stream (GET), or the next stream of a call (POST), is cut: after that many frames, 0 is after the
  // head, -1 before it.
  cutNext(method, frames) { this.cuts[method].push(frames); }
  hold() { this.held = new Promise(release => { this.release = () => { this.held = undefined; release(); }; }); }
  open(method) { return this.exchanges.filter(each => each.isOpen && each.method === method); }
  cut(method) { for (const each of this.open(method)) this.#end(each); }
  gets(stream) { return this.exchanges.filter(each => each.method === 'GET' && each.stream === stream); }
  close() {
    for (const each of this.exchanges) each.answer.destroy();
    this.listener.close();
  }

  // The GETs that came sooner after their stream's last connection than `retry:` allows. A timer may be a little early.
  tooSoon() {
    return this.exchanges.filter((each, i) => {
      const before = this.exchanges.slice(0, i).findLast(earlier => earlier.stream === each.stream);
      return each.method === 'GET' && before && !before.isOpen && each.at - before.endedAt < before.retry - 20;
    });
  }
  // Until no GET has come for longer than a client waits.
  async quiet() {
    const last = () => this.exchanges.findLast(each => each.method === 'GET').at;
    await until(() => performance.now() - last() > 1.5 * this.retry, () => `${this.exchanges.length} requests`, 15000);
  }

  async #pass(asked, answer) {
    const seen = new Exchange(asked, answer);
    this.exchanges.push(seen);
    answer.shouldKeepAlive = false;  // no request may meet a connection that was cut
    answer.on('close', () => this.#end(seen));
    answer.on('error', () => {});
    if (seen.method === 'GET') await this.held;
    if (!seen.isOpen) return;
    const headers = { ...asked.headers, 'accept-encoding': 'identity' };
    const onward = http.request({ port: this.port, method: asked.method, path: asked.url, headers, agent: false });
    answer.on('close', () => onward.destroy());
    onward.on('error', () => this.#end(seen));
    onward.on('response', reply => this.#answer(seen, reply).catch(() => this.#end(seen)));
    asked.pipe(onward);
  }
  async #answer(seen, reply) {
    const { answer } = seen;
    seen.status = reply.statusCode;
    const isEvents = reply.headers['content-type']?.startsWith('text/event-stream');
    const isCuttable = isEvents && (seen.method === 'POST' || seen.cursor);
    const most = (isCuttable ? this.cuts[seen.method].shift() : undefined) ?? Infinity;
    if (most < 0) return this.#end(seen);
    answer.writeHead(reply.statusCode, reply.headers).flushHeaders();
    let text = '';
    for await (const piece of reply.setEncoding('utf8')) {
      text += piece;
      for (let end; isEvents && seen.frames.length < most && (end = text.indexOf('\n\n')) >= 0;) {
        await this.#passFrame(seen, text.slice(0, end + 2));
        text = text.slice(end + 2);
      }
      if (seen.frames.length >= most) return sleep(30).then(() => this.#end(seen));  // until it has been read
    }
    this.#end(seen, () => answer.end(text));
  }
  #passFrame(seen, block) {
    seen.frames.push(frameOf(block));
    this.retry = Number(seen.frames.at(-1).retry ?? this.retry);
    return new Promise(passed => seen.answer.write(block, passed));
  }
  #end(seen, how = () => seen.answer.destroy()) {
    if (!seen.isOpen) return;
    Object.assign(seen, { endedAt: performance.now(), retry: this.retry });
    how();
  }
}

// Gives the body a client whose standalone stream is open, and its relay.
export async function withClient(version, port, body, options) {
  const relay = await FrameRelay.to(port);
  let app;
  try {
    app = await clients[version](relay.url, options);
    app.lists = [];
    app.client.fallbackNotificationHandler = async note => { app.lists.push(note.method); };
    await until(() => relay.gets(0).some(each => each.frames.length > 0), () => 'no standalone stream');
    await body(app, relay);
  } finally {
    await app?.close();
    relay.close();
  }
}
