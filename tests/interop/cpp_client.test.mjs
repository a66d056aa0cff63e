// SPDX-License-Identifier: MIT
// The example client against the example server, through a relay that breaks its connections, and through a restart:
// it prints every event once, and is told of everything else.
import assert from 'node:assert/strict';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';

import { CppClient, Relay, Server, until } from './parts.mjs';

const progress = n => Array.from({ length: n }, (_, i) => i + 1);

async function withServer(options, body) {
  const server = await Server.start(options);
  const relay = await Relay.to(server.port);
  try {
    await body(server, relay);
  } finally {
    relay.close();
    await server.stop();
  }
}

test('a call over three cuts brings each event once', () => withServer([], async (server, relay) => {
  const client = new CppClient(relay.url, '--tool', 'slow', '--args', '{"steps":40,"delay":100}');
  for (const n of [5, 15, 25]) {
    await until(() => client.events('call').length >= n, () => client.lines.join('\n'));
    relay.cut();
  }
  assert.equal(await client.status(), 0);
  assert.deepEqual(client.events('call').map(each => each.progress), progress(40));
  assert.ok(!client.says('resync'));
}));

test('events that were evicted meanwhile are counted', () => withServer(['--max-events', '4'], async (server, relay) => {
  const client = new CppClient(relay.url, '--tool', 'burst', '--args', '{"n":60,"delay":50,"tag":"g"}');
  await until(() => client.events('call').length >= 5, () => client.lines.join('\n'));
  relay.cut();
  assert.equal(await client.status(), 0);
  const missed = client.lines.flatMap(line => line.match(/(\d+) missed/)?.[1] ?? []).reduce((a, b) => a + Number(b), 0);
  assert.ok(missed > 0, client.lines.join('\n'));
  assert.equal(client.events('call').length + missed, 60);
}));

test('the standalone stream is watched over a cut', () => withServer([], async (server, relay) => {
  const client = new CppClient(relay.url, '--tool', 'slow', '--args', '{"steps":30,"delay":100}', '--watch');
  await until(() => client.events('call').length >= 5, () => client.lines.join('\n'));
  relay.cut();
  assert.equal(await client.status(), 0);
  assert.ok(client.lines.filter(line => line === 'watch: continue: marker at the place; recovery: none').length >= 2);
}));

test('an unknown tool and a wrong argument are errors and no stream', () => withServer([], async server => {
  for (const args of [['--tool', 'none'], ['--tool', 'slow', '--args', '{"steps":-1}']]) {
    const client = new CppClient(server.url, ...args);
    assert.equal(await client.status(), 0);
    assert.ok(client.says('"error"'), client.lines.join('\n'));
  }
}));

test('after a killed server comes back, calls are told to be issued again and the standalone stream is reset', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'state-'));
  const state = join(directory, 'sessions.json');
  const first = await Server.start(['--state', state]);
  const caller = new CppClient(first.url, '--tool', 'slow', '--args', '{"steps":100,"delay":100}');
  const watcher = new CppClient(first.url, '--watch');
  await until(() => caller.events('call').length >= 3 && watcher.says('marker at the place'),
              () => [...caller.lines, ...watcher.lines].join('\n'));
  assert.equal((await stat(state)).mode & 0o777, 0o600);
  await first.stop('SIGKILL');
  const second = await Server.start(['--state', state], first.port);
  await until(() => watcher.says('watch: reset: after a reset frame'), () => watcher.lines.join('\n'));
  assert.equal(await caller.status(), 1);
  assert.ok(caller.says('call: reject: 409 once more, or 4xx but 408, 429; recovery: resync'), caller.lines.join('\n'));
  watcher.process.kill();
  assert.equal(await second.stop(), 0);
  await rm(directory, { recursive: true });
});
