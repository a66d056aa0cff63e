// SPDX-License-Identifier: MIT
// A small engine for properties of histories: it finds a failing history, shrinks it and prints how to run it again.
//
// MCP_RESUME_SEED=n       runs just the case of that seed
// MCP_RESUME_CASES=n      number of cases of every property
// MCP_RESUME_BASE_SEED=n  other cases than the fixed ones
#ifndef MCP_RESUME_TESTS_PROPERTY_HPP
#define MCP_RESUME_TESTS_PROPERTY_HPP

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

#include "randomness.hpp"

namespace property {

class random {
 public:
  explicit random(std::uint64_t seed) noexcept : state_(seed) {}
  std::uint64_t next() noexcept { return randomness::next_random(state_); }
  // 0 .. bound - 1, for a bound that is small beside 2^64.
  std::uint32_t below(std::uint32_t bound) noexcept { return static_cast<std::uint32_t>(next() % bound); }

 private:
  std::uint64_t state_;
};

// What a check found. The kind is what stays the same while a history shrinks, or it would slip to another failure.
struct failure {
  std::string kind;  // empty: the property held
  std::string text;
  explicit operator bool() const noexcept { return !kind.empty(); }
};

inline std::optional<std::uint64_t> number_from(const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr || *text == '\0') return std::nullopt;
  return std::strtoull(text, nullptr, 0);
}

inline std::optional<std::uint64_t> replayed_seed() { return number_from("MCP_RESUME_SEED"); }

inline std::uint64_t cases_or(std::uint64_t usual) {
  return replayed_seed() ? 1 : number_from("MCP_RESUME_CASES").value_or(usual);
}

// The history cut down while it fails in the same kind: first runs of steps go, halving the run until no single step
// can go; then the integers of each step go toward zero. A history is a vector of steps, each with an array `n` of
// unsigned integers; every part of a history must be a history.
template <class History, class Check>
class shrinker {
 public:
  shrinker(History failing, failure found, Check check)
      : smallest_(std::move(failing)), found_(std::move(found)), check_(check) {}

  void run() {
    drop_steps();
    while (lower_numbers()) drop_steps();
  }
  const History& smallest() const { return smallest_; }
  const failure& found() const { return found_; }

 private:
  bool accept(History candidate) {
    if (checks_left_ == 0) return false;
    --checks_left_;
    failure now = check_(candidate);
    if (now.kind != found_.kind) return false;
    smallest_ = std::move(candidate);
    found_ = std::move(now);
    return true;
  }

  bool drop_run(std::size_t at, std::size_t size) {
    History candidate = smallest_;
    const auto first = candidate.begin() + static_cast<std::ptrdiff_t>(at);
    candidate.erase(first, first + static_cast<std::ptrdiff_t>(size));
    return accept(std::move(candidate));
  }

  void drop_steps() {
    for (std::size_t size = smallest_.size(); size != 0;) {
      bool has_dropped = false;
      for (std::size_t at = 0; at + size <= smallest_.size();) {
        if (drop_run(at, size)) {
          has_dropped = true;
        } else {
          at += size;
        }
      }
      if (size != 1 || !has_dropped) size /= 2;
    }
  }

  bool lower_number(std::size_t at, std::size_t which) {
    const auto value = smallest_[at].n[which];
    for (const auto lower : {value - value, value / 2, value - 1}) {
      if (lower >= value) continue;  // below zero
      History candidate = smallest_;
      candidate[at].n[which] = lower;
      if (accept(std::move(candidate))) return true;
    }
    return false;
  }

  bool lower_numbers() {
    bool has_lowered = false;
    for (std::size_t at = 0; at != smallest_.size(); ++at) {
      for (std::size_t which = 0; which != smallest_[at].n.size(); ++which) {
        while (lower_number(at, which)) has_lowered = true;
      }
    }
    return has_lowered;
  }

  History smallest_;
  failure found_;
  Check check_;
  std::size_t checks_left_ = 20000;
};

// Checks `cases` histories that `make(random&)` returns with `check(history) -> failure`. Returns an empty text, or
// a report: the seed, what was found, and the smallest history, one `show(step)` a line.
template <class Make, class Check, class Show>
std::string for_all(std::uint64_t cases, Make make, Check check, Show show) {
  const std::optional<std::uint64_t> only = replayed_seed();
  const std::uint64_t base = number_from("MCP_RESUME_BASE_SEED").value_or(20260728);
  for (std::uint64_t i = 0; i != cases_or(cases); ++i) {
    const std::uint64_t seed = only ? *only : random(base + i).next();
    random source(seed);
    auto made = make(source);
    failure found = check(made);
    if (!found) continue;

    shrinker<decltype(made), Check> smaller(std::move(made), std::move(found), check);
    smaller.run();
    std::string report = "replay: MCP_RESUME_SEED=" + std::to_string(seed) + "\n";
    report += smaller.found().kind + ": " + smaller.found().text + "\n";
    for (const auto& step : smaller.smallest()) report += show(step) + "\n";
    return report;
  }
  return {};
}

}  // namespace property

#endif  // MCP_RESUME_TESTS_PROPERTY_HPP
