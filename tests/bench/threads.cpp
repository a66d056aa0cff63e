// SPDX-License-Identifier: MIT
// Two threads on different sessions of one table: what an operation costs, wherever it ran. The sessions of one thread
// are in parts of the table that the other does not use, or both use all of them: then the lock of a part is often in
// the other core's cache, or held. What that costs is shown by locks alone.
#include <mutex>

#include "bench.hpp"
#include "stores.hpp"

namespace bench {
namespace {

using benchmark::DoNotOptimize;

constexpr std::size_t sessions_of_each = 8;
const std::string payload = payload_of(usual_size);

struct one_session {
  mcp_resume::stream_handle handle;
  asked request;
};

struct world {
  std::vector<owner> all = owners(8 * sessions_of_each);
  library ours{128};
  std::vector<one_session> anywhere[2], apart[2];  // of each thread
  world() {
    fill(ours, all, 256, payload);
    for (std::size_t n = 0; n != all.size(); ++n) {
      const one_session s{ours.handles[n], {all[n].session_id, all[n].principal, all[n].event_id(200)}};
      if (anywhere[n % 2].size() != sessions_of_each) anywhere[n % 2].push_back(s);
      auto& of_part = apart[s.handle.route >> 60U & 1U];  // parts by turns: neighbours in memory must not matter
      if (of_part.size() != sessions_of_each) of_part.push_back(s);
      const auto decided = resolve_resume(request_of(s.request), ours.table);
      require(decided.reason == mcp_resume::reason::replay, "a cursor is not resumed");
    }
    for (const auto* sessions : {anywhere, apart}) {
      require(sessions[0].size() == sessions_of_each && sessions[1].size() == sessions_of_each, "too few sessions");
    }
  }
};

void add_table(runner& works, world& w, const std::string& name, const std::vector<one_session> (&sessions)[2]) {
  const auto append = [&w, &sessions](benchmark::State& state) {
    rotation<one_session> turn(sessions[state.thread_index()]);
    for (auto _ : state) DoNotOptimize(w.ours.table.append(turn.next().handle, payload));
  };
  const auto decide = [&w, &sessions](benchmark::State& state) {
    rotation<one_session> turn(sessions[state.thread_index()]);
    const mcp_resume::session_table& table = w.ours.table;
    for (auto _ : state) DoNotOptimize(resolve_resume(request_of(turn.next().request), table));
  };
  for (const int threads : {1, 2}) {
    works.add_loop("threads: append" + name + "/" + std::to_string(threads), append, 1, threads);
    works.add_loop("threads: decision" + name + "/" + std::to_string(threads), decide, 1, threads);
  }
}

}  // namespace

void run_threads(runner& works) {
  world w;
  add_table(works, w, "", w.apart);
  add_table(works, w, ", parts shared", w.anywhere);
  struct alignas(128) padded {
    std::mutex mutex;
    std::uint64_t count = 0;
  };
  padded locks[16];
  const auto lock = [&locks](benchmark::State& state) {
    auto n = static_cast<std::uint64_t>(state.thread_index()) << 32U;
    for (auto _ : state) {
      padded& each = locks[mixed(++n) % 16];
      const std::lock_guard<std::mutex> guard(each.mutex);
      DoNotOptimize(++each.count);
    }
  };
  for (const int threads : {1, 2}) {
    works.add_loop("threads: 16 locks alone/" + std::to_string(threads), lock, 1, threads);
  }
  works.run();
}

}  // namespace bench
