// SPDX-License-Identifier: MIT
// Hostile input on raw sockets: the example server answers it with 4xx or closes, puts nothing of it into its headers,
// and afterwards holds no more memory, files and threads than before, and serves as before.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';

import { Server, sleep, until } from './parts.mjs';

const mark = 'zq';  // in all hostile values and bodies: no answer's head may contain it
const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
const limitMs = 15000;
const megabyte = 1024 * 1024;
const bytesOf = text => Buffer.from(text, 'latin1');

let server, session;  // of the test that runs

// ---- One connection ----

// The first answer in what a server sent; undefined while it is not complete. A stream counts as complete by its head.
function answerIn(text) {
  const end = text.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  const head = text.slice(0, end);
  const body = text.slice(end + 4);
  const length = Number(head.match(/^content-length: (\d+)/im)?.[1] ?? 0);
  return body.length >= length ? { status: Number(head.match(/^HTTP\/1\.1 (\d{3}) /)?.[1]), head, body } : undefined;
}

const endOfInput = Symbol('end of input');

class Connection {
  constructor() {
    this.text = '';
    this.isClosed = false;
    this.socket = net.connect({ port: server.port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true });
    this.socket.setEncoding('latin1');
    this.socket.on('data', text => { this.text += text; });
    this.socket.on('end', () => this.socket.destroy());
    this.socket.on('error', () => {});
    this.socket.on('close', () => { this.isClosed = true; });
  }
  // Numbers among the pieces are pauses in ms. Resolves early when the server has closed.
  async send(pieces) {
    for (const piece of pieces) {
      if (this.isClosed) return;
      if (typeof piece === 'number') await sleep(piece);
      else if (piece === endOfInput) this.socket.end();
      else await new Promise(done => { this.socket.write(piece, () => done()); });
    }
  }
  async wait(condition) {
    await until(() => this.isClosed || condition(this.text), () => `no answer: ${this.text.slice(0, 200)}`, limitMs);
  }
  drop() { this.socket.destroy(); }
  // Node.js never ends if a socket is reset that is being shut down: hence allowHalfOpen, and no second end.
  reset() { if (!this.socket.destroyed) this.socket.resetAndDestroy(); }
}

async function askUntil(isEnough, pieces) {
  const connection = new Connection();
  const sent = connection.send(pieces);
  await connection.wait(isEnough);
  connection.drop();
  await sent;
  return answerIn(connection.text) ?? { status: 0, head: '', body: '' };
}
// The first answer; status 0 where the server closed without one. Of a stream only its beginning.
const ask = (...pieces) => askUntil(text => answerIn(text) !== undefined, pieces);
// With the whole of a stream that ends.
const askToEnd = (...pieces) => askUntil(() => false, pieces);

const goodHeaders = () => ({ Host: '127.0.0.1', 'Mcp-Session-Id': session, Connection: 'close' });

function head(method, path, headers, ...lines) {
  const all = Object.entries({ ...goodHeaders(), ...headers }).filter(([, value]) => value !== undefined);
  const text = [`${method} ${path} HTTP/1.1`, ...all.map(([name, value]) => `${name}: ${value}`), ...lines];
  return bytesOf(text.join('\r\n') + '\r\n\r\n');
}
const get = (headers = {}, ...lines) => head('GET', '/mcp', { Accept: 'text/event-stream', ...headers }, ...lines);
const postHead = (headers = {}, ...lines) => head('POST', '/mcp', {
  'Content-Type': 'application/json', Accept: 'application/json, text/event-stream', ...headers
}, ...lines);
function post(body, headers = {}, ...lines) {
  const bytes = Buffer.from(body);
  return Buffer.concat([postHead({ 'Content-Length': bytes.length, ...headers }, ...lines), bytes]);
}

async function inParallel(items, width, work) {
  const queue = items.values();
  await Promise.all(Array.from({ length: width }, async () => { for (const item of queue) await work(item); }));
}

function assertNoEcho(answer, what) {
  assert.ok(!answer.head.toLowerCase().includes(mark), `${what}: ${answer.head}`);
  assert.ok(!/exception/i.test(answer.head), `${what}: ${answer.head}`);
}

async function assertRefused(what, request, statuses) {
  const answer = await ask(...[request].flat());
  assertNoEcho(answer, what);
  const isRefused = statuses ? statuses.includes(answer.status)
    : answer.status === 0 || (answer.status >= 400 && answer.status < 500);
  assert.ok(isRefused, `${what}: ${answer.head || 'closed'}`);
}

// ---- What the server holds ----

const statusText = () => readFileSync(`/proc/${server.process.pid}/status`, 'latin1');
const statusOf = name => Number(statusText().match(`${name}:\\s+(\\d+)`)[1]);
const residentMb = () => statusOf('VmRSS') / 1024;
const peakMb = () => statusOf('VmHWM') / 1024;
const forgetPeak = () => writeFileSync(`/proc/${server.process.pid}/clear_refs`, '5');
const files = () => readdirSync(`/proc/${server.process.pid}/fd`).length;
const threads = () => statusOf('Threads');

async function beginSession() {
  const hello = { jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25' } };
  session = undefined;
  session = (await ask(post(JSON.stringify(hello)))).head.match(/^mcp-session-id: (\S+)/im)[1];
}
const endSession = () => ask(head('DELETE', '/mcp', {}));
const runTool = async (name, args) => (await askToEnd(post(JSON.stringify(call(name, { arguments: args }))))).body;

async function assertServes() {
  assert.equal((await ask(head('GET', '/healthz', {}))).status, 200);
  const text = await runTool('burst', { n: 3, tag: 'fine' });
  assert.deepEqual(text.match(/burst fine [^"]*/g), ['1', '2', '3', 'done 3'].map(end => `burst fine ${end}`));
}

// Pages that malloc keeps for its next use, in the arenas of many threads, are no leak.
const allowedMb = 24;

// A test with a server of its own, so that a crash fails one test, which its body must leave as it was. Its session
// ends with all that is attached to it.
function hostile(name, body) {
  test(name, async () => {
    server = await Server.start();
    await beginSession();
    await assertServes();
    const held = { resident: residentMb(), files: files(), threads: threads() };
    await body();
    assert.equal(server.process.exitCode ?? server.process.signalCode, null);
    await assertServes();
    await endSession();
    await until(() => files() <= held.files, () => `${files()} files, ${held.files} before`);
    await until(() => threads() <= held.threads, () => `${threads()} threads, ${held.threads} before`);
    assert.ok(residentMb() <= held.resident + allowedMb, `${residentMb()} MB resident, ${held.resident} before`);
    assert.equal(await server.stop(), 0);
  });
}

// ---- Heads ----

const readHeaders = ['Mcp-Session-Id', 'Last-Event-ID', 'MCP-Protocol-Version', 'Origin', 'Host', 'Accept',
                     'Content-Type'];
const withHeader = (name, value) => name === 'Content-Type' ? post(ping, { [name]: value }) : get({ [name]: value });

hostile('a request may be split at every byte', async () => {
  const good = post(ping);
  const bad = get({ Origin: `http://${mark}` });
  const cuts = [...good.keys()].map(at => [good, at, 200]).concat([...bad.keys()].map(at => [bad, at, 403]));
  await inParallel(cuts, 6, async ([request, at, status]) => {
    const answer = await ask(request.subarray(0, at), 3, request.subarray(at));
    assert.equal(answer.status, status, `cut at ${at}`);
  });
  const one = [...good].flatMap(byte => [Buffer.of(byte), 1]);
  assert.equal((await ask(...one)).status, 200);
});

hostile('a huge header value is refused', async () => {
  for (const size of [4096, 8191, 8192, 8193, 65536, megabyte]) {
    for (const name of readHeaders) await assertRefused(`${name} of ${size}`, withHeader(name, mark.repeat(size / 2)));
  }
  await assertRefused('a path', head('GET', '/' + mark.repeat(megabyte / 2), {}));
  await assertRefused('a name', get({}, mark.repeat(megabyte / 2) + ': 1'));
});

hostile('more than 64 header lines are refused', async () => {
  for (const count of [65, 1000, 10000, 50000]) {
    await assertRefused(`${count} lines`, get({}, ...Array(count).fill(`X-A: ${mark}`)), [431, 0]);
  }
  const withoutColon = get({ Origin: mark }, ...Array(10000).fill(mark));
  await assertRefused('lines without a colon', withoutColon);
});

// httplib skips a line that ends in LF alone: the header is not there, for which no server can refuse it.
const lineFeed = 0x0A;
const isControl = byte => byte < 0x20 || byte === 0x7F;

for (const [form, text] of [['raw', byte => String.fromCharCode(byte)],
                            ['percent-encoded', byte => '%' + byte.toString(16).padStart(2, '0')]]) {
  hostile(`no byte in a header that is read passes: ${form}`, async () => {
    const all = readHeaders.flatMap(name => Array.from({ length: 256 }, (_, byte) => [name, byte]));
    await inParallel(all, 6, async ([name, byte]) => {
      const request = withHeader(name, mark + text(byte) + mark);
      if (form === 'raw' && byte === lineFeed) return assertNoEcho(await ask(request), name);
      await assertRefused(`${name} ${byte}`, request, isControl(byte) ? [400, 0] : undefined);
    });
  });
}

hostile('an odd percent form is refused', async () => {
  for (const odd of ['%', '%4', '%zz', '%%', '%u', '%u00', '%u0000', '%uD800', '%uFFFF', '%25%30', '%'.repeat(4000)]) {
    for (const name of readHeaders) await assertRefused(`${name} ${odd}`, withHeader(name, mark + odd));
  }
});

hostile('a header that is read is refused when it is repeated', async () => {
  const good = { 'Mcp-Session-Id': session, 'Last-Event-ID': '', 'MCP-Protocol-Version': '2025-11-25',
                 Origin: 'http://localhost', Host: '127.0.0.1', Accept: 'text/event-stream',
                 'Content-Type': 'application/json' };
  for (const [name, value] of Object.entries(good)) {
    const line = `${name.toLowerCase()}: ${value || mark}`;
    const request = name === 'Content-Type' ? post(ping, {}, line) : get({ [name]: value || mark }, line);
    await assertRefused(name, request, [400]);
  }
});

hostile('a method that the endpoint has not is answered with 405, and HEAD takes no stream over', async () => {
  const reader = new Connection();
  await reader.send([get()]);
  await reader.wait(text => text.includes('data:'));
  const cursor = reader.text.match(/^id: (.*)$/m)[1];
  for (const method of ['PUT', 'PATCH', 'OPTIONS', 'HEAD']) {
    for (const headers of [{}, { 'Last-Event-ID': cursor }]) {
      const answer = await ask(head(method, '/mcp', { Accept: 'text/event-stream', ...headers }));
      assert.equal(answer.status, 405, method);
      assert.match(answer.head, /^allow: .*POST/im);
    }
  }
  for (const method of ['TRACE', 'CONNECT', 'PRI', 'BREW', 'get', '', mark, mark.repeat(9000)]) {
    await assertRefused(method.slice(0, 10), head(method, '/mcp', {}));
  }
  await runTool('notify', { n: 1, tag: 'still here' });
  await reader.wait(text => text.includes('notify still here 1'));
  assert.equal(reader.isClosed, false);
  reader.drop();
});

// ---- Bodies ----

hostile('a wrong Content-Length is refused', async () => {
  const lengths = ['abc', '-1', '+', '5, 5', '3abc', '1e3', '0x10', '9'.repeat(30), `${2n ** 64n - 1n}`, '1', '9000'];
  await inParallel(lengths, lengths.length, length => {
    return assertRefused(length, [post(ping, { 'Content-Length': length }), endOfInput]);
  });
  await assertRefused('two lengths', post(ping, { 'Content-Length': 3 }, `Content-Length: ${ping.length}`));
});

const chunk = text => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
const chunkedHead = () => postHead({ 'Transfer-Encoding': 'chunked' });

hostile('a good chunked body is taken or told to have a length, a bad one is refused', async () => {
  const good = chunk(ping.slice(0, 9)) + chunk(ping.slice(9)) + '0\r\n\r\n';
  const answer = await ask(chunkedHead(), good);
  assert.ok([200, 411].includes(answer.status), answer.head);
  const sizes = [mark, '-5', 'f'.repeat(16), 'f'.repeat(64), '5'];
  const bad = [...sizes.map(size => `${size}\r\n${ping}\r\n0\r\n\r\n`), '\r\n', '0\r\n', '0\r\n\r\n', chunk(ping),
               '1'.repeat(megabyte)];
  await inParallel(bad, bad.length, body => {
    return assertRefused(body.slice(0, 20), [chunkedHead(), body, endOfInput]);
  });
});

// A server that does not read on may close with the body half sent: then there is no answer.
hostile('a body over the bound costs no more memory than one within it', async () => {
  const piece = Buffer.alloc(megabyte, mark);
  const flood = Array(48).fill(piece);
  const bomb = gzipSync(Buffer.alloc(192 * megabyte, mark));
  const floods = {
    'by length': [postHead({ 'Content-Length': 48 * megabyte }), ...flood],
    'in chunks': [chunkedHead(), ...flood.map(bytes => Buffer.concat([bytesOf('100000\r\n'), bytes, bytesOf('\r\n')])),
                  '0\r\n\r\n'],
    'without a length': [postHead(), ...flood],
    'compressed': [postHead({ 'Content-Encoding': 'gzip', 'Content-Length': bomb.length }), bomb],
    'in parts': [postHead({ 'Content-Type': 'multipart/form-data; boundary=x', 'Content-Length': 3 * megabyte }),
                 `--x\r\nContent-Disposition: form-data; name="${mark}"\r\n\r\n`, piece, piece, piece]
  };
  for (const [how, pieces] of Object.entries(floods)) {
    forgetPeak();
    const resident = residentMb();
    await assertRefused(how, pieces);
    assert.ok(peakMb() <= resident + 16, `${how}: ${peakMb()} MB at the peak, ${resident} before`);
  }
});

hostile('the body of a refused request is not taken for a request', async () => {
  const inner = head('GET', '/healthz', { Connection: 'keep-alive' });
  const outer = { Connection: 'keep-alive', 'Content-Length': inner.length };
  const refused = {
    'another origin': postHead({ ...outer, Origin: `http://${mark}` }),
    'another host': postHead({ ...outer, Host: mark }),
    'a method': head('PUT', '/mcp', outer),
    'a GET': get({ ...outer, Accept: mark }),
    'header lines': postHead(outer, ...Array(99).fill('X-A: 1')),
    'a path': head('GET', '/' + mark.repeat(8192), outer),
    'a range': head('GET', '/healthz', { ...outer, Range: mark })
  };
  await inParallel(Object.entries(refused), 9, async ([what, request]) => {
    const connection = new Connection();
    await connection.send([request]);
    await connection.wait(text => answerIn(text) !== undefined);
    await connection.send([50, inner, 500]);
    connection.drop();
    assert.ok(!connection.text.includes('200 OK'), `${what}: ${connection.text}`);
  });
});

// ---- JSON ----

const call = (name, params, id = 1) => ({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, ...params } });
const replaced = (message, text) => JSON.stringify(message).replace('"HERE"', () => text);

hostile('JSON of any depth is survived in every place', async () => {
  const depth = 100000;
  const slow = { steps: 1, delay: 1 };
  const places = ['"HERE"', { ...call('slow', { arguments: slow }), more: 'HERE' }, call('slow', {}, 'HERE'),
                  { jsonrpc: '2.0', id: 1, method: 'HERE' }, { jsonrpc: '2.0', id: 1, method: 'ping', params: 'HERE' },
                  { jsonrpc: 'HERE', id: 1, method: 'ping' }, { jsonrpc: '2.0', id: 1, result: 'HERE' },
                  { jsonrpc: '2.0', method: 'notifications/initialized', params: { a: 'HERE' } },
                  { jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: 'HERE' } },
                  { jsonrpc: '2.0', id: 1, method: 'initialize', params: { capabilities: 'HERE' } },
                  call('HERE', {}), call('slow', { arguments: 'HERE' }), call('slow', { arguments: { steps: 'HERE' } }),
                  call('slow', { arguments: slow, _meta: 'HERE' }),
                  call('slow', { arguments: slow, _meta: { progressToken: 'HERE' } }), [call('slow', {}, 'HERE')]];
  const deep = ['['.repeat(depth) + ']'.repeat(depth), '['.repeat(depth),
                '{"a":'.repeat(depth) + '1' + '}'.repeat(depth)];
  for (const place of places) {
    for (const value of deep) {
      const text = typeof place === 'string' ? value : replaced(place, value);
      const answer = await ask(post(text));
      assertNoEcho(answer, text.slice(0, 80));
      assert.equal(server.process.exitCode ?? server.process.signalCode, null, text.slice(0, 120));
      assert.ok(answer.status < 500, `${text.slice(0, 80)}: ${answer.head}`);
    }
  }
});

// What costs the square of its size would not end before the test does.
hostile('a body of very many small values costs no more than its size', async () => {
  forgetPeak();
  const resident = residentMb();
  for (const value of ['{},', '[],', '1,', '"",']) {
    const text = `[${value.repeat(Math.floor(4e6 / value.length))}0]`;
    assert.equal((await ask(post(text))).status, 400);
    assert.ok((await ask(post(replaced({ jsonrpc: '2.0', id: 1, method: 'ping', params: { a: 'HERE' } }, text)))).status < 500);
    const most = replaced({ jsonrpc: '2.0', id: 1, method: 'ping', params: { a: 'HERE' } }, `[${value.repeat(65000)}0]`);
    assert.equal((await ask(post(most))).status, 200);
  }
  assert.ok(peakMb() <= resident + 100, `${peakMb()} MB at the peak, ${resident} before`);
});

hostile('bytes that are no UTF-8 are refused, or come back as UTF-8', async () => {
  const bad = ['\xFF', '\xC0\x80', '\xED\xA0\x80', '\xF5\x80\x80\x80', '\xE2\x82', '\x80', '\x00', '\x1F'];
  for (const bytes of bad) {
    for (const place of ['id', 'method', 'jsonrpc', mark]) {
      const message = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping', [place]: mark + 'HERE' });
      const body = bytesOf(message.replace('HERE', () => bytes));
      const answer = await ask(post(body));
      assertNoEcho(answer, place);
      assert.ok(answer.status < 500, answer.head);
      assert.doesNotThrow(() => new TextDecoder('utf-8', { fatal: true }).decode(bytesOf(answer.body)), place);
    }
  }
  for (const text of ['', ' ', '{', '}', 'nul', '[]', '{}', '"', '"\\ud800"', '1', mark, ping + ping]) {
    await assertRefused(text, post(text));
  }
});

const wrong = ['null', 'true', '[]', '{}', `["${mark}"]`, `{"${mark}":1}`, '1e400', '-1', '1.5', '18446744073709551616',
               `${'9'.repeat(400)}`, '""', `"${mark}"`, `"${mark.repeat(33)}"`, `"${mark}\\u0000\\r\\n\\u2028"`];

// An error, in plain JSON or by status, or the answer of a message that is right with that value.
async function assertAnswered(text) {
  const answer = await ask(post(text));
  assertNoEcho(answer, text);
  assert.ok(answer.status >= 200 && answer.status < 500, `${text}: ${answer.head}`);
  return answer.status >= 400 || (/application\/json/i.test(answer.head) && 'error' in JSON.parse(answer.body));
}

hostile('a wrong type at any place of a message is an answer and no fault', async () => {
  const must = [{ jsonrpc: 'HERE', id: 1, method: 'ping' }, { jsonrpc: '2.0', id: 1, method: 'HERE' },
                { jsonrpc: '2.0', method: 'HERE' }, call('HERE', {})];
  const may = [call('burst', { arguments: 'HERE' }), call('slow', { _meta: 'HERE', arguments: { steps: 0 } }),
               call('slow', { _meta: { progressToken: 'HERE' }, arguments: { steps: 1, delay: 0 } }),
               { jsonrpc: '2.0', id: 1, method: 'tools/call', params: 'HERE' },
               { jsonrpc: '2.0', id: 1, method: 'ping', params: 'HERE' }, { jsonrpc: '2.0', id: 1, result: 'HERE' },
               { jsonrpc: '2.0', id: 1, error: 'HERE' }, { jsonrpc: '2.0', id: 'HERE', method: 'ping' },
               { jsonrpc: '2.0', id: 1, method: 'initialize', params: 'HERE' }, ['HERE'], [ping, 'HERE'],
               { jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: 'HERE', capabilities: {} } }];
  const isNotification = message => message.id === undefined && message.method === 'HERE';
  await inParallel(must.flatMap(message => wrong.map(value => [message, value])), 6, async ([message, value]) => {
    const isRight = isNotification(message) && value.startsWith('"');
    const isError = await assertAnswered(replaced(message, value));
    assert.ok(isError || isRight, `${replaced(message, value)} passes`);
  });
  const rest = may.flatMap(message => wrong.map(value => replaced(message, value)));
  await inParallel(rest, 6, assertAnswered);
});

hostile('an id or an argument that is not of its type is an error', async () => {
  for (const id of ['null', 'true', '[]', '{}', '1.5', '1e400', `"${'a'.repeat(63)}"`, `"${'a'.repeat(5000)}"`]) {
    assert.ok(await assertAnswered(replaced({ jsonrpc: '2.0', id: 'HERE', method: 'ping' }, id)), id);
  }
  const notNumbers = ['null', 'true', '[]', '{}', '"1"', '-1', '1.5', '1e9', '1e400', '18446744073709551616'];
  for (const value of notNumbers) {
    assert.ok(await assertAnswered(replaced(call('burst', { arguments: { n: 'HERE' } }), value)), `n: ${value}`);
  }
  for (const value of ['null', '1', '[]', '{}', 'true']) {
    assert.ok(await assertAnswered(replaced(call('burst', { arguments: { tag: 'HERE' } }), value)), `tag: ${value}`);
    if (value !== '{}') assert.ok(await assertAnswered(replaced(call('burst', { arguments: 'HERE' }), value)), value);
  }
});

// ---- Connections ----

hostile('pipelined requests are answered in order or not at all', async () => {
  const keep = { Connection: 'keep-alive' };
  const pairs = [[post(ping, keep), post(ping, keep), 2], [get(keep), post(ping, keep), 1],
                 [post(ping, keep), get({ ...keep, 'Last-Event-ID': mark }), 2]];
  for (const [first, second, most] of pairs) {
    const connection = new Connection();
    await connection.send([Buffer.concat([first, second]), 300]);
    const statuses = [...connection.text.matchAll(/^HTTP\/1\.1 (\d+)/gm)].map(found => found[1]);
    assert.ok(statuses.length >= 1 && statuses.length <= most, connection.text);
    assert.equal(statuses[0], '200');
    assert.ok(!connection.text.slice(0, connection.text.indexOf('\r\n\r\n')).includes(mark));
    connection.drop();
  }
});

// What a client of the waves does before it goes.
const doings = [() => [], () => [get().subarray(0, 40)], () => [post(ping).subarray(0, -5)], () => [post(ping)],
                () => [get()], () => [post(JSON.stringify(call('burst', { arguments: { n: 50, tag: 'w' } })))],
                () => [post(JSON.stringify(call('slow', { arguments: { steps: 2, delay: 5 } })))], () => [mark]];

// Opens that many connections, then drops all of them at once.
async function wave(count) {
  const open = Array.from({ length: count }, (_, i) => i);
  await inParallel(open, 6, async i => {
    const connection = open[i] = new Connection();
    await new Promise(done => { connection.socket.once('connect', done).once('close', done); });
    await connection.send(doings[i % doings.length]());
  });
  for (const [i, connection] of open.entries()) {
    if (i % 3 === 0) connection.reset();
    else connection.drop();
  }
}

hostile('half requests that stay open hold nobody up, and 4,000 dropped connections leave nothing behind', async () => {
  const whole = post(ping);
  const half = Array.from({ length: 40 }, () => new Connection());
  const beginning = i => whole.subarray(0, Math.floor(whole.length * i / half.length));
  await inParallel([...half.keys()], 6, i => half[i].send([beginning(i)]));
  await wave(400);
  await until(() => threads() < 100, () => `${threads()} threads`);
  const resident = residentMb();
  for (let i = 0; i < 9; ++i) await wave(400);
  await until(() => threads() < 100, () => `${threads()} threads`);
  await assertServes();  // the calls of the waves have ended: there is a bound on how many run at a time
  assert.ok(residentMb() <= resident + 8, `${residentMb()} MB resident, ${resident} after the first wave`);
  for (const each of half) await each.wait(() => false);
});
