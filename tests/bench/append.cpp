// SPDX-License-Identifier: MIT
// Appending 256 bytes to full sessions: each append evicts.
#include <memory>
#include <mutex>

#include "bench.hpp"
#include "limits.hpp"
#include "peers.hpp"
#include "stores.hpp"

namespace bench {
namespace {

using benchmark::DoNotOptimize;

const std::string payload = payload_of(usual_size);

// How many bytes are copied is not to be known when this is compiled: it is not in the library either.
std::string_view payload_view() {
  std::string_view view = payload;
  DoNotOptimize(view);
  return view;
}

// The tags of an id and their dots, which whoever formats many ids of one session keeps as text.
std::string tags_text(const owner& who) { return who.event_id(0).substr(0, 34); }

void add_limits(runner& works, const owner& who) {
  works.add("append/limit: copy",
            [ring = limits::byte_ring(full, usual_size)]() mutable { DoNotOptimize(ring.copy(payload_view())); });
  works.add("append/limit: copy, format id whole",
            [ring = limits::byte_ring(full, usual_size), id = mcp_resume::event_id{who.tags, 0, full}]() mutable {
              char text[mcp_resume::event_id::max_size];
              ++id.seq;
              DoNotOptimize(ring.copy(payload_view()));
              DoNotOptimize(limits::format_id(text, id));
              DoNotOptimize(text);
            });
  works.add("append/limit: copy, format id",
            [ring = limits::byte_ring(full, usual_size), tags = tags_text(who), seq = std::uint64_t{full}]() mutable {
              char text[mcp_resume::event_id::max_size];
              DoNotOptimize(ring.copy(payload_view()));
              DoNotOptimize(limits::format_id_after(text, tags, 0, ++seq));
              DoNotOptimize(text);
            });
}

// What an append through a table cannot do without, were the session found for nothing: a lock, a copy, and a look for
// line ends, which the frames of a replay depend on.
void add_least_of_table(runner& works) {
  works.add("append/limit: lock, copy, look for line ends",
            [ring = limits::byte_ring(full, usual_size), mutex = std::make_shared<std::mutex>()]() mutable {
              const std::lock_guard<std::mutex> guard(*mutex);
              const std::string_view text(ring.copy(payload_view()), usual_size);
              DoNotOptimize(text.find('\n'));
              DoNotOptimize(text.find('\r'));
            });
}

template <class Log>
void add_peer(runner& works, const std::string& name, peers::store<Log>& store, const std::vector<owner>& all) {
  works.add(name, [&store, turn = rotation<owner>(all)]() mutable {
    DoNotOptimize(store.append(turn.next().session_id, payload_view()));
  });
}

void add_table(runner& works, const std::string& name, library& ours) {
  works.add(name, [&ours, turn = rotation<mcp_resume::stream_handle>(ours.handles)]() mutable {
    DoNotOptimize(ours.table.append(turn.next(), payload_view()));
  });
}

void run_hot(runner& works) {
  const std::vector<owner> one = owners(1);
  mcp_resume::session session = session_of(one[0], holding(full));
  for (std::uint64_t n = 0; n != full; ++n) require(bool(session.append(session.standalone(), payload)), "refused");
  library ours(full);
  peers::ring ring(full);
  peers::map map(full);
  peers::deque deque(full);
  fill(ours, one, 2 * full, payload);
  fill(ring, one, 2 * full, payload);
  fill(map, one, 2 * full, payload);
  fill(deque, one, 2 * full, payload);
  const asked back{one[0].session_id, one[0].principal, one[0].event_id(full + 1)};
  require_same(ours, ring, back);
  require_same(ours, map, back);
  require_same(ours, deque, back);

  const mcp_resume::stream_handle handle = session.standalone();
  works.add("append/hand", [&session, handle] { DoNotOptimize(session.append(handle, payload_view())); });
  works.add("append/hand, id formatted", [&session, handle] {
    char text[mcp_resume::event_id::max_size];
    DoNotOptimize(session.append(handle, payload_view()).id.to_chars(text));
    DoNotOptimize(text);
  });
  add_table(works, "append/table", ours);
  add_peer(works, "append/peer: ring", ring, one);
  add_peer(works, "append/peer: map", map, one);
  add_peer(works, "append/peer: deque", deque, one);
  add_limits(works, one[0]);
  add_least_of_table(works);
  works.run();
  require(session.inspect().events == full && ours.table.inspect().events == full, "a session is not full");
}

// Each append meets memory that is not in any cache.
void run_cold(runner& works) {
  const std::vector<owner> thousand = owners(1000);
  library ours(full);
  peers::ring ring(full);
  peers::map map(full);
  fill(ours, thousand, full, payload);
  fill(ring, thousand, full, payload);
  fill(map, thousand, full, payload);
  add_table(works, "append cold/table", ours);
  add_peer(works, "append cold/peer: ring", ring, thousand);
  add_peer(works, "append cold/peer: map", map, thousand);
  limits::byte_ring bytes(std::size_t{full} * 1000, usual_size);
  works.add("append cold/limit: copy, format id",
            [&bytes, tags = tags_text(thousand[0]), seq = std::uint64_t{full}]() mutable {
              char text[mcp_resume::event_id::max_size];
              DoNotOptimize(bytes.copy_far(payload_view()));
              DoNotOptimize(limits::format_id_after(text, tags, 0, ++seq));
              DoNotOptimize(text);
            });
  works.run();
}

// A full session whose events are spread over that many request streams.
struct spread {
  mcp_resume::session session;
  std::vector<mcp_resume::stream_handle> streams;
  spread(const owner& who, std::uint32_t count) : session(session_of(who, holding(full))) {
    for (std::uint32_t n = 0; n != count; ++n) streams.push_back(session.open_stream("7").stream);
    for (std::uint32_t n = 0; n != 2 * full; ++n) {
      require(bool(session.append(streams[n % count], payload)), "an append was refused");
    }
  }
};

void run_spread(runner& works) {
  std::vector<std::unique_ptr<spread>> worlds;
  for (const std::uint32_t count : {1U, 4U, 16U, 64U, 256U}) {
    worlds.push_back(std::make_unique<spread>(owner(count), count));
    works.add("append to streams/" + std::to_string(count),
              [&world = *worlds.back(), turn = rotation<mcp_resume::stream_handle>(worlds.back()->streams)]() mutable {
                DoNotOptimize(world.session.append(turn.next(), payload_view()));
              });
  }
  works.run();
}

// What a session holds should not matter: a larger bound, the same append.
void run_sizes(runner& works) {
  std::vector<mcp_resume::session> sessions;
  sessions.reserve(8);
  for (const std::uint32_t size : {16U, 128U, 1024U, 8192U}) {
    sessions.push_back(session_of(owner(size), holding(size)));
    mcp_resume::session& session = sessions.back();
    for (std::uint32_t n = 0; n != 2 * size; ++n)
      require(bool(session.append(session.standalone(), payload)), "refused");
    works.add("append to held events/" + std::to_string(size),
              [&session, handle = session.standalone()] { DoNotOptimize(session.append(handle, payload_view())); });
  }
  works.run();
}

}  // namespace

void run_append(runner& works) {
  run_hot(works);
  run_cold(works);
  run_spread(works);
  run_sizes(works);
}

}  // namespace bench
