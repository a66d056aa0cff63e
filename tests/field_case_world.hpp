// SPDX-License-Identifier: MIT
// Promise: what a field case does to the library is remembered beside it, independently of what the library says: every
// id that was issued, every byte that a connection got, every refusal with whether it was right.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "field_case_json.hpp"
#include "mcp_resume/resume.hpp"
#include "randomness.hpp"

namespace field {

namespace mr = mcp_resume;

// ---- What was issued -------------------------------------------------------------------------------------------------

struct issued_event {
  std::string symbol;  // empty: a number that was never handed out
  std::string payload;
  std::uint64_t appended = 0;  // moment
};

// One stream of one life of a log. Its first event has the seq `first_seq` of the options.
using stream_key = std::tuple<std::uint64_t, std::uint64_t, std::uint32_t>;
inline stream_key key_of(mr::tags owner, std::uint32_t stream) { return {owner.session, owner.incarnation, stream}; }
inline stream_key key_of(const mr::event_id& id) { return key_of(id.owner, id.stream); }

// Tags are the same in every run, so that a case fails always or never. They begin with a letter: an edit that moves
// an id's first character to its end never makes an issued id of it again.
struct tag_source {
  std::uint64_t state;
  std::optional<std::uint64_t> operator()() noexcept { return randomness::next_random(state) | 0xA000000000000000U; }
};

// ---- Connections -----------------------------------------------------------------------------------------------------

struct connection {
  std::mutex guard;  // of what follows, in the step `parallel`
  mr::reader reader;
  mr::stream_handle stream;
  std::string session, session_id, stream_name, label;
  mr::protocol negotiated = mr::protocol::v2025_11_25;
  std::optional<mr::resolution> decided;  // of a GET
  std::string presented;                  // its cursor
  bool is_under_test = false;             // made by a resume, not by the set-up
  bool is_paused = false;
  bool was_paused = false;
  std::atomic<bool> is_connected{true};  // neither lost nor closed
  std::atomic<bool> has_successor{false};
  std::uint64_t opened = 0;  // moment
  std::uint64_t lost = 0;    // moment; 0 = never
  mr::read_state state = mr::read_state::more;
  std::optional<mr::event_id> seen;  // the last id that the client got, where the case says so
  std::string bytes;
  std::vector<std::pair<std::size_t, std::uint64_t>> reads;  // offset of its first byte, moment
};
using connection_ptr = std::shared_ptr<connection>;

struct stream_state {
  mr::stream_handle handle;
  std::string label;
  connection_ptr newest;
  bool is_open = false;  // was opened at least once
  bool is_refused = false;
  bool is_finished = false;
  bool is_forgotten = false;
};

struct session_state {
  std::string symbol, id, principal, scope, version_text;
  mr::protocol negotiated = mr::protocol::v2025_11_25;
  std::optional<std::uint64_t> tag;  // of its newest life
  std::map<std::string, stream_state> streams;
  std::set<std::string> streams_with_events;
  std::uint64_t opened_streams = 0;
  std::uint64_t labels = 0;
};

// ---- World -----------------------------------------------------------------------------------------------------------

// The table under test, and beside it what a case did to it.
class world {
 public:
  mr::options bounds;
  bool is_capacity_per_stream = false;
  std::unique_ptr<mr::session_table> table;
  std::uint64_t clock = 0;
  bool is_clock_frozen = false;
  std::map<std::string, session_state> sessions;
  std::map<stream_key, std::vector<issued_event>> logs;  // index: seq - first_seq
  std::unordered_map<std::string, mr::event_id> ids;     // by symbol
  std::vector<connection_ptr> connections;               // in the order of their opening
  std::mutex names;                                      // guards everything above but `bounds` and `table`
  std::atomic<std::uint64_t> moment{0};                  // orders what happened
  std::atomic<std::uint64_t> tag_seed{0};

  void make_table() {
    table = std::make_unique<mr::session_table>(bounds);
    table->tick(clock);
  }
  mr::session_table& live_table() {
    if (!table) make_table();
    return *table;
  }
  tag_source next_tags() { return tag_source{++tag_seed * 0x632BE59BD9B4E019U}; }
  std::uint64_t now() { return ++moment; }

  void fail(const std::string& what) {
    const std::lock_guard<std::mutex> lock(failures_guard_);
    if (failures_.size() < 20) failures_.push_back(what);
  }
  const std::vector<std::string>& failures() const { return failures_; }

  // ---- Names

  // The `Mcp-Session-Id` of a symbol: the symbol itself where it is one.
  static std::string id_of(const std::string& symbol) {
    std::string id;
    for (const char c : symbol) {
      const bool is_visible = c >= 0x21 && c <= 0x7E;
      id += is_visible ? std::string(1, c) : "%" + std::to_string(static_cast<unsigned char>(c)) + ";";
    }
    return id.empty() ? "empty" : id;
  }
  std::optional<mr::tags> tags_of(const session_state& s) {
    const auto standalone = live_table().standalone(s.id);
    return standalone ? std::optional<mr::tags>(standalone->owner) : std::nullopt;
  }
  session_state* find_session(const std::string& symbol) {
    const auto found = sessions.find(symbol);
    return found == sessions.end() ? nullptr : &found->second;
  }
  session_state* find_session_by_id(const std::string& id) {
    for (auto& [symbol, s] : sessions) {
      if (s.id == id) return &s;
    }
    return nullptr;
  }
  session_state& session_of(const std::string& symbol) {
    if (session_state* s = find_session(symbol)) return *s;
    throw case_error("session `" + symbol + "` was never opened");
  }
  // The stream that a worker or connection means. The standalone stream is looked up anew, as it is always there; a
  // request stream keeps the handle that its worker got.
  stream_state& stream_of(session_state& s, const std::string& name) {
    if (name == "get") {
      stream_state& standalone = s.streams[name];
      if (const auto handle = live_table().standalone(s.id)) standalone.handle = *handle;
      return standalone;
    }
    const auto found = s.streams.find(name);
    if (found == s.streams.end()) throw case_error("stream `" + name + "` of `" + s.symbol + "` was never opened");
    return found->second;
  }
  // The name under which the case knows a stream, or none.
  std::optional<std::string> name_of(const session_state& s, const mr::stream_handle& stream) const {
    if (stream.stream == 0) return std::string("get");
    for (const auto& [name, state] : s.streams) {
      if (key_of(state.handle.owner, state.handle.stream) == key_of(stream.owner, stream.stream)) return name;
    }
    return std::nullopt;
  }
  mr::event_id id_of_symbol(const std::string& symbol) const {
    const auto found = ids.find(symbol);
    if (found == ids.end()) throw case_error("no event `" + symbol + "` was issued");
    return found->second;
  }
  bool is_issued(const std::string& text) const {
    const auto id = mr::event_id::parse(text);
    return id && find_event(*id) != nullptr;
  }
  const issued_event* find_event(const mr::event_id& id) const {
    const auto log = logs.find(key_of(id));
    if (log == logs.end() || id.seq < bounds.first_seq || id.seq - bounds.first_seq >= log->second.size()) {
      return nullptr;
    }
    const issued_event& e = log->second[static_cast<std::size_t>(id.seq - bounds.first_seq)];
    return e.symbol.empty() ? nullptr : &e;
  }
  // The newest seq of a stream by the ids that were issued, or the place before the first.
  std::uint64_t newest_of(const stream_key& stream) const {
    const auto log = logs.find(stream);
    return bounds.first_seq - 1 + (log == logs.end() ? 0 : log->second.size());
  }

  // ---- Refusals

  // Whether the library was right to refuse, by what the case has done so far. Running out of memory, randomness or
  // label space is never right here.
  bool is_explained(mr::refusal why, session_state& s, const stream_state* x, std::string_view payload = {}) {
    const auto current = tags_of(s);
    switch (why) {
      case mr::refusal::gone:
        return !current || (x != nullptr && x->handle.owner.session != current->session);
      case mr::refusal::other_incarnation:
        return current && x != nullptr && x->handle.owner.incarnation != current->incarnation;
      case mr::refusal::no_such_stream:
        return x != nullptr && (x->is_forgotten || x->is_refused || s.opened_streams > bounds.max_streams);
      case mr::refusal::finished:
        return x != nullptr && x->is_finished;
      case mr::refusal::standalone_stream:
        return x != nullptr && x->handle.stream == 0;
      case mr::refusal::still_open:
        return x != nullptr && !x->is_finished;
      case mr::refusal::empty_payload:
        return payload.empty();
      case mr::refusal::too_large:
        return payload.size() > bounds.max_bytes - 16;
      case mr::refusal::numbers_used_up:
        return x != nullptr && newest_of(key_of(x->handle.owner, x->handle.stream)) >= mr::event_id::last_seq;
      case mr::refusal::too_many_streams:
        return s.opened_streams >= bounds.max_streams;
      case mr::refusal::bad_label:
        return x != nullptr && x->label.size() > 64;
      case mr::refusal::id_in_use:
        return current.has_value();
      case mr::refusal::bad_id:
        return s.id.size() > 256;
      case mr::refusal::too_many_sessions:
        return live_table().inspect().sessions >= bounds.max_sessions;
      case mr::refusal::stateless_protocol:
        return mr::is_stateless(s.negotiated);
      default:
        return false;
    }
  }

  // ---- Events

  // Appends and remembers. A refusal that is right changes nothing; one that is wrong fails the case.
  mr::refusal append(session_state& s, const std::string& name, const std::string& symbol, const std::string& payload) {
    std::unique_lock<std::mutex> lock(names);
    stream_state& x = stream_of(s, name);
    if (x.is_refused || (name == "get" && x.handle.owner == mr::tags{})) return mr::refusal::no_such_stream;
    if (is_capacity_per_stream && s.streams_with_events.insert(name).second && s.streams_with_events.size() > 1) {
      throw case_skip("`capacity` bounds each stream; with more than one stream it needs `session_capacity`");
    }
    const mr::stream_handle handle = x.handle;
    const connection_ptr reading = x.newest;
    lock.unlock();
    const mr::appended done = live_table().append(handle, payload);
    lock.lock();
    if (!done) {
      if (!is_explained(done.why, s, &x, payload)) {
        fail("append of `" + symbol + "` was refused: " + std::string(mr::to_string(done.why)));
      }
      return done.why;
    }
    remember(s, x, handle, done.id, symbol, payload);
    lock.unlock();
    if (reading) read(*reading);
    return mr::refusal::none;
  }

  // Closes a connection: it was lost, or the server closed it.
  void release(connection& c) {
    const std::lock_guard<std::mutex> lock(c.guard);
    if (!c.is_connected) return;
    c.is_connected = false;
    c.is_paused = false;
    c.lost = now();
    live_table().release(c.reader);
  }

  // Reads until nothing is left, or until one event or frame was read. A paused connection does not read.
  enum class how_much { all, one_event, one_frame };
  void read(connection& c, how_much much = how_much::all) {
    const std::lock_guard<std::mutex> lock(c.guard);
    if (!c.is_connected || c.is_paused) return;
    for (;;) {
      const std::size_t before = c.bytes.size();
      const mr::progress done = live_table().read(c.reader, c.bytes, much == how_much::all ? 65536 : 1);
      if (c.bytes.size() != before) c.reads.emplace_back(before, now());
      c.state = done.state;
      if (done.state == mr::read_state::gap || done.state == mr::read_state::reset) add_words(c, done);
      if (much == how_much::one_frame || (much == how_much::one_event && done.events != 0)) return;
      if (done.state == mr::read_state::more && done.bytes == 0) return fail("read says `more` and writes nothing");
      const bool goes_on = done.state == mr::read_state::more || done.state == mr::read_state::gap ||
                           done.state == mr::read_state::reset;
      if (!goes_on) return after_read(c);
    }
  }
  void read_all() {
    std::unique_lock<std::mutex> lock(names);
    std::vector<connection_ptr> open;
    for (const connection_ptr& c : connections) {
      if (c->is_connected) open.push_back(c);
    }
    lock.unlock();
    for (const connection_ptr& c : open) read(*c);
  }

  // Makes the connection of a reader that the table just attached.
  connection_ptr connect(session_state& s, stream_state& x, const std::string& name, const mr::reader& attached) {
    auto made = std::make_shared<connection>();
    made->reader = attached;
    made->stream = attached.stream();
    made->session = s.symbol;
    made->session_id = s.id;
    made->stream_name = name;
    made->label = x.label;
    made->negotiated = s.negotiated;
    made->opened = now();
    if (x.newest) x.newest->has_successor = true;
    x.newest = made;
    connections.push_back(made);
    if (live_table().label_of(attached) != x.label) fail("the reader of `" + name + "` carries another label");
    return made;
  }

 private:
  void remember(session_state& s, const stream_state& x, const mr::stream_handle& handle, const mr::event_id& id,
                const std::string& symbol, const std::string& payload) {
    if (x.is_finished || x.is_forgotten) fail("append of `" + symbol + "` to an ended stream was not refused");
    if (id.owner != handle.owner || id.stream != handle.stream) fail("`" + symbol + "` got an id of another stream");
    std::vector<issued_event>& log = logs[key_of(id)];
    const std::uint64_t index = id.seq - bounds.first_seq;
    if (id.seq < bounds.first_seq || index > log.size() + 1000)
      return fail("`" + symbol + "` got a number from nowhere");
    if (index >= log.size()) log.resize(static_cast<std::size_t>(index) + 1);  // a parallel writer may come first
    issued_event& place = log[static_cast<std::size_t>(index)];
    if (!place.symbol.empty()) fail("`" + symbol + "` and `" + place.symbol + "` got equal ids");
    place = {symbol, payload, now()};
    ids[symbol] = id;
    const mr::inspection held = live_table().inspect(s.id);
    if (held.events > bounds.max_events || held.bytes > bounds.max_bytes || held.streams > bounds.max_streams) {
      fail("a bound of the session does not hold after `" + symbol + "`");
    }
  }

  // What a server adds between a signal and its marker, for clients that ignore unknown event types.
  void add_words(connection& c, const mr::progress& done) {
    if (c.stream.stream == 0) {
      (void)mr::append_message(c.bytes, R"({"jsonrpc":"2.0","method":"notifications/tools/list_changed"})");
    } else if (done.answer == mr::answer::lost) {
      const std::string label = live_table().label_of(c.reader);
      (void)mr::append_message(
          c.bytes, R"({"jsonrpc":"2.0","id":)" + label + R"(,"error":{"code":-32000,"message":"answer lost"}})");
    }
  }

  // A server closes what is finished, superseded or gone. Each needs a cause that the case gave.
  void after_read(connection& c) {
    if (c.state == mr::read_state::caught_up) return;
    c.is_connected = false;
    c.lost = now();
    if (c.state == mr::read_state::finished) live_table().release(c.reader);
    if (c.state == mr::read_state::superseded && !c.has_successor) {
      fail("a connection of `" + c.stream_name + "` was superseded by nobody");
    }
    const auto standalone = live_table().standalone(c.session_id);
    const bool may_be_gone = !standalone || standalone->owner != c.stream.owner || !live_table().window_of(c.stream);
    if (c.state == mr::read_state::gone && !may_be_gone) {
      fail("a connection of `" + c.stream_name + "` was closed without a cause");
    }
  }

  std::mutex failures_guard_;
  std::vector<std::string> failures_;
};

}  // namespace field
