// SPDX-License-Identifier: MIT
// mcp_resume_bench: the library, its peers and the physical limits in one run, and the ratios between them. A target
// that is missed is said, and is no failure: a timed result is never a test.
#include <condition_variable>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>
#include <mutex>
#include <thread>

#include "bench.hpp"
#include "verdicts.hpp"

namespace {

constexpr char usage[] =
    "usage: mcp_resume_bench [--quick] [--json FILE] [--benchmark_...]\n"
    "  --quick      15 s instead of 100 s: a smoke test, whose ratios say little\n"
    "  --json FILE  also writes all figures there\n";

// Keeps the process one of several threads, as a server is: in one of a single thread glibc's mutexes and libstdc++'s
// counters leave out their atomic operations, and the figures flatter.
class sleeping_thread {
 public:
  sleeping_thread()
      : thread_([this] {
          std::unique_lock<std::mutex> lock(mutex_);
          done_.wait(lock, [this] { return is_done_; });
        }) {}
  ~sleeping_thread() {
    {
      const std::lock_guard<std::mutex> guard(mutex_);
      is_done_ = true;
    }
    done_.notify_one();
    thread_.join();
  }
 private:
  std::mutex mutex_;
  std::condition_variable done_;
  bool is_done_ = false;
  std::thread thread_;
};

void run_all(bench::runner& works) {
  const sleeping_thread second;
  const std::pair<const char*, void (*)(bench::runner&)> groups[] = {
      {"memory", bench::measure_memory},  // first, while nothing else is on the heap
      {"append", bench::run_append},     {"parse", bench::run_parse},       {"decision", bench::run_decision},
      {"replay", bench::run_replay},     {"sessions", bench::run_sessions}, {"threads", bench::run_threads},
      {"client", bench::run_client},
  };
  for (const auto& [name, run] : groups) {
    std::cerr << name << "...\n";
    run(works);
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> arguments(argv, argv + argc);
  arguments.insert(arguments.begin() + 1, "--benchmark_enable_random_interleaving=true");
  std::vector<char*> views;
  for (std::string& each : arguments) views.push_back(each.data());
  views.push_back(nullptr);
  int left = static_cast<int>(arguments.size());
  benchmark::Initialize(&left, views.data());
  bool is_quick = false;
  std::string json;
  for (int i = 1; i < left; ++i) {
    const std::string_view argument = views[static_cast<std::size_t>(i)];
    if (argument == "--quick") {
      is_quick = true;
    } else if (argument == "--json" && i + 1 < left) {
      json = views[static_cast<std::size_t>(++i)];
    } else {
      std::fputs(usage, argument == "--help" ? stdout : stderr);
      return argument == "--help" ? 0 : 2;
    }
  }
  try {
    bench::runner works(is_quick);
    run_all(works);
    print(std::cout, works);
    if (json.empty()) return 0;
    std::ofstream file(json);
    print_json(file, works);
    file.flush();
    if (file) return 0;
    std::cerr << "mcp_resume_bench: cannot write " << json << '\n';
  } catch (const std::exception& e) {
    std::cerr << "mcp_resume_bench: " << e.what() << '\n';
  }
  return 1;
}
