// SPDX-License-Identifier: MIT
// Promise: in every state that a small world reaches in a few steps, guarantees G1 to G5 hold, on the real code.
//
// The world: a table with two sessions of two principals; of each the standalone stream and one request stream at a
// time, an honest client on each of them, the connection that was lost last (its reader stays behind), a GET that was
// decided and not yet attached, and a worker that keeps every handle it ever had. Time runs in ticks: an event lives
// for one of them, a reader that did not read since the last one is not live.
//
// Steps are what changes something. Whatever must be refused (old handles, dead readers, foreign, stale and ahead
// cursors, the other principal, calls out of order) is no step but tried in every state, and the state is compared
// before and after (G5). Then every client reads, or resumes with its cursor, until it is caught up.
//
// States are explored breadth first, so a violation comes with a shortest history. A session cannot be copied: each
// state is made again from its history. Two histories that lead to the same key are explored once. The key holds all
// that the future depends on: of each stream its window, numbers, age of each held event, finished, attached; of each
// reader whether it may read, where it stands, what it announced or will; what each client knows; whether a cursor or
// a decision from earlier is of this log, of another life or of another session. Left out, and why it may be:
//   tags                only ever compared for equality with the session's, which the key records
//   absolute time       only differences count, and these are in the key as ages and `live reader`
//   lease numbers       only compared for equality with the newest
//   time of activity    no history of plain ticks is long enough to be idle, and `expire` outlasts every activity
//   pages, spare page   chosen by sizes, all alike here; layouts are for the property tests
//   evicted unread      a counter that nothing reads
//   which session       both behave alike, so the key is the unordered pair of the two
// Keys are kept as 128 bit hashes.
//
// Usage: explore [--depth N] [--seconds N]. Without options the depth is fixed, and so is the work.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "mcp_resume/resume.hpp"

namespace {

using namespace mcp_resume;

constexpr std::uint64_t tick_ms = 6, max_age_ms = 10, idle_ms = 1000;  // an event survives one tick, not two
constexpr std::uint32_t reader_timeout_ms = 5;

struct settings {
  std::size_t active;  // sessions that take steps; the other one holds an event under the same numbers
  std::uint32_t max_events;
  mcp_resume::after_gap after_gap;
};

struct violation {
  std::string what;
};
void must(bool holds, const char* what) {
  if (!holds) throw violation{what};
}

// ---- Steps ---------------------------------------------------------------------------------------------------------

enum class act : std::uint8_t {
  append_0,
  append_r,
  open,
  finish,
  forget,
  resume_0,
  resume_fresh,
  resume_r,
  decide_0,
  decide_fresh,
  decide_r,
  attach_0,
  attach_r,
  read_0,
  read_r,
  read_one_0,
  read_one_r,
  drop_0,
  drop_r,
  stale_read_0,
  stale_read_r,
  stale_release_0,
  stale_release_r,
  renew,
  expire,
  end,
  create,
  restore,
  tick,
  restart,
};
constexpr std::string_view act_texts[] = {
    "append to the standalone stream",
    "append to the request stream",
    "open a request stream",
    "finish the request stream",
    "forget the request stream",
    "the client resumes the standalone stream with its cursor",
    "the client opens the standalone stream without a cursor",
    "the client resumes the request stream with its cursor",
    "a GET for the standalone stream with the client's cursor is decided, not yet attached",
    "a GET for the standalone stream without a cursor is decided, not yet attached",
    "a GET for the request stream with the client's cursor is decided, not yet attached",
    "the decided GET for the standalone stream is attached",
    "the decided GET for the request stream is attached",
    "the connection of the standalone stream is read",
    "the connection of the request stream is read",
    "one frame of the connection of the standalone stream is read",
    "one frame of the connection of the request stream is read",
    "the client loses its connection of the standalone stream",
    "the client loses its connection of the request stream",
    "the lost connection of the standalone stream is read",
    "the lost connection of the request stream is read",
    "the lost connection of the standalone stream is released",
    "the lost connection of the request stream is released",
    "renew",
    "expire",
    "end",
    "create again",
    "restore with the stored session tag",
    "tick",
    "restart: every session is restored with its stored tag",
};
constexpr std::size_t act_count = sizeof act_texts / sizeof act_texts[0];
static_assert(act_count == static_cast<std::size_t>(act::restart) + 1);

struct step {
  act what;
  std::uint8_t session;
};
bool is_global(act what) { return what >= act::tick; }

// ---- Truth ---------------------------------------------------------------------------------------------------------
// What the world knows without asking the library.

struct stream_truth {
  stream_handle handle;
  std::vector<std::uint64_t> appended_at;  // of event seq at seq - 1
  std::uint64_t handed = 0;                // newest seq that any reader was handed
  std::uint64_t attaches = 0;
  std::uint64_t read_at = 0;
  bool is_finished = false;
  bool is_held = true;  // its record
  bool is_attached = false;
  std::uint64_t issued() const { return appended_at.size(); }
};

struct life {
  tags owner;
  std::vector<stream_truth> streams;  // by number
};

struct connection {
  enum class phase : std::uint8_t { opening, signal_due, announced, flowing };
  reader at;
  std::size_t life = 0;  // index of the session's
  std::uint32_t stream = 0;
  event_id place;   // presented, then the last id that was written
  event_id target;  // with signal_due and announced: where the next marker must be
  bool is_reset = false;
  phase is = phase::opening;
};

// A client of one stream. Everything up to the cursor it took or was told to miss.
struct client {
  std::optional<event_id> cursor;
  bool is_intact = true;  // it missed nothing in the life of its cursor
  std::optional<connection> connected;
  std::optional<connection> stale;
  std::optional<resolution> decided;
};

struct session_truth {
  std::string id;
  std::string principal;
  bool is_live = false;
  std::vector<life> lives;
  client clients[2];  // of stream 0, of the newest request stream
  life& now() { return lives.back(); }
  std::uint32_t request_stream() const { return static_cast<std::uint32_t>(lives.back().streams.size() - 1); }
};

// The text of an event names all that it must never be confused about.
std::string payload_of(const session_truth& s, std::size_t life_index, std::uint32_t stream, std::uint64_t seq) {
  return s.id + "." + std::to_string(life_index) + "." + std::to_string(stream) + "." + std::to_string(seq);
}

struct block {
  std::string_view event, id, data;
};
// Cuts the first block off. Payloads of this world are one line each.
block cut_block(std::string_view& frames) {
  block b;
  for (;;) {
    const std::size_t end = frames.find('\n');
    must(end != std::string_view::npos, "G2: a frame was cut");
    const std::string_view line = frames.substr(0, end);
    frames.remove_prefix(end + 1);
    if (line.empty()) return b;
    if (line.substr(0, 7) == "event: ") b.event = line.substr(7);
    if (line.substr(0, 4) == "id: ") b.id = line.substr(4);
    if (line.substr(0, 6) == "data: ") b.data = line.substr(6);
  }
}
std::string_view member_of(std::string_view json, std::string_view name) {
  const std::size_t at = json.find(name);
  must(at != std::string_view::npos, "a signal lacks a member");
  const std::string_view rest = json.substr(at + name.size());
  return rest.substr(0, rest.find_first_of("\"}"));
}

// ---- World ---------------------------------------------------------------------------------------------------------

class world {
 public:
  explicit world(const settings& given);
  world(const world&) = delete;
  world& operator=(const world&) = delete;

  void enabled(std::vector<step>& steps);
  void apply(step next);
  std::string key();
  void check();  // leaves the world changed: it is thrown away afterwards

 private:
  struct counter {
    std::uint64_t* drawn;
    std::optional<std::uint64_t> operator()() const { return ++*drawn; }
  };

  options bounds() const;
  counter random() { return {&drawn_}; }
  void start(session_truth& s, bool with_stored_tag);
  void begin_life(session_truth& s);
  window window_of(const session_truth& s, std::uint32_t stream);
  bool has_record(session_truth& s, std::uint32_t stream) { return s.is_live && s.now().streams[stream].is_held; }

  bool is_enabled(session_truth& s, act what);
  bool is_enabled_for(session_truth& s, std::size_t kind, act what);
  bool is_served(session_truth& s, const std::optional<event_id>& cursor);
  void apply_to_log(session_truth& s, act what);
  void apply_to_life(session_truth& s, act what);
  void apply_to_client(session_truth& s, act what);
  void append(session_truth& s, std::uint32_t stream);
  void open(session_truth& s);
  void expire(session_truth& s);
  void restart();

  reason expected(session_truth& s, const std::string& principal, const std::optional<event_id>& cursor);
  resolution decide_get(session_truth& s, const std::string& principal, const std::optional<event_id>& cursor);
  void check_numbers(session_truth& s, const resolution& decided);
  void resume(session_truth& s, std::size_t kind, const std::optional<event_id>& cursor);
  void connect(session_truth& s, std::size_t kind, const reader& made, const resolution& from);
  void attach(session_truth& s, std::size_t kind);
  read_state expected_state(session_truth& s, const connection& c);
  bool is_readable(session_truth& s, const connection& c) { return expected_state(s, c) == read_state::more; }
  progress read(session_truth& s, connection& c, client* who, std::size_t max_bytes);
  void read_connected(session_truth& s, std::size_t kind, std::size_t max_bytes);
  void take(session_truth& s, connection& c, client* who, const block& b, progress& seen);
  void take_signal(session_truth& s, connection& c, const block& b, const event_id& id, progress& seen);
  void take_marker(connection& c, client* who, const event_id& id);
  void take_event(session_truth& s, connection& c, client* who, const block& b, const event_id& id);

  void check_bounds(session_truth& s);
  void try_cursors(session_truth& s);
  void try_cursors(session_truth& s, const life& l, std::uint32_t stream);
  void try_cursor(session_truth& s, const std::string& principal, const std::optional<event_id>& cursor);
  void try_handles(session_truth& s);
  void try_calls_out_of_order(session_truth& s);
  void try_dead_readers(session_truth& s);
  void drain(session_truth& s, std::size_t kind);
  std::vector<std::uint64_t> observe();

  char relation_of(session_truth& s, const tags& owner) const;
  void add_id(std::string& key, session_truth& s, const event_id& id) const;
  void add_stream(std::string& key, session_truth& s, std::uint32_t stream);
  void add_connection(std::string& key, session_truth& s, const std::optional<connection>& c);
  void add_client(std::string& key, session_truth& s, const client& c);
  std::string key_of(session_truth& s);

  settings settings_;
  std::uint64_t drawn_ = 0;
  std::uint64_t now_ = 1;
  std::optional<local_session_table> table_;
  session_truth sessions_[2];
};

options world::bounds() const {
  options o;
  o.max_events = settings_.max_events;
  o.max_streams = 1;
  o.max_age_ms = max_age_ms;
  o.idle_ms = idle_ms;
  o.reader_timeout_ms = reader_timeout_ms;
  o.after_gap = settings_.after_gap;
  o.max_sessions = 2;
  return o;
}

world::world(const settings& given) : settings_(given) {
  table_.emplace(bounds());
  table_->tick(now_);
  for (std::size_t i = 0; i != 2; ++i) {
    sessions_[i].id = std::string(1, static_cast<char>('A' + i));
    sessions_[i].principal = i == 0 ? "alice" : "bob";
    start(sessions_[i], false);
  }
  for (std::size_t i = settings_.active; i != 2; ++i) append(sessions_[i], 0);
}

void world::start(session_truth& s, bool with_stored_tag) {
  const auto version = protocol::v2025_11_25;
  const refusal why = with_stored_tag ? table_->restore(s.id, s.principal, version, s.now().owner.session, random())
                                      : table_->create(s.id, s.principal, version, random());
  must(why == refusal::none, "a session was not made though nothing forbids it");
  begin_life(s);
}

void world::begin_life(session_truth& s) {
  const std::optional<stream_handle> standalone = table_->standalone(s.id);
  must(standalone.has_value(), "a live session has no standalone stream");
  for (const session_truth& each : sessions_) {
    for (const life& earlier : each.lives) must(earlier.owner != standalone->owner, "G1: tags came twice");
  }
  s.lives.emplace_back();
  s.now().owner = standalone->owner;
  s.now().streams.emplace_back();
  s.now().streams[0].handle = *standalone;
  s.is_live = true;
}

window world::window_of(const session_truth& s, std::uint32_t stream) {
  const std::optional<window> held = table_->window_of(s.lives.back().streams[stream].handle);
  must(held.has_value(), "a held stream has no window");
  must(held->first >= 1 && held->first <= held->next, "not a window");
  must(held->next == s.lives.back().streams[stream].issued() + 1, "the window does not end behind the newest event");
  return *held;
}

// ---- Which steps are possible ----------------------------------------------------------------------------------------

void world::enabled(std::vector<step>& steps) {
  steps.clear();
  for (std::size_t i = 0; i != act_count; ++i) {
    const act what = static_cast<act>(i);
    if (is_global(what)) steps.push_back({what, 0});
    for (std::size_t s = 0; s != settings_.active && !is_global(what); ++s) {
      if (is_enabled(sessions_[s], what)) steps.push_back({what, static_cast<std::uint8_t>(s)});
    }
  }
}

bool world::is_enabled(session_truth& s, act what) {
  const stream_truth& newest = s.now().streams.back();
  const bool has_request_stream = s.is_live && s.request_stream() != 0 && newest.is_held;
  const bool is_open = has_request_stream && !newest.is_finished;
  switch (what) {
    case act::append_0:
    case act::renew:
    case act::expire:
    case act::end:
      return s.is_live;
    case act::create:
    case act::restore:
      return !s.is_live;
    case act::open:
      return s.is_live && !is_open;
    case act::append_r:
    case act::finish:
      return is_open;
    case act::forget:
      return has_request_stream && newest.is_finished;
    case act::resume_r:
    case act::decide_r:
    case act::attach_r:
    case act::read_r:
    case act::read_one_r:
    case act::drop_r:
    case act::stale_read_r:
    case act::stale_release_r:
      return is_enabled_for(s, 1, what);
    default:
      return is_enabled_for(s, 0, what);
  }
}

// A client asks again once it has given up its connection, and waits for the answer.
bool world::is_enabled_for(session_truth& s, std::size_t kind, act what) {
  const client& c = s.clients[kind];
  switch (what) {
    case act::resume_0:
    case act::resume_r:
      return !c.decided && c.cursor && is_served(s, c.cursor);
    case act::resume_fresh:
      return !c.decided && is_served(s, std::nullopt);
    case act::decide_0:
    case act::decide_r:
      return !c.decided && !c.connected && c.cursor && is_served(s, c.cursor);
    case act::decide_fresh:
      return !c.decided && !c.connected && is_served(s, std::nullopt);
    case act::attach_0:
    case act::attach_r:
      return c.decided.has_value();
    case act::read_one_0:
    case act::read_one_r:
      return c.connected && is_readable(s, *c.connected);
    case act::stale_read_0:
    case act::stale_read_r:
    case act::stale_release_0:
    case act::stale_release_r:
      return c.stale && is_readable(s, *c.stale);
    default:
      return c.connected.has_value();
  }
}

bool world::is_served(session_truth& s, const std::optional<event_id>& cursor) {
  return row_of(expected(s, s.principal, cursor)).http_status == 200;
}

// ---- Steps carried out -----------------------------------------------------------------------------------------------

void world::apply(step next) {
  session_truth& s = sessions_[next.session];
  if (next.what <= act::forget) return apply_to_log(s, next.what);
  if (next.what < act::renew) return apply_to_client(s, next.what);
  apply_to_life(s, next.what);
}

void world::apply_to_log(session_truth& s, act what) {
  const std::uint32_t stream = s.request_stream();
  if (what == act::append_0) return append(s, 0);
  if (what == act::append_r) return append(s, stream);
  if (what == act::open) return open(s);
  const stream_handle to = s.now().streams[stream].handle;
  const refusal why = what == act::finish ? table_->finish(to) : table_->forget(to);
  must(why == refusal::none, "finish or forget was refused though nothing forbids it");
  if (what == act::finish) s.now().streams[stream].is_finished = true;
  if (what == act::forget) s.now().streams[stream].is_held = false;
}

void world::append(session_truth& s, std::uint32_t stream) {
  const std::size_t life_index = s.lives.size() - 1;
  stream_truth& to = s.now().streams[stream];
  const std::uint64_t seq = to.issued() + 1, held = table_->inspect(s.id).events;
  const appended done = table_->append(to.handle, payload_of(s, life_index, stream, seq));
  must(done.why == refusal::none, "append was refused though nothing forbids it");
  must(done.id == event_id{s.now().owner, stream, seq}, "G1: append gave the id of another event");
  const std::uint64_t bound = settings_.max_events;
  must(table_->inspect(s.id).events == (held < bound ? held + 1 : bound), "append evicted too much or too little");
  to.appended_at.push_back(now_);
  const window window_now = window_of(s, stream);
  must(done.unread == seq - std::max(to.handed, window_now.first - 1), "unread is not what no reader was handed");
}

void world::open(session_truth& s) {
  const opened done = table_->open_stream(s.id, "7");
  must(done.why == refusal::none, "open_stream was refused though nothing forbids it");
  const std::uint32_t stream = s.request_stream() + 1;
  must(done.stream.owner == s.now().owner && done.stream.stream == stream, "G1: not the next stream of this session");
  if (stream != 1) s.now().streams.back().is_held = false;  // one record at a time: the finished one was dropped
  s.now().streams.emplace_back();
  s.now().streams.back().handle = done.stream;
  client& c = s.clients[1];
  c.cursor.reset();
  c.is_intact = true;
  c.decided.reset();
  resolution from;
  from.reason = reason::up_to_date;
  from.stream = done.stream;
  from.cursor = {s.now().owner, stream, 0};
  connect(s, 1, done.reader, from);
}

void world::apply_to_life(session_truth& s, act what) {
  if (what == act::renew) {
    must(table_->renew(s.id, random()) == refusal::none, "renew was refused though nothing forbids it");
    begin_life(s);
  } else if (what == act::expire) {
    expire(s);
  } else if (what == act::end) {
    must(table_->end(s.id) == refusal::none, "end was refused though nothing forbids it");
    s.is_live = false;
  } else if (what == act::tick) {
    now_ += tick_ms;
    table_->tick(now_);
  } else if (what == act::restart) {
    restart();
  } else {
    start(s, what == act::restore);
  }
}

// Two ticks that find it idle, while the other session is touched.
void world::expire(session_truth& s) {
  const session_truth& other = sessions_[&s == &sessions_[0] ? 1 : 0];
  std::vector<std::string> expired;
  for (int i = 0; i != 2; ++i) {
    must(expired.empty(), "a session expired at the first tick that found it idle");
    now_ += 2 * idle_ms;
    table_->tick(now_, &expired);
    (void)table_->touch(other.id, other.principal);
  }
  must(expired == std::vector<std::string>{s.id}, "not just the idle session expired");
  s.is_live = false;
}

void world::restart() {
  table_.emplace(bounds());
  table_->tick(now_);
  for (session_truth& s : sessions_) {
    if (s.is_live) start(s, true);
  }
}

// NOLINTNEXTLINE(readability-function-size): a flat switch
void world::apply_to_client(session_truth& s, act what) {
  const bool is_request = what == act::resume_r || what == act::decide_r || what == act::attach_r ||
                          what == act::read_r || what == act::read_one_r || what == act::drop_r ||
                          what == act::stale_read_r || what == act::stale_release_r;
  const std::size_t kind = is_request ? 1 : 0;
  client& c = s.clients[kind];
  switch (what) {
    case act::resume_0:
    case act::resume_r:
      return resume(s, kind, c.cursor);
    case act::resume_fresh:
      return resume(s, kind, std::nullopt);
    case act::decide_0:
    case act::decide_r:
      c.decided = decide_get(s, s.principal, c.cursor);
      return;
    case act::decide_fresh:
      c.decided = decide_get(s, s.principal, std::nullopt);
      return;
    case act::attach_0:
    case act::attach_r:
      return attach(s, kind);
    case act::read_0:
    case act::read_r:
      return read_connected(s, kind, 65536);
    case act::read_one_0:
    case act::read_one_r:
      return read_connected(s, kind, 1);
    case act::stale_read_0:
    case act::stale_read_r:
      (void)read(s, *c.stale, nullptr, 65536);
      return;
    case act::stale_release_0:
    case act::stale_release_r: {
      reader copy = c.stale->at;  // the one that is kept must be told `gone` as well
      table_->release(copy);
      s.now().streams[c.stale->stream].is_attached = false;
      return;
    }
    default:
      c.stale = std::exchange(c.connected, std::nullopt);
  }
}

// ---- Decisions -------------------------------------------------------------------------------------------------------

reason world::expected(session_truth& s, const std::string& principal, const std::optional<event_id>& cursor) {
  if (!s.is_live) return reason::session_gone;
  if (principal != s.principal) return reason::wrong_principal;
  const life& l = s.now();
  if (!cursor) {
    const bool is_live = l.streams[0].is_attached && now_ - l.streams[0].read_at <= reader_timeout_ms;
    return is_live ? reason::occupied : reason::fresh;
  }
  if (cursor->owner.session != l.owner.session) return reason::foreign_cursor;
  if (cursor->owner != l.owner) return cursor->stream == 0 ? reason::stale_incarnation : reason::stale_request;
  if (cursor->stream >= l.streams.size()) return reason::never_issued;
  const stream_truth& stream = l.streams[cursor->stream];
  if (!stream.is_held) return reason::forgotten;
  if (cursor->seq > stream.issued()) return reason::never_issued;
  if (cursor->seq == stream.issued()) return stream.is_finished ? reason::complete : reason::up_to_date;
  return cursor->seq + 1 < window_of(s, cursor->stream).first ? reason::evicted : reason::replay;
}

resolution world::decide_get(session_truth& s, const std::string& principal, const std::optional<event_id>& cursor) {
  const std::string text = cursor ? to_string(*cursor) : std::string();
  request asked;
  asked.session_id = s.id;
  asked.principal = principal;
  asked.last_event_id = text;
  const resolution decided = resolve_resume(asked, *table_);
  const reason right = expected(s, principal, cursor);
  if (decided.reason != right) {
    throw violation{"G1 or G4: cursor '" + text + "' of " + principal + " at " + s.id + " is decided as " +
                    std::string(to_string(decided.reason)) + "; right is " + std::string(to_string(right))};
  }
  if (decided.http_status() == 200) check_numbers(s, decided);
  return decided;
}

// Where the reader will start, and what it will be told to miss.
void world::check_numbers(session_truth& s, const resolution& decided) {
  const window held = window_of(s, decided.stream.stream);
  must(decided.stream.owner == s.now().owner, "G1: another log will be read");
  must(decided.window == held, "the window is not the stream's");
  if (decided.outcome() == outcome::reset) {
    must(decided.resume_after + 1 == held.first, "a reset does not start before the oldest held event");
    return;
  }
  const std::uint64_t from = decided.cursor.seq;
  const bool is_lost = from + 1 < held.first;
  if (decided.reason == reason::fresh) {
    must(from == s.now().streams[0].handed, "G2: a fresh reader does not start after the read mark");
  }
  must(is_lost == (decided.missed != 0), "G2 or G4: missed events are not those that are no longer held");
  must(decided.resume_after - from == decided.missed, "G2: missed is not the distance");
  must(is_lost ? decided.resume_after + 1 >= held.first && decided.resume_after < held.next
               : decided.resume_after == from,
       "reading goes on outside the window");
}

void world::resume(session_truth& s, std::size_t kind, const std::optional<event_id>& cursor) {
  const resolution expected_answer = decide_get(s, s.principal, cursor);
  const std::string text = cursor ? to_string(*cursor) : std::string();
  request asked;
  asked.session_id = s.id;
  asked.principal = s.principal;
  asked.last_event_id = text;
  reader made;
  const resolution decided = table_->resume(asked, made);
  must(decided.reason == expected_answer.reason && decided.resume_after == expected_answer.resume_after,
       "resume decides otherwise than resolve_resume");
  connect(s, kind, made, decided);
}

void world::connect(session_truth& s, std::size_t kind, const reader& made, const resolution& from) {
  client& c = s.clients[kind];
  if (c.connected) c.stale = std::exchange(c.connected, std::nullopt);
  stream_truth& stream = s.now().streams[from.stream.stream];
  must(made.lease() == ++stream.attaches, "the lease is not the attach counter");
  stream.is_attached = true;
  stream.read_at = now_;
  connection made_connection;
  made_connection.at = made;
  made_connection.life = s.lives.size() - 1;
  made_connection.stream = from.stream.stream;
  made_connection.place = from.cursor;
  made_connection.is_reset = from.outcome() == outcome::reset;
  if (made_connection.is_reset || from.missed != 0) {
    made_connection.is = connection::phase::signal_due;
    made_connection.target = {s.now().owner, from.stream.stream, from.resume_after};
  }
  c.connected = made_connection;
}

// A decision that is of another life, or of a stream whose record went, attaches nothing.
void world::attach(session_truth& s, std::size_t kind) {
  const resolution from = *std::exchange(s.clients[kind].decided, std::nullopt);
  const bool is_of_this_log = s.is_live && from.stream.owner == s.now().owner && has_record(s, from.stream.stream);
  const std::vector<std::uint64_t> before = is_of_this_log ? std::vector<std::uint64_t>() : observe();
  reader made = table_->attach(from);
  if (is_of_this_log) return connect(s, kind, made, from);
  std::string frames;
  must(table_->read(made, frames).state == read_state::gone && frames.empty(), "G1: an outdated decision was attached");
  must(observe() == before, "G5: attaching an outdated decision changed something");
}

// ---- Reading ---------------------------------------------------------------------------------------------------------

read_state world::expected_state(session_truth& s, const connection& c) {
  if (!s.is_live || c.life + 1 != s.lives.size() || !has_record(s, c.stream)) return read_state::gone;
  const stream_truth& stream = s.now().streams[c.stream];
  if (c.at.lease() != stream.attaches) return read_state::superseded;
  return stream.is_attached ? read_state::more : read_state::gone;
}

progress world::read(session_truth& s, connection& c, client* who, std::size_t max_bytes) {
  const read_state right = expected_state(s, c);
  std::string frames;
  const progress done = table_->read(c.at, frames, max_bytes);
  if (right != read_state::more) {
    must(done.state == right && frames.empty(), "G1: a reader that may not read was served");
    return done;
  }
  progress seen;
  for (std::string_view rest = frames; !rest.empty();) take(s, c, who, cut_block(rest), seen);
  const stream_truth& stream = s.now().streams[c.stream];
  s.now().streams[c.stream].read_at = now_;
  must(done.events == seen.events && done.missed == seen.missed, "the progress is not what was written");
  must(c.at.position() == c.place, "the position is not the last id that was written");
  const bool has_all = c.is == connection::phase::flowing && c.place.seq == stream.issued();
  if (done.state == read_state::caught_up) must(has_all && !stream.is_finished, "G2: not caught up");
  if (done.state == read_state::finished) must(has_all && stream.is_finished, "G2: not finished");
  if (done.state == read_state::more) must(!has_all && !frames.empty(), "a read that says `more` brought nothing");
  const bool is_signal = done.state == read_state::gap || done.state == read_state::reset;
  must(is_signal == (c.is == connection::phase::announced), "a signal is not alone in its read");
  must(done.state != read_state::gone && done.state != read_state::superseded, "G4: the newest reader was turned away");
  return done;
}

void world::read_connected(session_truth& s, std::size_t kind, std::size_t max_bytes) {
  client& c = s.clients[kind];
  const read_state state = read(s, *c.connected, &c, max_bytes).state;
  if (state == read_state::finished) {
    table_->release(c.connected->at);
    s.now().streams[c.connected->stream].is_attached = false;
    c.connected.reset();
  } else if (state == read_state::gone || state == read_state::superseded) {
    c.stale = std::exchange(c.connected, std::nullopt);
  }
}

void world::take(session_truth& s, connection& c, client* who, const block& b, progress& seen) {
  const std::optional<event_id> id = event_id::parse(b.id);
  must(id.has_value(), "a frame without an id");
  if (b.event == "gap" || b.event == "reset") return take_signal(s, c, b, *id, seen);
  must(b.event.empty(), "an unknown event type");
  if (b.data.empty()) return take_marker(c, who, *id);
  take_event(s, c, who, b, *id);
  ++seen.events;
}

// A gap is right only while events after the place are really gone; a signal is under the id that the client has.
void world::take_signal(session_truth& s, connection& c, const block& b, const event_id& id, progress& seen) {
  must(c.is != connection::phase::announced, "a signal where a marker is due");
  must(id == c.place, "G2: a signal is not under the id that the client has");
  const std::optional<event_id> target = event_id::parse(member_of(b.data, "\"resumeFrom\":\""));
  must(target && target->owner == s.now().owner && target->stream == c.stream, "G1: a signal leads to another log");
  if (c.is == connection::phase::signal_due) must(*target == c.target, "a signal leads elsewhere than was decided");
  const window held = window_of(s, c.stream);
  must(target->seq < held.next, "a signal leads behind the newest event");
  if (b.event == "reset") {
    must(c.is_reset && c.is == connection::phase::signal_due, "G4: a reset that was not decided");
  } else {
    must(!c.is_reset && c.place.seq + 1 < held.first, "G4: a gap though the next event is held");
    seen.missed = target->seq - c.place.seq;
    must(member_of(b.data, "\"missed\":") == std::to_string(seen.missed), "G2: missed is not the distance");
  }
  c.target = *target;
  c.is = connection::phase::announced;
}

// A marker stands where the client is, or where a signal said. Only a fresh reader may start behind what its client
// knows, at the read mark: what was sent to a connection that had died is not proven to have come.
void world::take_marker(connection& c, client* who, const event_id& id) {
  must(c.is == connection::phase::opening || c.is == connection::phase::announced, "a marker that is not due");
  const bool is_announced = c.is == connection::phase::announced;
  must(id == (is_announced ? c.target : c.place), "G2: the marker is not where the stream goes on");
  c.place = id;
  c.is = connection::phase::flowing;
  c.is_reset = false;
  if (who == nullptr) return;
  const bool is_known_life = who->cursor && who->cursor->owner == id.owner;
  const std::uint64_t known = is_known_life ? who->cursor->seq : 0;
  must(known <= id.seq, "G3: a marker before what the client took");
  who->is_intact = (who->is_intact || !is_known_life) && known == id.seq;
  who->cursor = id;
}

void world::take_event(session_truth& s, connection& c, client* who, const block& b, const event_id& id) {
  must(c.is == connection::phase::flowing, "G2: an event before the marker");
  must(b.data == payload_of(s, c.life, id.stream, id.seq), "G1: the payload of another event");
  must(id.owner == c.place.owner && id.owner == s.now().owner && id.stream == c.stream, "G1: an event of another log");
  must(id.seq > c.place.seq, "G3: an event came twice");
  must(id.seq == c.place.seq + 1, "G2: a silent loss");
  stream_truth& stream = s.now().streams[c.stream];
  must(id.seq <= stream.issued(), "an event that was never appended");
  c.place = id;
  stream.handed = std::max(stream.handed, id.seq);
  if (who == nullptr) return;
  must(who->cursor && *who->cursor == event_id{id.owner, id.stream, id.seq - 1}, "G2 or G3: the client lost its place");
  who->cursor = id;
}

// ---- What must hold in every state -------------------------------------------------------------------------------------

void world::check() {
  for (session_truth& s : sessions_) check_bounds(s);
  const std::vector<std::uint64_t> before = observe();
  for (session_truth& s : sessions_) try_cursors(s);
  must(observe() == before, "G5: deciding changed something");
  for (session_truth& s : sessions_) try_handles(s);
  must(observe() == before, "G1 and G5: a call with an old handle changed something");
  for (session_truth& s : sessions_) try_calls_out_of_order(s);
  must(observe() == before, "G5: a refused call changed something");
  for (session_truth& s : sessions_) try_dead_readers(s);
  must(observe() == before, "G5: reading or releasing a dead reader changed something");
  for (session_truth& s : sessions_) {
    for (std::size_t kind = 0; kind != 2; ++kind) drain(s, kind);
  }
}

void world::check_bounds(session_truth& s) {
  const inspection seen = table_->inspect(s.id);
  must(seen.sessions == (s.is_live ? 1U : 0U), "a session is not there, or still there");
  if (!s.is_live) return;
  std::uint64_t events = 0;
  for (std::uint32_t n = 0; n != s.now().streams.size(); ++n) {
    const stream_truth& stream = s.now().streams[n];
    if (!stream.is_held) continue;
    const window held = window_of(s, n);
    events += held.next - held.first;
    for (std::uint64_t seq = held.first; seq != held.next; ++seq) {
      must(now_ - stream.appended_at[seq - 1] <= max_age_ms, "an event outlived its age");
    }
  }
  must(events == seen.events && events <= settings_.max_events, "the windows are not what is held");
}

// Ids of every life, stream and session, shown to both sessions; of its own log every one that was issued, the place
// before the first and two ahead of the newest.
void world::try_cursors(session_truth& s) {
  const session_truth& other = sessions_[&s == &sessions_[0] ? 1 : 0];
  try_cursor(s, s.principal, std::nullopt);
  try_cursor(s, other.principal, std::nullopt);
  try_cursor(s, "", event_id{s.now().owner, 0, s.now().streams[0].issued()});
  try_cursor(s, other.principal, event_id{s.now().owner, 0, s.now().streams[0].issued()});
  for (const session_truth& each : sessions_) {
    for (const life& l : each.lives) {
      try_cursor(s, s.principal, event_id{l.owner, static_cast<std::uint32_t>(l.streams.size()), 0});
      for (std::uint32_t n = 0; n != l.streams.size(); ++n) {
        try_cursors(s, l, n);
      }
    }
  }
}

void world::try_cursors(session_truth& s, const life& l, std::uint32_t stream) {
  const std::uint64_t issued = l.streams[stream].issued();
  if (&l != &s.now()) return try_cursor(s, s.principal, event_id{l.owner, stream, issued});
  for (std::uint64_t seq = 0; seq != issued + 3; ++seq) try_cursor(s, s.principal, event_id{l.owner, stream, seq});
}

// A refused one attaches nothing either.
void world::try_cursor(session_truth& s, const std::string& principal, const std::optional<event_id>& cursor) {
  const resolution decided = decide_get(s, principal, cursor);
  if (decided.http_status() == 200) return;
  const std::string text = cursor ? to_string(*cursor) : std::string();
  request asked;
  asked.session_id = s.id;
  asked.principal = principal;
  asked.last_event_id = text;
  reader made;
  must(table_->resume(asked, made).reason == decided.reason, "resume decides otherwise than resolve_resume");
  reader attached = table_->attach(decided);
  std::string frames;
  must(table_->read(made, frames).state == read_state::gone, "G1: a refused resume gave a reader");
  must(table_->read(attached, frames).state == read_state::gone && frames.empty(),
       "G1: a refused attach gave a reader");
}

// The worker calls with every handle that it ever had and that is not of a held stream.
void world::try_handles(session_truth& s) {
  for (std::size_t l = 0; l != s.lives.size(); ++l) {
    const bool is_this_life = s.is_live && l + 1 == s.lives.size();
    for (std::uint32_t n = 0; n != s.lives[l].streams.size(); ++n) {
      if (is_this_life && s.now().streams[n].is_held) continue;
      const stream_handle old = s.lives[l].streams[n].handle;
      must(table_->append(old, "late").why != refusal::none, "G1: a late answer was taken");
      must(table_->finish(old) != refusal::none && table_->forget(old) != refusal::none, "G1: an old handle works");
      must(!table_->window_of(old), "G1: an old handle has a window");
    }
  }
}

void world::try_calls_out_of_order(session_truth& s) {
  if (!s.is_live) {
    must(table_->renew(s.id, random()) == refusal::gone && table_->end(s.id) == refusal::gone,
         "an absent session works");
    must(table_->open_stream(s.id, "8").why == refusal::gone, "an absent session opens a stream");
    return;
  }
  must(table_->create(s.id, s.principal, protocol::v2025_11_25, random()) == refusal::id_in_use, "an id came twice");
  const stream_handle standalone = s.now().streams[0].handle;
  must(table_->append(standalone, "").why == refusal::empty_payload, "an empty payload was taken");
  must(table_->finish(standalone) == refusal::standalone_stream, "stream 0 was finished");
  must(table_->forget(standalone) == refusal::standalone_stream, "stream 0 was forgotten");
  const std::uint32_t stream = s.request_stream();
  if (stream == 0 || !has_record(s, stream)) return;
  const stream_handle request_stream = s.now().streams[stream].handle;
  if (s.now().streams[stream].is_finished) {
    must(table_->append(request_stream, "late").why == refusal::finished, "a finished stream took an event");
    must(table_->finish(request_stream) == refusal::finished, "a stream was finished twice");
    must(table_->open_stream(s.id, "\n").why == refusal::bad_label, "a bad label was taken");
  } else {
    must(table_->forget(request_stream) == refusal::still_open, "an open stream was forgotten");
    must(table_->open_stream(s.id, "8").why == refusal::too_many_streams, "more streams than the bound");
  }
}

void world::try_dead_readers(session_truth& s) {
  for (client& c : s.clients) {
    for (std::optional<connection>* each : {&c.connected, &c.stale}) {
      if (!*each || is_readable(s, **each)) continue;
      (void)read(s, **each, nullptr, 65536);
      reader copy = (*each)->at;
      table_->release(copy);
    }
  }
}

// The client reads, or resumes with its cursor, until it has everything: taken, or told to be missed.
void world::drain(session_truth& s, std::size_t kind) {
  client& c = s.clients[kind];
  if (!s.is_live) return;
  const bool is_connected = c.connected && is_readable(s, *c.connected);
  if (!is_connected && (!c.cursor || !is_served(s, c.cursor))) return;
  if (!is_connected) resume(s, kind, c.cursor);
  const std::uint32_t stream = c.connected->stream;
  const event_id place = c.connected->place;
  const bool may_miss = c.connected->is != connection::phase::flowing && !c.cursor;
  const bool was_intact = c.is_intact && c.cursor && c.cursor->owner == s.now().owner && *c.cursor == place;
  const bool is_lost = place.seq + 1 < window_of(s, stream).first;
  for (int reads = 0; c.connected; ++reads) {
    must(reads < 8, "G2: reading comes to no end");
    if (read(s, *c.connected, &c, 65536).state == read_state::caught_up) break;
    const bool is_finished = s.now().streams[stream].is_finished;
    if (is_finished && c.cursor && c.cursor->seq == s.now().streams[stream].issued()) break;
  }
  must(c.cursor == event_id{s.now().owner, stream, s.now().streams[stream].issued()},
       "G2: a client has not everything");
  if (was_intact && !may_miss && !is_lost) must(c.is_intact, "G4: a client that missed nothing was told a gap");
}

// All that can be seen of the table without changing it.
std::vector<std::uint64_t> world::observe() {
  std::vector<std::uint64_t> seen;
  for (session_truth& s : sessions_) {
    const inspection i = table_->inspect(s.id);
    seen.insert(seen.end(), {i.sessions, i.streams, i.events, i.bytes, i.oldest_age_ms, i.evicted_unread});
    request asked;
    asked.session_id = s.id;
    asked.principal = s.principal;
    const resolution fresh = resolve_resume(asked, *table_);
    seen.insert(seen.end(), {static_cast<std::uint64_t>(fresh.reason), fresh.cursor.seq, fresh.missed,
                             fresh.resume_after, fresh.stream.owner.session, fresh.stream.owner.incarnation});
    for (const stream_truth& stream : s.now().streams) {
      const std::optional<window> held = table_->window_of(stream.handle);
      seen.insert(seen.end(), {held ? held->first : 0, held ? held->next : 0});
    }
  }
  return seen;
}

// ---- Key -------------------------------------------------------------------------------------------------------------

char byte_of(std::uint64_t small_number) { return static_cast<char>(small_number); }

char world::relation_of(session_truth& s, const tags& owner) const {
  if (owner.session != s.now().owner.session) return 'f';
  return owner == s.now().owner ? 'o' : 's';
}

void world::add_id(std::string& key, session_truth& s, const event_id& id) const {
  key += {relation_of(s, id.owner), byte_of(id.stream), byte_of(id.seq)};
}

void world::add_stream(std::string& key, session_truth& s, std::uint32_t stream) {
  const stream_truth& t = s.now().streams[stream];
  key += {byte_of(stream), t.is_held ? 'h' : '-'};
  if (!t.is_held) return;
  const bool is_live = stream == 0 && t.is_attached && now_ - t.read_at <= reader_timeout_ms;
  const window held = window_of(s, stream);
  key += {byte_of(held.first), byte_of(held.next), byte_of(t.handed), t.is_finished ? 'f' : '-'};
  key += {t.is_attached ? 'a' : '-', is_live ? 'l' : '-'};
  for (std::uint64_t seq = held.first; seq < held.next; ++seq) key += byte_of(now_ - t.appended_at[seq - 1]);
}

void world::add_connection(std::string& key, session_truth& s, const std::optional<connection>& c) {
  if (!c) return key.push_back('-');
  const read_state state = expected_state(s, *c);
  key += byte_of(static_cast<std::uint64_t>(state));
  if (state != read_state::more) return;
  add_id(key, s, c->place);
  key += byte_of(static_cast<std::uint64_t>(c->is));
  if (c->is == connection::phase::signal_due || c->is == connection::phase::announced) {
    add_id(key, s, c->target);
    key += c->is_reset ? 'r' : '-';
  }
}

void world::add_client(std::string& key, session_truth& s, const client& c) {
  key += c.cursor ? 'c' : '-';
  if (c.cursor) add_id(key, s, *c.cursor);
  key += c.is_intact ? 'i' : '-';
  add_connection(key, s, c.connected);
  add_connection(key, s, c.stale);
  key += c.decided ? 'd' : '-';
  if (!c.decided) return;
  const resolution& d = *c.decided;
  key += {relation_of(s, d.stream.owner), byte_of(static_cast<std::uint64_t>(d.reason)), byte_of(d.resume_after)};
  add_id(key, s, d.cursor);
}

std::string world::key_of(session_truth& s) {
  std::string key(1, s.is_live ? 'l' : '-');
  if (s.is_live) {
    add_stream(key, s, 0);
    add_stream(key, s, s.request_stream());
  }
  for (const client& c : s.clients) add_client(key, s, c);
  return key;
}

std::string world::key() {
  std::string a = key_of(sessions_[0]), b = key_of(sessions_[1]);
  if (settings_.active == 2 && b < a) a.swap(b);
  return a + '|' + b;
}

// ---- Exploration -----------------------------------------------------------------------------------------------------

struct hash_128 {
  std::uint64_t low, high;
  friend bool operator==(const hash_128& a, const hash_128& b) { return a.low == b.low && a.high == b.high; }
};
struct low_half {
  std::size_t operator()(const hash_128& h) const { return static_cast<std::size_t>(h.low); }
};
hash_128 hash_of(std::string_view key) {
  hash_128 h{0xCBF29CE484222325U, 0x9E3779B97F4A7C15U};  // FNV-1a, and a multiply-and-shift beside it
  for (const char c : key) {
    const auto byte = static_cast<unsigned char>(c);
    h.low = (h.low ^ byte) * 0x100000001B3U;
    h.high = (h.high + byte + 1) * 0xFF51AFD7ED558CCDU;
    h.high ^= h.high >> 32U;
  }
  return h;
}

using clock = std::chrono::steady_clock;
double seconds_since(clock::time_point start) {
  return std::chrono::duration_cast<std::chrono::duration<double>>(clock::now() - start).count();
}

// One world, a level at a time.
class exploration {
 public:
  explicit exploration(const settings& given) : settings_(given) {}

  void begin() {
    nodes_.push_back({0, {act::tick, 0}});
    world initial(settings_);
    seen_.insert(hash_of(initial.key()));
    initial.check();
  }

  // All states one step farther; false if the time was up before the end.
  bool deepen(clock::time_point deadline) {
    const std::size_t level_end = nodes_.size();
    for (; level_begin_ != level_end; ++level_begin_) {
      if (clock::now() > deadline) return false;
      expand(level_begin_);
    }
    ++depth_;
    return true;
  }

  std::string name() const {
    return std::to_string(settings_.active) + (settings_.active == 1 ? " active session, " : " active sessions, ") +
           std::to_string(settings_.max_events) + " events, " +
           (settings_.after_gap == after_gap::live_edge ? "live edge" : "oldest held");
  }
  std::size_t sessions() const { return settings_.active; }
  std::size_t depth() const { return depth_; }
  std::size_t states() const { return nodes_.size(); }
  std::uint64_t transitions() const { return transitions_; }

  void print_history() const {
    int line = 0;
    for (const step& s : failed_) {
      const char* who = is_global(s.what) ? "all" : s.session == 0 ? "A" : "B";
      std::printf("  %2d. %-3s  %s\n", ++line, who, std::string(act_texts[static_cast<std::size_t>(s.what)]).c_str());
    }
  }

 private:
  struct node {
    std::uint32_t parent;
    step last;
  };

  void expand(std::size_t index) {
    failed_ = history_of(index);
    {
      world here(settings_);
      for (const step& s : failed_) here.apply(s);
      here.enabled(steps_);
    }
    for (const step& next : steps_) {
      failed_.push_back(next);
      ++transitions_;
      world there(settings_);
      for (const step& s : failed_) there.apply(s);
      if (seen_.insert(hash_of(there.key())).second) {
        nodes_.push_back({static_cast<std::uint32_t>(index), next});
        there.check();
      }
      failed_.pop_back();
    }
  }

  std::vector<step> history_of(std::size_t index) const {
    std::vector<step> history;
    for (; index != 0; index = nodes_[index].parent) history.push_back(nodes_[index].last);
    std::reverse(history.begin(), history.end());
    return history;
  }

  settings settings_;
  std::vector<node> nodes_;  // in the order of their depth
  std::unordered_set<hash_128, low_half> seen_;
  std::vector<step> steps_, failed_;
  std::size_t level_begin_ = 0;
  std::size_t depth_ = 0;
  std::uint64_t transitions_ = 0;
};

// A level of every world, then the next one: the first violation has a shortest history.
bool deepen_all(std::vector<exploration>& worlds, const std::size_t (&depths)[3], clock::time_point deadline) {
  for (std::size_t depth = 0; depth <= std::max(depths[1], depths[2]); ++depth) {
    for (exploration& each : worlds) {
      if (depth > depths[each.sessions()]) continue;
      const clock::time_point start = clock::now();
      try {
        if (depth == 0) each.begin();
        if (depth != 0 && !each.deepen(deadline)) return true;
      } catch (const violation& v) {
        std::printf("violated in the world of %s, depth %zu, after %.2f s:\n", each.name().c_str(), depth,
                    seconds_since(start));
        each.print_history();
        std::printf("  %s\n", v.what.c_str());
        return false;
      }
      std::printf("depth %zu, %s: %zu states, %llu transitions, %.2f s\n", depth, each.name().c_str(), each.states(),
                  static_cast<unsigned long long>(each.transitions()), seconds_since(start));
      std::fflush(stdout);
    }
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t depths[3] = {0, 8, 6};  // by the number of active sessions
  auto deadline = clock::time_point::max();
  for (int i = 1; i + 1 < argc; i += 2) {
    const auto number = static_cast<std::size_t>(std::strtoul(argv[i + 1], nullptr, 10));
    if (std::strcmp(argv[i], "--depth") == 0) depths[1] = depths[2] = number;
    if (std::strcmp(argv[i], "--seconds") == 0) {
      deadline = clock::now() + std::chrono::seconds(number);
      if (argc == 3) depths[1] = depths[2] = 200;
    }
  }
  std::vector<exploration> worlds;
  for (std::size_t active = 1; active <= 2; ++active) {
    for (std::uint32_t max_events = 1; max_events <= 3; ++max_events) {
      worlds.emplace_back(settings{active, max_events, after_gap::live_edge});
    }
  }
  worlds.emplace_back(settings{1, 2, after_gap::oldest_held});
  const clock::time_point start = clock::now();
  if (!deepen_all(worlds, depths, deadline)) return 1;
  std::size_t states = 0, depth[3] = {0, 200, 200};
  std::uint64_t transitions = 0;
  for (const exploration& each : worlds) {
    states += each.states();
    transitions += each.transitions();
    depth[each.sessions()] = std::min(depth[each.sessions()], each.depth());
  }
  std::printf("%zu states, %llu transitions, depth %zu with one active session and %zu with two, %.1f s: ok\n", states,
              static_cast<unsigned long long>(transitions), depth[1], depth[2], seconds_since(start));
  return 0;
}
