// SPDX-License-Identifier: MIT
// Reconnects where many other sessions live: the decision and the replay of what was missed, each time for another
// session.
#include <cstring>
#include <memory>

#include "bench.hpp"
#include "peers.hpp"
#include "stores.hpp"

namespace bench {
namespace {

using benchmark::ClobberMemory;
using benchmark::DoNotOptimize;

const std::string payload = payload_of(usual_size);

// A reconnect of each session after that seq, in random order.
std::vector<asked> reconnects(const std::vector<owner>& all, std::uint64_t after) {
  std::vector<asked> requests;
  requests.reserve(all.size());
  for (const std::size_t n : shuffled_numbers(all.size())) {
    requests.push_back({all[n].session_id, all[n].principal, all[n].event_id(after)});
  }
  return requests;
}

void add_library(runner& works, const std::string& name, library& ours, const std::vector<asked>& requests) {
  works.add(name, [&ours, turn = rotation<asked>(requests), frames = std::string()]() mutable {
    mcp_resume::reader reader;
    frames.clear();
    DoNotOptimize(ours.table.resume(request_of(turn.next()), reader));
    DoNotOptimize(ours.table.read(reader, frames));
    ClobberMemory();
  });
}

template <class Store>
void add_peer(runner& works, const std::string& name, const Store& store, const std::vector<asked>& requests) {
  works.add(name, [&store, turn = rotation<asked>(requests), frames = std::string()]() mutable {
    frames.clear();
    DoNotOptimize(peers::replay_frames(store, turn.next(), frames));
    ClobberMemory();
  });
}

// One bulk copy of what is replayed, from another place each time.
void add_limit(runner& works, const std::string& name, std::size_t sessions, std::size_t size) {
  works.add(name, [all = std::vector<char>(sessions * size, 'x'), size, sessions, frames = std::string(),
                   n = std::size_t{0}]() mutable {
    n = (n + 7919) % sessions;
    frames.clear();
    frames.append(all.data() + n * size, size);
    DoNotOptimize(frames.data());
    ClobberMemory();
  });
}

// 50 of the 100 events that each session holds.
void run_others(runner& works) {
  constexpr std::uint32_t capacity = 100;
  for (const std::size_t count : {1U, 10U, 100U, 1000U, 10000U}) {
    if (works.is_quick() && count > 1000) continue;
    const std::vector<owner> all = owners(count);
    const std::vector<asked> requests = reconnects(all, capacity / 2);
    library ours(capacity);
    peers::ring ring(capacity);
    peers::map map(capacity);
    peers::deque deque(capacity);
    fill(ours, all, capacity, payload);
    fill(ring, all, capacity, payload);
    fill(map, all, capacity, payload);
    fill(deque, all, capacity, payload);
    for (std::size_t n = 0; n < count; n += count / 8 + 1) {
      require_same(ours, ring, requests[n]);
      require_same(ours, map, requests[n]);
      require_same(ours, deque, requests[n]);
    }
    const std::string of = "/" + std::to_string(count);
    add_library(works, "reconnect: library" + of, ours, requests);
    add_peer(works, "reconnect: peer ring" + of, ring, requests);
    add_peer(works, "reconnect: peer map" + of, map, requests);
    add_peer(works, "reconnect: peer deque" + of, deque, requests);
    add_limit(works, "reconnect: limit" + of, count, frames_of(ours, requests[0]).size());
    works.run();
  }
}

// Every session of 100,000 comes back once and has missed two events: the network was away.
void run_mass(runner& works) {
  constexpr std::uint32_t capacity = 4;
  const std::size_t count = works.is_quick() ? 10000 : 100000;
  const std::vector<owner> all = owners(count);
  const std::vector<asked> requests = reconnects(all, capacity - 2);
  library ours(capacity);
  peers::ring ring(capacity);
  peers::map map(capacity);
  fill(ours, all, capacity, payload);
  fill(ring, all, capacity, payload);
  fill(map, all, capacity, payload);
  require_same(ours, ring, requests[0]);
  require_same(ours, map, requests[0]);
  add_library(works, "mass reconnect: library", ours, requests);
  add_peer(works, "mass reconnect: peer ring", ring, requests);
  add_peer(works, "mass reconnect: peer map", map, requests);
  works.run();
}

}  // namespace

void run_sessions(runner& works) {
  run_others(works);
  run_mass(works);
}

}  // namespace bench
