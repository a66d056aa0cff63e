// SPDX-License-Identifier: MIT
// Both official TypeScript clients against the example server, through a relay that breaks their connections: what was
// sent arrives in order and once, calls are settled, and nothing reconnects for ever.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { clients, Raw, Relay, Server, sleep, until } from './parts.mjs';

const numbered = (prefix, n) => Array.from({ length: n }, (_, i) => `${prefix} ${i + 1}`);

let server;
before(async () => { server = await Server.start(); });
after(() => server.stop());

for (const [version, connect] of Object.entries(clients)) {
  describe(`TypeScript client ${version}`, () => {
    const withClient = body => async () => {
      const relay = await Relay.to(server.port);
      const app = await connect(relay.url);
      try {
        await body(app, relay);
      } finally {
        await app.close();
        relay.close();
      }
    };

    test('a call that the client cancels stops at the server, and nothing reconnects', withClient(async (app, relay) => {
      const abort = new AbortController();
      const health = async () => (await fetch(server.url.replace('/mcp', '/healthz'))).json();
      const called = app.call('burst', { n: 1000000, delay: 20, tag: version }, { signal: abort.signal, timeout: 60000 });
      await until(() => app.texts(`burst ${version} `).length > 0, () => 'nothing comes');
      abort.abort();
      await assert.rejects(called);
      let events, before;
      for (const end = Date.now() + 20000; before === undefined || events !== before; await sleep(300)) {
        assert.ok(Date.now() < end, 'it still runs');
        before = events;
        ({ events } = await health());
      }
      const { accepted } = relay;
      await sleep(1500);
      assert.ok(relay.accepted <= accepted + 1, `${relay.accepted} connections, ${accepted} before`);
      assert.equal(await app.call('burst', { n: 0, tag: 'after' }), 'burst after done 0');
    }));

    test('a server that closes its stream is polled for the result', withClient(async app => {
      assert.equal(await app.call('test_reconnection', {}), 'reconnected');
    }));

    for (const [how, times] of [['cut', 1], ['cut', 3], ['reset', 2]]) {
      test(`a call survives ${how} x ${times}`, withClient(async (app, relay) => {
        const call = app.call('burst', { n: 40, delay: 100, tag: 'b' });
        for (let i = 1; i <= times; ++i) {
          await until(() => app.messages.length >= 8 * i, () => `${app.messages.length} messages`);
          relay[how]();
        }
        assert.equal(await call, 'burst b done 40');
        assert.deepEqual(app.texts('burst b'), numbered('burst b', 40));
      }));
    }

    test('a burst that is cut in the middle of a frame is resumed in order', withClient(async (app, relay) => {
      relay.limit = 5000;
      const call = app.call('burst', { n: 200, tag: 'm' });
      await until(() => app.messages.length > 0, () => 'no message');
      relay.limit = Infinity;
      assert.equal(await call, 'burst m done 200');
      assert.deepEqual(app.texts('burst m'), numbered('burst m', 200));
    }));

    test('a half-open connection is taken over', withClient(async (app, relay) => {
      const call = app.call('burst', { n: 20, delay: 100, tag: 'h' });
      await until(() => app.messages.length >= 5, () => `${app.messages.length} messages`);
      relay.halfOpen();
      assert.equal(await call, 'burst h done 20');
      assert.deepEqual(app.texts('burst h'), numbered('burst h', 20));
      assert.deepEqual(app.errors.filter(text => text.includes('409')), []);
    }));

    test('the standalone stream goes on after a cut', withClient(async (app, relay) => {
      await app.call('notify', { n: 5, tag: 's' });
      await until(() => app.texts('notify s').length === 5, () => app.messages.join());
      relay.cut();
      await sleep(100);  // until the client's pool has seen it: a POST on a connection that is gone fails
      await app.call('notify', { n: 5, tag: 't' });
      await until(() => app.texts('notify t').length === 5, () => app.messages.join());
      assert.deepEqual(app.texts('notify'), [...numbered('notify s', 5), ...numbered('notify t', 5)]);
    }));

    test('an error answer is not asked for again', withClient(async (app, relay) => {
      await assert.rejects(app.call('no_such_tool', {}));
      await sleep(300);
      const before = relay.accepted;
      await sleep(2500);
      assert.equal(relay.accepted, before);
    }));

    test('a result of 5 MB arrives', withClient(async app => {
      assert.equal((await app.call('large', {})).length, 5000000);
    }));
  });
}

describe('what no client may get', () => {
  test('an id of another session, a never-issued and a malformed one are refused alike', async () => {
    const [alice, bob] = [await Raw.open(server.url), await Raw.open(server.url)];
    const ids = await bob.idsOf('burst', { n: 2, tag: 'x' });
    const own = await alice.idsOf('burst', { n: 2, tag: 'y' });
    for (const id of ids) assert.equal(await alice.status(id), 409);
    assert.equal(await alice.status(own.at(-1).replace(/\d+$/, '999')), 409);
    for (const id of ['1', 'evt-1', own[0] + 'x', own[0].slice(0, -2), 'a'.repeat(4000)]) {
      assert.equal(await alice.status(id), 400);
    }
    assert.equal(await alice.status(own.at(-1)), 204);
  });

  test('after DELETE and for an unknown session the answer is the same 404 without a body', async () => {
    const raw = await Raw.open(server.url);
    const [id] = await raw.idsOf('burst', { n: 1, tag: 'd' });
    assert.equal((await raw.delete()).status, 204);
    const answers = [await raw.get(id), await raw.get(id, { 'Mcp-Session-Id': 'nobody' }),
                     await raw.post('tools/list', {})];
    for (const answer of answers) {
      assert.equal(answer.status, 404);
      assert.equal(await answer.text(), '');
    }
  });
});
