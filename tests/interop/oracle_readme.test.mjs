// SPDX-License-Identifier: MIT
// What the oracle's page and README's chapter on it show: every command runs, and prints what stands below it.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';

import { Server } from './parts.mjs';

const source = process.env.MCP_RESUME_SOURCE;
const page = await readFile(join(source, 'examples/oracle/README.md'), 'utf8');
const blocks = [...page.matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(([, language, text]) => ({ language, text }));
const behind = start => {
  const at = blocks.findIndex(({ text }) => text.startsWith(start));
  assert.notEqual(at, -1, start);
  return [blocks[at].text, blocks[at + 1].text];
};

// A directory in which the commands of the page mean what they do in a clone with the oracle installed.
let directory;
before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'oracle-'));
  await symlink(join(source, 'examples'), join(directory, 'examples'));
  await symlink(join(source, 'tests'), join(directory, 'tests'));
  await symlink(join(source, 'examples/oracle/consumers'), join(directory, 'consumers'));
});
after(() => rm(directory, { recursive: true }));

function run(command) {
  const path = [join(process.cwd(), 'node_modules/.bin'), dirname(process.env.MCP_RESUME_ORACLE), process.env.PATH];
  const options = { cwd: directory, env: { ...process.env, PATH: path.join(':') }, maxBuffer: 1 << 26 };
  return new Promise(done => {
    execFile('bash', ['-c', `set -o pipefail; ${command}`], options,
             (error, out, err) => done({ status: error?.code ?? 0, out, err }));
  });
}

test('judge: the example\'s trace holds the leak that the page shows, and the trace of the page nothing wrong', async () => {
  const [command, shown] = behind('node examples/oracle/recorders/example.mjs');
  const { status, out } = await run(command);
  assert.equal(out, shown);
  assert.equal(status, 1);
  await writeFile(join(directory, 'page.jsonl'), behind('{"trace": 1')[0]);
  assert.deepEqual((await run('mcp-resume-oracle judge page.jsonl')).status, 0);
});

test('vectors: both consumers agree', async () => {
  const { status, out } = await run(behind('mcp-resume-oracle vectors')[0]);
  assert.equal(out, '1000 vectors, 0 differ\n'.repeat(2));
  assert.equal(status, 0);
});

test('run: the cases of the page have the outcomes that it shows', async () => {
  const [command, shown] = behind('cat > cases.jsonl');
  assert.deepEqual(await run(command), { status: 1, out: shown, err: '' });
});

test('table and explain: what is shown behind a prompt is printed', async () => {
  await writeFile(join(directory, 'state.json'), behind('{"sessions"')[0]);
  const prompts = blocks.filter(({ text }) => text.startsWith('$ '));
  assert.ok(prompts.length >= 3);
  for (const { text } of prompts) {
    const [, command, shown] = text.match(/^\$ ((?:[^\n]*\\\n)*[^\n]*)\n(.*)$/s);
    assert.equal((await run(command.replace(' | head', ' 2>&1 | head'))).out, shown, command);
  }
});

test('the commands of README\'s chapter do what it says', async () => {
  const readme = await readFile(join(source, 'README.md'), 'utf8');
  const chapter = readme.match(/^## The oracle$(.*?)^## /ms)[1];
  const server = await Server.start();
  const commands = chapter.match(/^```sh\n(.*?)^```$/ms)[1].trim().split('\n')
    .map(line => line.replace('build/programs/examples/', '').replace(/:8931/, `:${server.port}`));
  const statuses = [];
  for (const command of commands) statuses.push([command.split(' ')[1], (await run(command)).status]);
  assert.deepEqual(statuses, [['explain', 0], ['probe', 0], ['judge', 1]]);
  await server.stop();
});
