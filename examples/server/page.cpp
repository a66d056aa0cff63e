// SPDX-License-Identifier: MIT
#include "page.hpp"

#include <string_view>

#include "answers.hpp"
#include "json_rpc.hpp"

namespace example {
namespace {

// The style and the script carry a nonce in place of each ~.
constexpr std::string_view page_html = R"html(<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<link rel="icon" href="data:,">
<title>A stream that can be cut</title>
<style nonce="~">
  :root { color-scheme: light dark; --back: light-dark(#f7f8fa, #12161c); --card: light-dark(#fff, #1a2029);
    --text: light-dark(#1b2330, #e5e9f0); --quiet: light-dark(#566173, #9ba7b8); --line: light-dark(#d9dee6, #303947);
    --good: light-dark(#17693d, #56cf94); --warn: light-dark(#8a4b00, #f2b65a); --bad: light-dark(#b01f37, #ff8591);
    --blue: light-dark(#1f55b5, #8db8ff); --mono: 13px/1.6 ui-monospace, Menlo, "DejaVu Sans Mono", monospace; }
  * { box-sizing: border-box; }
  body { margin: 0 auto; max-width: 72rem; padding: 1.5rem 1rem; background: var(--back); color: var(--text);
    font: 15px/1.5 system-ui, sans-serif; }
  header, li { display: flex; flex-wrap: wrap; align-items: baseline; gap: 0 .8rem; }
  h1 { flex: 1; font-size: 1.3rem; margin: 0; } h2 { font-size: 1rem; margin: 1rem 0 .5rem; }
  p { margin: .5rem 0 1rem; color: var(--quiet); max-width: 46rem; }
  button { font: inherit; color: inherit; padding: .4rem .9rem; margin: 0 .4rem .5rem 0; cursor: pointer;
    background: var(--card); border: 1px solid var(--line); border-radius: 6px; }
  button:hover:enabled { border-color: var(--blue); } button:disabled { opacity: .5; cursor: default; }
  :focus-visible { outline: 2px solid var(--blue); outline-offset: 2px; }
  b, #state { font: 600 .8rem/1.6 system-ui, sans-serif; padding: 0 .6rem; border: 1px solid; border-radius: 1rem; }
  .continue, .live { color: var(--good); } .gap, .reconnecting { color: var(--warn); }
  .reset, .reject, .ended { color: var(--bad); } .quiet, dt, small { color: var(--quiet); font-weight: 400; }
  dl, ol { margin: .5rem 0; border: 1px solid var(--line); border-radius: 8px; overflow: auto; }
  dl { display: flex; flex-wrap: wrap; gap: 1px; background: var(--line); }
  dl div { flex: 1 1 9rem; min-width: 9rem; background: var(--card); padding: .5rem .8rem; }
  @media (max-width: 62rem) { dl div { flex-basis: 30%; } } dl .wide { flex-basis: 100%; }
  dt { font-size: .8rem; } dd { margin: 0; font-size: 1.2rem; font-variant-numeric: tabular-nums; }
  ol, #last, #bar { font: var(--mono); } #bar { display: flex; gap: 3px; height: 1.7rem; margin: .3rem 0; }
  #bar span { flex: 1 1 0; min-width: 2px; overflow: hidden; border-radius: 3px; white-space: nowrap;
    text-align: center; line-height: 1.7rem; }
  #bar .taken { background: light-dark(#cfe8da, #1d4a34); } #bar .reset { flex: 0 0 3px; background: var(--bad); }
  #bar .missed { background: repeating-linear-gradient(-45deg, light-dark(#fbe3bd, #4d3a1a) 0 6px,
    light-dark(#f6d59f, #5f481f) 6px 12px); }
  main { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr)); gap: 0 1rem; }
  ol { list-style: none; padding: .3rem 0; height: 21rem; background: var(--card); }
  li { padding: .2rem .8rem; overflow-wrap: anywhere; } #events code { flex: 0 0 4.5rem; } time { margin-left: auto; }
  #decisions li { border-bottom: 1px solid var(--line); } #decisions span { flex-basis: 100%; } code { font: inherit; }
</style>
<header><h1>A stream that can be cut</h1><output id="state" class="quiet" aria-label="state">opening</output></header>
<p>This page has a session of its own and reads its standalone stream. When the connection is cut, the browser comes
  back with the last id that it has seen, and the server decides whether the stream may go on from there.</p>
<div role="group" aria-label="Do something to the stream"><button id="send">Send 5 events</button
  ><button id="cut">Cut the connection</button><button id="overrun">Cut it, then send 2,000 events</button
  ><button id="end">End the session</button><button id="again" hidden>Begin another session</button
  ><output id="note" class="reset"></output></div>
<dl>
  <div><dt>received</dt><dd id="taken">0</dd></div><div><dt>missed, and told so</dt><dd id="missed">0</dd></div>
  <div><dt>lost in silence</dt><dd id="silent">0</dd></div><div><dt>came twice</dt><dd id="twice">0</dd></div>
  <div><dt>connections</dt><dd id="connections">0</dd></div><div><dt>held at the last one</dt><dd id="held">0</dd></div>
  <div class="wide"><dt>last event id: session . incarnation . stream . number</dt><dd id="last">none yet</dd></div>
  <div class="wide"><dt>what came and what was missed, in order, with a break for each cut</dt>
    <dd id="bar" role="img" aria-label="nothing yet"></dd></div>
</dl>
<main>
  <section><h2 id="d">Decided at each connection <small>newest first</small></h2>
    <ol id="decisions" tabindex="0" aria-labelledby="d"></ol></section>
  <section><h2 id="e">What came <small>newest first</small></h2>
    <ol id="events" tabindex="0" aria-labelledby="e"></ol></section>
</main>
<script nonce="~">
'use strict';
const $ = id => document.getElementById(id);
const make = (tag, kind, text) => Object.assign(document.createElement(tag), {className: kind, textContent: text});
const number = n => n.toLocaleString('en');
const counts = {taken: 0, missed: 0, silent: 0, twice: 0, connections: 0};
const headers = {'Content-Type': 'application/json', Accept: 'application/json, text/event-stream'};
let at = {incarnation: '', seq: 0};  // up to here everything came, or was missed
let signal = '';              // gap or reset, until a marker says where the stream goes on
let isCut = false, whenClosed = () => {};

const ask = async (method, path, message) => {
  const answer = await fetch(path, {method, headers, body: message && JSON.stringify(message)});
  if (!answer.ok) throw new Error(`The server refused: ${answer.status}`);
  return answer;
};
const row = (list, kind, ...parts) => {
  const line = make('li', kind, '');
  line.append(...parts);
  $(list).prepend(line);
  if ($(list).childElementCount > 200) $(list).lastChild.remove();
};
const enter = state => { $('state').textContent = $('state').className = state; };
const count = (what, n) => { $(what).textContent = number(counts[what] += n); };
const grow = (kind, n) => {
  let last = $('bar').lastChild;
  if (isCut || last?.className !== kind) $('bar').append(last = Object.assign(make('span', kind, ''), {size: 0}));
  isCut = false;
  last.size += n;
  last.style.flexGrow = Math.sqrt(last.size);
  last.textContent = last.title = last.size ? number(last.size) + (kind === 'missed' ? ' missed' : '') : '';
  if ($('bar').childElementCount > 30) $('bar').firstChild.remove();
  $('bar').ariaLabel = `${number(counts.taken)} received, ${number(counts.missed)} missed`;
};
const decided = (outcome, reason, text) =>
  row('decisions', '', make('b', outcome, outcome), make('code', '', reason),
      make('time', 'quiet', new Date().toLocaleTimeString()), make('span', 'quiet', text));

// The numbers alone say what was lost or came twice: each jump must have been announced.
const move = (incarnation, seq, isEvent) => {
  const isAnother = incarnation !== at.incarnation;
  if (isAnother && at.incarnation) signal === 'reset' ? grow('reset', 0) : count('silent', 1);
  const jump = isAnother ? 0 : seq - at.seq - (isEvent ? 1 : 0);
  if (jump < 0) return count('twice', isEvent ? 1 : 0);
  if (jump > 0) { count(signal === 'gap' ? 'missed' : 'silent', jump); grow('missed', jump); }
  if (isEvent) { count('taken', 1); grow('taken', 1); }
  [at, signal] = [{incarnation, seq}, ''];
};
const came = event => {
  const data = event.data && JSON.parse(event.data);
  if (signal && data) return row('events', 'quiet', data.method);  // words for clients that do not know the signal
  const [, incarnation, stream, seq] = event.lastEventId.split('.');
  move(incarnation, Number(seq), Boolean(data));
  $('last').textContent = event.lastEventId;
  row('events', data ? '' : 'quiet', make('code', 'quiet', `${stream}.${seq}`),
      data ? String(data.params.data) : 'marker: goes on after this one');
};
const signalled = event => {
  signal = event.type;
  const {missed, resumeFrom} = JSON.parse(event.data).params;
  row('events', signal, signal === 'gap' ? `gap: ${number(missed)} missed, goes on after ${resumeFrom.split('.')[3]}`
                                         : 'reset: another incarnation of the log has begun');
};
const listen = () => {
  const stream = new EventSource('/page/stream?session=' + headers['Mcp-Session-Id']);
  stream.addEventListener('decision', event => {
    const {outcome, reason, held, text} = JSON.parse(event.data);
    [signal, isCut] = ['', true];
    count('connections', 1);
    $('held').textContent = held;
    decided(outcome, reason, text);
  });
  stream.addEventListener('gap', signalled);
  stream.addEventListener('reset', signalled);
  stream.onmessage = came;
  stream.onopen = () => enter('live');
  stream.onerror = () => {
    whenClosed();
    if (stream.readyState !== EventSource.CLOSED) return enter('reconnecting');
    decided('ended', 'refused', 'The server has no such session: EventSource does not come back.');
    end();
  };
};
const end = () => {
  enter('ended');
  for (const button of document.querySelectorAll('button')) button.disabled = button.id !== 'again';
  $('again').hidden = false;
  $('again').focus();
};
const send = n => ask('POST', '/page/send?n=' + n);
const cut = async () => {
  if ($('state').className !== 'live') return;
  const closed = new Promise(resolve => { whenClosed = resolve; });
  await ask('POST', '/page/cut');
  await closed;
};
const actions = {send: () => send(5), cut, overrun: async () => { await cut(); await send(2000); },
                 end: () => ask('DELETE', '/mcp'), again: async () => location.reload()};
const complain = error => { $('note').textContent = error.message; };
for (const id in actions) $(id).onclick = () => { $('note').textContent = ''; actions[id]().catch(complain); };
ask('POST', '/mcp', {jsonrpc: '2.0', id: 1, method: 'initialize', params: {
  protocolVersion: '2025-11-25', capabilities: {}, clientInfo: {name: 'page', version: '0.1.0'}}})
  .then(answer => { headers['Mcp-Session-Id'] = answer.headers.get('Mcp-Session-Id'); listen(); })
  .catch(error => { complain(error); end(); });
</script>
</html>
)html";

// The page, and the policy that lets it run its own script and talk to its own server, and nothing else.
void answer_page(httplib::Response& answer) {
  const std::string nonce = random_token();
  std::string html;
  for (const char c : page_html) c == '~' ? html.append(nonce) : html.append(1, c);
  answer.set_header(
      "Content-Security-Policy",
      "default-src 'none'; connect-src 'self'; img-src data:; style-src 'nonce-" + nonce + "'; script-src 'nonce-" +
          nonce + "'; require-trusted-types-for 'script'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
  answer.set_header("Cache-Control", "no-store");
  answer.set_header("Referrer-Policy", "no-referrer");
  answer.set_header("X-Content-Type-Options", "nosniff");
  answer.set_content(html, "text/html; charset=utf-8");
}

// What the page is told first on each connection: under the id that it came with, or a browser may forget that one.
std::string decision_frame(const mcp_resume::resolution& decided) {
  const auto [first, next] = decided.window;
  const nlohmann::json shown = {
      {"outcome", to_string(decided.outcome())},
      {"reason", to_string(decided.reason)},
      {"held", first == next ? "none" : std::to_string(first) + " to " + std::to_string(next - 1)},
      {"text", describe(decided)}};
  const bool has_cursor = decided.reason != mcp_resume::reason::fresh;
  const std::string id = has_cursor ? "id: " + to_string(decided.cursor) + "\n" : "";
  return "event: decision\n" + id + "data: " + text_of(shown) + "\n\n";
}

}  // namespace

void page_connections::add(const std::string& session_id, const attached& connection) {
  const std::lock_guard<std::mutex> guard(mutex_);
  for (auto each = all_.begin(); each != all_.end();) {
    each = each->second.is_to_close.expired() ? all_.erase(each) : std::next(each);
  }
  all_[session_id] = {connection.is_to_close, connection.owner};
}

bool page_connections::cut(const std::string& session_id) {
  const std::lock_guard<std::mutex> guard(mutex_);
  const auto found = all_.find(session_id);
  const auto is_to_close = found == all_.end() ? nullptr : found->second.is_to_close.lock();
  if (is_to_close == nullptr) return false;
  *is_to_close = true;
  found->second.owner->changes.ring();
  return true;
}

void page::route(httplib::Server& http) {
  using httplib::ContentReader;
  using httplib::Request;
  using httplib::Response;
  http.Get("/", [](const Request&, Response& answer) { answer_page(answer); });
  http.Get("/page/stream", [this](const Request& asked, Response& answer) { stream(asked, answer); });
  http.Post("/page/cut", [this](const Request& asked, Response& answer, const ContentReader&) { cut(asked, answer); });
  http.Post("/page/send",
            [this](const Request& asked, Response& answer, const ContentReader&) { send(asked, answer); });
}

// EventSource cannot set headers: the session id comes in the query.
void page::stream(const httplib::Request& asked, httplib::Response& answer) {
  request_headers from = headers_of(asked, principal_header_);
  from.session_id = asked.get_param_value("session");
  const auto found = resume(hub_, from, answer);
  if (!found) return;
  connections_.add(from.session_id, found->stream);
  answer_stream(hub_, found->stream, answer, decision_frame(found->decided));
}

void page::cut(const httplib::Request& asked, httplib::Response& answer) {
  const request_headers from = headers_of(asked, principal_header_);
  const auto forbidden = hub_.forbids(from.view());
  if (forbidden) return answer_status(answer, row_of(*forbidden).http_status);
  answer_status(answer, connections_.cut(from.session_id) ? 204 : 409);
}

// Straight into the log: a tool would be held back while nobody reads.
void page::send(const httplib::Request& asked, httplib::Response& answer) {
  const request_headers from = headers_of(asked, principal_header_);
  const auto forbidden = hub_.forbids(from.view());
  if (forbidden) return answer_status(answer, row_of(*forbidden).http_status);
  const std::string n = asked.get_param_value("n");
  if (n.empty() || n.size() > 4 || n.find_first_not_of("0123456789") != n.npos) return answer_status(answer, 400);
  for (int i = 1; i <= std::stoi(n); ++i) {
    const nlohmann::json params = {{"level", "info"}, {"logger", "page"}, {"data", std::to_string(i) + " of " + n}};
    hub_.append_standalone(from.session_id,
                           text_of({{"jsonrpc", "2.0"}, {"method", "notifications/message"}, {"params", params}}));
  }
  answer_status(answer, 204);
}

}  // namespace example
