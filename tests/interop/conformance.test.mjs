// SPDX-License-Identifier: MIT
// The official conformance suite's scenarios of sessions and streams. Its exit status is 0 for warnings and for checks
// that did not run, so each check is asked for by its name.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';

import { Server } from './parts.mjs';

const suite = new URL('./node_modules/@modelcontextprotocol/conformance/dist/index.js', import.meta.url).pathname;
const scenarios = {
  'server-initialize': ['server-initialize', 'server-session-id-visible-ascii', 'wire-schema-valid'],
  'server-session-lifecycle': ['server-session-initialized-accepted', 'server-session-delete-accepted',
                               'server-session-terminated-returns-404'],
  'server-sse-polling': ['server-sse-priming-event', 'server-sse-retry-field', 'server-sse-disconnect-resume'],
  'server-sse-multiple-streams': ['server-accepts-multiple-post-streams', 'server-sse-streams-functional'],
  'dns-rebinding-protection': ['localhost-host-rebinding-rejected', 'localhost-host-valid-accepted']
};

async function checksOf(scenario, url) {
  const directory = await mkdtemp(join(tmpdir(), 'conformance-'));
  const args = [suite, 'server', '--url', url, '--scenario', scenario, '--spec-version', '2025-11-25', '-o', directory];
  const printed = await new Promise(done => {
    execFile(process.execPath, args, (error, out, err) => done(out + err));
  });
  const reports = (await readdir(directory, { recursive: true })).filter(name => name.endsWith('checks.json'));
  assert.equal(reports.length, 1, printed);
  const checks = JSON.parse(await readFile(join(directory, reports[0])));
  await rm(directory, { recursive: true });
  return checks;
}

let server;
before(async () => { server = await Server.start(); });
after(() => server.stop());

for (const [scenario, names] of Object.entries(scenarios)) {
  test(`conformance: ${scenario}`, async () => {
    const checks = await checksOf(scenario, server.url);
    for (const name of names) {
      const found = checks.filter(check => check.id === name);
      assert.ok(found.length > 0, `${name} did not run`);
      for (const check of found) assert.equal(check.status, 'SUCCESS', `${name}: ${check.errorMessage}`);
    }
    assert.deepEqual(checks.filter(check => ['FAILURE', 'WARNING'].includes(check.status)), []);
  });
}
