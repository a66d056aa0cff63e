// SPDX-License-Identifier: MIT
// A real table with the history that was played on it, and a vector of it: the state is read from the table, and what it
// answers and delivers is what is expected.
#ifndef MCP_RESUME_EXAMPLES_VECTORS_WORLD_HPP
#define MCP_RESUME_EXAMPLES_VECTORS_WORLD_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "mcp_resume/resume.hpp"
#include "randomness.hpp"
#include "state.hpp"

namespace oracle::vectors {

namespace mr = mcp_resume;
using nlohmann::json;

constexpr std::uint64_t max64 = ~std::uint64_t{0};

inline std::string id_text(mr::tags owner, std::uint32_t stream, std::uint64_t seq) {
  return to_string(mr::event_id{owner, stream, seq});
}

// Said one by one: a release with other defaults must not change a vector.
inline mr::options usual_bounds() {
  mr::options bounds;
  bounds.max_events = 1024;
  bounds.max_streams = 256;
  bounds.max_bytes = std::size_t{1} << 20U;
  bounds.max_age_ms = 0;
  bounds.first_seq = 1;
  bounds.first_stream = 1;
  bounds.reader_timeout_ms = 45000;
  bounds.after_gap = mr::after_gap::live_edge;
  bounds.max_sessions = 100;
  bounds.idle_ms = 1800000;  // 30 minutes
  return bounds;
}

// A request; a header that is absent is none.
struct get {
  std::optional<std::string> version = "2025-11-25";
  std::optional<std::string> session_id = "s-1";
  std::optional<std::string> last_event_id;
  std::string principal = "alice";
};

// The table answers for what is held; beside it stands what an author knows who made these calls.
class world {
 public:
  explicit world(const mr::options& bounds = {}) : supported_(bounds.supported), table_(bounds) { table_.tick(1000); }

  void create(const std::string& id, const std::string& principal, mr::tags owner,
              mr::protocol version = mr::protocol::v2025_11_25) {
    std::vector<std::uint64_t> drawn{owner.session, owner.incarnation};
    require(table_.create(id, principal, version, randomness::scripted_random(drawn)));
    sessions_.push_back({id, principal, version, session_life::live, {*table_.standalone(id)}, {false}, {}});
  }
  // Under the tag that it had: another incarnation.
  void restore(std::size_t at, std::uint64_t incarnation) {
    known& s = sessions_[at];
    const std::uint64_t tag = s.streams[0].owner.session;
    require(table_.restore(s.id, s.principal, s.version, tag, randomness::scripted_random({incarnation})));
    start(s);
  }
  void renew(std::size_t at, std::uint64_t incarnation) {
    require(table_.renew(sessions_[at].id, randomness::scripted_random({incarnation})));
    start(sessions_[at]);
  }
  void end(std::size_t at) {
    require(table_.end(sessions_[at].id));
    sessions_[at].life = session_life::ended;
  }
  void pass(std::uint64_t ms) {
    std::vector<std::string> expired;
    table_.tick(now_ += ms, &expired);
    for (known& s : sessions_) {
      const bool has_expired = std::find(expired.begin(), expired.end(), s.id) != expired.end();
      if (has_expired && s.life == session_life::live) s.life = session_life::expired;
    }
  }

  // These return false where the table refuses, which then has changed nothing.
  bool open(std::size_t at) {
    const mr::opened made = table_.open_stream(sessions_[at].id, "7");
    if (!made) return false;
    sessions_[at].streams.push_back(made.stream);
    sessions_[at].is_finished.push_back(false);
    return true;
  }
  bool append(std::size_t at, std::size_t stream, int count = 1) {
    bool is_done = true;
    for (int i = 0; i != count; ++i) {
      is_done = bool(table_.append(sessions_[at].streams[stream], R"({"jsonrpc":"2.0","method":"m"})"));
    }
    return is_done;
  }
  bool finish(std::size_t at, std::size_t stream) {
    if (table_.finish(sessions_[at].streams[stream]) != mr::refusal::none) return false;
    sessions_[at].is_finished[stream] = true;
    return true;
  }
  bool forget(std::size_t at, std::size_t stream) {
    return table_.forget(sessions_[at].streams[stream]) == mr::refusal::none;
  }
  // A client without a cursor connects to stream 0 and takes up to `events` events; its connection stays.
  void connect(std::size_t at, std::uint64_t events = max64) {
    known& s = sessions_[at];
    mr::reader reader;
    const mr::resolution decided = table_.resume({"", s.id, "", s.principal}, reader);
    if (decided.http_status() != 200) return;
    s.connection = reader;
    read(s.connection, events);
  }
  void disconnect(std::size_t at) { table_.release(sessions_[at].connection); }

  std::size_t size() const { return sessions_.size(); }
  bool is_live(std::size_t at) const { return sessions_[at].life == session_life::live; }
  const std::string& id_of(std::size_t at) const { return sessions_[at].id; }
  const std::string& principal_of(std::size_t at) const { return sessions_[at].principal; }
  const std::vector<mr::stream_handle>& streams_of(std::size_t at) const { return sessions_[at].streams; }
  std::optional<mr::window> window_of(std::size_t at, std::size_t stream) const {
    return table_.window_of(sessions_[at].streams[stream]);
  }

  server_state state() const {
    server_state out;
    out.supported = supported_;
    for (const known& s : sessions_) {
      server_session session{s.id, s.principal, s.version, s.streams[0].owner, s.life, {}, {}};
      if (s.life == session_life::live) look_at(s, session);
      out.sessions.push_back(std::move(session));
    }
    return out;
  }

  // The last call: attaching changes the table.
  json vector(const std::string& name, const get& asked) {
    json headers = json::object();
    if (asked.version) headers["MCP-Protocol-Version"] = *asked.version;
    if (asked.session_id) headers["Mcp-Session-Id"] = *asked.session_id;
    if (asked.last_event_id) headers["Last-Event-ID"] = *asked.last_event_id;
    json out{{"name", name}, {"state", json_of(state())}};
    out["request"] = {{"headers", headers}, {"principal", asked.principal}};
    out["expect"] = expected(asked);
    return out;
  }

 private:
  struct known {
    std::string id, principal;
    mr::protocol version;
    session_life life;
    std::vector<mr::stream_handle> streams;  // of this incarnation, [0] is the standalone one
    std::vector<bool> is_finished;
    mr::reader connection;
  };

  static void require(mr::refusal why) {
    if (why != mr::refusal::none) throw std::logic_error("the history was refused: " + std::string(to_string(why)));
  }
  void start(known& s) {
    s.life = session_life::live;
    s.streams = {*table_.standalone(s.id)};
    s.is_finished = {false};
  }
  // Reads up to `events` events. Returns their ids.
  std::vector<std::string> read(mr::reader& from, std::uint64_t events) {
    std::vector<std::string> ids;
    std::string frames;
    while (ids.size() < events) {
      const mr::progress done = table_.read(from, frames, 1);  // one frame: a signal, a marker or an event
      if (done.events == 1) ids.push_back(to_string(from.position()));
      const bool goes_on = done.state == mr::read_state::more || done.state == mr::read_state::gap ||
                           done.state == mr::read_state::reset;
      if (!goes_on) break;
    }
    return ids;
  }
  void look_at(const known& s, server_session& out) const {
    const mr::resolution fresh = resolve_resume({"", s.id, "", s.principal}, table_);
    if (fresh.reason == mr::reason::occupied) out.standalone_reader = mr::reader_fact::live;
    for (std::size_t i = 0; i != s.streams.size(); ++i) {
      server_stream stream{s.streams[i].stream, {mr::stream_fact::forgotten, {}, 0}};
      if (const auto window = table_.window_of(s.streams[i])) {
        const auto fact = s.is_finished[i] ? mr::stream_fact::finished : mr::stream_fact::open;
        stream.facts = {fact, *window, i == 0 ? fresh.cursor.seq : 0};
      }
      out.streams.push_back(stream);
    }
  }
  json expected(const get& asked) {
    const std::string none;
    const std::string& version = asked.version ? *asked.version : none;
    const std::string& session_id = asked.session_id ? *asked.session_id : none;
    const std::string& cursor = asked.last_event_id ? *asked.last_event_id : none;
    mr::reader reader;
    const mr::resolution decided = table_.resume({version, session_id, cursor, asked.principal}, reader);
    json out{{"outcome", to_string(decided.outcome())}, {"reason", to_string(decided.reason)}};
    out["row"] = static_cast<int>(decided.reason) + 1;
    out["status"] = decided.http_status();
    out["advice"] = to_string(decided.advice());
    out["missed"] = json_of(decided.missed);
    out["resume_after"] = nullptr;
    if (decided.http_status() == 200) {
      out["resume_after"] = id_text(decided.stream.owner, decided.stream.stream, decided.resume_after);
    }
    out["replay"] = read(reader, max64);
    return out;
  }

  mr::protocol_set supported_;
  mr::local_session_table table_;
  std::uint64_t now_ = 1000;  // ms
  std::vector<known> sessions_;
};

}  // namespace oracle::vectors

#endif  // MCP_RESUME_EXAMPLES_VECTORS_WORLD_HPP
