// SPDX-License-Identifier: MIT
// Both official TypeScript clients, cut between any two frames of a gap and of a reset sequence: the call is settled,
// the standalone stream goes on, and nothing reconnects sooner than `retry:` allows, or for ever.
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';

import { clients, Server, sleep, until, withClient } from './parts.mjs';

const lists = ['list_changed', 'list_changed', 'list_changed'];
const gap = ['gap', ...lists, 'marker'];
const reset = ['reset', ...lists, 'marker'];
const calls = {
  'whose answer is not there yet': { n: 100, delay: 50, frames: ['gap', 'marker', 'event'] },
  'whose answer is held': { n: 30, frames: ['gap', 'marker', 'result'] },
  'whose answer is lost': { n: 30, pings: 6, frames: ['gap', 'error', 'marker'] },
};

const places = frames => [-1, 0, ...frames.map((_, i) => i + 1), Infinity];
const named = new Map([[-1, 'before the head'], [0, 'after the head'], [Infinity, 'nowhere']]);
const nameOf = place => named.get(place) ?? `after frame ${place}`;

// ---- What is broken ----

// A call whose connection breaks after its third frame, and whose client is then held back.
async function breakCall(app, relay, { n, delay = 0 }, timeout) {
  relay.hold();
  relay.cutNext('POST', 3);
  const settled = app.call('burst', { n, delay, tag: 'b' }, { timeout }).then(text => ({ text }), error => ({ error }));
  const broken = () => relay.exchanges.find(each => each.kinds.length === 3);
  await until(broken, () => 'no call');
  return { settled, answerId: broken().frames[0].id.replace(/\d+$/, n + 1) };
}

// Without taking the stream over: 409 is for an event that was never issued, 204 for a stream that ended with it.
async function untilAnswered(app, id) {
  const headers = { Accept: 'text/event-stream', 'Mcp-Session-Id': app.transport.sessionId, 'Last-Event-ID': id };
  for (let status; status !== 204; await sleep(20)) {
    assert.ok(status === undefined || status === 409, `${status}`);
    ({ status } = await fetch(server.url, { headers }));
  }
}

// Each answer is an event on a stream of its own. Three at a time: more would evict each other's from the small log.
async function ping(app, n) {
  for (let i = 0; i < n; i += 3) await Promise.all([1, 2, 3].map(() => app.client.ping()));
}

async function withRestart(version, body) {
  const directory = await mkdtemp(join(tmpdir(), 'state-'));
  const state = ['--state', join(directory, 'sessions.json')];
  const first = await Server.start(state);
  let second;
  await withClient(version, first.port, (app, relay) => body(app, relay, async signal => {
    relay.hold();
    const code = await first.stop(signal);
    second = await Server.start(state, first.port);
    return code;
  }));
  await second.stop();
  await rm(directory, { recursive: true });
}

// ---- What must hold ----

// Without an id a client has lost its cursor: its call ends by its own time-out.
function checkSettled({ text, error }, place, { n, pings }) {
  if (place === 0) {
    assert.match(String(error), /timed out/i);
  } else if (pings) {
    assert.equal(error?.code, -32603, text);
  } else {
    assert.equal(text, `burst b done ${n}`);
  }
}

function checkOrder(app) {
  const numbers = app.texts('burst b').map(text => Number(text.split(' ').at(-1)));
  assert.deepEqual(numbers, [...new Set(numbers)].sort((a, b) => a - b));
}

// The log is small: a notification that its reader was too slow for is a gap, and does not come. So some are sent.
async function checkStandalone(app) {
  const sent = [];
  for (const end = Date.now() + 10000; app.texts('notify later').length === 0; await sleep(50)) {
    assert.ok(Date.now() < end, app.errors.join('\n'));
    sent.push(`notify later${sent.length} 1`);
    await app.call('notify', { n: 1, tag: `later${sent.length - 1}` });
  }
  const got = app.texts('notify later');
  assert.deepEqual(got, sent.filter(text => got.includes(text)));
}

async function checkRequests(relay) {
  await relay.quiet();
  assert.deepEqual(relay.tooSoon(), []);
}

async function cutCall(app, relay, place, kind) {
  const call = await breakCall(app, relay, kind, place === 0 ? 6000 : 30000);
  if (!kind.delay) await untilAnswered(app, call.answerId);
  await ping(app, kind.pings ?? 0);
  relay.cutNext('GET', place);
  relay.release();
  checkSettled(await call.settled, place, kind);
  checkOrder(app);
  await checkStandalone(app);
  await checkRequests(relay);
  const [first, ...later] = relay.exchanges.filter(each => each.method === 'GET' && each.cursor);
  assert.deepEqual(first.kinds.slice(0, kind.frames.length), kind.frames.slice(0, Math.max(place, 0)));
  assert.ok(later.length <= (place === Infinity ? 1 : 2), `${later.length} more`);  // one of them may get a 204
}

// Lets the standalone stream be resumed, and cuts that once. A client without an id has lost its cursor: of another
// incarnation it is not told again.
async function cutStandalone(app, relay, place, frames) {
  relay.cutNext('GET', place);
  relay.release();
  const resumes = place === Infinity ? 1 : 2;
  await until(() => relay.gets(0)[resumes]?.frames.length > 0, () => app.errors.join('\n'), 8000);
  await checkStandalone(app);
  await checkRequests(relay);
  const [, first, ...later] = relay.gets(0);
  assert.deepEqual(first.kinds.slice(0, frames.length), frames.slice(0, Math.max(place, 0)));
  assert.equal(later.length, resumes - 1);
  if (place !== 0 || frames === gap) assert.ok(app.lists.includes('notifications/tools/list_changed'));
}

// A call that cannot be resumed is asked for as often as its client tries, and ends by its own time-out.
async function checkEnded(relay, settled, status) {
  assert.match(String((await settled).error), /timed out/i);
  const statuses = relay.gets(1).map(each => each.status);
  assert.deepEqual(statuses, [status, status]);
}

let server;
before(async () => { server = await Server.start(['--max-events', '4']); });
after(() => server.stop());

function testCuts(version) {
  for (const [what, kind] of Object.entries(calls)) {
    for (const place of places(kind.frames)) {
      test(`${version}: a call ${what} is settled when its gap is cut ${nameOf(place)}`, () =>
        withClient(version, server.port, (app, relay) => cutCall(app, relay, place, kind)));
    }
  }
  for (const place of places(gap)) {
    test(`${version}: the standalone stream goes on when its gap is cut ${nameOf(place)}`, () =>
      withClient(version, server.port, async (app, relay) => {
        relay.hold();
        relay.cut('GET');
        await app.call('notify', { n: 10, tag: 'missed' });
        await cutStandalone(app, relay, place, gap);
      }));
  }
  for (const place of places(reset)) {
    test(`${version}: the standalone stream goes on when its reset is cut ${nameOf(place)}`, () =>
      withRestart(version, async (app, relay, restart) => {
        await restart('SIGKILL');
        await cutStandalone(app, relay, place, reset);
      }));
  }
}

function testEnds(version) {
  test(`${version}: a call whose stream is forgotten ends by its own time-out`, () =>
    withClient(version, server.port, async (app, relay) => {
      const call = await breakCall(app, relay, { n: 30 }, 10000);
      await untilAnswered(app, call.answerId);
      await ping(app, 258);  // more than the streams that a session remembers
      relay.release();
      await checkEnded(relay, call.settled, 410);
      await checkStandalone(app);
      await checkRequests(relay);
    }));
  for (const [signal, code, retry] of [['SIGKILL', null, 1000], ['SIGTERM', 0, 2000]]) {
    test(`${version}: after ${signal} and a restart the session goes on, and a call that ran ends`, () =>
      withRestart(version, async (app, relay, restart) => {
        const call = await breakCall(app, relay, { n: 100, delay: 100 }, 10000);
        assert.equal(await restart(signal), code);
        assert.equal(relay.retry, retry);
        relay.release();
        await checkEnded(relay, call.settled, 410);
        assert.equal(await app.call('burst', { n: 2, tag: 'new' }), 'burst new done 2');
        await checkStandalone(app);
        await checkRequests(relay);
        assert.deepEqual(relay.gets(0)[1].kinds.slice(0, reset.length), reset);
        assert.equal(relay.gets(0).length, 2);
      }));
  }
}

describe('both TypeScript clients', { concurrency: 24 }, () => {
  for (const version of Object.keys(clients)) {
    testCuts(version);
    testEnds(version);
  }
});
