// SPDX-License-Identifier: MIT
// A server that is killed and comes back with its state file tells every client by its next request, mixes no life's
// events with another's, and finds a whole file whenever it was killed. One that is asked to end tells its readers.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';

import { frameOf, launch, Raw, Server, sleep, until } from './parts.mjs';

const principal = 'X-Principal';
const tagsOf = id => id.split('.').slice(0, 2);

async function withState(body) {
  const directory = await mkdtemp(join(tmpdir(), 'state-'));
  const path = join(directory, 'sessions.json');
  try {
    await body(path, port => Server.start(['--state', path, '--principal-header', principal], port), directory);
  } finally {
    await rm(directory, { recursive: true });
  }
}

// The frames of an answer as they arrive. A killed server breaks the stream, one that ends it does not.
function listen(answer) {
  const heard = { status: answer.status, frames: [], isEnded: false, isBroken: false };
  const read = async () => {
    let text = '';
    for await (const bytes of answer.body ?? []) {
      const blocks = (text + Buffer.from(bytes).toString()).split('\n\n');
      text = blocks.pop();
      heard.frames.push(...blocks.map(frameOf));
    }
  };
  read().catch(() => { heard.isBroken = true; }).finally(() => { heard.isEnded = true; });
  return heard;
}

const lastId = heard => heard.frames.findLast(frame => frame.id)?.id;
const textsOf = heard => heard.frames.filter(frame => frame.kind === 'event')
  .map(frame => JSON.parse(frame.data).params.data);
const has = (heard, n) => until(() => heard.frames.length >= n, () => JSON.stringify(heard));

// A session of that principal, whose standalone stream and one call are read.
class Peer {
  static async open(server, name) {
    const peer = new Peer();
    peer.name = name;
    peer.raw = await Raw.open(server.url, { [principal]: name });
    peer.standalone = listen(await peer.raw.get());
    await peer.notify(3, 'first life');
    await has(peer.standalone, 4);
    peer.call = await peer.begin('burst', { n: 100000, delay: 1, tag: name });
    await has(peer.call, 5);
    return peer;
  }
  async begin(name, args) { return listen(await this.raw.post('tools/call', { name, arguments: args })); }
  async notify(n, tag) {
    const call = await this.begin('notify', { n, tag: `${this.name} ${tag}` });
    await until(() => call.isEnded, () => JSON.stringify(call));
  }
  async resume() {
    this.standalone = listen(await this.raw.get(lastId(this.standalone)));
    assert.equal(this.standalone.status, 200);
  }
}

// Reset under the presented id, the words, and the marker of a new life of the same session: nothing else.
async function assertReset(peer) {
  const presented = lastId(peer.standalone);
  await peer.resume();
  await has(peer.standalone, 5);
  const { frames } = peer.standalone;
  const words = ['list_changed', 'list_changed', 'list_changed'];
  assert.deepEqual(frames.map(frame => frame.kind), ['reset', ...words, 'marker']);
  assert.equal(frames[0].id, presented);
  const [session, incarnation] = tagsOf(presented);
  const [newSession, newIncarnation] = tagsOf(frames[4].id);
  assert.equal(newSession, session);
  assert.notEqual(newIncarnation, incarnation);
  assert.match(frames[4].id, /\.0\.0$/);
}

test('after SIGKILL every client is told by its next request, and gets later events alone', () => withState(
  async (path, start) => {
    const first = await start();
    const peers = [await Peer.open(first, 'alice'), await Peer.open(first, 'alice'), await Peer.open(first, 'bob')];
    await first.stop('SIGKILL');
    for (const { call } of peers) await until(() => call.isBroken, () => 'the call goes on');
    const second = await start(first.port);
    for (const peer of peers) {
      assert.equal(await peer.raw.status(lastId(peer.call)), 410);
      for (const other of peers.filter(each => each !== peer)) {
        assert.equal(await peer.raw.status(lastId(other.standalone)), 409);
        assert.equal(await peer.raw.status(lastId(other.call)), 409);
      }
      await assertReset(peer);
    }
    for (const peer of peers) await peer.notify(2, 'second life');
    for (const peer of peers) await has(peer.standalone, 7);
    await sleep(100);  // for what must not come: the calls of the first life
    for (const { name, standalone } of peers) {
      assert.deepEqual(textsOf(standalone), [1, 2].map(i => `notify ${name} second life ${i}`));
      assert.equal(standalone.frames.length, 7);
      assert.match(lastId(standalone), /\.0\.2$/);
    }
    await second.stop('SIGKILL');
  }));

test('after a restart a session is its principal\'s alone, and answers 404 to others as if it were unknown', () =>
  withState(async (path, start) => {
    const first = await start();
    const [alice, bob] = [await Peer.open(first, 'alice'), await Peer.open(first, 'bob')];
    await first.stop('SIGKILL');
    const second = await start(first.port);
    const cursor = lastId(alice.standalone);
    const answers = [await alice.raw.get(cursor, { [principal]: 'bob' }),
                     await alice.raw.get(cursor, { [principal]: 'ALICE' }),
                     await bob.raw.get(cursor, { 'Mcp-Session-Id': 'nobody' })];
    const seen = [];
    for (const answer of answers) {
      assert.equal(answer.status, 404);
      seen.push(await answer.text() + JSON.stringify([...answer.headers].filter(([name]) => name !== 'date')));
    }
    assert.equal(new Set(seen).size, 1, seen.join('\n'));
    await assertReset(alice);
    await second.stop('SIGKILL');
  }));

test('killed again at once, the third incarnation is neither the second nor the first', () => withState(async (_, start) => {
  let server = await start();
  const peer = await Peer.open(server, 'alice');
  const calls = [lastId(peer.call)], cursors = [lastId(peer.standalone)];
  for (let life = 2; life <= 4; ++life) {
    await server.stop('SIGKILL');
    server = await start(server.port);
    for (const call of calls) assert.equal(await peer.raw.status(call), 410);
    await assertReset(peer);
    cursors.push(lastId(peer.standalone));
    calls.push((await peer.raw.idsOf('burst', { n: 1, tag: `life ${life}` })).at(-2));
    assert.equal(await peer.raw.status(calls.at(-1)), 200);
  }
  assert.equal(new Set(cursors.map(id => tagsOf(id)[1])).size, 4, cursors.join());
  for (const cursor of cursors.slice(0, -1)) {
    peer.standalone = { frames: [{ id: cursor }] };
    await assertReset(peer);
  }
  await server.stop('SIGKILL');
}));

// Sessions begin and end in several lanes until the server is gone. What was answered must be known, or gone, later.
async function churn(server, known, gone) {
  const lane = async () => {
    for (let i = 1;; ++i) {
      const raw = await Raw.open(server.url, { [principal]: 'alice' });
      if (i % 3 !== 0) {
        known.add(raw);
        continue;
      }
      assert.equal((await raw.delete()).status, 204);
      gone.add(raw);
    }
  };
  const lanes = await Promise.allSettled([lane(), lane(), lane()]);
  for (const { reason } of lanes) assert.ok(reason instanceof TypeError, reason);  // of fetch: no connection
}

test('the state file is whole whenever the server is killed, and knows every answered session', () => withState(
  async (path, start, directory) => {
    const known = new Set(), gone = new Set();
    let port = 0;
    for (let i = 0; i < 12; ++i) {
      const server = await start(port);
      port = server.port;
      const before = known.size;
      const churning = churn(server, known, gone);
      await until(() => known.size > before, () => 'no session begins');
      await sleep(17 * i);
      await server.stop('SIGKILL');
      await churning;
      const stored = JSON.parse(await readFile(path));
      assert.ok(Object.keys(stored).length >= known.size);
      for (const name of await readdir(directory)) {
        assert.equal((await stat(join(directory, name))).mode & 0o777, 0o600);
      }
    }
    assert.ok(known.size > 20 && gone.size > 5, `${known.size} known, ${gone.size} gone`);
    const last = await start(port);
    for (const raw of known) {
      const answer = await raw.post('ping', {});
      assert.equal(answer.status, 200);
      await answer.text();
    }
    for (const raw of gone) assert.equal((await raw.post('ping', {})).status, 404);
    await last.stop('SIGKILL');
  }));

async function assertRefusesState(path, what) {
  const server = launch(process.env.MCP_RESUME_SERVER, ['--port', '0', '--state', path], ['ignore', 'pipe', 'pipe']);
  let words = '';
  const hear = text => { words += text; };
  for (const stream of [server.stdout, server.stderr]) stream.setEncoding('utf8').on('data', hear);
  await until(() => server.exitCode !== null || server.signalCode !== null || words.includes('http:'), () => what);
  assert.equal(server.exitCode, 1, `${what}: ${words}`);
  await until(() => words.includes('\n'), () => what);
  assert.match(words, /^mcp_resume_server: .*sessions\.json.*\n$/, what);
}

test('a file that is no state file, or half of one, is refused and left as it was', () => withState(
  async (path, start, directory) => {
    const server = await start();
    for (let i = 0; i < 3; ++i) await Raw.open(server.url, { [principal]: 'alice' });
    await server.stop('SIGKILL');
    const good = await readFile(path, 'utf8');
    const [id, entry] = Object.entries(JSON.parse(good))[0];
    const but = change => JSON.stringify({ [id]: { ...entry, ...change } });
    const bad = {
      'empty': '', 'half': good.slice(0, good.length / 2), 'all but its end': good.trimEnd().slice(0, -1),
      'null': 'null', 'a list': '[]', 'twice': good + good, 'other JSON': '{"name":"x","version":1}',
      'binary': '\0\x01\xFF\xFE',
      'text': '[section]\nkey=value\n', 'a session that is a number': `{"${id}":1}`, 'no tag': but({ tag: undefined }),
      'a tag below 0': but({ tag: -1 }), 'a tag of text': but({ tag: 'x' }), 'no version': but({ version: undefined }),
      'an unknown version': but({ version: '2020-01-01' }),
      'a version without sessions': but({ version: '2026-07-28' }),
      'a principal of a number': but({ principal: 1 }), 'an id with a blank': JSON.stringify({ 'a b': entry }),
      'an empty id': JSON.stringify({ '': entry })
    };
    for (const [what, text] of Object.entries(bad)) {
      await writeFile(path, text, 'latin1');
      await assertRefusesState(path, what);
      assert.equal(await readFile(path, 'latin1'), text, what);
    }
    assert.deepEqual((await readdir(directory)).filter(name => name !== 'sessions.json' && !name.endsWith('.new')), []);
  }));

// Connections that send nothing, half a request, or read nothing of a long answer.
async function stall(server, peer) {
  const call = JSON.stringify({ jsonrpc: '2.0', id: 9, method: 'tools/call', params: { name: 'large' } });
  const headers = Object.entries({ Host: '127.0.0.1', 'Content-Type': 'application/json', ...peer.raw.headers,
                                   Accept: 'application/json, text/event-stream', 'Content-Length': call.length });
  const head = `POST /mcp HTTP/1.1\r\n${headers.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`;
  for (const text of ['', 'GET /mc', head, head + call.slice(0, 9), head + call]) {
    const socket = net.connect(server.port, '127.0.0.1').on('error', () => {});
    await once(socket, 'connect');
    socket.pause();
    socket.write(text);
  }
}

test('SIGTERM tells readers when to come back, and ends the server whatever its clients do', () => withState(
  async (path, start) => {
    const server = await start();
    const peer = await Peer.open(server, 'alice');
    const slow = await peer.begin('slow', { steps: 1000, delay: 60000 });
    await has(slow, 1);
    await stall(server, peer);
    const trickling = net.connect(server.port, '127.0.0.1').on('error', () => {});
    trickling.write('GET /mcp HTTP/1.1\r\nHost: localhost\r\nX-Slow: ');
    const timer = setInterval(() => trickling.write('a'), 300);
    trickling.on('close', () => clearInterval(timer));
    server.process.kill();
    const { process } = server;
    await until(() => process.exitCode !== null || process.signalCode !== null, () => 'the server goes on');
    assert.equal(process.exitCode, 0);
    for (const heard of [peer.standalone, slow, peer.call]) {
      await until(() => heard.isEnded, () => 'a stream goes on');
      const last = heard.frames.at(-1);
      assert.ok(last.kind === 'marker' && Number(last.retry) > 0, JSON.stringify(last));
      assert.equal(last.id, heard.frames.findLast((frame, i) => frame.id && i < heard.frames.length - 1).id);
      assert.equal(heard.isBroken, false);
    }
    const second = await start(server.port);
    await assertReset(peer);
    await second.stop('SIGKILL');
  }));
