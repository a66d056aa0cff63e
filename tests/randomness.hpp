// SPDX-License-Identifier: MIT
// Numbers that are the same in each run: for random tests, and as sources of tags.
#ifndef MCP_RESUME_TESTS_RANDOMNESS_HPP
#define MCP_RESUME_TESTS_RANDOMNESS_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace randomness {

// splitmix64 (Steele, Lea, Flood 2014): the same numbers on every compiler and with every version of Catch2.
inline std::uint64_t next_random(std::uint64_t& state) noexcept {
  std::uint64_t z = state += 0x9E3779B97F4A7C15U;
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31U);
}

// Tags that differ for each draw.
struct counted_tags {
  std::uint64_t next = 0xA000000000000001U;
  std::optional<std::uint64_t> operator()() { return next++; }
};

// Draws `left` tags, then there are none.
struct scarce_tags {
  int left = 0;
  std::optional<std::uint64_t> operator()() {
    if (left-- <= 0) return std::nullopt;
    return 7;
  }
};

// Gives these values in turn, and nothing once they are used up.
class scripted_random {
 public:
  explicit scripted_random(std::vector<std::uint64_t> values) : values_(std::move(values)) {}
  std::optional<std::uint64_t> operator()() {
    if (used_ == values_.size()) return std::nullopt;
    return values_[used_++];
  }

 private:
  std::vector<std::uint64_t> values_;
  std::size_t used_ = 0;
};

}  // namespace randomness

#endif
