// SPDX-License-Identifier: MIT
// Many sessions whose connections are cut at random while events are made: every reader ends with every event exactly
// once, or with a gap that was reported and counts what is missing, and the server's memory stays inside its bound.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import { test } from 'node:test';

import { frameOf, Raw, Server, sleep, until } from './parts.mjs';

const load = process.env.MCP_RESUME_LOAD === 'long'
  ? { sessions: 1000, events: 100000, seconds: 60, cutsPerSecond: 400 }
  : { sessions: 100, events: 10000, seconds: 5, cutsPerSecond: 100 };
const seed = 20251125;
// Of a session. A client that is away for long misses some of what is made meanwhile, most miss nothing.
const maxEvents = 64, maxBytes = 128 * 1024, mostOfCall = 20, longestPadding = 6000;

function generator(state) {  // mulberry32
  return () => {
    state = (state + 0x6D2B79F5) | 0;
    let bits = Math.imul(state ^ (state >>> 15), 1 | state);
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits;
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };
}

const grammar = /^([0-9a-f]{16}\.[0-9a-f]{16})\.(0|[1-9]\d*)\.(0|[1-9]\d*)$/;
const live = new Set();  // streams with a connection that may be cut
const faults = [];
const counted = { delivered: 0, gaps: 0, missed: 0, resumes: 0, lostAnswers: 0 };

// One stream as its client follows it: it comes back with its cursor until it has everything. `texts` is what the
// events must be, by their seq; it may grow.
class Follower {
  constructor(raw, texts, random) {
    Object.assign(this, { raw, texts, random, seq: 0, isDone: false });
  }
  async follow(method, body) {
    await this.#connect(method, {}, body);
    while (!this.isDone) {
      await sleep(this.random() < 0.05 ? 1000 : 100 * this.random());
      if (this.isDone) return;
      counted.resumes += 1;
      await this.#connect('GET', { 'Last-Event-ID': this.cursor });
    }
  }
  // A client that is cut before its first id has no place to come back to: no server can help that one.
  cut() { if (this.cursor) this.asked.destroy(); }
  end() {
    this.isDone = true;
    this.asked.destroy();
  }

  #connect(method, headers, body) {
    this.gap = undefined;  // what a cut left without its place comes again
    return new Promise(ended => {
      const { port } = new URL(this.raw.url);
      headers = { ...this.raw.headers, 'Content-Type': 'application/json', ...headers,
                  Accept: method === 'GET' ? 'text/event-stream' : 'application/json, text/event-stream' };
      this.asked = http.request({ port, host: '127.0.0.1', path: '/mcp', method, headers, agent: false });
      this.asked.on('response', answer => this.#read(answer)).on('error', () => {});
      this.asked.on('close', () => {
        live.delete(this);
        if (!this.cursor) this.#fault('the connection ended before its first id');
        ended();
      });
      live.add(this);
      this.asked.end(body);
    });
  }
  #fault(text) {
    faults.push(`${this.cursor}: ${text}`);
    this.isDone = true;
  }
  #read(answer) {
    if (answer.statusCode !== 200) this.#fault(`status ${answer.statusCode}`);
    let text = '';
    answer.setEncoding('utf8').on('error', () => {});
    answer.on('data', piece => {
      const blocks = (text + piece).split('\n\n');
      text = blocks.pop();
      for (const block of blocks) if (!this.isDone) this.#take(frameOf(block));
    });
  }
  #take(frame) {
    if (frame.id === undefined) return this.#takeWords(frame);
    const [, tags, stream, seq] = frame.id.match(grammar) ?? [];
    this.tags ??= tags;
    this.stream ??= stream;
    if (tags === undefined || tags !== this.tags || stream !== this.stream) return this.#fault(`got id ${frame.id}`);
    if (frame.kind === 'gap') this.#takeGap(frame, Number(seq));
    else if (frame.kind === 'marker') this.#takeMarker(frame.id, Number(seq));
    else this.#takeEvent(frame, Number(seq));
    this.cursor = frame.id;
  }
  #takeWords(frame) {
    if (frame.kind === 'error' && this.gap) {
      counted.lostAnswers += 1;
      this.isDone = true;
    } else if (frame.kind !== 'list_changed' || !this.gap) {
      this.#fault(`got ${frame.kind} without an id`);
    }
  }
  #takeGap(frame, seq) {
    if (seq !== this.seq) return this.#fault(`gap under ${frame.id}`);
    this.gap = JSON.parse(frame.data).params;
  }
  #takeMarker(id, seq) {
    const expected = this.seq + (this.gap?.missed ?? 0);
    if (seq !== expected || (this.gap && id !== this.gap.resumeFrom)) return this.#fault(`marker at ${seq}`);
    if (this.gap) counted.gaps += 1;
    counted.missed += seq - this.seq;
    this.seq = seq;
    this.gap = undefined;
  }
  #takeEvent(frame, seq) {
    const { params, result } = JSON.parse(frame.data);
    const text = params?.data ?? result?.content?.[0].text;
    if (seq !== this.seq + 1) this.#fault(`event ${seq}`);
    if (text !== this.texts[seq - 1]) this.#fault(`event ${seq} is ${text.slice(0, 60)}`);
    if (frame.kind === 'event') counted.delivered += 1;
    this.seq = seq;
    this.isDone ||= frame.kind === 'result';
  }
}

const numbered = (prefix, n) => Array.from({ length: n }, (_, i) => `${prefix} ${i + 1}`);

// A session whose standalone stream is followed while it makes its share of the events, one call after the other.
class Session {
  static async open(url, number) {
    const session = new Session();
    Object.assign(session, { number, raw: await Raw.open(url), random: generator(seed + number), notified: [] });
    session.reader = new Follower(session.raw, session.notified, session.random);
    session.reading = session.reader.follow('GET');
    await until(() => session.reader.cursor, () => `session ${number} has no stream`);
    return session;
  }
  async call(name, n) {
    const tag = `${this.number}/${this.notified.length}${'.'.repeat(longestPadding * this.random())}`;
    const events = numbered(`${name} ${tag}`, n);
    if (name === 'notify') this.notified.push(...events);
    const answer = `${name} ${tag} done ${n}`;
    const stream = new Follower(this.raw, name === 'burst' ? [...events, answer] : [answer], this.random);
    const params = { name, arguments: { n, tag } };
    await stream.follow('POST', JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }));
  }
  async produce(events, ms) {
    for (const begin = Date.now(), all = events; events > 0 && faults.length === 0;) {
      const n = Math.min(events, 1 + Math.floor(mostOfCall * this.random() ** 2));
      events -= n;
      await this.call(this.random() < 0.5 ? 'notify' : 'burst', n);
      await sleep(Math.max(0, begin + ms * (1 - events / all) - Date.now()) * 2 * this.random());
    }
  }
  async end() {
    await until(() => this.reader.seq === this.notified.length || faults.length > 0,
                () => `session ${this.number} is at ${this.reader.cursor} of ${this.notified.length}`, 60000);
    this.reader.end();
    await this.reading;
  }
}

async function cutAtRandom(isOver) {
  const random = generator(seed);
  for (let due = 0, last = Date.now(); !isOver(); await sleep(20)) {
    due += load.cutsPerSecond * (Date.now() - last) / 1000;
    last = Date.now();
    for (const all = [...live]; due >= 1 && all.length > 0; due -= 1) all[Math.floor(random() * all.length)].cut();
  }
}

async function inLanes(width, count, work) {
  let next = 0;
  await Promise.all(Array.from({ length: width }, async () => { while (next < count) await work(next++); }));
}

// README, "Sizing the log": sessions x (max_bytes + records + one page), of which a finished stream's record may take
// 140 bytes and an idle session 216. Beside the log, for each thread of a connection or call: what it touches of its
// stack and of malloc's arenas, and the frames of its last read.
const boundBytes = threads => load.sessions * (maxBytes + 256 * 140 + 4096 + 216) + threads * 96 * 1024;

const statusOf = (server, name) =>
  Number(readFileSync(`/proc/${server.process.pid}/status`, 'latin1').match(`${name}:\\s+(\\d+)`)[1]);

async function watch(server, isOver, held) {
  for (; !isOver(); await sleep(250)) {
    const health = await (await fetch(server.url.replace(/mcp$/, 'healthz'))).json();
    held.bytes = Math.max(held.bytes, health.bytes);
    held.events = Math.max(held.events, health.events);
    held.threads = Math.max(held.threads, statusOf(server, 'Threads'));
  }
}

test(`${load.sessions} sessions that are cut at random get all of ${load.events} events, or a gap`, async context => {
  const server = await Server.start(['--max-events', `${maxEvents}`, '--max-bytes', `${maxBytes}`]);
  const begin = Date.now();
  const before = statusOf(server, 'VmRSS') * 1024;
  const sessions = [];
  await inLanes(4, load.sessions, async i => { sessions[i] = await Session.open(server.url, i); });
  let isOver = false;
  const held = { bytes: 0, events: 0, threads: 0 };
  const others = [cutAtRandom(() => isOver), watch(server, () => isOver, held)];
  await Promise.all(sessions.map(each => each.produce(load.events / load.sessions, load.seconds * 1000)));
  isOver = true;
  await Promise.all([...others, ...sessions.map(each => each.end())]);
  const peak = statusOf(server, 'VmHWM') * 1024;
  context.diagnostic(JSON.stringify({ ...counted, ...held, seconds: (Date.now() - begin) / 1000, peakMb: peak >> 20,
                                      boundMb: (before + boundBytes(held.threads)) >> 20, seed }));
  assert.deepEqual(faults.slice(0, 5), [], `seed ${seed}`);
  assert.equal(counted.delivered + counted.missed, load.events, `seed ${seed}`);
  assert.ok(counted.resumes > load.sessions, `${counted.resumes} resumes`);
  assert.ok(held.events <= load.sessions * maxEvents && held.bytes <= load.sessions * maxBytes, JSON.stringify(held));
  assert.ok(peak <= before + boundBytes(held.threads), `${peak} bytes resident, ${before} before`);
  assert.equal(await server.stop(), 0);
});
