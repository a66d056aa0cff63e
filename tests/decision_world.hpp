// SPDX-License-Identifier: MIT
// One session twice, in hand and in a table, with one history; and a request for every row of the decision table.

#ifndef MCP_RESUME_TESTS_DECISION_WORLD_HPP
#define MCP_RESUME_TESTS_DECISION_WORLD_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "mcp_resume/resume.hpp"
#include "randomness.hpp"

namespace world {

using mcp_resume::reason;
using randomness::scripted_random;

inline constexpr mcp_resume::tags own{0xAAAAAAAAAAAAAAAAU, 0xBBBBBBBBBBBBBBBBU};
inline constexpr std::string_view session_id = "s-1";
inline constexpr std::uint64_t max64 = ~std::uint64_t{0};

inline std::string id_text(std::uint32_t stream, std::uint64_t seq, mcp_resume::tags owner = own) {
  return to_string(mcp_resume::event_id{owner, stream, seq});
}

// All numbers of a decision as one text, so that a failure shows both sides.
inline std::string numbers_of(const mcp_resume::resolution& r) {
  return std::string(to_string(r.reason)) + ": cursor " + to_string(r.cursor) + ", window " + to_string(r.window) +
         ", missed " + std::to_string(r.missed) + ", no longer held " + std::to_string(r.no_longer_held) + ", stream " +
         std::to_string(r.stream.stream) + " of " + to_string(mcp_resume::event_id{r.stream.owner, 0, 0}) +
         ", resume after " + std::to_string(r.resume_after);
}

// The form for logs that live elsewhere, fed from a session.
inline mcp_resume::resolution resolve_from_facts(const mcp_resume::request& asked, const mcp_resume::session& named,
                                                 mcp_resume::protocol_set supported) {
  const mcp_resume::session_facts known = named.facts();
  int calls = 0;
  const auto facts_of = [&](std::uint32_t stream) {
    ++calls;
    return named.facts_of(stream);
  };
  const bool is_named = named.is_live() && asked.session_id.view() == named.id();
  const auto decided = resolve_resume(asked, is_named ? &known : nullptr, facts_of, supported);
  CHECK(calls <= (decided.reason < reason::occupied ? 0 : 1));
  return decided;
}

class twins {
 public:
  explicit twins(const mcp_resume::options& bounds = {},
                 mcp_resume::protocol negotiated = mcp_resume::protocol::v2025_11_25,
                 std::string_view principal = "alice")
      : table(bounds), supported_(bounds.supported) {
    const std::vector<std::uint64_t> drawn{own.session, own.incarnation};
    REQUIRE(in_hand.create(session_id, principal, negotiated, bounds, scripted_random(drawn)) ==
            mcp_resume::refusal::none);
    REQUIRE(table.create(session_id, principal, negotiated, scripted_random(drawn)) == mcp_resume::refusal::none);
  }

  mcp_resume::session in_hand;
  mcp_resume::local_session_table table;

  // A handle that both take: only the table looks at its route.
  mcp_resume::stream_handle handle(std::uint32_t stream) {
    mcp_resume::stream_handle made = *table.standalone(session_id);
    made.stream = stream;
    return made;
  }
  std::uint32_t open(std::string_view label = "7") {
    const mcp_resume::opened first = in_hand.open_stream(label);
    const mcp_resume::opened second = table.open_stream(session_id, label);
    REQUIRE(first.why == mcp_resume::refusal::none);
    REQUIRE(second.stream.stream == first.stream.stream);
    return first.stream.stream;
  }
  void append(std::uint32_t stream, int count = 1, std::string_view payload = "payload") {
    for (int i = 0; i != count; ++i) {
      REQUIRE(in_hand.append(handle(stream), payload));
      REQUIRE(table.append(handle(stream), payload));
    }
  }
  void finish(std::uint32_t stream) {
    REQUIRE(in_hand.finish(handle(stream)) == mcp_resume::refusal::none);
    REQUIRE(table.finish(handle(stream)) == mcp_resume::refusal::none);
  }
  void forget(std::uint32_t stream) {
    REQUIRE(in_hand.forget(handle(stream)) == mcp_resume::refusal::none);
    REQUIRE(table.forget(handle(stream)) == mcp_resume::refusal::none);
  }
  void renew(std::uint64_t incarnation) {
    REQUIRE(in_hand.renew(scripted_random({incarnation})) == mcp_resume::refusal::none);
    REQUIRE(table.renew(session_id, scripted_random({incarnation})) == mcp_resume::refusal::none);
  }
  void tick(std::uint64_t now) {
    in_hand.tick(now);
    table.tick(now);
  }

  // The decision in its three forms, which must agree in every number.
  mcp_resume::resolution resolve(const mcp_resume::request& asked) {
    const bool is_named = in_hand.is_live() && asked.session_id.view() == in_hand.id();
    const auto decided = resolve_resume(asked, is_named ? &in_hand : nullptr, supported_);
    CHECK(numbers_of(resolve_from_facts(asked, in_hand, supported_)) == numbers_of(decided));
    CHECK(numbers_of(resolve_resume(asked, table)) == numbers_of(decided));
    return decided;
  }
  // Rows 1 to 5 in their three forms, which must agree.
  std::optional<reason> resolve_session(const mcp_resume::request& asked) {
    const mcp_resume::session_facts known = in_hand.facts();
    const bool is_named = in_hand.is_live() && asked.session_id.view() == in_hand.id();
    const auto decided = mcp_resume::resolve_session(asked, is_named ? &in_hand : nullptr, supported_);
    CHECK(mcp_resume::resolve_session(asked, is_named ? &known : nullptr, supported_) == decided);
    CHECK(mcp_resume::resolve_session(asked, table) == decided);
    return decided;
  }
  // What the session's own client is answered.
  mcp_resume::resolution get(std::string_view last_event_id) {
    return resolve({"2025-11-25", session_id, last_event_id, "alice"});
  }

  // The session's own client connects and takes up to `events` events; its connection stays.
  void connect(std::string_view last_event_id, std::uint64_t events = max64) {
    const mcp_resume::request asked{"2025-11-25", session_id, last_event_id, "alice"};
    mcp_resume::reader second;
    REQUIRE(table.resume(asked, second).http_status() == 200);
    mcp_resume::reader first = in_hand.attach(resolve_resume(asked, &in_hand, supported_));
    while (take_one(first, second) && --events != 0) {
    }
  }
  // The connection of stream 0 ends.
  void disconnect() {
    in_hand.release(connected_in_hand_);
    table.release(connected_in_table_);
  }
  // Everything that a client with these headers gets from the table, until there is nothing more to read.
  std::string frames_for(const mcp_resume::request& asked) {
    std::string frames;
    mcp_resume::reader connection;
    static_cast<void>(table.resume(asked, connection));
    for (;;) {
      const mcp_resume::read_state state = table.read(connection, frames).state;
      if (state != mcp_resume::read_state::more && state != mcp_resume::read_state::gap &&
          state != mcp_resume::read_state::reset) {
        return frames;
      }
    }
  }
  std::string frames_for(std::string_view last_event_id) {
    return frames_for(mcp_resume::request{"2025-11-25", session_id, last_event_id, "alice"});
  }

 private:
  // False once there is nothing more to read. A bound of one byte gives one frame a call.
  bool take_one(mcp_resume::reader& first, mcp_resume::reader& second) {
    std::string frames;
    mcp_resume::progress done = table.read(second, frames, 1);
    while (done.events == 0 && done.state == mcp_resume::read_state::more) done = table.read(second, frames, 1);
    std::string same;
    while (same.size() < frames.size()) REQUIRE(in_hand.read(first, same, 1).bytes != 0);
    CHECK(same == frames);
    connected_in_hand_ = first;
    connected_in_table_ = second;
    return done.state == mcp_resume::read_state::more;
  }

  mcp_resume::protocol_set supported_;
  mcp_resume::reader connected_in_hand_;
  mcp_resume::reader connected_in_table_;
};

// A request that meets a row. Its ids are spelled out: own tags are all `a` and all `b`.
struct scenario {
  mcp_resume::reason reason;
  const char* version;
  const char* id;
  const char* cursor;
  const char* principal;
  void (*prepare)(twins&);

  [[nodiscard]] mcp_resume::request asked() const { return {version, id, cursor, principal}; }
};

// Three events on stream 0, two on the open stream 1, room for six.
inline mcp_resume::options small_bounds() {
  mcp_resume::options bounds;
  bounds.max_events = 6;
  bounds.max_streams = 3;
  return bounds;
}

inline void prepare(twins& w, const scenario& s) {
  w.append(0, 3);
  w.append(w.open(), 2);
  s.prepare(w);
}

// NOLINTNEXTLINE(readability-function-size): a flat table
inline const std::vector<scenario>& scenarios() {
  const auto as_is = [](twins&) {};
  const auto connected = [](twins& w) { w.connect(""); };
  const auto finished = [](twins& w) { w.finish(1); };
  const auto forgotten = [](twins& w) {
    w.finish(1);
    w.forget(1);
  };
  const auto dropped = [](twins& w) {
    w.finish(1);
    for (int i = 0; i != 3; ++i) w.open();
  };
  const auto overrun = [](twins& w) { w.append(0, 10); };
  const auto call_overrun = [](twins& w) { w.append(1, 10); };
  const auto renewed = [](twins& w) {
    w.renew(0xC);
    w.append(0, 3);
  };
  static constexpr const char* v = "2025-11-25";
  static const std::vector<scenario> all{
      {reason::unsupported_protocol, "1999-01-01", "s-1", "", "alice", as_is},
      {reason::unsupported_protocol, "draft", "", "?", "", as_is},
      {reason::stateless_protocol, "2026-07-28", "s-1", "", "alice", as_is},
      {reason::stateless_protocol, "2026-07-28", "", "?", "", as_is},
      {reason::no_session, v, "", "aaaaaaaaaaaaaaaa.bbbbbbbbbbbbbbbb.0.1", "alice", as_is},
      {reason::session_gone, v, "s-2", "aaaaaaaaaaaaaaaa.bbbbbbbbbbbbbbbb.0.1", "alice", as_is},
      {reason::wrong_principal, v, "s-1", "aaaaaaaaaaaaaaaa.bbbbbbbbbbbbbbbb.0.1", "mallory", as_is},
      {reason::occupied, v, "s-1", "", "alice", connected},
      {reason::fresh, v, "s-1", "", "alice", as_is},
      {reason::malformed_cursor, v, "s-1", "evt-4471", "alice", as_is},
      {reason::malformed_cursor, v, "s-1", "evt-4471", "alice", connected},
      {reason::foreign_cursor, v, "s-1", "aaaaaaaaaaaaaaab.bbbbbbbbbbbbbbbb.0.1", "alice", as_is},
      {reason::foreign_cursor, v, "s-1", "aaaaaaaaaaaaaaab.0000000000000000.9.99", "alice", as_is},
      {reason::stale_incarnation, v, "s-1", "aaaaaaaaaaaaaaaa.0000000000000000.0.1", "alice", as_is},
      {reason::stale_incarnation, v, "s-1", "aaaaaaaaaaaaaaaa.bbbbbbbbbbbbbbbb.0.1", "alice", renewed},
      {reason::stale_request, v, "s-1", "aaaaaaaaaaaaaaaa.0000000000000000.1.1", "alice", as_is},
      {reason::stale_request, v, "s-1", "aaaaaaaaaaaaaaaa.bbbbbbbbbbbbbbbb.1.1", "alice", renewed},
      {reason::never_issued, v, "s-1", "aaaaaaaaaaaaaaaa.bbbbbbbbbbbbbbbb.2.0", "alice", as_is},
      {reason::never_issued, v, "s-1", "aaaaaaaaaaaaaaaa.bbbbbbbbbbbbbbbb.0.4", "alice", as_is},
      {reason::never_issued, v, "s-1", "aaaaaaaaaaaaaaaa.bbbbbbbbbbbbbbbb.1.3", "alice", finished},
      {reason::forgotten, v, "s-1", "aaaaaaaaaaaaaaaa.bbbbbbbbbbbbbbbb.1.2", "alice", forgotten},
      {reason::forgotten, v, "s-1", "aaaaaaaaaaaaaaaa.bbbbbbbbbbbbbbbb.1.99", "alice", dropped},
      {reason::evicted, v, "s-1", "aaaaaaaaaaaaaaaa.bbbbbbbbbbbbbbbb.0.1", "alice", overrun},
      {reason::evicted, v, "s-1", "aaaaaaaaaaaaaaaa.bbbbbbbbbbbbbbbb.1.1", "alice", call_overrun},
      {reason::complete, v, "s-1", "aaaaaaaaaaaaaaaa.bbbbbbbbbbbbbbbb.1.2", "alice", finished},
      {reason::up_to_date, v, "s-1", "aaaaaaaaaaaaaaaa.bbbbbbbbbbbbbbbb.0.3", "alice", connected},
      {reason::up_to_date, v, "s-1", "aaaaaaaaaaaaaaaa.bbbbbbbbbbbbbbbb.1.2", "alice", as_is},
      {reason::replay, v, "s-1", "aaaaaaaaaaaaaaaa.bbbbbbbbbbbbbbbb.0.1", "alice", connected},
      {reason::replay, v, "s-1", "aaaaaaaaaaaaaaaa.bbbbbbbbbbbbbbbb.1.0", "alice", finished},
  };
  return all;
}

}  // namespace world

#endif
