// SPDX-License-Identifier: MIT
// Options of the example programs may come from anywhere: whatever they hold, no byte of it reaches a terminal that
// would obey it.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';

import { launch } from './parts.mjs';

const evil = '/none/\u001b[2J\u0007\u007f\r\n\u009b31m\u202e\u2028!';
const nobody = 'http://127.0.0.1:1/mcp';
const programs = {
  server: [process.env.MCP_RESUME_SERVER, [['--port', '0']]],
  client: [process.env.MCP_RESUME_CLIENT, [[nobody]]],
  oracle: [process.env.MCP_RESUME_ORACLE,
           [['table'], ['explain'], ['vectors', '--count', '1'], ['run'], ['judge'], ['probe', nobody]]]
};

async function run(program, args) {
  const started = launch(program, args, ['ignore', 'pipe', 'pipe']);
  let text = '';
  for (const from of [started.stdout, started.stderr]) {
    from.setEncoding('utf8').on('data', part => {
      text += part;
      if (text.startsWith('http://127.0.0.1')) started.kill();  // the server serves
    });
  }
  const [code] = await once(started, 'close');
  return { code, text };
}

for (const [name, [program, uses]] of Object.entries(programs)) {
  test(`what is wrong with an option of the ${name} is said in printable words`, async () => {
    let refused = 0;
    for (const use of uses) {
      const help = await run(program, [...use.slice(0, 1).filter(word => !word.includes(':') && word[0] !== '-'), '--help']);
      assert.equal(help.code, 0, help.text);
      const options = [...help.text.matchAll(/^ +(?:-\w,)?(--[a-z-]+)/gm)].map(found => found[1]);
      assert.ok(options.length >= 2, help.text);
      const tries = options.map(option => [...use, option, evil]);
      for (const args of [...tries, [...use, evil], [...use, `--${evil}`], [...use, '--help=' + evil], [evil]]) {
        const ended = await run(program, args);
        const what = JSON.stringify([args, ended.text]);
        assert.doesNotMatch(ended.text, /[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u202e]/, what);
        assert.ok(ended.code !== null || name === 'server', what);
        if (ended.text.includes('\\u009b31m\\u202e\\u2028!')) ++refused;
      }
    }
    assert.ok(refused >= uses.length, `${refused} named what they refused`);
  });
}
