// SPDX-License-Identifier: MIT
// What all works of the benchmark share: who asks, what is appended, and the runner that times works side by side.
#ifndef MCP_RESUME_TESTS_BENCH_BENCH_HPP
#define MCP_RESUME_TESTS_BENCH_BENCH_HPP

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../randomness.hpp"
#include "mcp_resume/resume.hpp"

namespace bench {

inline constexpr std::uint32_t full = 1024;  // events that a full session holds
inline constexpr std::size_t usual_size = 256;
inline constexpr std::string_view version = "2025-11-25";

// To time what does not do its work would say nothing.
inline void require(bool holds, const char* sentence) {
  if (!holds) throw std::runtime_error(sentence);
}

// A JSON text of one line, as large as that.
inline std::string payload_of(std::size_t size) {
  std::string text = R"({"jsonrpc":"2.0","a":")";
  require(size >= text.size() + 2, "a payload is too small for a JSON text");
  while (text.size() != size - 2) text.push_back(static_cast<char>('a' + text.size() % 26));
  return text + "\"}";
}

// One number for each n, without order.
inline std::uint64_t mixed(std::uint64_t n) noexcept {
  std::uint64_t state = n;
  return randomness::next_random(state);
}

// Session n: its names, and its tags, which all stores use so that they give the same event ids.
struct owner {
  std::string session_id;  // 32 characters
  std::string principal;   // 12 characters
  mcp_resume::tags tags;
  explicit owner(std::uint64_t n) : principal("user-"), tags{mixed(2 * n), mixed(2 * n + 1)} {
    for (std::uint64_t i = 0; i != 32; ++i) session_id.push_back("0123456789abcdef"[mixed(32 * n + i) % 16]);
    const std::string digits = std::to_string(10000000 + n % 10000000 % 90000000);
    principal.append(digits.substr(digits.size() - 7));
  }
  std::string event_id(std::uint64_t seq, std::uint32_t stream = 0) const {
    return to_string(mcp_resume::event_id{tags, stream, seq});
  }
  // All of an event id of stream 0 but its seq.
  std::string prefix() const {
    std::string id = event_id(0);
    id.pop_back();
    return id;
  }
};

// What a client's GET brings, as an HTTP library hands it over.
struct asked {
  std::string session_id, principal, last_event_id;
};

inline mcp_resume::request request_of(const asked& from) noexcept {
  return {version, from.session_id, from.last_event_id, from.principal};
}

// A shuffle that is the same in each run.
template <class T>
void shuffle(std::vector<T>& items) {
  for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[mixed(i) % i]);
}

// The numbers below `count` in such an order.
inline std::vector<std::size_t> shuffled_numbers(std::size_t count) {
  std::vector<std::size_t> numbers(count);
  for (std::size_t n = 0; n != count; ++n) numbers[n] = n;
  shuffle(numbers);
  return numbers;
}

// Goes round a list, and begins anew at its end.
template <class T>
class rotation {
 public:
  explicit rotation(const std::vector<T>& items) noexcept : items_(&items) {}
  const T& next() noexcept {
    if (++at_ >= items_->size()) at_ = 0;
    return (*items_)[at_];
  }
 private:
  const std::vector<T>* items_;
  std::size_t at_ = 0;
};

// Times works side by side: the repetitions of the works that were added are run in random order, so that a slow moment
// of the machine meets all of them. Keeps the CPU time of each repetition.
class runner {
 public:
  explicit runner(bool is_quick) noexcept : is_quick_(is_quick) {}
  bool is_quick() const noexcept { return is_quick_; }
  // `work()` does `operations` of what is measured.
  template <class Work>
  void add(const std::string& name, Work work, double operations = 1) {
    add_loop(
        name,
        [work](benchmark::State& state) mutable {
          for (auto _ : state) work();
        },
        operations);
  }
  // `loop(state)` runs in that many threads at once.
  template <class Loop>
  void add_loop(const std::string& name, Loop loop, double operations = 1, int threads = 1) {
    operations_[name] = operations;
    benchmark::RegisterBenchmark(name.c_str(), std::move(loop))
        ->MinTime(is_quick_ ? 0.002 : 0.03)
        ->Repetitions(is_quick_ ? 3 : 9)
        ->Threads(threads);
  }
  // Times what was added since the last call.
  void run();
  // A figure that is no time.
  void note_bytes(const std::string& name, double bytes) { bytes_[name] = bytes; }

  struct timed {
    std::string name;
    std::vector<double> ns;  // CPU time of an operation in each repetition, sorted
    double median() const { return ns[ns.size() / 2]; }
  };
  const std::vector<timed>& times() const noexcept { return times_; }
  const std::map<std::string, double>& bytes() const noexcept { return bytes_; }
  // The median time or the bytes of that name. Throws where there is none.
  double figure(const std::string& name) const;
 private:
  bool is_quick_;
  std::map<std::string, double> operations_;  // of works that were added, for each call
  std::vector<timed> times_;
  std::map<std::string, double> bytes_;
};

// The works, in the files of these names.
void run_append(runner& works);
void run_parse(runner& works);
void run_decision(runner& works);
void run_replay(runner& works);
void run_sessions(runner& works);
void run_threads(runner& works);
void run_client(runner& works);
void measure_memory(runner& works);

}  // namespace bench

#endif
