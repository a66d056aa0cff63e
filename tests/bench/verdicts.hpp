// SPDX-License-Identifier: MIT
// What was measured beside the targets, and how each work grows with its size.
#ifndef MCP_RESUME_TESTS_BENCH_VERDICTS_HPP
#define MCP_RESUME_TESTS_BENCH_VERDICTS_HPP

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "bench.hpp"

namespace bench {

enum class goal : std::uint8_t { at_most, at_least };

// A target and what was measured. `at_least` targets say how many times faster than a peer the library is.
struct verdict {
  std::string what;
  goal wanted;
  std::optional<double> target;  // none: for information
  std::optional<double> stretch;
  double measured;
  bool reaches(double value) const noexcept { return wanted == goal::at_most ? measured <= value : measured >= value; }
};

// Time or bytes as size^exponent: the least squares line through the logarithms.
struct growth {
  std::string what;
  double smallest_size, largest_size;
  double at_smallest, at_largest;  // ns
  double exponent;
};

std::vector<verdict> verdicts_of(const runner& works);
std::vector<growth> growth_of(const runner& works);

void print(std::ostream& out, const runner& works);
void print_json(std::ostream& out, const runner& works);

}  // namespace bench

#endif
