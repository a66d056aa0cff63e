// SPDX-License-Identifier: MIT
// Replaying events of 256 bytes of one session: as views, and as SSE frames into a buffer and into a string.
#include <cstring>
#include <memory>

#include "bench.hpp"
#include "peers.hpp"
#include "stores.hpp"

namespace bench {
namespace {

using benchmark::ClobberMemory;
using benchmark::DoNotOptimize;
using mcp_resume::read_state;

const std::string payload = payload_of(usual_size);

// A full session and the peers with the same events.
struct world {
  std::vector<owner> one = owners(1);
  mcp_resume::session session = session_of(one[0], holding(full));
  library ours{full};
  peers::ring ring{full};
  peers::map map{full};
  peers::deque deque{full};
  std::vector<char> buffer = std::vector<char>(1 << 20);
  std::string frames;

  world() {
    for (std::uint64_t n = 0; n != 2 * full; ++n) {
      require(bool(session.append(session.standalone(), payload)), "an append was refused");
    }
    fill(ours, one, 2 * full, payload);
    fill(ring, one, 2 * full, payload);
    fill(map, one, 2 * full, payload);
    fill(deque, one, 2 * full, payload);
  }
  asked missing(std::uint64_t events) const {
    return {one[0].session_id, one[0].principal, one[0].event_id(2 * full - events)};
  }
};

// A reader of the session that so many events are to be replayed to.
mcp_resume::reader reader_behind(mcp_resume::session& of, const asked& from) {
  const mcp_resume::reader made = of.attach(resolve_resume(request_of(from), &of));
  require(made.lease() != 0, "no reader was attached");
  return made;
}

void add_library(runner& works, world& w, const std::string& of, const mcp_resume::reader& start) {
  works.add("replay views: library" + of, [&w, start] {
    mcp_resume::reader reader = start;
    DoNotOptimize(w.session.visit(reader, [](const mcp_resume::frame& f) {
      DoNotOptimize(f.id);
      DoNotOptimize(f.payload);
      return true;
    }));
  });
  works.add("replay into buffer: library" + of, [&w, start] {
    mcp_resume::reader reader = start;
    DoNotOptimize(w.session.read(reader, w.buffer.data(), w.buffer.size()));
    ClobberMemory();
  });
  works.add("replay into string: library" + of, [&w, start] {
    mcp_resume::reader reader = start;
    w.frames.clear();
    DoNotOptimize(w.session.read(reader, w.frames, w.buffer.size()));
    ClobberMemory();
  });
}

template <class Store>
void add_peer(runner& works, world& w, const std::string& name, const Store& store, const asked& from,
              const std::string& of) {
  works.add("replay views: peer " + name + of, [&store, from] {
    DoNotOptimize(store.replay(version, from, [](const std::string& id, const std::string& text) {
      DoNotOptimize(id.data());
      DoNotOptimize(text.data());
    }));
  });
  works.add("replay into string: peer " + name + of, [&store, &w, from] {
    w.frames.clear();
    DoNotOptimize(peers::replay_frames(store, from, w.frames));
    ClobberMemory();
  });
}

void add_limits(runner& works, world& w, const std::string& of, const std::string& bytes) {
  works.add("replay into buffer: limit" + of, [&w, bytes] {
    std::memcpy(w.buffer.data(), bytes.data(), bytes.size());
    ClobberMemory();
  });
  works.add("replay into string: limit" + of, [&w, bytes] {
    w.frames.clear();
    w.frames.append(bytes);
    ClobberMemory();
  });
}

void run_counts(runner& works) {
  world w;
  for (const std::uint64_t events : {1U, 10U, 100U, 1000U}) {
    const std::string of = "/" + std::to_string(events);
    const asked from = w.missing(events);
    require_same(w.ours, w.ring, from);
    require_same(w.ours, w.map, from);
    require_same(w.ours, w.deque, from);
    const mcp_resume::reader start = reader_behind(w.session, from);
    mcp_resume::reader one = start, two = start;
    std::string bytes;
    const auto read = w.session.read(one, bytes, w.buffer.size());
    const auto raw = w.session.read(two, w.buffer.data(), w.buffer.size());
    require(read.events == events && read.state == read_state::caught_up, "not everything was replayed");
    require(raw.bytes == bytes.size() && bytes.compare(0, bytes.npos, w.buffer.data(), raw.bytes) == 0, "other bytes");
    add_library(works, w, of, start);
    add_peer(works, w, "ring", w.ring, from, of);
    add_peer(works, w, "map", w.map, from, of);
    add_peer(works, w, "deque", w.deque, from, of);
    add_limits(works, w, of, bytes);
    works.run();
  }
}

// One stream of a full session, where its events are all that the session holds, or lie between those of 15 others.
void run_one_of_16(runner& works) {
  constexpr std::uint32_t streams = 16, events = full / streams;
  std::vector<char> buffer(1 << 20);
  std::vector<mcp_resume::session> sessions;
  sessions.reserve(2);
  for (const std::uint32_t count : {1U, streams}) {
    const owner who(count);
    sessions.push_back(session_of(who, holding(count * events)));
    mcp_resume::session& session = sessions.back();
    std::vector<mcp_resume::stream_handle> all;
    for (std::uint32_t n = 0; n != count; ++n) all.push_back(session.open_stream("7").stream);
    for (std::uint32_t n = 0; n != 2 * count * events; ++n) {
      require(bool(session.append(all[n % count], payload)), "an append was refused");
    }
    const std::uint32_t middle = count / 2 + 1;
    const asked from{who.session_id, who.principal, who.event_id(events, middle)};
    const mcp_resume::reader start = reader_behind(session, from);
    mcp_resume::reader tried = start;
    require(session.read(tried, buffer.data(), buffer.size()).events == events, "not everything was replayed");
    works.add("replay one stream of/" + std::to_string(count), [&session, &buffer, start] {
      mcp_resume::reader reader = start;
      DoNotOptimize(session.read(reader, buffer.data(), buffer.size()));
      ClobberMemory();
    });
  }
  works.run();
}

}  // namespace

void run_replay(runner& works) {
  run_counts(works);
  run_one_of_16(works);
}

}  // namespace bench
