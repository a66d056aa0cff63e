// SPDX-License-Identifier: MIT
// The example server by hand: versions, batches, plain errors, principals, and what each status stands for.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { frameOf, Raw, Server, sleep } from './parts.mjs';

let server;
before(async () => { server = await Server.start(); });
after(() => server.stop());

const json = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' };
const post = (session, body, headers = {}) =>
  fetch(server.url, { method: 'POST', headers: { ...json, ...session.headers, ...headers }, body: JSON.stringify(body) });
const request = (id, method, params = {}) => ({ jsonrpc: '2.0', id, method, params });
const call = (id, name, args) => request(id, 'tools/call', { name, arguments: args });
const initialize = version => request(0, 'initialize', { protocolVersion: version, capabilities: {},
                                                         clientInfo: { name: 'raw', version: '1' } });
// The messages of an event stream that has ended, without the signals, which have an event name.
const messagesOf = text => text.split('\n\n').filter(block => !/^event:/m.test(block))
  .flatMap(block => block.match(/^data: (.+)$/m)?.[1] ?? []).map(data => JSON.parse(data));

async function sessionOf(version) {
  const answer = await post({}, initialize(version));
  const { protocolVersion } = (await answer.json()).result;
  return { protocolVersion, headers: { 'Mcp-Session-Id': answer.headers.get('mcp-session-id') } };
}

const bytesOf = async answer => JSON.stringify([answer.status, [...answer.headers], await answer.text()]);

describe('versions', () => {
  test('a version that the server speaks is taken, any other is answered with the newest', async () => {
    for (const version of ['2025-03-26', '2025-06-18', '2025-11-25']) {
      assert.equal((await sessionOf(version)).protocolVersion, version);
    }
    for (const version of ['2024-11-05', '2026-07-28', 'draft', '', 7]) {
      assert.equal((await sessionOf(version)).protocolVersion, '2025-11-25');
    }
  });

  test('a version header that the server does not speak is 400', async () => {
    const session = await sessionOf('2025-11-25');
    for (const version of ['2026-07-28', '2024-11-05', 'draft', '1']) {
      assert.equal((await post(session, request(1, 'ping'), { 'MCP-Protocol-Version': version })).status, 400);
    }
  });

  test('initialize says what is retained', async () => {
    const { result } = await (await post({}, initialize('2025-11-25'))).json();
    const { maxEvents } = result.capabilities.experimental.resume;
    assert.equal(maxEvents, 1024);
  });
});

describe('requests', () => {
  test('each method that a client may ask for is answered', async () => {
    const session = await sessionOf('2025-11-25');
    const resultOf = async (method, params) => messagesOf(await (await post(session, request(1, method, params))).text())
      .at(-1).result;
    assert.deepEqual(await resultOf('ping'), {});
    assert.deepEqual(await resultOf('logging/setLevel', { level: 'info' }), {});
    assert.deepEqual(await resultOf('resources/list'), { resources: [] });
    assert.deepEqual(await resultOf('prompts/list'), { prompts: [] });
    assert.deepEqual((await resultOf('tools/list')).tools.map(tool => tool.name),
                     ['test_reconnection', 'burst', 'notify', 'slow', 'large']);
  });

  test('an error that is known before the first event is plain JSON', async () => {
    const session = await sessionOf('2025-11-25');
    const wrong = [[request(1, 'no/method'), -32601], [call(1, 'none', {}), -32602], [call(1, 'burst', { n: -1 }), -32602],
                   [call(1, 'burst', { n: '1' }), -32602], [call(1, 'burst', []), -32602],
                   [{ ...request(1, 'ping'), id: 'x'.repeat(63) }, -32600]];
    for (const [message, code] of wrong) {
      const answer = await post(session, message);
      assert.equal(answer.headers.get('content-type'), 'application/json');
      assert.equal((await answer.json()).error.code, code);
    }
  });

  test('an answer that the log cannot hold becomes an error that says so', async () => {
    const session = await sessionOf('2025-11-25');
    const text = await (await post(session, call(5, 'large', { bytes: 9000000 }))).text();
    assert.deepEqual(messagesOf(text).map(message => [message.id, message.error.code]), [[5, -32603]]);
  });

  test('progress is reported to who asked for it, under a token that is a string or an integer', async () => {
    const session = await sessionOf('2025-11-25');
    const tokensOf = async token => {
      const message = call(1, 'slow', { steps: 2, delay: 1 });
      message.params._meta = { progressToken: token };
      return messagesOf(await (await post(session, message)).text()).slice(0, -1).map(each => each.params.progressToken);
    };
    assert.deepEqual(await tokensOf('t'), ['t', 't']);
    assert.deepEqual(await tokensOf(7), [7, 7]);
    assert.deepEqual(await tokensOf({ deep: [] }), []);
  });
});

describe('batches', () => {
  const batch = [call('a', 'burst', { n: 2, tag: 'b' }), { jsonrpc: '2.0', method: 'notifications/x' },
                 request(2, 'ping'), call(3, 'none', {})];

  test('a batch of 2025-03-26 is answered by one message on one stream', async () => {
    const messages = messagesOf(await (await post(await sessionOf('2025-03-26'), batch)).text());
    assert.deepEqual(messages.slice(0, -1).map(message => message.params.data), ['burst b 1', 'burst b 2']);
    assert.deepEqual(messages.at(-1).map(response => response.id), ['a', 2, 3]);
    assert.deepEqual(messages.at(-1).map(response => 'error' in response), [false, false, true]);
  });

  test('a batch without a request is accepted, an empty one and one with initialize are refused', async () => {
    const session = await sessionOf('2025-03-26');
    assert.equal((await post(session, [batch[1], { jsonrpc: '2.0', id: 1, result: {} }])).status, 202);
    assert.equal((await post(session, [])).status, 400);
    assert.equal((await post(session, [initialize('2025-03-26')])).status, 400);
  });

  test('a later version has no batches', async () => {
    for (const version of ['2025-06-18', '2025-11-25']) {
      assert.equal((await post(await sessionOf(version), batch)).status, 400);
    }
  });

  test('each call of a batch whose answer is lost gets an error', async () => {
    const small = await Server.start(['--max-events', '2']);
    const raw = await Raw.open(small.url);
    raw.headers['MCP-Protocol-Version'] = '2025-03-26';
    const begun = await fetch(small.url, { method: 'POST', headers: json, body: JSON.stringify(initialize('2025-03-26')) });
    raw.headers['Mcp-Session-Id'] = begun.headers.get('mcp-session-id');
    const send = body => fetch(small.url, { method: 'POST', headers: { ...json, ...raw.headers }, body: JSON.stringify(body) });
    const first = await (await send(batch)).text();
    const cursor = first.match(/^id: (.*)$/m)[1];
    await (await send(call(9, 'burst', { n: 1, tag: 'evicts' }))).text();
    await (await send(call(10, 'burst', { n: 1, tag: 'evicts' }))).text();
    const answer = await raw.get(cursor);
    assert.equal(answer.status, 200);
    const errors = messagesOf(await answer.text()).find(Array.isArray);
    assert.deepEqual(errors.map(each => [each.id, each.error.code]), [['a', -32603], [2, -32603], [3, -32603]]);
    await small.stop();
  });
});

describe('sessions', () => {
  test('a principal is asked for by name, and another one gets the bytes of an unknown session', async () => {
    const proxied = await Server.start(['--principal-header', 'X-Principal']);
    const as = name => ({ 'X-Principal': name });
    const alice = await Raw.open(proxied.url, as('alice'));
    assert.ok((await alice.get(undefined, as(''))).headers.get('www-authenticate'));
    const asBob = await bytesOf(await alice.get(undefined, as('bob')));
    assert.equal(asBob, await bytesOf(await alice.get(undefined, { 'Mcp-Session-Id': 'unknown' })));
    assert.match(asBob, /^\[404,/);
    assert.equal(await alice.status(undefined, as('')), 401);
    assert.equal(await alice.status(), 200);
    await proxied.stop();
  });

  test('an id of another session and one that was never issued get the same bytes', async () => {
    const [alice, bob] = [await Raw.open(server.url), await Raw.open(server.url)];
    const [own] = await alice.idsOf('burst', { n: 1, tag: 'a' }), [foreign] = await bob.idsOf('burst', { n: 1, tag: 'b' });
    const ahead = await bytesOf(await alice.get(own.replace(/\d+$/, '999')));
    assert.equal(await bytesOf(await alice.get(foreign)), ahead);
    assert.match(ahead, /^\[409,/);
  });

  test('connections that take a stream from each other are told to wait longer and longer', async () => {
    const raw = await Raw.open(server.url);
    const retries = [];
    let last = await raw.get();
    const cursor = (await last.body.getReader().read().then(({ value }) => Buffer.from(value).toString())).match(/^id: (.*)$/m)[1];
    last = await raw.get(cursor);
    for (let i = 0; i < 3; ++i) {
      const next = await raw.get(cursor);
      retries.push(Number((await last.text()).match(/^retry: (\d+)$/gm).at(-1).slice(7)));
      last = next;
    }
    const marker = Buffer.from((await last.body.getReader().read()).value).toString();
    assert.deepEqual([...retries].sort((a, b) => a - b), retries);
    assert.ok(retries[2] > retries[0], retries.join());
    assert.ok(Number(marker.match(/^retry: (\d+)$/m)[1]) >= retries[1], marker);
  });

  test('media types have no case', async () => {
    const session = await sessionOf('2025-11-25');
    const typed = type => post(session, request(1, 'ping'), { 'Content-Type': type });
    assert.equal((await typed('Application/JSON; charset=utf-8')).status, 200);
    for (const type of ['application/jsonx', 'text/plain', 'text/application/json']) {
      assert.equal((await typed(type)).status, 415);
    }
  });

  const cancel = (raw, requestId) => fetch(server.url, {
    method: 'POST', headers: { ...raw.headers, 'Content-Type': 'application/json', Accept: 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } })
  });
  const long = { name: 'slow', arguments: { steps: 1000, delay: 60000 } };
  // Sends requests and then notifications; gives the text of the stream that answers the requests.
  const during = async (raw, body, ...ids) => {
    const answer = await fetch(server.url, {
      method: 'POST', body: JSON.stringify(body),
      headers: { ...raw.headers, 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' }
    });
    for (const [who, id] of ids) assert.equal((await cancel(who, id)).status, 202);
    return answer.text();
  };

  test('a cancelled call stops, its stream ends without an answer, and nothing is owed', async () => {
    const raw = await Raw.open(server.url), other = await Raw.open(server.url);
    for (const id of [7, '7', 'a"\u00e4']) {
      const body = { jsonrpc: '2.0', id, method: 'tools/call', params: long };
      const text = await during(raw, body, [raw, 'none'], [raw, null], [raw, { id }], [other, id], [raw, id]);
      const frames = text.split('\n\n').filter(block => block).map(frameOf);
      assert.deepEqual(frames.map(frame => frame.kind), ['marker'], text);
      assert.equal(await raw.status(frames[0].id), 204);
    }
  });

  test('whoever else names the id, or names another one, cancels nothing', async () => {
    const raw = await Raw.open(server.url), other = await Raw.open(server.url);
    const body = { jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name: 'slow', arguments: { steps: 3, delay: 100 } } };
    const text = await during(raw, body, [other, 7], [raw, '7'], [raw, 8]);
    assert.match(text, /done after 3 steps/);
    assert.equal((await cancel(raw, 7)).status, 202);  // too late
    assert.match(await during(raw, body), /done after 3 steps/);  // the id may come again
  });

  test('of a batch only what was cancelled has no answer', async () => {
    const hello = { protocolVersion: '2025-03-26', capabilities: {}, clientInfo: { name: 'raw', version: '1' } };
    const first = await new Raw().post.call({ url: server.url, headers: {} }, 'initialize', hello);
    const raw = { headers: { 'Mcp-Session-Id': first.headers.get('mcp-session-id') } };
    const request = (id, params) => ({ jsonrpc: '2.0', id, method: 'tools/call', params });
    const quick = { name: 'burst', arguments: { n: 0 } };
    const text = await during(raw, [request('a', quick), request('b', long), request('c', long), request('d', quick)],
                              [raw, 'b'], [raw, 'c']);
    const answers = text.match(/^data: (\[.*)$/m)[1];
    assert.deepEqual(JSON.parse(answers).map(each => each.id), ['a', 'd']);
  });

  test('a second standalone stream is told that the first one is there', async () => {
    const raw = await Raw.open(server.url);
    const first = await raw.get();
    assert.equal(first.status, 200);
    assert.equal(await raw.status(), 409);
    await first.body.cancel();
  });

  test('a session lasts while its stream is waited on, and ends when it is idle', async () => {
    const hasty = await Server.start(['--session-ttl', '2000']);
    const raw = await Raw.open(hasty.url);
    const stream = await raw.get();
    await sleep(7000);
    assert.equal((await raw.post('ping', {})).status, 200);
    await stream.body.cancel();
    const health = async () => (await fetch(hasty.url.replace('/mcp', '/healthz'))).json();
    for (const end = Date.now() + 20000; (await health()).sessions !== 0; await sleep(100)) assert.ok(Date.now() < end);
    assert.equal((await raw.post('ping', {})).status, 404);
    await hasty.stop();
  });

  test('other methods are 405 and take no stream over', async () => {
    const raw = await Raw.open(server.url);
    const stream = await raw.get();
    for (const method of ['HEAD', 'PUT', 'PATCH', 'OPTIONS']) {
      const answer = await fetch(server.url, { method, headers: { ...raw.headers, Accept: 'text/event-stream' } });
      assert.equal(answer.status, 405);
      assert.equal(answer.headers.get('allow'), 'GET, POST, DELETE');
    }
    assert.equal(await raw.status(), 409);
    await stream.body.cancel();
  });
});
