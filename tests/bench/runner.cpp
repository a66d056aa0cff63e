// SPDX-License-Identifier: MIT
#include <algorithm>

#include "bench.hpp"

namespace bench {
namespace {

// Collects the CPU time of each repetition, and prints nothing.
class collector : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      if (run.run_type != Run::RT_Iteration) continue;
      const double seconds = run.cpu_accumulated_time / static_cast<double>(run.iterations);
      ns[run.run_name.function_name].push_back(seconds * 1e9);
    }
  }
  std::map<std::string, std::vector<double>> ns;
};

}  // namespace

void runner::run() {
  collector seen;
  benchmark::RunSpecifiedBenchmarks(&seen, ".");
  benchmark::ClearRegisteredBenchmarks();
  for (auto& [name, ns] : seen.ns) {
    for (double& each : ns) each /= operations_.at(name);
    std::sort(ns.begin(), ns.end());
    times_.push_back({name, std::move(ns)});
  }
  require(seen.ns.size() == operations_.size(), "a work was not timed");
  operations_.clear();
}

double runner::figure(const std::string& name) const {
  for (const timed& each : times_) {
    if (each.name == name) return each.median();
  }
  const auto found = bytes_.find(name);
  require(found != bytes_.end(), ("no figure was measured for " + name).c_str());
  return found->second;
}

}  // namespace bench
