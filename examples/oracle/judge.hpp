// SPDX-License-Identifier: MIT
// Judges a trace by its own history alone: what each client was owed, and what it got.
#ifndef MCP_RESUME_EXAMPLES_JUDGE_HPP
#define MCP_RESUME_EXAMPLES_JUDGE_HPP

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "report.hpp"
#include "trace.hpp"

namespace oracle {

enum class violation {
  repeated_id,     // an id was issued twice in a session
  unscoped_id,     // one id in two sessions
  leak,            // another session's event was delivered
  cross_stream,    // another stream's event was delivered
  silent_loss,     // an owed event was skipped, and nothing said so
  duplicate,       // an event came twice, or one that the cursor covers
  disorder,        // events came in another order than they were issued in
  silent_fresh,    // a cursor was sent, and a fresh stream came that poses as its continuation
  refused,         // nothing was lost, and the cursor was refused
  misleading_404,  // 404 for an event id, on a session that lives: the client drops the session
  endless_empty    // 200, nothing owed or nothing known, and the answer neither says so nor ends
};
std::string_view to_string(violation kind);  // as the enumerator
std::string_view advice_for(violation kind);

struct finding {
  violation kind;
  std::size_t step;  // of trace::steps
  std::string saw;   // a sentence
};

std::vector<finding> judge(const trace& recorded);

// One entry for each resume and each finding; one timeline for each session.
report report_of(const trace& recorded, const std::vector<finding>& findings);

}  // namespace oracle

#endif  // MCP_RESUME_EXAMPLES_JUDGE_HPP
