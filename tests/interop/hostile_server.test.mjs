// SPDX-License-Identifier: MIT
// The example client against servers on raw sockets that send anything: it ends by itself, with a status of its own,
// inside its memory, and says what happened in words that a terminal can show.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import net from 'node:net';
import { after, describe, test } from 'node:test';

import { launch, sleep } from './parts.mjs';

const most_mib = 160;  // two copies of the largest event or answer, 16 MiB each, and what its printing takes
const limit_ms = 60000;
const bytesOf = text => Buffer.from(text, 'latin1');

// ---- A server ----

// What a good one answers, as [its head without framing, its content].
const session = 'Mcp-Session-Id: s1';
const result = (id, value) => JSON.stringify({ jsonrpc: '2.0', id, result: value });
const hello = result(1, { protocolVersion: '2025-11-25', capabilities: {} });
const answer = result(2, { content: [] });
const priming = 'retry: 1\nid: 1\ndata:\n\n';
const asEvent = text => `id: 2\ndata: ${text}\n\n`;
const json = (text, ...lines) => ['HTTP/1.1 200 OK', 'Content-Type: application/json', ...lines,
                                  `Content-Length: ${text.length}`, '', text].join('\r\n');
const stream = (...lines) => ['HTTP/1.1 200 OK', 'Content-Type: text/event-stream', ...lines, '', ''].join('\r\n');
const chunked = 'Transfer-Encoding: chunked';
const chunk = text => `${text.length.toString(16)}\r\n${text}\r\n`;
const empty = status => `HTTP/1.1 ${status} X\r\nContent-Length: 0\r\n\r\n`;

// The requests, by what they are for.
const kindOf = text => text.startsWith('DELETE') ? 'end'
  : text.startsWith('GET') ? (/^last-event-id:/im.test(text) ? 'resume' : 'watch') : text.includes('"initialize"') ? 'initialize' : text.includes('"tools/call"') ? 'call' : 'initialized';
const goodAnswers = { initialize: json(hello, session), initialized: empty(202), call: json(answer), resume: empty(405),
                      watch: empty(405), end: empty(204) };

// A resume comes after a stream that broke off.
const answersBeside = kind => kind === 'resume' ? { ...goodAnswers, call: stream() + priming } : goodAnswers;

// Serves one of them by hand, the others well. `serve` gets the socket, or is the bytes of the answer.
async function hostileServer(kind, serve) {
  const asked = [];
  const answers = { ...answersBeside(kind), [kind]: serve };
  const listener = net.createServer({ noDelay: true }, socket => {
    let text = '';
    socket.on('error', () => {});
    socket.setEncoding('latin1').on('data', part => {
      text += part;
      const end = text.indexOf('\r\n\r\n');
      const length = Number(text.match(/^content-length: (\d+)/im)?.[1] ?? 0);
      if (end < 0 || text.length < end + 4 + length) return;
      asked.push(text);
      const how = answers[kindOf(text)];
      text = '';
      if (typeof how === 'function') how(socket);
      else socket.end(bytesOf(how));
    });
  });
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  after(() => listener.close());
  return { url: `http://127.0.0.1:${listener.address().port}/mcp`, asked, close: () => listener.close() };
}

// Sends without an end, as fast as it is taken.
const pour = (first, piece) => socket => {
  socket.write(bytesOf(first));
  const bytes = bytesOf(piece);
  const more = () => { while (!socket.destroyed && socket.write(bytes)); };
  socket.on('drain', more);
  more();
};
// One byte after the other, without an end.
const trickle = (first, piece) => async socket => {
  socket.write(bytesOf(first));
  for (let i = 0; !socket.destroyed; ++i, await sleep(50)) socket.write(piece[i % piece.length]);
};
const open = text => socket => socket.write(bytesOf(text));

// ---- The client ----

function residentMib(pid) {
  try {
    return Number(readFileSync(`/proc/${pid}/status`, 'utf8').match(/VmHWM:\s+(\d+)/)?.[1] ?? 0) / 1024;
  } catch {
    return 0;
  }
}

async function run(...args) {
  const client = launch(process.env.MCP_RESUME_CLIENT, args, ['ignore', 'pipe', 'pipe']);
  const ended = { said: '', size: 0, mib: 0 };
  const listen = text => {
    ended.size += text.length;
    ended.said = (ended.said + text).slice(-100000);
  };
  client.stdout.setEncoding('latin1').on('data', listen);
  client.stderr.setEncoding('latin1').on('data', listen);
  const watch = setInterval(() => { ended.mib = Math.max(ended.mib, residentMib(client.pid)); }, 20);
  const kill = setTimeout(() => client.kill('SIGKILL'), limit_ms);
  [ended.code, ended.signal] = await once(client, 'close');
  clearInterval(watch);
  clearTimeout(kill);
  return ended;
}
const call = (url, ...args) => run(url, '--tool', 'x', '--attempts', '1', ...args);

function assertEnded(ended, what) {
  assert.equal(ended.signal, null, `${what}: ${ended.signal}`);
  assert.ok(ended.code === 0 || ended.code === 1 || ended.code === 2, `${what}: ${ended.code}`);
  assert.ok(ended.mib <= most_mib, `${what}: ${ended.mib} MiB`);
  assert.doesNotMatch(ended.said, /[\x00-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]/, what);
  assert.ok(ended.code === 0 || /^mcp_resume_client: /m.test(ended.said), `${what}: ${ended.said}`);
}

async function inParallel(items, width, work) {
  const queue = items.values();
  await Promise.all(Array.from({ length: width }, async () => { for (const item of queue) await work(item); }));
}

// What is done to an answer, and what the client says of it.
const ok = 'HTTP/1.1 200 OK\r\n';
const okJson = `${ok}Content-Type: application/json\r\n`;
const wrongHeads = [
  ['an end', '', /the connection was closed/],
  ['a reset', socket => socket.resetAndDestroy(), /reset/i],
  ['garbage', '\x00\xff\x1b[2J garbage\r\n\r\n', /no HTTP/],
  ['TLS', '\x15\x03\x03\x00\x02\x02\x46', /TLS/],
  ['another version', 'HTTP/2 200\r\n\r\n', /no HTTP/],
  ['a status of two digits', 'HTTP/1.1 20 OK\r\n\r\n', /no HTTP/],
  ['a status of four digits', 'HTTP/1.1 2000 OK\r\n\r\n', /no HTTP/],
  ['a status that is none', 'HTTP/1.1 999 X\r\n\r\n', /999 is no status/],
  ['status 000', 'HTTP/1.1 000 X\r\n\r\n', /0 is no status/],
  ['101', 'HTTP/1.1 101 X\r\n\r\n', /another protocol/],
  ...[60000, 100000, 1000000, 16000000].map(size =>
    [`a status line of ${size}`, `HTTP/1.1 200 ${'a'.repeat(size)}\r\n\r\n`, /head of the answer is too large/]),
  ['a status line without end', pour('HTTP/1.1 200 ', 'a'.repeat(65536)), /head of the answer is too large/],
  ['bytes without end', pour('', '\x00'.repeat(65536)), /head of the answer is too large/],
  ['a long header', `${ok}X: ${'a'.repeat(1000000)}\r\n\r\n`, /head of the answer is too large/],
  ['a long name', `${ok}${'a'.repeat(1000000)}: x\r\n\r\n`, /head of the answer is too large/],
  ['a header without end', pour(`${ok}X: `, 'a'.repeat(65536)), /head of the answer is too large/],
  ['headers without end', pour(ok, 'X: y\r\n'.repeat(1000)), /head of the answer is too large/],
  ['many headers', ok + 'a:\r\n'.repeat(300) + '\r\n', /head of the answer is too large/],
  ['interim answers without end', pour('', 'HTTP/1.1 100 Continue\r\n\r\n'), /head of the answer is too large/],
  ['a header without a colon', `${ok}nothing\r\n\r\n`, /header of the answer is malformed/],
  ['a folded header', `${ok}X: a\r\n b\r\n\r\n`, /header of the answer is malformed/],
  ['a NUL in a header', `${ok}X: a\x00b\r\n\r\n`, /header of the answer is malformed/],
  ['a CR in a header', `${ok}Mcp-Session-Id: a\rb\r\n\r\n`, /header of the answer is malformed/],
  ...['', '-1', '+1', '1x', '0x10', '1, 2', '99999999999999999999', '1\r\nContent-Length: 2'].map(length =>
    [`the length ${JSON.stringify(length)}`, `${okJson}Content-Length: ${length}\r\n\r\n{}`, /Content-Length is no length/]),
  ...['gzip', 'gzip, chunked', 'chunked\r\nTransfer-Encoding: chunked'].map(coding =>
    [`the coding ${JSON.stringify(coding)}`, `${okJson}Transfer-Encoding: ${coding}\r\n\r\n0\r\n\r\n`, /transfer coding/]),
  ['a compressed answer', `${okJson}Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}`, /compressed/]
];
const chunks = `${okJson}${chunked}\r\n\r\n`;
const wrongContents = [
  ['less than its length', `${okJson}Content-Length: 100\r\n\r\n{}`, /it broke off/],
  ['a huge length', `${okJson}Content-Length: 999999999999999\r\n\r\n{}`, /it broke off/],
  ...['', 'x', '-1', ' ', 'ffffffffffffffff', '0'.repeat(20), ';a=b', '1 1'].map(size =>
    [`the chunk size ${JSON.stringify(size)}`, `${chunks}${size}\r\n{\r\n`, /chunk of the answer has no size/]),
  ['a chunk size of 1 MB', `${chunks}${'0'.repeat(1000000)}\r\n`, /chunk of the answer has no size/],
  ['a chunk size without end', pour(chunks, '0'.repeat(65536)), /chunk of the answer has no size/],
  ['a chunk extension without end', pour(`${chunks}1;`, 'a'.repeat(65536)), /chunk of the answer has no size/],
  ['a chunk without its end', `${chunks}1\r\n{{\r\n`, /longer than its size/],
  ['a huge chunk', `${chunks}fffffffffffffff\r\n{}`, /it broke off/],
  ['no last chunk', `${chunks}2\r\n{}\r\n`, /it broke off/],
  ['a long trailer', `${chunks}2\r\n{}\r\n0\r\nX: ${'a'.repeat(1000000)}\r\n\r\n`, /head of the answer is too large/],
  ['trailers without end', pour(`${chunks}2\r\n{}\r\n0\r\n`, 'X: y\r\n'.repeat(1000)), /head of the answer is too large/],
  ['content without end', pour(`${okJson}\r\n`, '['.repeat(65536)), /more came than is kept/],
  ['chunks without end', pour(chunks, chunk('x'.repeat(65536))), /more came than is kept/],
  ['chunks of one byte without end', pour(chunks, chunk('x').repeat(10000)), /more came than is kept/],
  ['a long content by its length', pour(`${okJson}Content-Length: 999999999999999\r\n\r\n`, ' '.repeat(65536)),
   /more came than is kept/]
];
const kinds = ['initialize', 'call', 'resume'];
for (const kind of kinds) {
  const runAgainst = async (serve, ...args) => call((await hostileServer(kind, serve)).url, ...args);
  const assertRefused = async ([what, serve, complaint]) => {
    const ended = await runAgainst(serve);
    assertEnded(ended, what);
    assert.equal(ended.code, kind === 'initialize' ? 2 : 1, `${what}: ${ended.said}`);
    assert.match(ended.said, complaint, what);
  };

  describe(kind, () => {
    test('a wrong head is no answer', () => inParallel(wrongHeads, 8, assertRefused));
    // A resume is answered with a stream, and nothing else.
    if (kind !== 'resume') test('wrong content is no answer', () => inParallel(wrongContents, 6, assertRefused));

    test('what does not come in time is no answer', async () => {
      const slow = [
        ['nothing', () => {}], ['half a head', open('HTTP/1.1 200 OK\r\nX:')], ['a slow head', trickle(ok, 'X: y\r\n')],
        ['slow interim answers', trickle('', 'HTTP/1.1 100 C\r\n\r\n')],
        ['no event', open(stream() + (kind === 'resume' ? '' : priming))], ['no chunk', open(stream(chunked))],
        ...(kind === 'resume' ? [] : [
          ['half of the content', open(`${okJson}Content-Length: 100\r\n\r\n{`)], ['half a chunk', open(`${chunks}5\r\n{`)],
          ['slow content', trickle(`${okJson}\r\n`, ' ')], ['slow chunks', trickle(chunks, '1\r\n \r\n')],
          ['a slow chunk size', trickle(chunks, '0')], ['a slow trailer', trickle(`${chunks}0\r\n`, 'X: y\r\n')]]),
        ...(kind === 'initialize' ? [['slow comments', trickle(stream(), ': still there\n')]] : [])
      ];
      await inParallel(slow, 8, async ([what, serve]) => {
        const ended = await runAgainst(serve, '--timeout', '1');
        assertEnded(ended, what);
        assert.equal(ended.code, kind === 'initialize' ? 2 : 1, `${what}: ${ended.said}`);
        assert.match(ended.said, /the time was up/, what);
      });
    });

    test('a stream with a block that does not end is left', async () => {
      const head = stream();
      const floods = [['a line', pour(head, 'data: ' + 'x'.repeat(65536))], ['lines', pour(head, 'data: x\n'.repeat(10000))],
                      ['ids', pour(head, `id: ${'x'.repeat(65536)}`)], ['a name', pour(head, 'x'.repeat(65536))]];
      await inParallel(floods, 2, async ([what, serve]) => {
        const ended = await runAgainst(serve);
        assertEnded(ended, what);
        assert.equal(ended.code, kind === 'initialize' ? 2 : 1, `${what}: ${ended.said}`);
        assert.match(ended.said, /more came than is kept/, what);
      });
    });
  });
}

// ---- What good answers are, in pieces ----

const inChunks = text => [...text.matchAll(/[^]{1,20}/g)].map(([part]) => chunk(part)).join('') + '0\r\n\r\n';
const chunkedJson = (text, ...lines) => `${okJson}${[chunked, ...lines, ''].join('\r\n')}\r\n${inChunks(text)}`;
// By kind and form: the bytes, and how many of them make an answer.
const whole = text => [text, text.length];
const upTo = (text, end) => [text, text.indexOf(end) + end.length];
const small = [
  ['initialize', ...whole(json(hello, session))], ['initialize', ...whole(chunkedJson(hello, session))],
  ['initialize', ...upTo(stream(session) + asEvent(hello), '}\n\n')],
  ['initialize', ...upTo(stream(session, chunked) + chunk(asEvent(hello)) + '0\r\n\r\n', '}\n\n')],
  ['initialize', ...whole('HTTP/1.1 100 Continue\r\n\r\n' + json(hello, session))],
  ['call', ...whole(json(answer))], ['call', ...whole(chunkedJson(answer))],
  ['call', ...upTo(stream() + priming + asEvent(answer), '}\n\n')],
  ['call', ...upTo(stream(chunked) + chunk(priming) + chunk(asEvent(answer)) + '0\r\n\r\n', '}\n\n')],
  ['call', ...whole(json(answer).replaceAll('\r\n', '\n'))]
];

test('a good answer may be cut at every byte, and is none before it is whole', async () => {
  const cuts = small.flatMap(([kind, text, size]) =>
    Array.from({ length: text.length + 1 }, (_, at) => [kind, text.slice(0, at), at >= size]));
  let answered = 0;
  await inParallel(cuts, 8, async ([kind, text, isWhole]) => {
    const server = await hostileServer(kind, text);
    const ended = await call(server.url);
    server.close();
    const what = `${kind} cut behind ${JSON.stringify(text.slice(-30))} (${text.length})`;
    assertEnded(ended, what);
    assert.equal(ended.code === 0, isWhole, `${what}: ${ended.code} ${ended.said}`);
    answered += ended.code === 0 ? 1 : 0;
  });
  assert.ok(answered >= small.length && answered < cuts.length / 5, `${answered} of ${cuts.length}`);
});

test('a good answer may come split at every byte', async () => {
  const splits = small.flatMap(([kind, text]) => Array.from({ length: text.length }, (_, at) => [kind, text, at]))
    .filter((_, i) => i % 7 === 0);
  await inParallel(splits, 8, async ([kind, text, at]) => {
    const server = await hostileServer(kind, async socket => {
      socket.write(bytesOf(text.slice(0, at)));
      await sleep(5);
      socket.end(bytesOf(text.slice(at)));
    });
    const ended = await call(server.url);
    server.close();
    assert.equal(ended.code, 0, `${kind} split at ${at}: ${ended.said}`);
  });
});

// splitmix64, as in the C++ tests.
function* randomNumbers(seed) {
  const mask = (1n << 64n) - 1n;
  for (let state = BigInt(seed);;) {
    state = (state + 0x9E3779B97F4A7C15n) & mask;
    let z = state;
    z = ((z ^ (z >> 30n)) * 0xBF58476D1CE4E5B9n) & mask;
    z = ((z ^ (z >> 27n)) * 0x94D049BB133111EBn) & mask;
    yield Number((z ^ (z >> 31n)) >> 32n);
  }
}

test('answers with wrong bytes end the client in order', async () => {
  const seed = Number(process.env.MCP_RESUME_SEED ?? 20261201);
  const random = randomNumbers(seed);
  const below = n => random.next().value % n;
  const odd = ['\r\n', '\n', '\r', '\0', ':', ' ', '\xff', '0', 'ffffffff', '\r\n\r\n', 'data: ', 'id: ', '-', 'x'.repeat(9000)];
  const mutate = text => {
    for (let n = 1 + below(3); n > 0; --n) {
      const at = below(text.length), size = below(6);
      text = text.slice(0, at) + odd[below(odd.length)] + text.slice(at + size);
    }
    return text;
  };
  const answers = Array.from({ length: 400 }, (_, i) => {
    const [kind, text] = small[i % small.length];
    return [kind, mutate(text)];
  });
  await inParallel(answers, 8, async ([kind, text]) => {
    const server = await hostileServer(kind, text);
    const ended = await call(server.url, '--timeout', '2');
    server.close();
    assertEnded(ended, `seed ${seed}, ${kind}: ${JSON.stringify(text.slice(0, 1000))}`);
  });
});

// ---- What the messages hold ----

test('JSON that is deep, wide or no answer is no answer', async () => {
  const wide = piece => `{"jsonrpc":"2.0","id":2,"result":[${piece.repeat(Math.floor(15e6 / piece.length))}0]}`;
  const texts = [['nothing', ''], ['no JSON', '{"jsonrpc"'], ['deep', '['.repeat(1000000)],
                 ['deep objects', '{"a":'.repeat(1000000)], ['no object', '[]'], ['another id', result(77, {})],
                 ['an id of another type', result('2', {})], ['a request', '{"jsonrpc":"2.0","id":2,"method":"x"}'],
                 ['wide lists', wide('[],')], ['wide objects', wide('{},')], ['wide numbers', wide('1,')],
                 ['wide names', wide('{"":{"":1}},')]];
  await inParallel(texts, 2, async ([what, text]) => {
    const server = await hostileServer('call', json(text));
    const ended = await call(server.url);
    assertEnded(ended, what);
    assert.equal(ended.code, 1, `${what}: ${ended.said.slice(-300)}`);
  });
});

test('an initialize without what a client needs is status 2', async () => {
  const named = version => json(result(1, { protocolVersion: version }), session);
  const wrong = [
    ['no session', json(hello)], ['an error', json('{"jsonrpc":"2.0","id":1,"error":{}}', session)], ['a list', json('[]', session)],
    ['a session id that is no text', json(hello, 'Mcp-Session-Id: \xc3\xa4')],
    ['a session id with a blank', json(hello, 'Mcp-Session-Id: a b')],
    ['an unknown version', named('1999-01-01')], ['a version that is no text', named(7)],
    ['a version with an end of line', named('2025-11-25\r\nX-Injected: 1')],
    ...[204, 301, 307, 400, 401, 404, 500, 503].map(status => [`status ${status}`, empty(status)])
  ];
  await inParallel(wrong, 8, async ([what, text]) => {
    const server = await hostileServer('initialize', text);
    const ended = await call(server.url);
    assertEnded(ended, what);
    assert.equal(ended.code, 2, `${what}: ${ended.said}`);
    assert.equal(server.asked.length, 1, `${what}: ${server.asked}`);
  });
});

test('a redirect is not followed', async () => {
  const other = await hostileServer('', '');
  const to = `HTTP/1.1 307 X\r\nLocation: ${other.url}\r\nContent-Length: 0\r\n\r\n`;
  for (const kind of ['initialize', 'initialized', 'call', 'end']) {
    assertEnded(await call((await hostileServer(kind, to)).url), kind);
  }
  assert.equal(other.asked.length, 0);
});

test('what a terminal would obey is shown and not sent to it', async () => {
  const evil = '\x1b[2J\x07\x7f\xc2\x9b31m\xe2\x80\xae\xff';
  for (const text of [json(evil), stream() + asEvent(evil), stream() + priming + asEvent(JSON.stringify({ a: evil }))]) {
    const ended = await call((await hostileServer('call', text)).url);
    assertEnded(ended, text);
    assert.match(ended.said, /\\u009b31m\\u202e/);
  }
  for (const args of [[evil], ['http://127.0.0.1:1/', evil], ['http://127.0.0.1:1/', '--attempts', evil],
                      [`http://${evil}/`, '--tool', 'x'], [`http://127.0.0.1:1/${evil}`], [`--${evil}`]]) {
    const ended = await run(...args.map(text => Buffer.from(text, 'latin1').toString()));
    assert.ok(ended.code !== 0, args.join(' '));
    assert.doesNotMatch(ended.said, /[\x00-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]/);
  }
});

test('answers to what needs none may be anything', async () => {
  const answers = [...wrongHeads.map(([, how]) => how), ...wrongContents.map(([, how]) => how), () => {}];
  const tries = answers.flatMap(how => ['initialized', 'end'].map(kind => [kind, how]));
  await inParallel(tries, 8, async ([kind, how]) => {
    const ended = await call((await hostileServer(kind, how)).url, '--timeout', '1');
    assertEnded(ended, kind);
    assert.equal(ended.code, 0, ended.said);
  });
});

test('a watched stream that never ends does not keep the client from its end', async () => {
  const serve = trickle(stream() + priming, ': still there\n');
  const ended = await call((await hostileServer('watch', serve)).url, '--watch');
  assertEnded(ended, 'watch');
  assert.equal(ended.code, 0, ended.said);
});
