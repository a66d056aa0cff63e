// SPDX-License-Identifier: MIT
// What judging a trace brings beside its findings: what the report shows of each resume.
#ifndef MCP_RESUME_EXAMPLES_JUDGE_NOTES_HPP
#define MCP_RESUME_EXAMPLES_JUDGE_NOTES_HPP

#include <cstddef>
#include <optional>
#include <vector>

#include "judge.hpp"
#include "judge_history.hpp"

namespace oracle {

struct frame_note {
  frame_kind kind = frame_kind::nothing;
  std::optional<violation> wrong;  // that this frame shows by itself
};

struct resume_note {
  std::size_t step = 0;          // of the resume
  std::size_t stream = nowhere;  // of the cursor, as opened in its session: 0 = standalone
  std::size_t cursor = nowhere;  // step that issued it
  std::size_t first = nowhere;   // steps that issued the oldest and the newest event that were held
  std::size_t newest = nowhere;
  std::size_t owed = 0;            // events
  std::size_t came = 0;            // of the owed
  std::vector<frame_note> frames;  // of a 200
};

struct examination {
  std::vector<finding> findings;
  std::vector<resume_note> resumes;
};
examination examine(const trace& recorded);

}  // namespace oracle

#endif  // MCP_RESUME_EXAMPLES_JUDGE_NOTES_HPP
