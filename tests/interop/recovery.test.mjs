// SPDX-License-Identifier: MIT
// Both official TypeScript clients where more than the connection changes: an old version of the protocol, a session
// that another connection ends, a new client that takes over the call of an earlier one.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { clients, FrameRelay, Server, until, withClient } from './parts.mjs';

const numbered = (prefix, n) => Array.from({ length: n }, (_, i) => `${prefix} ${i + 1}`);

// A transport's option: neither client lets its version of the protocol be chosen.
const speaking = protocolVersion => ({
  fetch: (url, init) => {
    const message = init?.body && JSON.parse(init.body);
    if (message?.method === 'initialize') message.params.protocolVersion = protocolVersion;
    return fetch(url, { ...init, ...(message && { body: JSON.stringify(message) }) });
  }
});

async function checkRequests(relay) {
  await relay.quiet();
  assert.deepEqual(relay.tooSoon(), []);
}

async function callOverThreeCuts(app, relay) {
  const call = app.call('burst', { n: 60, delay: 60, tag: 'o' });
  const isRead = stream => relay.exchanges.some(each => each.isOpen && each.stream === stream && each.frames.length);
  for (const n of [5, 15, 25]) {
    await until(() => app.messages.length >= n && isRead(0) && isRead(1), () => `${app.messages.length} messages`);
    relay.cut('GET');
    relay.cut('POST');
  }
  assert.equal(await call, 'burst o done 60');
  assert.deepEqual(app.texts('burst o'), numbered('burst o', 60));
  await app.call('notify', { n: 2, tag: 'n' });
  await until(() => app.texts('notify n').length === 2, () => app.errors.join('\n'));
}

// A client of an old version would try to parse empty data: its marker is a notification.
function checkOldFrames(relay) {
  const streams = relay.exchanges.filter(each => each.frames.length > 0);
  assert.ok(streams.length >= 8, `${streams.length} streams`);
  for (const { cursor, frames } of streams) {
    assert.deepEqual(frames.filter(frame => !frame.data), []);
    const { jsonrpc, method, params } = JSON.parse(frames[0].data);
    assert.deepEqual([frames[0].event, jsonrpc, method], ['resume', '2.0', 'notifications/resume/continued']);
    assert.equal(params.lastEventId, frames[0].id);
    if (cursor) assert.equal(frames[0].id, cursor);
  }
}

let server;
before(async () => { server = await Server.start(); });
after(() => server.stop());

function testOldProtocol(version, protocol) {
  test(`${version}: a call over three cuts brings everything once and in order in ${protocol}`, () =>
    withClient(version, server.port, async (app, relay) => {
      await callOverThreeCuts(app, relay);
      checkOldFrames(relay);
      await checkRequests(relay);
      assert.ok(relay.exchanges.slice(1).every(each => each.version === protocol));
      assert.equal(relay.gets(1).length, 3);
      assert.equal(relay.gets(0).length, 4);
    }, speaking(protocol)));
}

function testDelete(version) {
  test(`${version}: after another connection's DELETE the client asks as often as it tries, and its call ends`, () =>
    withClient(version, server.port, async (app, relay) => {
      const call = app.call('burst', { n: 1000, delay: 50, tag: 'd' }, { timeout: 8000 });
      const settled = call.then(text => ({ text }), error => ({ error }));
      await until(() => app.messages.length >= 3, () => 'no message');
      const headers = { 'Mcp-Session-Id': app.transport.sessionId };
      assert.equal((await fetch(server.url, { method: 'DELETE', headers })).status, 204);
      assert.match(String((await settled).error), /timed out/i);
      await checkRequests(relay);
      assert.deepEqual(relay.gets(1).map(each => each.status), [404, 404]);
      assert.deepEqual(relay.gets(0).map(each => each.status), [200, 404, 404]);
      await assert.rejects(app.call('burst', { n: 1 }), error => /404/.test(`${error.code} ${error.status}`));
    }));
}

// The earlier client is closed in the middle of its call, and says no more to the server.
async function leaveCall(version, relay) {
  const app = await clients[version](relay.url);
  let token;
  const onresumptiontoken = id => { token = id; };
  const left = assert.rejects(app.call('burst', { n: 60, delay: 50, tag: 'r' }, { onresumptiontoken }));
  await until(() => app.messages.length >= 5, () => 'no message');
  await app.close();
  await left;
  return { token, sessionId: app.transport.sessionId, messages: app.messages };
}

async function takeOver(version, left, relay) {
  const app = await clients[version](relay.url, { sessionId: left.sessionId });
  const text = await app.call('burst', { n: 60, tag: 'r' }, { resumptionToken: left.token });
  await relay.quiet();
  await app.close();
  assert.equal(text, 'burst r done 60');
  assert.deepEqual([...left.messages, ...app.messages], numbered('burst r', 60));
}

function testNewClient(version) {
  test(`${version}: a new client with a resumption token gets the rest of an earlier client's call`, async () => {
    const [near, relay] = [await FrameRelay.to(server.port), await FrameRelay.to(server.port)];
    try {
      const left = await leaveCall(version, near);
      await takeOver(version, left, relay);
      const requests = relay.exchanges.map(({ method, cursor, status }) => [method, cursor, status]);
      assert.deepEqual(requests, [['GET', left.token, 200]]);
    } finally {
      for (const each of [near, relay]) each.close();
    }
  });
}

describe('both TypeScript clients', { concurrency: 8 }, () => {
  for (const version of Object.keys(clients)) {
    for (const protocol of ['2025-03-26', '2025-06-18']) testOldProtocol(version, protocol);
    testDelete(version);
    testNewClient(version);
  }
});
