// SPDX-License-Identifier: MIT
// The example client against a server whose ids prove nothing and whose event store loses and reorders events: it says
// so before it hands on what came, once for each resumed connection, and claims nothing where nothing came.
// Left out: two sessions that share one such store. Its ids carry no session, so no client could tell that an event is
// another session's; and a client that sends only its own cursors is given only its own streams.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { ForeignServer } from './foreign_server.mjs';
import { CppClient, Relay, until } from './parts.mjs';

const opened = 'an event stream; recovery: none';
const unproven =
  'call: gap: id that cannot be proven, the first on a resumed connection or after a signal; recovery: resync';

async function withServer(body) {
  const server = await ForeignServer.start();
  const relay = await Relay.to(server.port);
  try {
    await body(server, relay);
  } finally {
    relay.close();
    await server.stop();
  }
}

const burst = (relay, args, ...options) =>
  new CppClient(relay.url, '--tool', 'burst', '--args', JSON.stringify({ tag: 'b', ...args }), ...options);

// The numbers of the messages among the lines of a client, in the order of their arrival.
const numbers = lines => lines.flatMap(line => line.match(/^call> .*"b (\d+)"/)?.[1] ?? []).map(Number);
const counted = n => Array.from({ length: n }, (_, i) => i + 1);

// The lines of the call's stream, apart for each connection.
function connections(client) {
  const parts = [];
  for (const line of client.lines.filter(each => each.startsWith('call'))) {
    if (line === `call: undecided: ${opened}`) parts.push([]);
    parts.at(-1)?.push(line);
  }
  return parts;
}

test('a call that is not cut brings everything in order, and there is nothing to recover', () =>
  withServer(async (server, relay) => {
    const client = burst(relay, { n: 100 });
    assert.equal(await client.status(), 0);
    assert.deepEqual(numbers(client.lines), counted(100));
    assert.ok(client.says('"text":"b done 100"'));
    assert.deepEqual(client.lines.filter(line => /: (gap|reset|reject): |recovery: (?!none)/.test(line)), []);
  }));

test('what came after a cut is lost, twice or in disorder, and the client has said before that nothing is proven', () =>
  withServer(async (server, relay) => {
    relay.limit = 20000;  // bytes of each connection: about a quarter of what there is to send
    const n = 400, client = burst(relay, { n });
    assert.equal(await client.status(), 0);
    const [first, ...resumed] = connections(client), arrived = numbers(client.lines);
    assert.ok(server.resumed.length >= 2, client.lines.join('\n'));
    assert.equal(resumed.length, server.resumed.length);
    assert.deepEqual(numbers(first), counted(numbers(first).length));
    assert.ok(!first.includes(unproven));
    assert.notDeepEqual(arrived, counted(n));  // the fault of the store is there
    for (const lines of resumed) {
      assert.equal(lines.filter(line => line === unproven).length, 1, lines.join('\n'));
      assert.deepEqual(numbers(lines.slice(0, lines.indexOf(unproven))), []);
    }
    assert.ok(client.says('"text":"b done 400"'));
  }));

test('where a resumed standalone stream stays silent for ever, the client never says that it goes on', () =>
  withServer(async (server, relay) => {
    const client = burst(relay, { n: 30, delay: 100 }, '--watch');
    const watched = () => client.lines.filter(line => line.startsWith('watch'));
    const show = () => client.lines.join('\n');
    await until(() => server.streams === 1, show);
    await server.notify(3, 'w');
    await until(() => client.events('watch').length === 3, show);
    const before = watched().length;
    relay.cut();
    await until(() => server.resumed.some(cursor => cursor.startsWith('_GET_stream')), show);
    await server.notify(3, 'w');  // goes nowhere: the store cannot tell which stream such a cursor is of
    assert.equal(await client.status(), 0);
    assert.equal(client.events('watch').length, 3);
    const after = watched().slice(before);
    assert.ok(after.includes(`watch: undecided: ${opened}`));
    assert.deepEqual(after.filter(line => !line.startsWith('watch: undecided: ')), []);
  }));
