// SPDX-License-Identifier: MIT
// Promise: whatever happens, in whatever order, the library answers as the model does, and keeps its guarantees G1 to
// G6. An input is a history (history_input.hpp); a table takes it, and sessions in hand.
#include "../history.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "history_input.hpp"
#include "input.hpp"

namespace {

template <class Subject>
void check(const histories::history& steps) {
  histories::tally seen;
  fuzz::require_nothing(histories::trial<Subject>(steps, histories::promise::all, seen).run(), steps);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  histories::history steps;
  for (const std::string_view line : fuzz::lines_of(fuzz::text_of(bytes, size))) {
    if (!line.empty()) steps.push_back(fuzz::step_of(line));
  }
  check<histories::table_subject>(steps);
  check<histories::sessions_subject>(steps);
  return 0;
}
