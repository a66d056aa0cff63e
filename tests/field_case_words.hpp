// SPDX-License-Identifier: MIT
// Promise: the words of field_case_steps.hpp, one function each; tests/cases/ exercises every one of them.
#pragma once

#include "field_case_steps.hpp"

namespace field {

// ---- Set-up ----------------------------------------------------------------------------------------------------------

inline void case_run::config(const arguments& a, const variables&) {
  if (all.table) throw case_error("`config` after the first session");
  const auto bound = [&a](const char* key, std::uint64_t absent) {
    return a.has(key) ? std::max<std::uint64_t>(1, a.number(key)) : absent;
  };
  constexpr std::uint64_t most_events = 0xFFFFFFFFU;
  if (a.has("capacity") || a.has("session_capacity")) {
    const char* key = a.has("session_capacity") ? "session_capacity" : "capacity";
    all.is_capacity_per_stream = !a.has("session_capacity");
    all.bounds.max_events = static_cast<std::uint32_t>(std::max<std::uint64_t>(1, a.number(key, most_events)));
    all.bounds.max_bytes = std::size_t{1} << 30U;  // the bound of events alone decides
  }
  if (a.has("capacity")) (void)a.number("capacity", most_events);
  if (a.has("ttl_ms")) all.bounds.max_age_ms = a.number("ttl_ms");
  if (a.has("session_ttl_ms")) all.bounds.idle_ms = a.number("session_ttl_ms");
  if (a.has("retry_ms")) all.bounds.retry_ms = static_cast<std::uint32_t>(a.number("retry_ms", 0xFFFFFFFFU));
  all.bounds.max_sessions = static_cast<std::size_t>(bound("max_sessions", all.bounds.max_sessions));
  all.bounds.first_seq = bound("first_seq", all.bounds.first_seq);
}

// The principal is who the transport authenticated, and the scope class where a case gives one. The token is not part
// of it: a refreshed token is the same principal; none at all is nobody.
inline std::string case_run::principal_of(const arguments& a, const session_state* s) const {
  const std::string owner = s == nullptr || a.is_null("token") ? std::string() : s->principal;
  const std::string scope = s == nullptr ? std::string() : s->scope;
  (void)a.nullable_text("token", "");
  const std::string who = a.nullable_text("principal", owner);
  const std::string class_of_results = a.nullable_text("scope", scope);
  return class_of_results.empty() ? who : who + " scope:" + class_of_results;
}

inline void case_run::note_setup(const std::string& op, const arguments& a, mr::refusal why) {
  const std::lock_guard<std::mutex> lock(results_);
  setups.push_back({op, a.text_or("as_", ""), why != mr::refusal::none, std::string(mr::to_string(why))});
}

// `tag`: the session tag that an application stored (16 hex digits), or a name for one; true and `stored` mean that of
// the session's earlier life.
inline std::optional<std::uint64_t> session_tag_of(const arguments& a, const session_state& s) {
  if (!a.has("tag")) return std::nullopt;
  const bool is_earlier = (a.at("tag").is_boolean() && a.flag_or("tag", false)) || a.at("tag") == "stored";
  if (is_earlier && !s.tag) throw case_error("`tag` of an earlier life, but there was none");
  if (is_earlier) return s.tag;
  const std::string text = a.text("tag");
  const auto id = mr::event_id::parse(text + ".0000000000000000.0.0");
  if (id) return id->owner.session;
  tag_source named{std::hash<std::string>()(text)};
  return named();
}

inline void case_run::open_session(const arguments& a, const variables&) {
  const std::string symbol = a.text("s");
  (void)a.nullable_text("proto_requested", "");
  (void)a.nullable_text("client_closes", "");  // the client is gone before it read the answer: nobody uses the session
  std::unique_lock<std::mutex> lock(all.names);
  session_state opened;
  if (const session_state* earlier = all.find_session(symbol)) opened = *earlier;
  opened.symbol = symbol;
  opened.id = world::id_of(symbol);
  opened.principal = a.nullable_text("principal", "");
  opened.scope = a.nullable_text("scope", "");
  opened.version_text = a.text_or("proto", "2025-11-25");
  const std::optional<mr::protocol> version = mr::parse_protocol(opened.version_text);
  if (!version) throw case_error("`proto` is not a version that a session can negotiate");
  opened.negotiated = *version;
  const auto tag = session_tag_of(a, opened);
  tag_source source = all.next_tags();
  lock.unlock();

  const std::string principal = principal_of(a, &opened);
  mr::session_table& table = all.live_table();
  const mr::refusal why = tag ? table.restore(opened.id, principal, *version, *tag, source)
                              : table.create(opened.id, principal, *version, source);
  note_setup("open_session", a, why);
  lock.lock();
  if (why != mr::refusal::none) {
    if (!all.is_explained(why, opened, nullptr)) {
      all.fail("session `" + symbol + "` was refused: " + std::string(mr::to_string(why)));
    }
    if (all.find_session(symbol) == nullptr) all.sessions[symbol] = opened;
    return;
  }
  opened.streams_with_events.clear();
  opened.opened_streams = 0;
  if (const auto tags = all.tags_of(opened)) opened.tag = tags->session;
  all.sessions[symbol] = opened;
}

inline void case_run::open_stream(const arguments& a, const variables&) {
  std::unique_lock<std::mutex> lock(all.names);
  session_state& s = all.session_of(a.text("s"));
  const std::string name = a.text("x");
  if (name == "get" && a.has("rpc_id")) throw case_error("`rpc_id` on the standalone stream");
  lock.unlock();
  if (name == "get") return open_standalone(s, a);
  open_request_stream(s, name, a);
}

// The owner's GET without a cursor. A live reader of the stream makes it wait: then nothing is opened.
inline void case_run::open_standalone(session_state& s, const arguments& a) {
  const std::string principal = principal_of(a, &s);
  mr::reader reader;
  const mr::resolution decided = all.live_table().resume({s.version_text, s.id, {}, principal}, reader);
  std::unique_lock<std::mutex> lock(all.names);
  stream_state& x = all.stream_of(s, "get");
  const bool is_open = decided.http_status() == 200;
  const bool is_busy = x.newest && x.newest->is_connected;
  const bool is_right = is_open || (decided.reason == mr::reason::occupied ? is_busy : !all.tags_of(s));
  note_setup("open_stream", a, is_open ? mr::refusal::none : mr::refusal::gone);
  if (!is_right) all.fail("the standalone stream was refused: " + mr::describe(decided));
  if (!is_open) return;
  x.is_open = true;
  const connection_ptr made = all.connect(s, x, "get", reader);
  made->decided = decided;
  lock.unlock();
  after_open(made, a);
}

inline void case_run::open_request_stream(session_state& s, const std::string& name, const arguments& a) {
  std::unique_lock<std::mutex> lock(all.names);
  stream_state opened;
  opened.label = a.has("rpc_id") ? a.at("rpc_id").dump() : std::to_string(++s.labels);
  lock.unlock();
  const mr::opened done = all.live_table().open_stream(s.id, opened.label);
  note_setup("open_stream", a, done.why);
  lock.lock();
  opened.is_open = done.why == mr::refusal::none;
  opened.is_refused = !opened.is_open;
  opened.handle = done.stream;
  if (done && all.logs.count(key_of(done.stream.owner, done.stream.stream)) != 0) {
    all.fail("stream `" + name + "` got a number that was in use");
  }
  if (!done && !all.is_explained(done.why, s, &opened)) {
    all.fail("stream `" + name + "` was refused: " + std::string(mr::to_string(done.why)));
  }
  stream_state& x = s.streams[name];
  opened.newest = nullptr;
  x = opened;
  if (!done) return;
  ++s.opened_streams;
  const connection_ptr made = all.connect(s, x, name, done.reader);
  lock.unlock();
  after_open(made, a);
}

// The response's head leaves with its first frame, unless the client is gone before.
inline void case_run::after_open(const connection_ptr& made, const arguments& a) {
  if (!a.nullable_text("client_closes", "").empty()) return all.release(*made);
  all.read(*made);
  if (!a.has("prime")) return;
  const sse_text frames = parse_sse(made->bytes);
  const bool has_marker = !frames.blocks.empty() && frames.blocks[0].kind() == block_kind::marker;
  const auto id = has_marker ? mr::event_id::parse(frames.blocks[0].id.value_or("")) : std::nullopt;
  if (!id) throw case_error("no marker to take `prime` from");
  const std::lock_guard<std::mutex> lock(all.names);
  all.ids[a.text("prime")] = *id;
}

inline void case_run::clock(const arguments& a, const variables&) {
  const std::string mode = a.text_or("mode", "");
  if (!mode.empty() && mode != "frozen" && mode != "running") throw case_skip("clock mode `" + mode + "`");
  if (mode.empty() && !a.has("set_ms")) throw case_error("`mode` or `set_ms` is missing");
  {
    const std::lock_guard<std::mutex> lock(all.names);
    if (!mode.empty()) all.is_clock_frozen = mode == "frozen";
    if (a.has("set_ms")) all.clock = a.number("set_ms");
  }
  all.live_table().tick(all.clock);
  all.read_all();
}

// Small steps, so that a connection that reads keeps its session alive and a bound of time is met to 1 %.
inline void case_run::tick(const arguments& a, const variables&) {
  const std::uint64_t ms = a.number("ms");
  if (tested_client && is_parallel_) throw case_skip("`tick` inside of `parallel` with a client");
  if (tested_client) tested_client->pass(0);
  std::uint64_t smallest = all.bounds.reader_timeout_ms;
  if (all.bounds.idle_ms != 0) smallest = std::min(smallest, all.bounds.idle_ms);
  if (all.bounds.max_age_ms != 0) smallest = std::min(smallest, all.bounds.max_age_ms);
  const std::uint64_t step = std::max<std::uint64_t>({1, smallest / 100, ms / 100000});
  for (std::uint64_t passed = 0; passed < ms;) {
    const std::uint64_t now = std::min(step, ms - passed);
    passed += now;
    std::uint64_t clock = 0;
    {
      const std::lock_guard<std::mutex> lock(all.names);
      if (!all.is_clock_frozen) all.clock += std::min(now, ~all.clock);
      clock = all.clock;
    }
    all.live_table().tick(clock);
    all.read_all();
    if (tested_client) tested_client->pass(now);  // its waits go by, also where the server's clock is frozen or set
  }
}

// ---- Events ----------------------------------------------------------------------------------------------------------

inline std::string case_run::payload_of(const arguments& a, const std::string& symbol) const {
  if (a.has("data")) return a.text("data");
  json payload = {{"e", symbol}};
  if (a.has("rpc_id")) payload = {{"jsonrpc", "2.0"}, {"id", a.at("rpc_id")}, {"result", {{"e", symbol}}}};
  return payload.dump();
}

inline session_state& locked_session(world& all, const std::string& symbol) {
  const std::lock_guard<std::mutex> lock(all.names);
  return all.session_of(symbol);
}

inline void case_run::append(const arguments& a, const variables&) {
  session_state& s = locked_session(all, a.text("s"));
  for (const std::string& symbol : expand_symbols(a.texts("e"))) {
    note_setup("append", a, all.append(s, a.text("x"), symbol, payload_of(a, symbol)));
  }
}

inline void case_run::append_n(const arguments& a, const variables&) {
  session_state& s = locked_session(all, a.text("s"));
  const std::uint64_t from = a.number("from"), to = a.number("to");
  if (from > to || to - from >= 10000000) throw case_error("`from` to `to` is no range, or one of over 10 million");
  const std::string prefix = a.text("prefix"), x = a.text("x");
  mr::refusal last = mr::refusal::none;
  for (std::uint64_t n = from; n <= to; ++n) {
    const std::string symbol = prefix + std::to_string(n);
    last = all.append(s, x, symbol, payload_of(a, symbol));
  }
  note_setup("append_n", a, last);
}

// The final answer, where there is one, and the end of the stream.
inline void case_run::finish(const arguments& a, const variables&) {
  session_state& s = locked_session(all, a.text("s"));
  const std::string name = a.text("x");
  if (a.has("e")) {
    for (const std::string& symbol : expand_symbols(a.texts("e"))) {
      (void)all.append(s, name, symbol, payload_of(a, symbol));
    }
  }
  std::unique_lock<std::mutex> lock(all.names);
  stream_state& x = all.stream_of(s, name);
  const mr::refusal why = x.is_refused ? mr::refusal::no_such_stream : all.live_table().finish(x.handle);
  note_setup("finish", a, why);
  if (why != mr::refusal::none && !all.is_explained(why, s, &x)) {
    all.fail("finish of `" + name + "` was refused: " + std::string(mr::to_string(why)));
  }
  if (why == mr::refusal::none && (x.is_finished || x.is_forgotten)) all.fail("`" + name + "` was finished twice");
  if (why == mr::refusal::none) x.is_finished = true;
  const connection_ptr reading = x.newest;
  lock.unlock();
  if (reading) all.read(*reading);
}

// One lock leaves no middle of an append: a writer that pauses anywhere has not begun, and appends when it goes on.
inline void case_run::begin_append(const arguments& a, const variables&) {
  if (is_parallel_) throw case_skip("`begin_append` inside of `parallel`");
  (void)locked_session(all, a.text("s"));
  for (const std::string& symbol : expand_symbols(a.texts("e"))) {
    begun_.push_back({a.text_or("as_", ""), a.text("s"), a.text("x"), symbol, payload_of(a, symbol)});
  }
}

inline void case_run::continue_append(const arguments& a, const variables&) {
  if (begun_.empty()) throw case_error("no append was begun");
  const std::vector<std::string> only = a.has("e") ? expand_symbols(a.texts("e")) : std::vector<std::string>();
  const std::vector<begun_append> begun = std::move(begun_);
  begun_.clear();
  bool is_any = false;
  for (const begun_append& b : begun) {
    const bool is_meant = (!a.has("e") || std::find(only.begin(), only.end(), b.e) != only.end()) &&
                          (!a.has("as_") || a.text("as_") == b.name) && (!a.has("s") || a.text("s") == b.s) &&
                          (!a.has("x") || a.text("x") == b.x);
    if (!is_meant) {
      begun_.push_back(b);
      continue;
    }
    is_any = true;
    note_setup("continue_append", a, all.append(locked_session(all, b.s), b.x, b.e, b.payload));
  }
  if (!is_any) throw case_error("no such append was begun");
}

// ---- Faults ----------------------------------------------------------------------------------------------------------

inline void case_run::drop(const arguments& a, const variables&) {
  std::unique_lock<std::mutex> lock(all.names);
  session_state& s = all.session_of(a.text("s"));
  stream_state& x = all.stream_of(s, a.text("x"));
  const connection_ptr lost = x.newest;
  if (a.has("seen") && !a.is_null("seen")) {
    const mr::event_id seen = all.id_of_symbol(a.text("seen"));
    if (lost && seen.stream != lost->stream.stream) {
      throw case_error("`seen` is an event of another stream");
    }
    if (lost) lost->seen = seen;
  }
  lock.unlock();
  if (lost) all.release(*lost);
}

// With the events kept the process did not lose its log: only the connections are gone.
inline void case_run::restart(const arguments& a, const variables&) {
  if (is_parallel_) throw case_skip("`restart` inside of `parallel`");
  const bool keeps_sessions = a.flag_or("keep_sessions", false), keeps_events = a.flag_or("keep_events", false);
  std::vector<session_state*> kept;
  for (auto& [symbol, s] : all.sessions) {
    if (keeps_sessions && all.tags_of(s)) kept.push_back(&s);
  }
  for (const connection_ptr& c : all.connections) all.release(*c);
  if (keeps_sessions && keeps_events) return;
  all.make_table();
  for (session_state* s : kept) {
    tag_source source = all.next_tags();
    const mr::refusal why =
        all.live_table().restore(s->id, principal_of(arguments(json::object()), s), s->negotiated, *s->tag, source);
    if (why != mr::refusal::none) all.fail("restore was refused: " + std::string(mr::to_string(why)));
    s->streams_with_events.clear();
    s->opened_streams = 0;
  }
}

inline void case_run::end_session(const arguments& a, const variables&) {
  session_state& s = locked_session(all, a.text("s"));
  const mr::refusal why = all.live_table().end(s.id);
  note_setup("end_session", a, why);
  all.read_all();  // its connections are told
  const std::lock_guard<std::mutex> lock(all.names);
  if (all.tags_of(s)) all.fail("session `" + s.symbol + "` was ended and lives");
  if (why != mr::refusal::none && !all.is_explained(why, s, nullptr)) {
    all.fail("the end of `" + s.symbol + "` was refused: " + std::string(mr::to_string(why)));
  }
}

inline void case_run::forget_stream(const arguments& a, const variables&) {
  std::unique_lock<std::mutex> lock(all.names);
  session_state& s = all.session_of(a.text("s"));
  stream_state& x = all.stream_of(s, a.text("x"));
  const mr::refusal why = x.is_refused ? mr::refusal::no_such_stream : all.live_table().forget(x.handle);
  note_setup("forget_stream", a, why);
  if (why != mr::refusal::none && !all.is_explained(why, s, &x)) {
    all.fail("forget was refused: " + std::string(mr::to_string(why)));
  }
  if (why == mr::refusal::none && !x.is_finished) all.fail("an open stream was forgotten");
  if (why == mr::refusal::none) x.is_forgotten = true;
  const connection_ptr reading = x.newest;
  lock.unlock();
  if (reading) all.read(*reading);
}

// ---- Requests --------------------------------------------------------------------------------------------------------

inline cursor_text case_run::cursor_of(const json& written) {
  if (written.is_null()) return {};
  if (!written.is_object()) throw case_error("a cursor must be an object or null, not " + written.dump());
  if (const auto literal = literal_of(written)) return {*literal, "", true};
  const arguments a(written);
  if (a.has("edit")) {
    check_keys(written, "edit", "cursor");
    const json& edits = a.at("edit");
    if (!edits.is_object()) throw case_error("`edit` must be an object");
    const std::string of = arguments(edits).text("of");
    return {edited(mr::to_string(all.id_of_symbol(of)), edits), of, true};
  }
  check_keys(written, a.has("of") ? "of" : "last_seen_in", "cursor");
  if (a.has("of")) return {mr::to_string(all.id_of_symbol(a.text("of"))), a.text("of"), false};
  return {last_id_in(a.text("last_seen_in")), "", false};
}

// The last id that a client had of an earlier resume: with `seen` what it got, else all that was sent.
inline std::string case_run::last_id_in(const std::string& name) {
  const std::lock_guard<std::mutex> lock(results_);
  for (auto each = answers.rbegin(); each != answers.rend(); ++each) {
    if (each->name != name && each->cursor_symbol != name) continue;
    if (!each->reads) throw case_error("resume `" + name + "` delivered no id");
    if (each->reads->seen) return mr::to_string(*each->reads->seen);
    const sse_text frames = parse_sse(each->reads->bytes);
    for (auto b = frames.blocks.rbegin(); b != frames.blocks.rend(); ++b) {
      if (b->id) return *b->id;
    }
    return each->reads->presented;
  }
  throw case_error("no resume is named `" + name + "`");
}

inline case_run::asked case_run::ask(const arguments& a, const char* session_key, const std::string& cursor) {
  asked made;
  const session_state* s = nullptr;
  if (a.has(session_key) && !a.is_null(session_key)) {
    const auto literal = literal_of(a.at(session_key));
    s = literal ? nullptr : all.find_session(a.text(session_key));
    made.session_id = literal ? *literal : world::id_of(a.text(session_key));
    if (!literal && a.text(session_key).empty()) made.session_id.clear();
  }
  made.version = a.nullable_text("proto", s == nullptr ? "" : s->version_text);
  made.principal = principal_of(a, s);
  made.cursor = cursor;
  return made;
}

inline answer case_run::begin_answer(const std::string& op, const arguments& a, const variables& loop) const {
  answer made;
  made.op = op;
  made.name = a.text_or("as_", "");
  made.written_name = a.written_name;
  made.loop = loop;
  return made;
}

// The events after the cursor that are held no more, by what was issued and what the window says is held.
inline std::vector<std::string> case_run::missing_of(const mr::resolution& decided) const {
  std::vector<std::string> out;
  const auto log = all.logs.find(key_of(decided.cursor));
  if (log == all.logs.end()) return out;
  const std::uint64_t first_seq = all.bounds.first_seq;
  const auto held = all.table->window_of({decided.cursor.owner, decided.cursor.stream, decided.stream.route});
  const std::uint64_t newest = first_seq - 1 + log->second.size();
  const std::uint64_t last = held ? held->first - 1 : newest;
  for (std::uint64_t seq = std::max(decided.cursor.seq, first_seq - 1) + 1; seq <= last && seq <= newest; ++seq) {
    out.push_back(log->second[static_cast<std::size_t>(seq - first_seq)].symbol);
  }
  return out;
}

inline void case_run::decide(answer& to, const mr::resolution& decided, const std::string& symbol) {
  to.decided = decided;
  to.session = symbol;
  to.outcome = std::string(mr::to_string(decided.outcome()));
  to.status = decided.http_status();
  const bool is_placed = decided.reason == mr::reason::fresh || decided.reason >= mr::reason::stale_incarnation;
  if (!is_placed || decided.outcome() == mr::outcome::reject) return;
  const std::lock_guard<std::mutex> lock(all.names);
  to.missing = missing_of(decided);
  const bool is_counted = decided.reason != mr::reason::forgotten && decided.outcome() != mr::outcome::reset;
  if (is_counted && !is_parallel_ && decided.no_longer_held != to.missing.size()) {
    all.fail("`" + to.label() + "`: " + std::to_string(to.missing.size()) + " events are gone, the resolution says " +
             std::to_string(decided.no_longer_held));
  }
}

inline bool is_same_decision(const mr::resolution& a, const mr::resolution& b) {
  return a.reason == b.reason && a.missed == b.missed && a.resume_after == b.resume_after && a.window == b.window &&
         a.cursor == b.cursor;
}

inline bool is_same_state(const mr::inspection& a, const mr::inspection& b) {
  return a.sessions == b.sessions && a.streams == b.streams && a.events == b.events && a.bytes == b.bytes &&
         a.evicted_unread == b.evicted_unread;
}

// A GET under test. Deciding beforehand, and refusing, change nothing.
inline answer case_run::get(answer made, const asked& sent, const cursor_text& cursor, const std::string& symbol) {
  if (!sent.pause_point.empty() && is_parallel_) throw case_skip("`pause_after` inside of `parallel`");
  mr::session_table& table = all.live_table();
  made.began = all.now();
  made.cursor_symbol = cursor.symbol;
  {
    const std::lock_guard<std::mutex> lock(all.names);
    made.is_literal_issued = cursor.is_literal && all.is_issued(cursor.text);
  }
  const mr::inspection before = table.inspect(sent.session_id);
  const mr::resolution foreseen = mr::resolve_resume(sent.view(), table);
  decide(made, foreseen, symbol);
  if (sent.pause_point != "snapshot") {
    mr::reader attached;
    const mr::resolution decided = table.resume(sent.view(), attached);
    decide(made, decided, symbol);
    const bool is_pure = is_same_decision(foreseen, decided) && is_same_state(before, table.inspect(sent.session_id));
    if (!is_parallel_ && !is_pure) all.fail("`" + made.label() + "`: deciding changed the decision or the log");
    attach(made, sent, attached);
  }
  const std::lock_guard<std::mutex> lock(results_);
  answers.push_back(made);
  if (!sent.pause_point.empty()) paused_.push_back({answers.size() - 1, sent});
  return made;
}

inline void case_run::attach(answer& to, const asked& sent, const mr::reader& attached) {
  const bool has_reader = attached.lease() != 0;
  if (has_reader != (to.status == 200)) all.fail("`" + to.label() + "`: a reader without a 200, or a 200 without one");
  to.attached = all.now();
  if (!has_reader) return;
  std::unique_lock<std::mutex> lock(all.names);
  session_state* const s = all.find_session_by_id(sent.session_id);
  const auto name = s == nullptr ? std::nullopt : all.name_of(*s, attached.stream());
  if (!name) return all.fail("`" + to.label() + "`: attached to a stream that the case does not know");
  to.reads = all.connect(*s, all.stream_of(*s, *name), *name, attached);
  to.reads->decided = to.decided;
  to.reads->presented = sent.cursor;
  to.reads->is_under_test = true;
  to.reads->was_paused = !sent.pause_point.empty();
  lock.unlock();
  if (sent.is_client_gone) return all.release(*to.reads);
  using how_much = world::how_much;
  const bool is_one_event = sent.pause_point == "first_event", is_one_frame = sent.pause_point == "marker";
  if (sent.pause_point != "attached") {
    all.read(*to.reads, is_one_event ? how_much::one_event : is_one_frame ? how_much::one_frame : how_much::all);
  }
  to.reads->is_paused = !sent.pause_point.empty() && to.reads->is_connected;
}

inline void case_run::resume(const arguments& a, const variables& loop) {
  std::unique_lock<std::mutex> lock(all.names);
  const cursor_text cursor = cursor_of(a.has("cursor") ? a.at("cursor") : json());
  asked sent = ask(a, "s", cursor.text);
  lock.unlock();
  constexpr std::string_view points = "  snapshot attached marker first_event replayed_before_live ";
  sent.pause_point = a.text_or("pause_after", "");
  sent.is_client_gone = !a.nullable_text("client_closes", "").empty();
  if (points.find(" " + sent.pause_point + " ") == std::string_view::npos) {
    throw case_skip("pause point `" + sent.pause_point + "`");
  }
  const std::string symbol = a.at("s").is_string() ? a.text("s") : "";
  const answer made = get(begin_answer("resume", a, loop), sent, cursor, symbol);
  if (a.has("x") && made.reads && made.reads->stream_name != a.text("x")) {
    all.fail("`" + made.label() + "` reads stream `" + made.reads->stream_name + "`, not `" + a.text("x") + "`");
  }
}

inline void case_run::continue_resume(const arguments& a, const variables&) {
  const std::string name = a.text_or("as_", "");
  const auto is_meant = [&](const paused_resume& p) { return name.empty() || answers[p.answer].name == name; };
  const auto found = std::find_if(paused_.begin(), paused_.end(), is_meant);
  if (found == paused_.end()) throw case_error("no such resume is paused");
  const paused_resume p = *found;
  paused_.erase(found);
  answer& to = answers[p.answer];
  if (to.reads) {
    to.reads->is_paused = false;
    return all.read(*to.reads);
  }
  if (to.status != 200) return;
  mr::reader attached = all.live_table().attach(*to.decided);
  if (attached.lease() == 0) {  // outdated: a server asks again
    decide(to, all.live_table().resume(p.sent.view(), attached), to.session);
  }
  asked sent = p.sent;
  sent.pause_point.clear();
  attach(to, sent, attached);
  if (to.reads) to.reads->was_paused = true;
}

// Each cursor alone: its connection is gone before the next.
inline void case_run::each_cursor(const char* op, const arguments& a, const variables& loop) {
  if (a.list("cursors").empty()) throw case_error("`cursors` is empty");
  for (const json& written : a.list("cursors")) {
    std::unique_lock<std::mutex> lock(all.names);
    const cursor_text cursor = cursor_of(written);
    const asked sent = ask(a, "s", cursor.text);
    lock.unlock();
    const std::string symbol = a.at("s").is_string() ? a.text("s") : "";
    const answer made = get(begin_answer(op, a, loop), sent, cursor, symbol);
    if (made.reads) all.release(*made.reads);
  }
}

inline void case_run::resume_each(const arguments& a, const variables& loop) { each_cursor("resume_each", a, loop); }
inline void case_run::resume_chain(const arguments& a, const variables& loop) { each_cursor("resume_chain", a, loop); }

inline void case_run::measure_resume(const arguments& a, const variables& loop) {
  std::unique_lock<std::mutex> lock(all.names);
  const cursor_text cursor = cursor_of(a.has("cursor") ? a.at("cursor") : json());
  const asked sent = ask(a, "s", cursor.text);
  lock.unlock();
  const std::uint64_t times = a.has("times") ? a.number("times", most_steps) : 1;
  if (times == 0) throw case_error("`times` is 0");
  const answer first = get(begin_answer("measure_resume", a, loop), sent, cursor, a.text("s"));
  if (first.reads) all.release(*first.reads);
  for (std::uint64_t i = 1; i < times; ++i) {
    connection again;
    const mr::resolution decided = all.live_table().resume(sent.view(), again.reader);
    again.stream = again.reader.stream();
    all.read(again);
    all.release(again);
    // A fresh reader starts where the last one stood.
    const bool is_same_body = sent.cursor.empty() || again.bytes == (first.reads ? first.reads->bytes : "");
    if (decided.reason != first.decided->reason || !is_same_body) {
      return all.fail("repetition " + std::to_string(i) + " of the resume was answered otherwise");
    }
  }
}

// GET is a resume. POST and DELETE ask for the session alone; a DELETE that passes ends it, a POST is activity.
inline void case_run::request(const arguments& a, const variables& loop) {
  std::unique_lock<std::mutex> lock(all.names);
  const cursor_text cursor = cursor_of(a.has("cursor") ? a.at("cursor") : json());
  const char* session_key = a.has("session") ? "session" : "s";
  const asked sent = ask(a, session_key, cursor.text);
  lock.unlock();
  const std::string method = a.text("method");
  const bool is_named = a.at(session_key).is_string();
  const std::string symbol = is_named ? a.text(session_key) : "";
  if (method == "GET") {
    (void)get(begin_answer("request", a, loop), sent, cursor, symbol);
    return;
  }
  if (method != "POST" && method != "DELETE") throw case_error("unknown method `" + method + "`");
  ask_session(a, begin_answer("request", a, loop), sent, symbol);
}

inline void case_run::ask_session(const arguments& a, answer made, const asked& sent, const std::string& symbol) {
  const bool is_post = a.text("method") == "POST";
  const bool is_initialize = is_post && a.has("body") && a.at("body") == "initialize";
  mr::session_table& table = all.live_table();
  made.session = symbol;
  made.began = made.attached = all.now();
  const std::optional<mr::reason> forbidden = is_initialize ? std::nullopt : mr::resolve_session(sent.view(), table);
  made.outcome = forbidden ? std::string(mr::to_string(mr::row_of(*forbidden).outcome)) : "continue";
  made.status = forbidden ? mr::row_of(*forbidden).http_status : 0;
  if (is_post && forbidden == mr::reason::stateless_protocol) {
    made.outcome = "ignore_headers";
    made.status = 0;
  }
  if (!forbidden && !is_initialize && is_post && table.touch(sent.session_id, sent.principal) != mr::refusal::none) {
    all.fail("`" + made.label() + "`: the session passes and cannot be touched");
  }
  if (!forbidden && !is_post && table.end(sent.session_id) != mr::refusal::none) {
    all.fail("`" + made.label() + "`: the session passes and cannot be ended");
  }
  all.read_all();
  const std::lock_guard<std::mutex> lock(results_);
  answers.push_back(std::move(made));
}

// The connections that are the newest of their streams when it is asked for; their frames are judged at the end.
inline void case_run::check_wire(const arguments& a, const variables&) {
  has_check_wire = true;
  const std::lock_guard<std::mutex> lock(all.names);
  for (auto& [symbol, s] : all.sessions) {
    if (a.has("s") && a.text("s") != symbol) continue;
    for (auto& [name, x] : s.streams) {
      const bool is_meant = (!a.has("x") || a.text("x") == name) && x.newest;
      if (is_meant && std::find(wires.begin(), wires.end(), x.newest) == wires.end()) wires.push_back(x.newest);
    }
  }
}

inline void case_run::try_ids(const arguments& a, const variables&) {
  const std::vector<std::string> where = a.has("where") ? a.texts("where") : std::vector<std::string>{"session id"};
  bool has_session_id = false;
  for (const std::string& what : where) {
    if (what != "session id" && what != "stream name") throw case_skip("try_ids for `" + what + "`");
    has_session_id = has_session_id || what == "session id";
  }
  if (!has_session_id) throw case_skip("there are no stream names");
  if (a.list("values").empty()) throw case_error("`values` is empty");
  for (const json& value : a.list("values")) {
    const auto literal = literal_of(value);
    if (!literal && !value.is_string()) throw case_error("a value must be a string or a literal");
    tag_source source = all.next_tags();
    const std::string id = literal ? *literal : value.get<std::string>();
    const mr::refusal why = all.live_table().create(id, "", mr::protocol::v2025_11_25, source);
    const std::lock_guard<std::mutex> lock(results_);
    setups.push_back({"try_ids", a.text_or("as_", ""), why != mr::refusal::none, value.dump()});
  }
}

// ---- The client's side -----------------------------------------------------------------------------------------------

inline mr::reconnect_options policy_of(const json& written) {
  mr::reconnect_options bounds;
  if (written == "default") return bounds;
  if (!written.is_object()) throw case_error("unknown `policy` " + written.dump());
  check_keys(written, "first_wait_ms min_wait_ms max_wait_ms max_retry_ms max_attempts", "policy");
  const arguments a(written);
  const auto set = [&a](const char* key, std::uint32_t& bound) {
    if (a.has(key)) bound = static_cast<std::uint32_t>(a.number(key, 0xFFFFFFFFU));
  };
  set("first_wait_ms", bounds.first_wait_ms);
  set("min_wait_ms", bounds.min_wait_ms);
  set("max_wait_ms", bounds.max_wait_ms);
  set("max_retry_ms", bounds.max_retry_ms);
  set("max_attempts", bounds.max_attempts);
  return bounds;
}

// The client under test. Its first request is sent when time next passes. `s`: its session, which need not be open;
// null: it has none. `x`: its stream, `get` or that of a POST.
inline void case_run::client(const arguments& a, const variables&) {
  if (is_parallel_) throw case_skip("`client` inside of `parallel`");
  if (tested_client) throw case_error("a second client");
  client_settings with;
  with.name = a.text_or("as_", "");
  const std::string session = a.nullable_text("s", "client");
  if (!session.empty()) with.session_id = world::id_of(session);
  if (a.text_or("x", "get") != "get") with.kind = mr::stream_kind::request;
  const std::string others = a.text_or("foreign_ids", "unprovable");
  if (others == "trailing_counter") with.others = mr::foreign_ids::trailing_counter;
  if (others != "trailing_counter" && others != "unprovable") throw case_error("unknown `foreign_ids` " + others);
  if (a.has("policy")) with.bounds = policy_of(a.at("policy"));
  tested_client = std::make_unique<scripted_client>(with, script, all);
  if (a.has("client_has_cursor")) tested_client->begin_with(cursor_of(a.at("client_has_cursor")).text);
}

inline scripted_client& case_run::client_of_case() const {
  if (!tested_client) throw case_error("there is no client");
  return *tested_client;
}

// The client under test starts with that cursor: also as a parameter of `client`.
inline void case_run::client_has_cursor(const arguments& a, const variables&) {
  if (is_parallel_) throw case_skip("`client_has_cursor` inside of `parallel`");
  client_of_case().begin_with(cursor_of(a.at("cursor")).text);
}

// What the server answers to the client's next requests of that method, once or `repeat` times.
inline void case_run::script_server(const arguments& a, const variables&) {
  if (is_parallel_) throw case_skip("`server_script` inside of `parallel`");
  const std::string method = a.text("on");
  if (method != "GET" && method != "POST") throw case_error("unknown `on` `" + method + "`");
  const std::uint64_t times = a.has("repeat") ? a.number("repeat") : 1;
  if (times == 0) throw case_error("`repeat` is 0");
  answer_reader words(all, [this](const json& cursor) { return cursor_of(cursor).text; });
  script.add(method, words.read(a.at("answer")), times);
}

// What was written for a client was executed.
inline void case_run::check_client() {
  if (tested_client && tested_client->requests.empty()) all.fail("the client never asked: no time passed");
  if (const std::size_t unused = script.unused()) {
    all.fail("server_script " + std::to_string(unused) + ": nobody asked for its answer");
  }
}

// ---- The vocabulary --------------------------------------------------------------------------------------------------

inline const case_run::word* case_run::find_word(std::string_view op) {
  static constexpr word words[] = {
      {"config", "capacity session_capacity ttl_ms session_ttl_ms max_sessions store nodes first_seq retry_ms",
       &case_run::config},
      {"open_session", "s principal proto proto_requested token scope node tag client_closes as_",
       &case_run::open_session},
      {"open_stream", "s x prime node principal token scope rpc_id client_closes as_", &case_run::open_stream},
      {"clock", "mode set_ms", &case_run::clock},
      {"tick", "ms", &case_run::tick},
      {"append", "s x e pin data rpc_id node as_", &case_run::append},
      {"append_n", "s x prefix from to pin data rpc_id node as_", &case_run::append_n},
      {"finish", "s x e data rpc_id node as_", &case_run::finish},
      {"begin_append", "s x e data rpc_id node as_ pause_after pause_before pause_at pause at point",
       &case_run::begin_append},
      {"continue_append", "s x e node as_", &case_run::continue_append},
      {"drop", "s x seen node", &case_run::drop},
      {"restart", "keep_sessions keep_events node", &case_run::restart},
      {"end_session", "s node as_", &case_run::end_session},
      {"forget_stream", "s x node as_", &case_run::forget_stream},
      {"resume", "s x cursor as_ pause_after principal proto token scope node client_closes", &case_run::resume},
      {"continue_resume", "as_", &case_run::continue_resume},
      {"resume_each", "s cursors as_ principal proto token scope node", &case_run::resume_each},
      {"resume_chain", "s cursors as_ principal proto token scope node", &case_run::resume_chain},
      {"request", "method session s cursor body as_ principal proto token scope node", &case_run::request},
      {"measure", "", &case_run::measure},
      {"measure_resume", "s cursor times as_ principal proto token scope node", &case_run::measure_resume},
      {"check_wire", "s x", &case_run::check_wire},
      {"try_ids", "where values as_", &case_run::try_ids},
      {"client", "policy s x foreign_ids client_has_cursor as_", &case_run::client},
      {"client_has_cursor", "cursor", &case_run::client_has_cursor},
      {"server_script", "on repeat answer", &case_run::script_server},  // its words: field_case_script.hpp
  };
  for (const word& each : words) {
    if (each.op == op) return &each;
  }
  return nullptr;
}

inline void case_run::check_words(const json& steps) {
  if (!steps.is_array()) throw case_error("`steps` must be a list");
  std::size_t number = 0;
  for (const json& step : steps) {
    const std::string where = "step " + std::to_string(++number);
    if (!step.is_object() || !step.contains("op") || !step["op"].is_string()) {
      throw case_error(where + ": a step must be an object with `op`");
    }
    const std::string op = step["op"].get<std::string>();
    const bool is_nested = is_loop(op) || op == "parallel";
    const word* known = find_word(op);
    if (!is_nested && known == nullptr) throw case_error(where + ": unknown op `" + op + "`");
    const std::string_view keys = op == "parallel" ? "n steps" : is_nested ? loop_keys(op) : known->keys;
    check_keys(step, std::string(keys) + " op note why", where + " (" + op + ")");
    if (!is_nested) continue;
    if (!step.contains("steps")) throw case_error(where + " (" + op + "): `steps` is missing");
    check_words(step["steps"]);
  }
}

}  // namespace field
