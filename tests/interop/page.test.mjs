// SPDX-License-Identifier: MIT
// The server's page in Chromium: EventSource over cuts, a gap, a restart and the end of its session. What the page
// shows is what happened, it talks to its own server only, and everybody can use it.
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';

import puppeteer from 'puppeteer-core';

import { Raw, Server, sleep } from './parts.mjs';

const screenshots = process.env.MCP_RESUME_SCREENSHOTS;  // a directory; none are taken without it
const refused = 'Failed to load resource: the server responded with a status of 404 (Not Found)';
let browser, server;
before(async () => {
  if (screenshots) await mkdir(screenshots, { recursive: true });
  server = await Server.start();
  browser = await puppeteer.launch({
    executablePath: process.env.MCP_RESUME_CHROMIUM ?? '/usr/bin/chromium',
    args: process.getuid() === 0 ? ['--no-sandbox'] : []  // its sandbox does not run as root
  });
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

// One visit to the page: what it shows, asks for and complains about.
class Visit {
  static async to({ url }) {
    const visit = new Visit();
    Object.assign(visit, { complaints: [], requests: [], origin: new URL(url).origin });
    visit.page = await browser.newPage();
    visit.page.on('console', message => visit.complaints.push(message.text()));
    visit.page.on('pageerror', error => visit.complaints.push(String(error)));
    visit.page.on('request', request => visit.requests.push(new URL(request.url())));
    visit.answer = await visit.page.goto(visit.origin);
    await visit.enters('live');
    return visit;
  }
  // The connections that EventSource asked for.
  streams() { return this.requests.filter(url => url.pathname === '/page/stream'); }
  press(id) { return this.page.click(`#${id}`); }
  text(id) { return this.page.$eval(`#${id}`, element => element.textContent); }
  async count(id) { return Number((await this.text(id)).replaceAll(',', '')); }
  async figures() {
    const figures = {};
    for (const id of ['taken', 'missed', 'silent', 'twice']) figures[id] = await this.count(id);
    return figures;
  }
  // The rows of a list, the oldest first, each as the texts of its parts.
  rows(list) {
    return this.page.$$eval(`#${list} li`, lines =>
      lines.map(line => [...line.childNodes].map(part => part.textContent)).reverse());
  }
  async decisions() { return (await this.rows('decisions')).map(([outcome, reason]) => `${outcome} ${reason}`); }
  async came(pattern) { return (await this.rows('events')).map(row => row.join(' ')).filter(row => pattern.test(row)); }
  async shows(condition, what) {
    for (const end = Date.now() + 20000; !await condition(); await sleep(20)) {
      const shown = () => this.page.$eval('body', body => body.innerText);
      if (Date.now() > end) throw new Error(`${what} was never shown: ${await shown()}`);
    }
  }
  enters(state) { return this.shows(async () => await this.text('state') === state, state); }
  reaches(id, n) { return this.shows(async () => await this.count(id) === n, `${id} ${n}`); }
  async photograph(name) {
    if (screenshots) await this.page.screenshot({ path: join(screenshots, `page-${name}.png`), fullPage: true });
  }
  async leave(complaints = []) {
    assert.deepEqual(this.complaints, complaints);
    assert.deepEqual(this.requests.filter(url => url.protocol !== 'data:' && url.origin !== this.origin), []);
    await this.page.close();
  }
}

test('what is sent while the connection is cut comes once and in order, and each decision is shown', async () => {
  const visit = await Visit.to(server);
  await visit.press('send');
  await visit.reaches('taken', 5);
  assert.match(await visit.text('last'), /^[0-9a-f]{16}\.[0-9a-f]{16}\.0\.5$/);
  let connections = 1;
  do {  // once, but on a machine so slow that the browser is back before the events are sent
    await visit.press('cut');
    await visit.enters('reconnecting');
    await visit.press('send');
    await visit.reaches('connections', ++connections);
    await visit.reaches('taken', 5 * connections);
  } while (connections < 6 && (await visit.decisions()).at(-1) !== 'continue replay');
  await visit.press('cut');
  await visit.reaches('connections', ++connections);
  const decisions = await visit.decisions();
  assert.equal(decisions[0], 'continue fresh');
  assert.deepEqual(decisions.slice(-2), ['continue replay', 'continue up_to_date']);
  assert.equal(visit.streams().length, decisions.length);
  const n = 5 * (connections - 1);
  assert.deepEqual(await visit.came(/of 5$/), Array.from({ length: n }, (_, i) => `0.${i + 1} ${i % 5 + 1} of 5`));
  assert.deepEqual(await visit.figures(), { taken: n, missed: 0, silent: 0, twice: 0 });
  await visit.leave();
});

test('what the server no longer holds is counted as missed, and the stream goes on', async () => {
  const visit = await Visit.to(server);
  await visit.press('send');
  await visit.reaches('taken', 5);
  await missMany(visit);
  const { taken, missed } = await visit.figures();
  await visit.press('send');
  await visit.reaches('taken', taken + 5);
  assert.deepEqual(await visit.figures(), { taken: taken + 5, missed, silent: 0, twice: 0 });
  assert.equal((await visit.came(/^gap: 2,000 missed/)).length, 1);
  assert.match((await visit.rows('decisions')).at(-1).at(-1), /976 events no longer held.*2000 missed/);
  assert.match(await visit.text('held'), /^\d+ to \d+$/);
  assert.equal((await visit.came(/list_changed$/)).length, 3);
  assert.match((await visit.came(/of 5$/)).at(-1), new RegExp(`^0\\.${taken + missed + 5} 5 of 5$`));
  for (const width of [400, 1200]) for (const scheme of ['light', 'dark']) await isReadable(visit, width, scheme);
  await visit.leave();
});

// Once, but on a machine so slow that the browser is back before the events are sent.
async function missMany(visit) {
  for (let connections = 2; connections < 6; ++connections) {
    await visit.press('overrun');
    await visit.reaches('connections', connections);
    await visit.shows(async () => await visit.count('taken') + await visit.count('missed') >= 2005, '2,005 events');
    if ((await visit.decisions()).at(-1) === 'gap evicted') return;
  }
  assert.fail((await visit.decisions()).join('\n'));
}

async function isReadable(visit, width, scheme) {
  await visit.page.setViewport({ width, height: 900 });
  await visit.page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
  await visit.photograph(`${width}-${scheme}`);
  const { tooWide, background, contrast } = await visit.page.evaluate(look);
  assert.deepEqual(tooWide, [], `at ${width}`);
  assert.equal(background > 0.5, scheme === 'light');
  for (const [text, ratio] of contrast) assert.ok(ratio >= 4.5, `${scheme}: ${ratio} of ${text}`);
}

// Runs in the page: what sticks out of the window or its box, and the contrast of each text (WCAG 2, 1.4.3).
function look() {
  const luminance = color => color.match(/[\d.]+/g).slice(0, 3).map(Number).map(c => c / 255)
    .map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = element => {
    const color = getComputedStyle(element).backgroundColor;
    return color === 'rgba(0, 0, 0, 0)' ? behind(element.parentElement) : luminance(color);
  };
  const all = [...document.body.querySelectorAll('*')].filter(element => element.checkVisibility());
  const isText = node => node.nodeType === Node.TEXT_NODE && node.data.trim() !== '';
  const texts = all.filter(element => [...element.childNodes].some(isText));
  const isTooWide = box => box.clientWidth !== 0 && box.scrollWidth > box.clientWidth && !box.closest('#bar');
  return {
    tooWide: [document.documentElement, ...all].filter(isTooWide).map(box => box.outerHTML.slice(0, 80)),
    background: behind(document.body),
    contrast: texts.map(element => {
      const [dark, light] = [luminance(getComputedStyle(element).color), behind(element)].sort((a, b) => a - b);
      return [element.textContent.slice(0, 40), (light + 0.05) / (dark + 0.05)];
    })
  };
}

test('after a restart with its state the server resets the stream, and the page goes on with the new one', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'page-'));
  const options = ['--state', join(directory, 'sessions.json')];
  const first = await Server.start(options);
  const visit = await Visit.to(first);
  await visit.press('send');
  await visit.reaches('taken', 5);
  const before = (await visit.text('last')).split('.');
  await first.stop();
  await visit.enters('reconnecting');
  const second = await Server.start(options, first.port);
  await visit.reaches('connections', 2);
  await visit.press('send');
  await visit.reaches('taken', 10);
  const last = (await visit.text('last')).split('.');
  assert.deepEqual([last[0], last[2], last[3]], [before[0], '0', '5']);
  assert.notEqual(last[1], before[1]);
  assert.deepEqual(await visit.decisions(), ['continue fresh', 'reset stale_incarnation']);
  assert.equal((await visit.came(/^reset: /)).length, 1);
  assert.deepEqual(await visit.figures(), { taken: 10, missed: 0, silent: 0, twice: 0 });
  await visit.photograph('reset');
  await visit.leave(visit.complaints.filter(text => text.endsWith('net::ERR_CONNECTION_REFUSED')));
  assert.equal(await second.stop(), 0);
  await rm(directory, { recursive: true });
});

test('when its session has ended the page says so, and EventSource stops', async () => {
  const visit = await Visit.to(server);
  await visit.press('end');
  await visit.enters('ended');
  const streams = visit.streams().length;
  assert.deepEqual(await visit.decisions(), ['continue fresh', 'ended refused']);
  assert.equal(await visit.page.$$eval('button:enabled', buttons => buttons.map(button => button.id).join()), 'again');
  assert.equal(await visit.page.evaluate(() => document.activeElement.id), 'again');
  await sleep(2500);  // `retry:` is 1 s
  assert.equal(visit.streams().length, streams);
  await visit.photograph('ended');
  await Promise.all([visit.page.waitForNavigation(), visit.press('again')]);
  await visit.enters('live');
  assert.notEqual(visit.streams().at(-1).search, visit.streams()[0].search);
  await visit.leave([refused]);
});

test('no value from the network becomes HTML, and the page may run and load nothing but its own', async () => {
  const visit = await Visit.to(server);
  const headers = { 'Mcp-Session-Id': visit.streams()[0].searchParams.get('session') };
  const other = Object.assign(new Raw(), { url: server.url, headers });
  const tag = '<img id="injected" src="/healthz" onerror="document.title = 1">';
  await (await other.post('tools/call', { name: 'notify', arguments: { n: 1, tag } })).text();
  await visit.reaches('taken', 1);
  assert.deepEqual(await visit.came(/^0\.1 /), [`0.1 notify ${tag} 1`]);
  assert.equal(await visit.page.$('#injected'), null);
  assert.match(visit.answer.headers()['content-security-policy'], /^default-src 'none'; connect-src 'self';/);
  assert.deepEqual(visit.complaints, []);
  assert.deepEqual(await visit.page.evaluate(tryToBreakOut, server.url), ['html', 'fetch', 'script', 'style']);
  await visit.page.close();
});

// Runs in the page. Returns what the browser forbade.
async function tryToBreakOut(url) {
  const forbidden = [];
  try { document.body.innerHTML = '<b>'; } catch { forbidden.push('html'); }
  await fetch(url.replace('127.0.0.1', 'localhost')).catch(() => forbidden.push('fetch'));
  const add = (tag, code) => document.head.append(Object.assign(document.createElement(tag), { innerText: code }));
  try { add('script', 'window.wasRun = true'); } catch { /* needs a trusted type */ }
  if (!window.wasRun) forbidden.push('script');
  add('style', 'body { display: none }');
  if (getComputedStyle(document.body).display !== 'none') forbidden.push('style');
  return forbidden;
}

test('every control has a name and is worked by the keyboard alone', async () => {
  const visit = await Visit.to(server);
  const reached = [];
  for (let i = 0; i < 6; ++i) {
    await visit.page.keyboard.press('Tab');
    reached.push(await visit.page.evaluate(() => document.activeElement.id));
    assert.ok(await visit.page.evaluate(() => document.activeElement.matches(':focus-visible')));
  }
  assert.deepEqual(reached, ['send', 'cut', 'overrun', 'end', 'decisions', 'events']);
  const names = [];
  for (const id of ['state', ...reached, 'bar']) names.push(await nameOf(visit, id));
  assert.deepEqual(names, ['state', 'Send 5 events', 'Cut the connection', 'Cut it, then send 2,000 events',
                           'End the session', 'Decided at each connection newest first', 'What came newest first',
                           'nothing yet']);
  await visit.page.focus('#send');
  await visit.page.keyboard.press('Enter');
  await visit.reaches('taken', 5);
  assert.equal(await nameOf(visit, 'bar'), '5 received, 0 missed');
  await visit.page.keyboard.press('Tab');
  await visit.page.keyboard.press('Space');
  await visit.reaches('connections', 2);
  await visit.leave();
});

async function nameOf(visit, id) {
  const root = await visit.page.$(`#${id}`);
  return (await visit.page.accessibility.snapshot({ root, interestingOnly: false })).name;
}
