// SPDX-License-Identifier: MIT
// The library and its peers behind the same calls, so that each is given the same history.
#ifndef MCP_RESUME_TESTS_BENCH_STORES_HPP
#define MCP_RESUME_TESTS_BENCH_STORES_HPP

#include "bench.hpp"
#include "peers.hpp"

namespace bench {

// Draws the tags of an owner, the session's first.
inline auto tags_of(const owner& who) {
  return [tags = who.tags, is_second = false]() mutable -> mcp_resume::drawn_tag {
    return std::exchange(is_second, true) ? tags.incarnation : tags.session;
  };
}

inline mcp_resume::options holding(std::uint32_t events) {
  mcp_resume::options bounds;
  bounds.max_events = events;
  bounds.max_sessions = 1000000;
  return bounds;
}

inline std::vector<owner> owners(std::size_t count) {
  std::vector<owner> made;
  for (std::size_t n = 0; n != count; ++n) made.emplace_back(n);
  return made;
}

// A table of the library, with what a server keeps of each session: the handle to append to.
struct library {
  mcp_resume::session_table table;
  std::vector<mcp_resume::stream_handle> handles;
  explicit library(std::uint32_t capacity) : table(holding(capacity)) {}
  void create(const owner& who) {
    const auto why = table.create(who.session_id, who.principal, mcp_resume::protocol::v2025_11_25, tags_of(who));
    require(why == mcp_resume::refusal::none, "a session could not be created");
    handles.push_back(*table.standalone(who.session_id));
  }
};

// Creates these sessions and appends to each in turn, as they live side by side.
inline void fill(library& into, const std::vector<owner>& all, std::uint64_t events, std::string_view payload) {
  for (const owner& who : all) into.create(who);
  for (std::uint64_t n = 0; n != events; ++n) {
    for (const auto& handle : into.handles) require(bool(into.table.append(handle, payload)), "an append was refused");
  }
}
template <class Log>
void fill(peers::store<Log>& into, const std::vector<owner>& all, std::uint64_t events, std::string_view payload) {
  for (const owner& who : all) into.create(who);
  for (std::uint64_t n = 0; n != events; ++n) {
    for (const owner& who : all) require(into.append(who.session_id, payload) == n + 1, "a peer did not append");
  }
}

// One session in hand.
inline mcp_resume::session session_of(const owner& who, const mcp_resume::options& bounds) {
  mcp_resume::session made;
  const auto why = made.create(who.session_id, who.principal, mcp_resume::protocol::v2025_11_25, bounds, tags_of(who));
  require(why == mcp_resume::refusal::none, "a session could not be created");
  return made;
}

// What a client gets that comes back after `from`, by the library: without the marker, which the peers do not know.
inline std::string frames_of(library& of, const asked& from) {
  mcp_resume::reader reader;
  std::string marker, frames;
  const auto decided = of.table.resume(request_of(from), reader);
  require(decided.reason == mcp_resume::reason::replay, "the library does not replay");
  mcp_resume::append_marker(marker, decided.cursor, reader.negotiated());
  const auto done = of.table.read(reader, frames, ~std::size_t{0});
  require(done.state == mcp_resume::read_state::caught_up, "the library has not read everything");
  require(frames.compare(0, marker.size(), marker) == 0, "the library begins without a marker");
  return frames.substr(marker.size());
}

// Library and peers replay the same bytes.
template <class Log>
void require_same(library& ours, const peers::store<Log>& theirs, const asked& from) {
  std::string frames;
  require(peers::replay_frames(theirs, from, frames) == peers::decision::replay, "a peer does not replay");
  require(!frames.empty() && frames == frames_of(ours, from), "a peer replays other bytes than the library");
}

}  // namespace bench

#endif
