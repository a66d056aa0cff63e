// SPDX-License-Identifier: MIT
// README's chapter on the complete server: its commands print what stands below them, its table of options is what the
// help text says, its table of files names the files that are there.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { access, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';

import { Server } from './parts.mjs';

const source = process.env.MCP_RESUME_SOURCE;
const chapter = (await readFile(join(source, 'README.md'), 'utf8')).match(/^## A complete server$(.*?)^## /ms)[1];
const blocks = [...chapter.matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(([, language, text]) => ({ language, text }));
const of = language => blocks.filter(block => block.language === language).map(block => block.text);
const rowsOf = title => chapter.match(new RegExp(`^\\| ${title} \\|.*?\\n\\n`, 'ms'))[0].trim().split('\n').slice(2)
  .map(row => row.split('|').map(cell => cell.trim()).slice(1, -1));
const helpOf = async program => (await promisify(execFile)(program, ['--help'])).stdout;

test('the client prints what the README shows, and the server logs it', async () => {
  const [start, call] = of('sh')[1].trim().split('\n').map(line => line.replace('build/programs/examples/', '').split(' '));
  const [printed, logged] = of('text');
  assert.equal(start.shift(), 'mcp_resume_server');
  assert.equal(start.shift(), '--port');
  const server = await Server.start(start.slice(1));
  assert.equal(call.shift(), 'mcp_resume_client');
  const args = [call.shift().replace(/:\d+/, `:${server.port}`), ...call];
  assert.equal((await promisify(execFile)(process.env.MCP_RESUME_CLIENT, args)).stdout, printed);
  await server.stop();
  assert.equal(server.log.join('\n') + '\n', logged);
});

test('the options of the README are those of the help text, with their defaults', async () => {
  const help = [...(await helpOf(process.env.MCP_RESUME_SERVER)).matchAll(/^ +(--[\w-]+) \w+(?:\S* in \[[^\]]*\])?(?:=(\d+))?/gm)]
    .map(([, name, value]) => [name, value ?? 'none']);
  const rows = rowsOf('option').flatMap(([names, values]) => {
    const each = [...names.matchAll(/--[\w-]+/g)].map(found => found[0]);
    const all = values.split(', ');
    return each.map((name, i) => [name, all[i]]);
  });
  assert.ok(rows.length >= 7);
  assert.deepEqual(help.sort(), rows.sort());
});

test('the files that the README names are there', async () => {
  const files = rowsOf('file').map(([file]) => file.replaceAll('`', ''));
  assert.ok(files.length >= 5);
  for (const file of files) await access(join(source, 'examples', file));
});
