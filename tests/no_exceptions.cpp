// SPDX-License-Identifier: MIT
// The library works without exceptions and without run-time type information.
#include <mcp_resume/client.hpp>

#if MCP_RESUME_EXCEPTIONS
#error "this file is to be compiled without exceptions"
#endif

// A name of the header's would make the use of this one ambiguous.
namespace mcp_resume {
struct resumption_gap_error {};
}  // namespace mcp_resume
using not_declared_by_the_header = mcp_resume::resumption_gap_error;

int main() {
  mcp_resume::session_table sessions;
  if (sessions.create("8c0f", "alice", mcp_resume::protocol::v2025_11_25) != mcp_resume::refusal::none) return 1;
  const auto standalone = sessions.standalone("8c0f");
  const mcp_resume::appended event = sessions.append(*standalone, "e1");
  const std::string cursor = to_string(event.id);

  mcp_resume::reader reader;
  const auto answer = sessions.resume({"2025-11-25", "8c0f", cursor, "alice"}, reader);
  if (answer.reason != mcp_resume::reason::up_to_date) return 2;
  sessions.append(*standalone, "e2");
  std::string frames;
  const auto progress = sessions.read(reader, frames);
  if (progress.events != 1 || progress.state != mcp_resume::read_state::caught_up) return 3;

  mcp_resume::stream_guard guard(mcp_resume::stream_kind::standalone, "8c0f", cursor);
  if (guard.answer({200, "text/event-stream"}).reason != mcp_resume::continuity::opened) return 5;
  mcp_resume::event_reader blocks;
  std::string_view bytes = frames;
  int delivered = 0;
  while (const auto block = blocks.next(bytes)) {
    if (guard.block(*block).deliver) ++delivered;
    guard.taken();
  }
  if (delivered != 1 || guard.cursor() == cursor) return 6;

  const auto no_randomness = [] { return std::optional<std::uint64_t>(); };
  const auto refused = sessions.create("8c10", "alice", mcp_resume::protocol::v2025_11_25, no_randomness);
  return refused == mcp_resume::refusal::no_randomness ? 0 : 4;
}
