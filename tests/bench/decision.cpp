// SPDX-License-Identifier: MIT
// The whole decision: a request's texts in, a reason with its numbers out. Also each row of the table.
#include <memory>

#include "bench.hpp"
#include "limits.hpp"
#include "peers.hpp"
#include "stores.hpp"

namespace bench {
namespace {

using benchmark::DoNotOptimize;
using mcp_resume::reason;

const std::string payload = payload_of(usual_size);
constexpr std::uint32_t requests_of_each = 4;  // open request streams of each session
constexpr std::uint32_t asked_for = 2;         // the one of them that is resumed
constexpr std::uint64_t held_by_request = 4;   // events of that one

// One request for each session, in random order; the cursor is inside the window. The texts lie in the order in which
// they are asked, as those of a server that has just received them lie in its cache.
std::vector<asked> requests_of(const std::vector<owner>& all, std::uint64_t held, std::uint32_t stream) {
  std::vector<asked> requests;
  requests.reserve(all.size());
  for (const std::size_t n : shuffled_numbers(all.size())) {
    const std::uint64_t seq = 1 + mixed(n) % (held - 1);
    requests.push_back({all[n].session_id, all[n].principal, all[n].event_id(seq, stream)});
  }
  return requests;
}

template <class Store>
void add_peer(runner& works, const std::string& name, const Store& store, const std::vector<asked>& requests) {
  works.add(name, [&store, turn = rotation<asked>(requests)]() mutable {
    DoNotOptimize(store.decide(version, turn.next()));
  });
}

void add_library(runner& works, const std::string& name, const library& ours, const std::vector<asked>& requests) {
  works.add(name, [&ours, turn = rotation<asked>(requests)]() mutable {
    DoNotOptimize(resolve_resume(request_of(turn.next()), ours.table));
  });
}

void open_requests(library& ours, const std::vector<owner>& all) {
  for (const owner& who : all) {
    for (std::uint32_t n = 0; n != requests_of_each; ++n) {
      const auto call = ours.table.open_stream(who.session_id, "7");
      require(bool(call), "a stream could not be opened");
      if (n + 1 != asked_for) continue;
      for (std::uint64_t i = 0; i != held_by_request; ++i)
        require(bool(ours.table.append(call.stream, payload)), "refused");
    }
  }
}

// All stores with `count` sessions, `held` events in the stream 0 of each, and a request for each.
struct world {
  std::vector<owner> all;
  library ours{full};
  peers::ring ring;
  peers::map map;
  peers::fields fields;
  limits::lookup limit;
  std::vector<asked> of_standalone, of_request;
  world(std::size_t count, std::uint32_t held)
      : all(owners(count)),
        ring(held),
        map(held),
        fields(held),
        limit(count),
        of_standalone(requests_of(all, held, 0)),
        of_request(requests_of(all, held_by_request, asked_for)) {
    fill(ours, all, held, payload);
    open_requests(ours, all);
    fill(ring, all, held, payload);
    fill(map, all, held, payload);
    fill(fields, all, held, payload);
    for (const owner& who : all) limit.create(who);
    check();
  }
  void check() {
    for (std::size_t n = 0; n < all.size(); n += all.size() / 8 + 1) {
      require_same(ours, ring, of_standalone[n]);
      require_same(ours, map, of_standalone[n]);
      require_same(ours, fields, of_standalone[n]);
    }
    for (const auto* requests : {&of_standalone, &of_request}) {
      for (const asked& from : *requests) {
        const auto decided = resolve_resume(request_of(from), ours.table);
        require(decided.reason == reason::replay && limit.decide(from) == decided.cursor, "the limit finds another id");
      }
    }
  }
};

void run_sizes(runner& works) {
  const std::pair<std::size_t, std::uint32_t> sizes[] = {{1, 100}, {100, 100}, {10000, 100}, {100000, 10}};
  for (const auto& [count, held] : sizes) {
    if (works.is_quick() && count > 10000) continue;
    const auto w = std::make_unique<world>(count, held);
    const std::string of = "/" + std::to_string(count);
    add_library(works, "decision: library" + of, w->ours, w->of_standalone);
    add_library(works, "decision: library, request stream" + of, w->ours, w->of_request);
    add_peer(works, "decision: peer ring" + of, w->ring, w->of_standalone);
    add_peer(works, "decision: peer map" + of, w->map, w->of_standalone);
    add_peer(works, "decision: peer map, by fields" + of, w->fields, w->of_standalone);
    works.add("decision: limit" + of, [&limit = w->limit, turn = rotation<asked>(w->of_standalone)]() mutable {
      DoNotOptimize(limit.decide(turn.next()));
    });
    works.run();
  }
}

// The cursors of one session lie all over its window, so that no branch is learnt from one text.
void run_one(runner& works) {
  const std::vector<owner> one = owners(1);
  library ours(full);
  peers::map map(full);
  peers::fields fields(full);
  peers::ring ring(full);
  peers::deque deque(full);
  fill(ours, one, 3 * full, payload);
  fill(map, one, 3 * full, payload);
  fill(fields, one, 3 * full, payload);
  fill(ring, one, 3 * full, payload);
  fill(deque, one, 3 * full, payload);
  std::vector<asked> requests;
  for (std::uint64_t n = 0; n != 1024; ++n) {
    requests.push_back({one[0].session_id, one[0].principal, one[0].event_id(2 * full + mixed(n) % (full - 1))});
  }
  require_same(ours, ring, requests[0]);
  require_same(ours, map, requests[0]);
  require_same(ours, fields, requests[0]);
  require_same(ours, deque, requests[0]);
  mcp_resume::session session = session_of(one[0], holding(full));
  for (std::uint64_t n = 0; n != 3 * full; ++n) require(bool(session.append(session.standalone(), payload)), "refused");

  add_library(works, "decision of one: library", ours, requests);
  works.add("decision of one: library, in hand", [&session, turn = rotation<asked>(requests)]() mutable {
    DoNotOptimize(resolve_resume(request_of(turn.next()), &session));
  });
  add_peer(works, "decision of one: peer ring", ring, requests);
  add_peer(works, "decision of one: peer map", map, requests);
  add_peer(works, "decision of one: peer map, by fields", fields, requests);
  add_peer(works, "decision of one: peer deque", deque, requests);
  works.run();
}

// A session in which each row of the table can be met.
struct rows {
  owner who{1};
  mcp_resume::session session = session_of(who, holding(4));
  mcp_resume::session read = session_of(who, holding(4));
  std::vector<std::pair<asked, std::string_view>> requests;  // with their versions, in the order of the rows

  rows() {
    const auto finished = session.open_stream("7").stream, forgotten = session.open_stream("8").stream;
    for (int n = 0; n != 6; ++n) require(bool(session.append(session.standalone(), payload)), "refused");
    require(session.finish(finished) == mcp_resume::refusal::none, "a stream was not finished");
    require(session.finish(forgotten) == mcp_resume::refusal::none, "a stream was not finished");
    require(session.forget(forgotten) == mcp_resume::refusal::none, "a stream was not forgotten");
    require(read.attach(resolve_resume(request_of({who.session_id, who.principal, ""}), &read)).lease() == 1, "gone");
    owner stranger(2), later(1);
    later.tags.incarnation ^= 1;
    const auto add = [this](const std::string& id, std::string_view of = version) {
      requests.push_back({{who.session_id, who.principal, id}, of});
    };
    add("", "2020-01-01");
    add("", "2026-07-28");
    requests.push_back({{"", who.principal, ""}, version});
    requests.push_back({{stranger.session_id, who.principal, who.event_id(5)}, version});
    requests.push_back({{who.session_id, "user-1", who.event_id(5)}, version});
    add("");
    add("");
    for (const std::string& id :
         {std::string("evt-000418"), stranger.event_id(5), later.event_id(5), later.event_id(5, 1), who.event_id(7),
          who.event_id(0, 2), who.event_id(0), who.event_id(0, 1), who.event_id(6), who.event_id(4)}) {
      add(id);
    }
  }
  mcp_resume::resolution decide(reason why) const {
    auto asked_for_row = request_of(requests[static_cast<std::size_t>(why)].first);
    asked_for_row.version = requests[static_cast<std::size_t>(why)].second;
    return resolve_resume(asked_for_row, why == reason::occupied ? &read : &session);
  }
};

void run_rows(runner& works) {
  const rows all;
  for (const mcp_resume::decision_row& row : mcp_resume::decision_table) {
    require(all.decide(row.reason).reason == row.reason, "a row is not met by its request");
    works.add("decision row: " + std::string(row.name),
              [&all, why = row.reason]() mutable { DoNotOptimize(all.decide((DoNotOptimize(why), why))); });
  }
  works.run();
}

// How a cursor's stream is found among the open request streams of its session.
void run_streams(runner& works) {
  std::vector<std::unique_ptr<library>> worlds;
  std::vector<std::vector<asked>> requests(5);
  std::size_t at = 0;
  for (const std::uint32_t count : {1U, 4U, 16U, 64U, 256U}) {
    const owner who(count);
    worlds.push_back(std::make_unique<library>(full));
    worlds.back()->create(who);
    for (std::uint32_t n = 1; n <= count; ++n) {
      const auto call = worlds.back()->table.open_stream(who.session_id, "7");
      for (int i = 0; i != 3; ++i) require(bool(worlds.back()->table.append(call.stream, payload)), "refused");
      requests[at].push_back({who.session_id, who.principal, who.event_id(1, n)});
      require(resolve_resume(request_of(requests[at].back()), worlds.back()->table).reason == reason::replay, "row");
    }
    shuffle(requests[at]);
    add_library(works, "decision among streams/" + std::to_string(count), *worlds.back(), requests[at]);
    ++at;
  }
  works.run();
}

}  // namespace

void run_decision(runner& works) {
  run_one(works);
  run_sizes(works);
  run_rows(works);
  run_streams(works);
}

}  // namespace bench
