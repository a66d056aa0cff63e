// SPDX-License-Identifier: MIT
// `mcp-resume-oracle probe` against live servers: finds no fault where there is none, the leak of a shared event store,
// every kind of fault that a server was given, and an end with servers that are no servers.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import readline from 'node:readline';
import { after, before, describe, test } from 'node:test';

import { FaultyServer } from './faulty_server.mjs';
import { launch, Server, until } from './parts.mjs';

const expectations = JSON.parse(readFileSync(new URL('probe_expectations.json', import.meta.url)));
let directory;
before(async () => { directory = await mkdtemp(path.join(os.tmpdir(), 'probe-')); });
after(() => rm(directory, { recursive: true }));

// The program's end: its status, what it printed, and the most memory that it was seen to have.
async function oracle(...args) {
  const started = launch(process.env.MCP_RESUME_ORACLE, args, ['ignore', 'pipe', 'pipe']);
  const ended = { out: '', err: '', mib: 0 };
  started.stdout.setEncoding('utf8').on('data', text => { ended.out += text; });
  started.stderr.setEncoding('utf8').on('data', text => { ended.err += text; });
  const watch = setInterval(() => { ended.mib = Math.max(ended.mib, residentMib(started.pid)); }, 50);
  [ended.code, ended.signal] = await once(started, 'close');
  clearInterval(watch);
  return ended;
}
function residentMib(pid) {
  try {
    return Number(readFileSync(`/proc/${pid}/status`, 'utf8').match(/VmHWM:\s+(\d+)/)?.[1] ?? 0) / 1024;
  } catch {
    return 0;
  }
}

async function probe(url, ...args) {
  const ended = await oracle('probe', url, '--format', 'json', ...args);
  assert.ok(ended.code === 0 || ended.code === 1, `${ended.code} ${ended.signal}: ${ended.err}`);
  const { entries } = JSON.parse(ended.out);
  ended.entries = entries;
  ended.verdicts = Object.fromEntries(entries.map(entry => [entry.name, entry.verdict]));
  ended.findings = entries.filter(entry => entry.status === 'finding');
  return ended;
}
const tool = (name, args) => ['--tool', name, '--args', JSON.stringify(args)];
// 600 ms from the first event to the answer: connections are broken while it runs.
const slow = tool('count', { n: 4, delay: 150 });
const alone = tool('count', { n: 3, alone: true });

// What is skipped since a call is too fast may be checked on a slow machine.
function assertExpected(found, server) {
  const verdicts = Object.fromEntries(Object.entries(found.verdicts).map(([check, verdict]) =>
    [check, verdict === 'ok' && expectations[server][check] === 'skipped' ? 'skipped' : verdict]));
  assert.deepEqual(verdicts, expectations[server], found.findings.map(each => each.saw).join('\n'));
  const isFound = Object.values(expectations[server]).some(verdict => verdict !== 'ok' && verdict !== 'skipped');
  assert.equal(found.code, isFound ? 1 : 0);
}

describe('probe', { concurrency: 2 }, () => {
  describe('servers as they are', { concurrency: 6 }, () => {
    test('the example server has no fault', async () => {
      const server = await Server.start(['--max-events', '50']);
      assertExpected(await probe(server.url, ...tool('burst', { n: 8, tag: 'p' }), '--evict', '100', '--sessions', '3'),
                     'example server, burst');
      await server.stop();
    });

    test('the example server has no fault while a call runs', async () => {
      const server = await Server.start();
      assertExpected(await probe(server.url, ...tool('slow', { steps: 4, delay: 150 })), 'example server, slow');
      await server.stop();
    });

    test('the example server has no fault on the standalone stream', async () => {
      const server = await Server.start();
      assertExpected(await probe(server.url, ...tool('notify', { n: 4, tag: 'p' })), 'example server, notify');
      await server.stop();
    });

    test('an event store that all sessions share leaks', async () => {
      const url = await urlOf(launch(process.execPath, ['shared_store_server.mjs'], ['ignore', 'pipe', 'inherit']));
      const found = await probe(url, ...tool('count', { n: 4, delay: 120 }));
      assertExpected(found, 'one event store for all sessions');
      const leak = found.findings.find(each => each.name === "another session's id of a call");
      assert.match(leak.saw, /of session "B" came/);
    });

    test('server-everything is as it is known to be', async () => {
      const port = await freePort();
      const program = 'node_modules/@modelcontextprotocol/server-everything/dist/index.js';
      launch('/usr/bin/env', [`PORT=${port}`, process.execPath, program, 'streamableHttp'], 'ignore');
      await listening(port);
      const call = tool('trigger-long-running-operation', { duration: 0.6, steps: 3 });
      assertExpected(await probe(`http://127.0.0.1:${port}/mcp`, ...call), 'server-everything');
    });
  });

  describe('one fault', { concurrency: 10 }, () => {
    const window = 'after each event of a call';
    const running = 'while the call runs';
    const away = 'standalone stream while away and live';
    const foreign = "another session's id of a call";
    const refuse = status => answer => answer.writeHead(status).end();
    const open = answer => answer.writeHead(200, { 'Content-Type': 'text/event-stream' }).flushHeaders();
    const fresh = answer => { open(answer); answer.write('id: fresh\ndata: \n\n'); };
    const isFull = session => session.streams.length > 6;
    const everywhere = function (session, cursor) {
      return [...this.sessions.values(), ...this.ended].map(each => this.placeOf(each, cursor)).find(place => place);
    };
    // What a client is told whose event has been evicted, by a server that forgets all but the newest of a full session.
    const evicts = tell => (answer, session) => (isFull(session) ? tell(answer) : refuse(409)(answer));
    const forgets = function (session, cursor) { return isFull(session) ? undefined : this.placeOf(session, cursor); };
    const filled = [...tool('count', { n: 1 }), '--evict', '12'];
    const gap = answer => { open(answer); answer.end('event: gap\nid: 1\ndata: {}\n\n'); };

    // Knows a cursor when it is asked again, as a server does that has not seen the older connection break.
    const busy = function (session, cursor) {
      session.asked ??= new Set();
      const isAgain = session.asked.has(cursor);
      session.asked.add(cursor);
      return isAgain ? this.placeOf(session, cursor) : undefined;
    };

    const faults = [
      ['events of whatever session come', { placeOf: everywhere }, foreign, 'LEAK'],
      ['events outlive their session', { placeOf: everywhere, end(session, answer) {
        this.ended.push(session);
        this.sessions.delete(session.id);
        refuse(204)(answer);
      } }, 'id of a deleted session', 'LEAK'],
      ['events of every later stream come', { replayed: (owed, stream, at, session) =>
        [...owed, ...session.streams.slice(session.streams.indexOf(stream) + 1).flatMap(each => each.events)] },
       window, 'LEAK'],
      ['events come without a session', { noSession(answer, asked) {
        const found = everywhere.call(this, undefined, asked.headers['last-event-id']);
        open(answer);
        answer.end(found ? found.stream.events.map(event => this.frame(event)).join('') : '');
      } }, 'without a session', 'LEAK'],
      ['an event is left out', { replayed: owed => owed.filter((_, i) => i !== 1) }, window, 'SILENT LOSS'],
      ['the cursor\'s own event comes again', { replayed: (owed, stream, at) => stream.events.slice(at) }, window,
       'DUPLICATE'],
      ['events come backwards', { replayed: owed => [...owed].reverse() }, window, 'DISORDER'],
      ['a known cursor is refused', { placeOf: () => undefined }, window, 'NO RESUME'],
      ['a known cursor is refused once', { placeOf: busy }, window, 'ok'],
      ['a known cursor is 404', { placeOf: () => undefined, unknownCursor: refuse(404) }, window, 'MISLEADING'],
      ['a known cursor is 204', { placeOf: () => undefined, unknownCursor: refuse(204) }, window, 'SILENT LOSS'],
      ['a fresh stream comes for an unknown cursor', { unknownCursor: fresh }, 'never-issued id', 'SILENT FRESH'],
      ['a gap comes for an unknown cursor', { unknownCursor: gap }, 'never-issued id', 'ok'],
      ['nothing comes for an unknown cursor', { unknownCursor: open }, 'malformed id', 'MISLEADING'],
      ['an unknown cursor is 404', { unknownCursor: refuse(404) }, 'id with another last character', 'MISLEADING'],
      ['an unknown cursor is 403', { unknownCursor: refuse(403) }, 'id without its last character', 'MISLEADING'],
      ['an unknown cursor is 500', { unknownCursor: refuse(500) }, 'two Last-Event-ID headers', 'MISLEADING'],
      ['capitals are the same', { placeOf(session, cursor) { return this.placeOf(session, cursor.toLowerCase()); } },
       'id in upper case', 'SILENT FRESH'],
      ['an empty answer stays open behind the last event', { atEnd: open }, 'after the last event of a call',
       'MISLEADING'],
      ['a number names an event of each stream', { idOf: (session, stream, seq) => `${session.tag}.${seq}` }, 'event ids',
       'MISLEADING'],
      ['every session has the same ids', { idOf: (session, stream, seq) => `${stream.name}.${seq}` }, 'event ids',
       'MISLEADING'],
      ['a deleted session is 400', { unknownSession: refuse(400) }, 'after DELETE', 'MISLEADING'],
      ['an unknown session is 400', { unknownSession: refuse(400) }, 'unknown session', 'MISLEADING'],
      ['an unknown session is begun', { unknownSession: fresh }, 'unknown session', 'SILENT FRESH'],
      ['no session is 500', { noSession: refuse(500) }, 'without a session', 'MISLEADING'],
      ['a resumed connection does not go on live', { isAttached: () => false }, running, 'SILENT LOSS', slow],
      ['the older of two connections starves', { takesOver: () => false }, 'two resumes at once', 'SILENT LOSS', slow],
      ['the newer of two connections starves', { takesOver: () => false, receivers: all => all.slice(0, 1) },
       'two resumes at once', 'SILENT LOSS', slow],
      ['the newer of two connections is refused', { occupied: refuse(409) }, 'two resumes at once', 'ok', slow],
      ['the newer of two connections is 404', { occupied: refuse(404) }, 'two resumes at once', 'MISLEADING', slow],
      ['an event goes to nobody while the call runs',
       { receivers: (all, stream) => (stream.events.length === 4 ? [] : all.slice(-1)) }, running, 'SILENT LOSS', slow],
      ['two connections get the same', { takesOver: () => false, receivers: all => all }, 'two resumes at once',
       'DUPLICATE', slow],
      ['what is sent while nobody listens is not kept', { keeps: () => false }, away, 'SILENT LOSS', alone],
      ['the resumed standalone stream does not go on live', { isAttached: () => false }, away, 'SILENT LOSS', alone],
      ['an event of the standalone stream is left out', { replayed: owed => owed.slice(1) },
       'after each event of the standalone stream', 'SILENT LOSS', alone],
      ['nothing comes past eviction', { placeOf: forgets, unknownCursor: evicts(open) }, 'past eviction', 'SILENT LOSS',
       filled],
      ['the session is gone past eviction', { placeOf: forgets, unknownCursor: evicts(refuse(404)) }, 'past eviction',
       'MISLEADING', filled],
      ['a refusal past eviction is honest', { placeOf: forgets, unknownCursor: evicts(refuse(410)) }, 'past eviction', 'ok',
       filled],
      ['a gap past eviction is honest', { placeOf: forgets, unknownCursor: evicts(gap) }, 'past eviction', 'ok', filled]
    ];
    for (const [fault, rules, check, verdict, args = tool('count', { n: 3 })] of faults) {
      test(`${fault}: ${verdict}`, async () => {
        const server = await FaultyServer.start(rules);
        const found = await probe(server.url, ...args);
        server.stop();
        assert.equal(found.verdicts[check], verdict, found.out);
        assert.equal(found.code, found.findings.length === 0 ? 0 : 1);
        for (const each of found.findings) assert.ok(each.saw && each.advice, each.name);
      });
    }

    test('without a fault all is well', async () => {
      const server = await FaultyServer.start();
      for (const args of [slow, [...alone, '--evict', '30'], ['--sessions', '1']]) {
        const found = await probe(server.url, ...args);
        assert.deepEqual(found.findings, []);
        assert.equal(found.code, 0);
      }
      server.stop();
    });
  });

  describe('no resumption', { concurrency: 6 }, () => {
    for (const [what, rules, check] of [
      ['a GET is answered 405', { get: (asked, answer) => answer.writeHead(405).end() }, 'resumption is offered'],
      ['calls are answered as JSON', { answersJson: () => true }, 'event ids'],
      ['events have no ids', { givesIds: () => false }, 'event ids'],
      ['there are no sessions', { sessionHeader: () => undefined }, 'session']
    ]) {
      test(`${what}: NO RESUME is the one finding`, async () => {
        const server = await FaultyServer.start(rules);
        const found = await probe(server.url, ...tool('count', { n: 3 }));
        server.stop();
        assert.deepEqual(found.findings.map(each => [each.name, each.verdict]), [[check, 'NO RESUME']]);
        assert.equal(found.code, 1);
      });
    }
  });

  describe('manners', { concurrency: 6 }, () => {
    test('no tool is called that was not named, and every request has the header', async () => {
      const server = await FaultyServer.start();
      const silent = await probe(server.url, '--header', 'X-Probe: yes', '--header', 'X-Too:1');
      assert.deepEqual([silent.code, server.tools], [0, []]);
      await probe(server.url, '--header', 'X-Probe: yes', ...tool('count', { n: 1 }));
      server.stop();
      assert.deepEqual([...new Set(server.tools)], ['count']);
      assert.ok(server.requests.every(asked => asked.headers['x-probe'] === 'yes'));
      assert.ok(server.requests.length < 200, `${server.requests.length} requests`);
    });

    test('sessions are ended', async () => {
      const server = await FaultyServer.start();
      await probe(server.url, '--sessions', '3', '--evict', '5', ...tool('count', { n: 1 }));
      assert.equal(server.sessions.size, 0);
      server.stop();
    });

    test('the trace says what the report says, and holds no session id', async () => {
      const file = path.join(directory, 'trace.jsonl');
      const ids = [];
      const server = await FaultyServer.start({ replayed: owed => owed.filter((_, i) => i !== 1),
                                                sessionHeader: ({ id }) => (ids.push(id), id) });
      const found = await probe(server.url, '--trace', file, ...tool('count', { n: 3 }));
      server.stop();
      const judged = await oracle('judge', file, '--format', 'json');
      const places = JSON.parse(judged.out).entries.filter(each => each.status === 'finding').map(each => each.place);
      assert.ok(places.includes(found.findings[0].place), `${places}, ${found.findings[0].place}`);
      const text = await readFile(file, 'utf8');
      assert.ok(ids.length >= 3 && ids.every(id => !text.includes(id) && !found.out.includes(id)));
    });

    test('a host that is not this machine is refused unless it is one\'s own', async () => {
      for (const host of ['192.0.2.1', '0.0.0.0', '[2001:db8::1]', '[::ffff:127.0.0.1]', 'localhost.invalid']) {
        const refused = await oracle('probe', `http://${host}:9/mcp`);
        assert.equal(refused.code, 2);
        assert.match(refused.err, /not on this machine|no such host/);
      }
      const taken = await oracle('probe', 'http://192.0.2.1:9/mcp', '--i-own-this-server');
      assert.equal(taken.code, 2);
      assert.match(taken.err, /no answer/);
    });

    for (const [args, complaint] of [
      [[], /URL/], [['ftp://127.0.0.1/'], /must be http/], [['http://127.0.0.1:99999/'], /must be http/],
      [['http://user@127.0.0.1/'], /must be http/], [['https://127.0.0.1/'], /TLS/],
      [['http://127.0.0.1:1/', '--args', '[1]'], /--args: must be a JSON object/],
      [['http://127.0.0.1:1/', '--args', '{'], /--args: must be a JSON object/],
      [['http://127.0.0.1:1/', '--args', '{"a":'.repeat(100) + '1' + '}'.repeat(100)], /--args: nests deeper/],
      [['http://127.0.0.1:1/', '--header', 'last-event-id: 1'], /--header: last-event-id is set by the probe/],
      [['http://127.0.0.1:1/', '--header', 'none'], /--header: must be NAME:VALUE/],
      [['http://127.0.0.1:1/', '--header', 'X: a\nY: b'], /--header: X has a control character/],
      [['http://127.0.0.1:1/', '--sessions', '0'], /--sessions/], [['http://127.0.0.1:1/', '--evict', '-1'], /--evict/],
      [['http://127.0.0.1:1/', '--format', 'xml'], /--format/],
      [['http://127.0.0.1:1/', '--trace', '/nowhere/trace.jsonl'], /trace.jsonl: cannot be written/],
      [['http://127.0.0.1:1/'], /Connection refused/]
    ]) {
      test(`probe ${args.join(' ').slice(0, 60)} is refused with status 2`, async () => {
        const ended = await oracle('probe', ...args);
        assert.equal(ended.code, 2);
        assert.match(ended.err, complaint);
        assert.equal(ended.out, '');
      });
    }

    test('a tool that the server refuses is status 2, in words that a terminal can show', async () => {
      let asked = '';
      const server = await rawServer(socket => socket.on('data', text => {
        asked += text;
        const id = asked.match(/"id":(\d+)/)?.[1];
        if (!id) return;
        const body = JSON.stringify({ jsonrpc: '2.0', id: Number(id), error: { code: 1, message: '\u001b[2J\u0007gone' } });
        socket.end(`HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
      }));
      const ended = await oracle('probe', server.url, ...tool('x', {}));
      assert.equal(ended.code, 2);
      assert.match(ended.err, /\\x1b\[2J\\x07gone/);
    });
  });

  describe('hostile servers', { concurrency: 6 }, () => {
    const ok = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n';
    const say = text => socket => socket.once('data', () => socket.end(text));
    // As fast as it is taken, without an end.
    const pour = (head, text) => socket => socket.once('data', () => {
      socket.write(head);
      const more = () => { while (!socket.destroyed && socket.write(text)); };
      socket.on('drain', more);
      more();
    });
    for (const [what, serve, complaint] of [
      ['hangs', () => {}, /no answer: nothing came/],
      ['closes', socket => socket.end(), /no answer/],
      ['resets', socket => socket.once('data', () => socket.resetAndDestroy()), /no answer/],
      ['sends garbage', say(Buffer.from('\x00\xff\x1b[2J garbage\r\n\r\n', 'latin1')), /no HTTP/],
      ['speaks TLS', say(Buffer.from([0x15, 3, 3, 0, 2, 2, 0x46])), /TLS/],
      ['sends a long status line', say(`HTTP/1.1 200 ${'a'.repeat(1000000)}\r\n\r\n`), /head of the answer is too large/],
      ['sends a long header', say(`${ok}X: ${'a'.repeat(1000000)}\r\n\r\n`), /head of the answer is too large/],
      ['sends headers without end', pour(ok, 'X: y\r\n'.repeat(1000)), /head of the answer is too large/],
      ['sends a body without end', pour(`${ok}\r\n`, 'x'.repeat(65536)), /200, but no JSON-RPC response/],
      ['sends a chunk size without end', pour(`${ok}Transfer-Encoding: chunked\r\n\r\n`, '0'.repeat(65536)), /no JSON-RPC/],
      ['sends deep JSON', say(`${ok}\r\n${'['.repeat(1000000)}`), /200, but no JSON-RPC response/],
      ['sends another answer', say(`${ok}\r\n{"jsonrpc":"2.0","id":77,"result":{}}`), /200, but no JSON-RPC response/],
      ['sends no status of HTTP', say('HTTP/1.1 999 X\r\n\r\n'), /999/],
      ['answers 500 to all', say('HTTP/1.1 500 X\r\nContent-Length: 0\r\n\r\n'), /: 500/]
    ]) {
      test(`a server that ${what} is status 2`, async () => {
        const ended = await oracle('probe', (await rawServer(serve)).url, ...tool('count', {}));
        assert.equal(ended.code, 2, `${ended.signal} ${ended.err}`);
        assert.match(ended.err, complaint);
        assert.ok(ended.mib < 250, `${ended.mib} MiB`);
      });
    }

    test('a redirect is not followed', async () => {
      let visits = 0;
      const other = await rawServer(() => { visits += 1; });
      const from = await rawServer(say(`HTTP/1.1 307 X\r\nLocation: ${other.url}\r\nContent-Length: 0\r\n\r\n`));
      const ended = await oracle('probe', from.url);
      assert.deepEqual([ended.code, visits], [2, 0]);
      assert.match(ended.err, /: 307/);
    });

    const head = answer => answer.writeHead(200, { 'Content-Type': 'text/event-stream' });
    const flood = (answer, text) => {
      const more = () => { while (!answer.destroyed && answer.write(text)); };
      answer.on('drain', more);
      more();
    };
    for (const [what, get] of [
      ['never answers', () => {}],
      ['answers 503', answer => answer.writeHead(503).end()],
      ['closes', answer => answer.destroy()],
      ['closes behind the head', answer => { head(answer).flushHeaders(); setTimeout(() => answer.destroy(), 50); }],
      ['sends JSON', answer => answer.writeHead(200, { 'Content-Type': 'application/json' }).end('{}')],
      ['sends events without end', answer => flood(head(answer), 'id: 1\ndata: x\n\n'.repeat(1000))],
      ['sends a line without end', answer => flood(head(answer), 'data: ' + 'x'.repeat(65536))],
      ['sends ids without end', answer => flood(head(answer), 'id: ' + 'x'.repeat(65536))],
      ['sends bytes that are no text', answer => head(answer).end(Buffer.from('id: \xff\x1b\x00\ndata: \x1b]0;\xfe\x07\n\n', 'latin1'))],
      ['sends half a chunk', answer => answer.socket.end(
        'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\nffff\r\nid: 1')]
    ]) {
      test(`a server whose GET ${what} is judged in the end`, async () => {
        const server = await FaultyServer.start({ get: (asked, answer) => get(answer) });
        const file = path.join(directory, `${what.replaceAll(' ', '_')}.jsonl`);
        const found = await probe(server.url, '--trace', file, ...tool('count', { n: 3 }));
        server.stop();
        assert.equal(found.code, 1);
        assert.ok(found.mib < 250, `${found.mib} MiB`);
        const judged = await oracle('judge', file);
        assert.ok(judged.code <= 1, judged.err);
      });
    }
  });
});

async function urlOf(started) {
  const [line] = await once(readline.createInterface(started.stdout), 'line');
  return line;
}
async function rawServer(serve) {
  const listener = net.createServer(socket => {
    socket.on('error', () => {});
    serve(socket);
  });
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  after(() => listener.close());
  return { url: `http://127.0.0.1:${listener.address().port}/mcp` };
}
async function freePort() {
  const listener = net.createServer().listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const { port } = listener.address();
  await new Promise(closed => listener.close(closed));
  return port;
}
async function listening(port) {
  let isOpen = false;
  const knock = () => net.connect(port, '127.0.0.1').on('connect', function () { isOpen = true; this.destroy(); })
    .on('error', () => {});
  await until(() => { if (!isOpen) knock(); return isOpen; }, () => 'nobody listens', 20000);
}
