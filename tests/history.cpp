// SPDX-License-Identifier: MIT
// Whatever happens, in whatever order: the library answers as the model does, and keeps its guarantees G1 to G6.
#include "history.hpp"

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "catch.hpp"

namespace {

using namespace histories;

// ---- Tests -----------------------------------------------------------------------------------------------------------

template <class Subject>
void check_histories(promise watched, std::uint64_t cases, tally& seen) {
  const std::string report = property::for_all(
      cases, make_history, [&](const history& steps) { return trial<Subject>(steps, watched, seen).run(); }, show);
  INFO(report);
  REQUIRE(report.empty());
}

void check_guarantee(promise watched) {
  tally seen;
  check_histories<table_subject>(watched, 150, seen);
  check_histories<sessions_subject>(watched, 150, seen);
}

template <class Enum>
void check_each_was_seen(const std::map<Enum, std::uint64_t>& counts, Enum last, std::set<Enum> unreachable = {}) {
  for (unsigned i = 0; i <= static_cast<unsigned>(last); ++i) {
    const auto value = static_cast<Enum>(i);
    if (unreachable.count(value) != 0) continue;
    INFO(to_string(value));
    CHECK(counts.count(value) == 1);
  }
}

}  // namespace

TEST_CASE("every history has the model's answers and none of the vocabulary is left out", "[history]") {
  constexpr std::uint64_t cases = 1500;
  tally seen;
  check_histories<table_subject>(promise::model, cases, seen);
  if (property::cases_or(cases) < cases) return;  // a replayed case need not reach everything
  check_each_was_seen(seen.reasons, reason::replay);
  check_each_was_seen(seen.refusals, refusal::no_memory, {refusal::no_memory});
  check_each_was_seen(seen.states, read_state::gone);
  check_each_was_seen(seen.answers, mcp_resume::answer::lost);
}

TEST_CASE("sessions without a table have the model's answers", "[history]") {
  tally seen;
  check_histories<sessions_subject>(promise::model, 800, seen);
}

TEST_CASE("G1 no event of another session or principal or incarnation or stream is delivered", "[history]") {
  check_guarantee(promise::g1);
}

TEST_CASE("G2 what a reader got and the gaps that were reported are everything", "[history]") {
  check_guarantee(promise::g2);
}

TEST_CASE("G3 nothing is delivered twice on one attachment", "[history]") { check_guarantee(promise::g3); }

TEST_CASE("G4 a client that missed nothing is not refused within one life of the log", "[history]") {
  check_guarantee(promise::g4);
}

TEST_CASE("G5 deciding and refusing change nothing", "[history]") { check_guarantee(promise::g5); }

TEST_CASE("G6 memory stays inside the bounds at every step", "[history]") { check_guarantee(promise::g6); }
