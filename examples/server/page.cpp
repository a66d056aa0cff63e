// SPDX-License-Identifier: MIT
#include "page.hpp"

namespace example {
namespace {

constexpr std::size_t most_sessions = 64;
constexpr std::size_t most_decisions = 20;

}  // namespace

std::shared_ptr<std::atomic<bool>> page_sessions::connect(const std::string& session_id,
                                                          const mcp_resume::resolution& decided) {
  const std::lock_guard<std::mutex> guard(mutex_);
  if (all_.size() == most_sessions && all_.count(session_id) == 0) all_.erase(all_.begin());
  shown& one = all_[session_id];
  one.is_to_close = std::make_shared<std::atomic<bool>>(false);
  one.decisions.push_back({{"outcome", to_string(decided.outcome())},
                           {"reason", to_string(decided.reason)},
                           {"cursor", decided.cursor.seq},
                           {"first", decided.window.first},
                           {"next", decided.window.next},
                           {"missed", decided.missed},
                           {"text", describe(decided)}});
  if (one.decisions.size() > most_decisions) one.decisions.pop_front();
  return one.is_to_close;
}

bool page_sessions::cut(const std::string& session_id) {
  const std::lock_guard<std::mutex> guard(mutex_);
  const auto found = all_.find(session_id);
  if (found == all_.end()) return false;
  *found->second.is_to_close = true;
  return true;
}

nlohmann::json page_sessions::decisions(const std::string& session_id) const {
  const std::lock_guard<std::mutex> guard(mutex_);
  nlohmann::json list = nlohmann::json::array();
  const auto found = all_.find(session_id);
  if (found == all_.end()) return list;
  for (const nlohmann::json& each : found->second.decisions) list.push_back(each);
  return list;
}

const char* const page_html = R"html(<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>mcp-resume: a stream that can be cut</title>
<style>
  body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 62rem; padding: 0 1rem; color: #1c2733; }
  h1 { font-size: 1.4rem; } h2 { font-size: 1.05rem; margin: 0 0 .4rem; }
  button { font: inherit; padding: .3rem .8rem; margin: 0 .4rem .4rem 0; border: 1px solid #8796a5; border-radius: 4px;
           background: #f3f6f9; cursor: pointer; }
  .columns { display: grid; grid-template-columns: 1fr 1fr; gap: 1.5rem; margin-top: 1rem; }
  ol { font: 13px/1.5 ui-monospace, monospace; list-style: none; margin: 0; padding: .5rem; height: 24rem;
       overflow: auto; border: 1px solid #cdd6df; border-radius: 4px; }
  .gap { color: #9a3b00; } .reset, .reject { color: #a11a3a; } .continue { color: #1a6b37; } .marker { color: #6b7885; }
  output { font-weight: 600; }
</style>
<h1>A stream that can be cut</h1>
<p>State <output id="state">opening</output> &middot; events taken <output id="taken">0</output> &middot;
   events missed <output id="missed">0</output> &middot; last id <output id="last">none</output></p>
<p><button id="send">Send 5 events</button><button id="cut">Cut the connection</button><button id="overrun">Cut it, then
   send 2,000 events</button></p>
<div class="columns">
  <section><h2>What arrived</h2><ol id="events"></ol></section>
  <section><h2>What was decided at each connection</h2><ol id="decisions"></ol></section>
</div>
<script>
const show = (list, text, kind) => {
  const line = document.createElement('li');
  line.textContent = text;
  line.className = kind;
  const box = document.getElementById(list);
  box.append(line);
  while (box.children.length > 200) box.firstChild.remove();
  box.scrollTop = box.scrollHeight;
};
const put = (id, text) => { document.getElementById(id).textContent = text; };
let session = '', next = 0, taken = 0, missed = 0;
const post = (method, params) => fetch('/mcp', {
  method: 'POST',
  headers: {'Content-Type': 'application/json', Accept: 'application/json, text/event-stream',
            ...(session && {'Mcp-Session-Id': session})},
  body: JSON.stringify({jsonrpc: '2.0', id: ++next, method, params})
});
const send = n => post('tools/call', {name: 'notify', arguments: {n, tag: 'page'}}).then(answer => answer.text());
const short = id => id.split('.').slice(2).join('.');
const decisions = async () => {
  const list = await (await fetch('/page/decisions?session=' + session)).json();
  document.getElementById('decisions').replaceChildren();
  for (const each of list) show('decisions', each.text, each.outcome);
};
const open = () => {
  const stream = new EventSource('/page/stream?session=' + session);
  const seen = kind => event => {
    if (event.lastEventId) put('last', short(event.lastEventId));
    const data = event.data ? JSON.parse(event.data) : null;
    if (kind === 'gap') put('missed', missed += data.params.missed);
    if (kind === 'message' && !data) return show('events', short(event.lastEventId) + ' marker', 'marker');
    if (kind === 'message') put('taken', ++taken);
    show('events', short(event.lastEventId) + ' ' + (data.params?.data ?? data.method), kind);
  };
  for (const kind of ['message', 'gap', 'reset', 'resume']) stream.addEventListener(kind, seen(kind));
  stream.onopen = () => { put('state', 'open'); decisions(); };
  stream.onerror = () => put('state', stream.readyState === EventSource.CLOSED ? 'ended' : 'reconnecting');
};
const cut = () => fetch('/page/cut?session=' + session, {method: 'POST'});
document.getElementById('send').onclick = () => send(5);
document.getElementById('cut').onclick = cut;
document.getElementById('overrun').onclick = async () => { await cut(); await send(2000); };
post('initialize', {protocolVersion: '2025-11-25', capabilities: {}, clientInfo: {name: 'page', version: '0.1.0'}})
  .then(answer => { session = answer.headers.get('Mcp-Session-Id'); open(); });
</script>
</html>
)html";

}  // namespace example
